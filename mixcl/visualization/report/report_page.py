"""The whole page: its sections, and its file."""

import base64
import io
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

import mixcl
from mixcl.errors import UserError
from mixcl.files import check_writable, written_whole
from mixcl.visualization.curves import curves_figure, labels_of
from mixcl.visualization.figures import drawn
from mixcl.visualization.report import facts
from mixcl.visualization.report.facts import Block
from mixcl.visualization.report.run_record import RunRecord

Sections = dict[str, dict[str, list[Block]]]
"""Blocks by the title of their section, and the label of their run or ''."""

MAPPED = 800
"""Number of images on all maps of a page together."""

AMONG = 1000
"""Number of images that are searched for neighbours."""


def write_report(
    work_dirs: Sequence[str | Path],
    out: str | Path,
    source: str | None = None,
    data_root: str | None = None,
    configs: Sequence[str] | None = None,
    introduction: Callable[[Sequence[RunRecord]], Sections] | None = None,
) -> Path:
    """Write one HTML file about a run, or about several side by side; it needs no other file and no network.

    Args:
        work_dirs: folders of runs.
        out: the file.
        source: images in place of those of the configs, such as 'folder:photos'.
        data_root: root folder of every data set of the configs, or of the source.
        configs: files, one per run: the config that it was trained with, in place of that in its checkpoint.
        introduction: makes sections that come first, in place of those of the same titles.

    Raises:
        UserError: if a folder is not that of a run, or the file cannot be written. If a part of the page cannot be
            made, its section is left out and the end of the page says why.
    """
    out, folders = Path(out), list(dict.fromkeys(map(Path, work_dirs)))
    check_page(out)
    named: Sequence[str | None] = configs or [None] * len(folders)
    if len(named) != len(folders):
        raise UserError(f'`config` names {len(named)} configs for {len(folders)} runs: give it once for each, in order')
    parts = zip(folders, labels_of(folders), named, strict=True)
    runs = [RunRecord(folder, label, source, data_root, config) for folder, label, config in parts]
    for run in runs:
        _ = run.named and run.trained  # errors in given configs come before all other work
    sections = introduction(runs) if introduction else {}
    makers: dict[str, Callable[[RunRecord], list[Block]]] = {
        'What was trained': facts.summary,
        'Warnings': facts.health,
        'Table of terms': facts.terms,
        'Evaluation': facts.evaluation,
        'Curves': lambda _: [picture(curves_figure(folders), 'Curves', 'svg+xml')],
        'Mixtures': partial(_figure, 'mix'),
        'Neighbours': partial(_figure, 'neighbours', among=AMONG),
        'Attention': partial(_figure, 'attention'),
        'Similarity': partial(_figure, 'similarity'),
        'Map': partial(_figure, 'map', form='svg+xml', num_images=MAPPED // len(runs)),
        'LiDAR': facts.rank_of_views,
        'Config': partial(facts.changes, other=runs[0]),
        'Environment': facts.environment,
        'How to reproduce': facts.reproduction,
        'How to load': facts.loading,
    }
    left_out: dict[str, list[str]] = {}
    for title, make in makers.items():
        if title in sections:
            continue
        shown = {run.label: run for run in runs} if len(runs) > 1 and title != 'Curves' else {'': runs[0]}
        for label, run in shown.items():
            made = blocks_or_reason(partial(make, run))
            if isinstance(made, str):
                left_out.setdefault(made, []).append(f'{title} of {label}' if label else title)
            else:
                sections.setdefault(title, {})[label] = made
    if left_out:
        reasons = [f'{", ".join(titles)}: {reason}' for reason, titles in left_out.items()]
        sections['Left out'] = {'': [Block('list', reasons)]}
    return write_page(out, ' and '.join(run.label for run in runs), sections)


def check_page(out: Path) -> None:
    """Raise UserError if a file cannot be the page."""
    if out.suffix != '.html':
        raise UserError(f'`out={out}`: the name must end in .html')
    check_writable(out.parent, '`out`')


def write_page(out: Path, title: str, sections: Sections) -> Path:
    """Write a page of sections, whose blocks stand below the label of their run, or ''."""
    templates = Environment(autoescape=True, undefined=StrictUndefined, loader=FileSystemLoader(Path(__file__).parent))
    values = dict(title=title, sections=sections, version=mixcl.__version__)
    with written_whole(out) as file:  # file names may be invalid text
        file.write(templates.get_template('page.html').render(values).encode('utf-8', errors='replace'))
    return out


def _figure(name: str, run: RunRecord, form: str = 'png', **options: Any) -> list[Block]:
    return [picture(drawn(name, run.trained, **options), name, form)]


def blocks_or_reason(make: Callable[[], list[Block]]) -> list[Block] | str:
    """Make blocks, or say why there are none."""
    try:
        return make()
    except UserError as error:
        return str(error)
    except Exception as error:  # one part that fails must not cost the others
        if os.environ.get('MIXCL_TRACEBACK'):
            raise
        return f'this could not be shown ({type(error).__name__}: {" ".join(str(error).split())})'


def picture(figure: Figure, title: str, form: str = 'png') -> Block:
    """Embed a figure in the page: 'png' if it shows images, 'svg+xml' if it shows lines."""
    file = io.BytesIO()
    figure.savefig(file, format=form[:3], dpi=100)
    content = base64.b64encode(file.getvalue()).decode()
    return Block('picture', f'data:image/{form};base64,{content}', title)
