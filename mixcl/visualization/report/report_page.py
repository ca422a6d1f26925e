"""The page as a whole: its sections, and its file."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import mixcl
from mixcl.errors import UserError
from mixcl.files import check_writable, written_whole
from mixcl.visualization.attention_figure import attention_figure
from mixcl.visualization.curves import curves_figure, points_of
from mixcl.visualization.map_figure import draw_map, feature_map
from mixcl.visualization.mix_preview import mixture_figure
from mixcl.visualization.neighbour_figure import neighbour_figure
from mixcl.visualization.report import facts
from mixcl.visualization.report.blocks import Block, Section, picture, told
from mixcl.visualization.report.run_record import RunRecord, read_run
from mixcl.visualization.report.vega_charts import curve_charts, javascript, map_chart
from mixcl.visualization.similarity_figure import similarity_figure

MAPPED = 800
"""Images on all maps of a page together, which carries each of them."""

AMONG = 1000
"""Images among which neighbours are looked for."""

SECTIONS: dict[str, tuple[str, Callable[[RunRecord], list[Block]]]] = {
    'What was trained': ('', facts.summary),
    'Warnings': ('What the hooks noticed that watch over a run.', facts.health),
    'Table of terms': ('Which stream of images is pulled to which.', facts.terms),
    'Evaluation': ('Results that lie in the folder of the run, and the numbers of the papers.', facts.evaluation),
    'Mixtures': (
        'Training images and what is mixed of them, with the share of each source.',
        lambda run: [picture(mixture_figure(run.mixing.training), 'Originals and mixtures')],
    ),
    'Neighbours': (
        'Each image and those whose features are nearest. Where there are labels, names of other classes are bold.',
        lambda run: [picture(neighbour_figure(run.trained, among=AMONG), 'Nearest neighbours')],
    ),
    'Attention': (
        'Where the encoder looks; of mixtures, how much of it each source gets beside its share of the area.',
        lambda run: [picture(attention_figure(run.trained)[0], 'Where the encoder looks')],
    ),
    'Similarity': (
        'What each row of the table of terms asks for, and the cosines before and after training.',
        lambda run: [picture(similarity_figure(run.trained), 'Targets and cosines')],
    ),
}
"""Headings, what they are about, and what makes the blocks of a run."""

LATER: dict[str, tuple[str, Callable[[RunRecord], list[Block]]]] = {
    'Environment': ('', facts.environment),
    'How to reproduce': ('', facts.reproduction),
    'How to load': ('', facts.loading),
}


def write_report(
    work_dirs: Sequence[str | Path],
    out: str | Path,
    source: str | None = None,
    data_root: str | None = None,
) -> Path:
    """Write one HTML file about a run, or about several side by side; it needs no other file and no network.

    Args:
        work_dirs: folders of runs.
        out: the file.
        source: images in the place of those of the configs, such as 'folder:photos'.
        data_root: root folder of every data set of the configs, or of the source.

    Raises:
        UserError: if a folder is none of a run, or the file cannot be written. What only a part of the page needs and
            is not there is told in the place of that part.
    """
    out, folders = Path(out), [Path(folder) for folder in dict.fromkeys(map(str, work_dirs))]
    if out.suffix != '.html':
        raise UserError(f'--out {out}: the name must end in .html')
    names = [folder.resolve().name for folder in folders]
    labels = [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]
    runs = [read_run(folder, label, source, data_root) for folder, label in zip(folders, labels, strict=True)]
    check_writable(out.parent, '--out')
    script = javascript()
    early, late = (
        [_section(title, intro, runs, make) for title, (intro, make) in part.items()] for part in (SECTIONS, LATER)
    )
    sections = [
        *early[:4],
        Section('Curves', '', told(partial(_curves, runs, script is not None)), {}),
        *early[4:],
        _section('Map', 'Features in two dimensions.', runs, partial(_map, MAPPED // len(runs), script is not None)),
        _section('Config', '', runs, partial(facts.changes, other=runs[0])),
        *late,
    ]
    templates = Environment(autoescape=True, undefined=StrictUndefined, loader=FileSystemLoader(Path(__file__).parent))
    page = templates.get_template('page.html').render(
        title=' and '.join(labels), sections=sections, script=script, version=mixcl.__version__
    )
    with written_whole(out) as file:
        file.write(page.encode('utf-8', errors='replace'))  # names of files may be no text
    return out


def _section(title: str, intro: str, runs: list[RunRecord], make: Callable[[RunRecord], list[Block]]) -> Section:
    return Section(title, intro, [], {run.label: told(partial(make, run)) for run in runs})


def _curves(runs: list[RunRecord], moving: bool) -> list[Block]:
    logged = [run for run in runs if run.starts]
    if not logged:
        raise UserError('nothing has been logged yet')
    silent = [Block('missing', f'{run.label} has no log.') for run in runs if not run.starts]
    if not moving:
        return [*silent, picture(curves_figure([run.folder for run in logged]), 'Curves over the epochs', 'svg')]
    return [*silent, *curve_charts({run.label: points_of(run.lines, 'epoch') for run in logged})]


def _map(most: int, moving: bool, run: RunRecord) -> list[Block]:
    found = feature_map(run.trained, most)
    note = Block('list', [*found.measured, 'DBI: lower is better; CHI: higher is better'] if found.measured else [])
    return [map_chart(found, run.trained) if moving else picture(draw_map(found), found.title, 'svg'), note]
