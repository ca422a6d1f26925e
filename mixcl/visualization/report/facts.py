"""Facts about a run and its results, in words and tables."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from textwrap import dedent
from typing import Any, NamedTuple

from mixcl.engine.hooks import HealthHook
from mixcl.errors import UserError
from mixcl.evaluation.published import all_published
from mixcl.evaluation.results import Row, stored_results, table
from mixcl.evaluation.view_features import lidar_of
from mixcl.recipes.difference import differences
from mixcl.recipes.paths import innermost
from mixcl.recipes.prepared import prepared
from mixcl.shipped import known_configs, name_of
from mixcl.visualization.curves import points_of
from mixcl.visualization.pictured import training_set
from mixcl.visualization.report.run_record import BANNER, REPEATED, SYSTEM, WARNED, RunRecord

SHOWN = re.compile(r'^ +(sys\.platform|Python|PyTorch|GPU [\d,]+|seed|GPU number): (.*)$', re.M)
"""Lines on the environment that are not folded."""

LIDAR = (100, 10)
"""Images and views of each that the report's LiDAR takes."""

QUICK_START = {'raw pixels': 'raw_pixels_', 'random encoder': 'random_init_', 'online': '', 'EMA': 'ema_'}
"""Rows of the quick start's table, and prefixes of their names in its ``results.json``."""

SENTENCES = {
    (False, False): '{query} of each image is pulled to {key} of the same image',
    (True, False): 'each mixture of {query} is pulled to {key} of the images that it is made of, to each by its share',
    (False, True): '{query} of each image is pulled to the mixtures of {key} that have a part of it, by its share',
    (True, True): 'each mixture of {query} is pulled to the mixtures of {key} that share images with it, the more '
    'shared the stronger',
}
"""Sentences on terms, by whether query and key are mixtures."""
OF_PATCHES = {
    False: 'each masked patch of {query} is pulled to what it is in the whole {key}',
    True: 'each patch of a mixture of {query} is pulled to the same patch of the {key} that it shows',
}
"""Sentences on terms between patches, by whether the query is a mixture."""


class Block(NamedTuple):
    """Part of a page; page.html shows the content of each kind. 'missing' says why something is absent."""

    kind: str
    content: Any
    title: str = ''
    head: Sequence[str] = ()


def summary(run: RunRecord) -> list[Block]:
    """Summarise what was trained on what, and how long."""
    cfg, points, (done, planned, unit) = run.config, points_of(run.lines, 'epoch'), run.progress
    data = innermost(cfg.train_dataloader['dataset'])
    rows = [
        *([['run', str(name_of(cfg))]] if cfg.get('run_name') else []),
        ['config', str(cfg.get('config_name'))],
        *([name, call(cfg.model.get(name))] for name in ('backbone', 'target', 'objective', 'mixer')),
        ['images', ', '.join(str(data[key]) for key in ('type', 'data_root', 'split') if data.get(key))],
        ['length', f'{done} {unit}s' + (f' of {planned}: it has not finished' if planned and done < planned else '')],
        ['time', f'{60 * points_of(run.lines, "hour")["loss"][-1][0]:.1f} minutes, {len(run.starts)} start(s)'],
        *([name.removesuffix('_top1').replace('_', ' '), f'{curve[-1][1]:.1f} % (best {max(y for _, y in curve):.1f})']
          for name, curve in points.items() if name.endswith('_top1')),
    ]  # fmt: skip
    banners = BANNER.findall(run.log)
    lines = banners[-1].split('\n')[:-1] if banners else []
    said = [Block('details', [Block('list', lines)], 'What it said at its start')] if banners else []
    return [Block('table', rows), *said]


def health(run: RunRecord) -> list[Block]:
    """List warnings; those about a step come from the hooks that watch over a run."""
    found = list(dict.fromkeys(WARNED.findall(run.log)))
    noticed, others = ([one for one in found if one.startswith('step ') == wanted] for wanted in (True, False))
    first = (
        Block('list', noticed) if noticed else Block('text', f'No step gave a warning{_meaning_of_no_warnings(run)}.')
    )
    return [first, *([Block('details', [Block('list', others)], 'Other warnings in the log')] if others else [])]


def _meaning_of_no_warnings(run: RunRecord) -> str:
    """Say what the lack of warnings means."""
    settings = (run.config.get('default_hooks') or {}).get('health')
    if not settings:
        return ', but HealthHook, which watches the representation, was not active'
    grace = settings.get('grace', HealthHook().grace)
    steps = max(line['step'] for line in run.lines if 'loss' in line)
    short = f', but those about the representation begin after {grace} steps, and this run has {steps}'
    return short if steps <= grace else ': the run looked healthy'


def terms(run: RunRecord) -> list[Block]:
    """Show the table of terms in words."""
    return [Block('table', term_rows(run.config.model), head=('query', 'key', 'weight', 'in words'))]


def rank_of_views(run: RunRecord) -> list[Block]:
    """Say LiDAR of the newest checkpoint, on fewer images and views than the protocol ``quality`` takes."""
    pictured = run.trained
    dataset = training_set(pictured.training, least=2)
    found = lidar_of(pictured.model, dataset, 'online', *LIDAR, seed=pictured.seed)
    text = (
        f'{found["lidar"]:.1f}: the effective rank of what tells {found["lidar_images"]} images apart, given '
        f'{LIDAR[1]} views of each (Thilak et al., 2023). Compare it with runs on the same images and views alone.'
    )
    return [Block('text', text)]


