"""The site of `make docs`. Its source is the root of the repository, so that links work here as on a forge."""

from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
PAGES = ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'configs', 'docs', 'examples')

project, copyright, html_title = 'mixcl', 'the authors of mixcl; Apache-2.0', 'mixcl'
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
root_doc = 'README'
include_patterns = ['*.md', 'docs/**.md', 'configs/*.md', 'examples/*.md']
exclude_patterns = [path.name for path in ROOT.iterdir() if path.name not in PAGES]
html_theme = 'furo'
html_copy_source = False
myst_heading_anchors = 4
napoleon_use_ivar = True
napoleon_custom_sections = [('Args of subclasses', 'params_style')]
autodoc_member_order = 'bysource'
autodoc_typehints_format = 'short'
autodoc_inherit_docstrings = False
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
autodoc_default_options = {'members': True}

NAVIGATION = {
    'Start': ['docs/start', 'docs/training', 'docs/concepts'],
    'Methods': [
        *('docs/methods/patchmix', 'docs/methods/mixco', 'docs/methods/sdmp', 'docs/methods/aps', 'docs/methods/bsim'),
        *('docs/methods/*', 'docs/mixers', 'configs/README'),
    ],
    'Guides': [
        *('docs/your_images', 'docs/guides/choose', 'docs/python', 'docs/backbones', 'docs/weights', 'docs/guides/*'),
        *(
            'docs/published_weights',
            'docs/patch_dropping',
            'docs/evaluation',
            'docs/compare',
            'docs/detection',
            'docs/figures',
        ),
        *('docs/while_it_trains', 'docs/report', 'docs/your_own_mixer', 'docs/library'),
    ],
    'Results': ['docs/results', 'docs/evidence'],
    'Speed and reliability': ['docs/speed', 'docs/reliability'],
    'Reference': ['docs/api/*', 'docs/architecture', 'docs/readings'],
    'Coming from': ['docs/coming_from/*'],
    'Project': ['CONTRIBUTING', 'CHANGELOG'],
}
"""Groups of the side bar, and the pages of each; those that a pattern finds come in the order of their names."""


def add_navigation(app: Sphinx, page: str, text: list[str]) -> None:
    """The front page gets the side bar's lists, which would be noise on a forge."""
    if page != root_doc:
        return
    for caption, patterns in NAVIGATION.items():
        found = [str(path.relative_to(ROOT)) for pattern in patterns for path in sorted(ROOT.glob(f'{pattern}.md'))]
        pages = '\n'.join(dict.fromkeys(found))
        text[0] += f'\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n' if pages else ''


def copy_front_page(app: Sphinx, failure: Exception | None) -> None:
    if failure is None:
        (app.outdir / 'index.html').write_bytes((app.outdir / 'README.html').read_bytes())


def setup(app: Sphinx) -> None:
    app.connect('source-read', add_navigation)
    app.connect('build-finished', copy_front_page)