def call(settings: Any) -> str:
    """Format config settings as a Python call: ``PatchMix(num_mix=3)``."""
    if not isinstance(settings, Mapping):
        return str(settings)
    words = [f'{key}={call(value)}' for key, value in settings.items() if key != 'type']
    return f'{settings.get("type", "dict")}({", ".join(words)})'


def term_rows(model: Mapping[str, Any]) -> list[list[str]]:
    """Return query, key, weight and a sentence for each row of the table of terms.

    Raises:
        UserError: if the model is no pretraining.
    """
    if not model.get('terms'):
        raise UserError('this model has no table of terms: it is no contrastive pretraining of mixcl')
    mixed = {name: part['mix'] for name, part in (model.get('streams') or {}).items() if 'mix' in part}
    rows = []
    for query, key, weight, *options in model['terms']:
        patches = 'level' in dict(*options)
        sentence = OF_PATCHES[query in mixed] if patches else SENTENCES[query in mixed, key in mixed]
        sentence = sentence.format(query=mixed.get(query, query), key=mixed.get(key, key))
        rows.append([query, key, f'{weight:.4g}', sentence + ''.join(f', with {call(one)}' for one in options)])
    return rows


def evaluated(run: RunRecord) -> list[Row]:
    """Return the stored results of the checkpoints of a run, each once."""
    rows = [row for place in (*sorted(run.folder.glob('*_*.pth')), run.folder) for row in stored_results(place)]
    return list({json.dumps(row, sort_keys=True): row for row in rows}.values())


def evaluation(run: RunRecord) -> list[Block]:
    """Show results of the quick start and of mixcl evaluate, and the papers' numbers of this config.

    Raises:
        UserError: if there is neither.
    """
    path, blocks, quick_rows = run.folder / 'results.json', [], []
    quick = json.loads(path.read_text(encoding='utf-8')) if path.is_file() else None
    if isinstance(quick, dict):
        for name, start in QUICK_START.items():
            found = [quick.get(f'{start}{kind}_top1') for kind in ('knn', 'linear')]
            quick_rows.append([name, *('-' if one is None else f'{one:.1%}' for one in found)])
        blocks.append(Block('table', quick_rows, head=('features', 'kNN', 'linear probe')))
    unique = evaluated(run)
    lines = table(unique).split('\n') if unique else []
    if lines:
        head, *cells = (line.strip('| ').split(' | ') for line in lines if line.startswith('| '))
        said = Block('list', [line.removeprefix('- ') for line in lines if line.startswith('- ')])
        blocks += [Block('table', cells, head=head), Block('details', [said], 'What the protocols are')]
    of, keys = name_of(run.config), ('method', 'epochs', 'protocol', 'data', 'metric', 'value', 'source')
    papers = [[str(one.get(key, '')) for key in keys] for one in all_published() if of and one.get('config') == of]
    if not blocks:
        ask = f'mixcl evaluate {shlex.quote(str(run.folder))} --data NAME --protocols knn linear'
        missing = f'nothing has been evaluated after training; to do so: {ask}'
        if not papers:
            raise UserError(missing)
        blocks.append(Block('missing', f'{missing[:1].upper()}{missing[1:]}'))
    return [*blocks, *([Block('table', papers, head=keys)] if papers else [])]


def changes(run: RunRecord, other: RunRecord) -> list[Block]:
    """Show how the config differs from that of another run, and from its file."""
    name, pairs, blocks = str(run.config.get('config_name')), [], []
    if other is not run:
        pairs.append((f'From {other.label} to {run.label}', other.config, run.config))
    if name in known_configs():
        pairs.append(('From its file to this run', prepared(name), run.config))
    else:
        blocks.append(Block('missing', f'{name} does not come with mixcl, so its file is not known.'))
    for title, before, after in pairs:
        lines = sorted(map(str, differences(dict(before), dict(after))))
        blocks.append(_folded(f'{title}: {len(lines)} values', '\n'.join(lines)))
    return [*blocks, _folded('The whole config', run.config.pretty_text)]


def _folded(title: str, text: str) -> Block:
    return Block('details', [Block('code', text)], title) if text else Block('text', title)


def environment(run: RunRecord) -> list[Block]:
    """Show the environment of the last start, as its log says it.

    Raises:
        UserError: if the log does not say it.
    """
    found = SYSTEM.findall(run.log)
    if not found:
        raise UserError('the log does not say the environment')
    return [
        Block('table', [list(row) for row in SHOWN.findall(found[-1])]),
        _folded('All that the log says', found[-1]),
    ]


def reproduction(run: RunRecord) -> list[Block]:
    """Show the command of the first start.

    Raises:
        UserError: if the log does not say it.
    """
    found = REPEATED.search(run.log)
    if not found:
        raise UserError('the log does not say how to repeat the run')
    note = 'All random numbers follow from the seed; other machines and packages may round otherwise.'
    return [Block('code', dedent(found[1])), Block('text', note)]


def loading(run: RunRecord) -> list[Block]:
    """Show how to load the backbone."""
    folder, quoted, _ = str(run.folder), shlex.quote(str(run.folder)), run.trained
    python = f'import mixcl\n\nbackbone = mixcl.load_backbone({folder!r})  # a module: (B, 3, H, W) to (B, C)\n'
    shell = (
        f'mixcl export {quoted} --to timm --out backbone  # or torchvision, huggingface, onnx\n'
        """python -c "import timm; timm.create_model('local-dir:backbone', pretrained=True)"\n"""
    )
    return [Block('code', f"{python}features = mixcl.embed({folder!r}, ['image.png'])"), Block('code', shell)]
