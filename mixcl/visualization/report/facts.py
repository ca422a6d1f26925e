"""What a run was and what came of it, in words and tables."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixcl.configuration.origin import base_of, difference
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.published import all_published
from mixcl.evaluation.results import HEAD, captions, cells, stored_beside
from mixcl.shipped import known_configs
from mixcl.visualization.curves import points_of
from mixcl.visualization.report.blocks import Block, details
from mixcl.visualization.report.run_record import RunRecord
from mixcl.visualization.report.terms_in_words import call, encoders_in_words, term_rows

OWN_AFFAIR = ('config_name', 'work_dir', 'resume', 'load_from', 'launcher', 'pin_memory', 'fused')
"""Last words of places in a config that say nothing about what is trained."""


def summary(record: RunRecord) -> list[Block]:
    """What was trained on what."""
    cfg, machine = record.config, record.environment()
    model, loader = cfg.get('model') or {}, cfg.get('train_dataloader') or {}
    data = loader.get('dataset') or {}
    while isinstance(data.get('dataset'), Mapping):
        data = data['dataset']
    images = (machine.get('train_data') or {}).get('samples')
    named = ', '.join(str(data[key]) for key in ('type', 'data_root', 'split') if data.get(key))
    processes = machine.get('world_size', 1)
    each = loader.get('batch_size')
    rows = [
        ['config', cfg.get('config_name') or 'without a name'],
        ['mixing', call(model['mixer']) if model.get('mixer') else 'none'],
        ['backbone', call(model.get('backbone'))],
        ['images', f'{named or "unknown"}{f": {images:,} images" if images else ""}'],
        ['length', _length(record)],
        ['batch', f'{each * processes}: {each} on each of {processes} process(es)' if each else 'unknown'],
        ['optimiser', call((cfg.get('optim_wrapper') or {}).get('optimizer'))],
        *([name, newest] for name, newest in _accuracies(record)),
        ['seed', str(machine.get('seed', 'unknown'))],
    ]
    said = record.banner()
    return [Block('table', rows), *([details('What it said at its start', Block('list', said))] if said else [])]


def _length(record: RunRecord) -> str:
    steps = [line for line in record.lines if 'loss' in line]
    planned = (record.config.get('train_cfg') or {}).get('max_epochs')
    if not steps:
        return f'nothing is logged yet of {planned or "unknown"} epochs'
    hours = points_of(record.lines, 'hour')['loss'][-1][0]
    starts = f', started {len(record.starts)} times' if len(record.starts) > 1 else ''
    text = f'{steps[-1]["epoch"]} of {planned} epochs' if planned else f'{steps[-1]["epoch"]} epochs'
    unfinished = '; it has not finished' if planned and steps[-1]['epoch'] < planned else ''
    took = f'{hours:.1f} hours' if hours >= 1 else f'{60 * hours:.1f} minutes'
    return f'{text}, {steps[-1]["step"]} steps in {took}{starts}{unfinished}'


def _accuracies(record: RunRecord) -> list[tuple[str, str]]:
    """The kNN accuracies during the run, the newest and the best of each."""
    found = []
    for name, points in points_of(record.lines, 'epoch').items() if record.starts else ():
        if name.endswith('_top1'):
            epoch, best = max(points, key=lambda point: point[1])
            found.append((name.removesuffix('_top1'), f'{points[-1][1]:.1f} %, at best {best:.1f} % (epoch {epoch:g})'))
    return found


def terms(record: RunRecord) -> list[Block]:
    """The table of terms in words."""
    model = record.config.get('model') or {}
    rows = term_rows(model)
    return [Block('table', rows, head=('query', 'key', 'weight', 'in words')), Block('list', encoders_in_words(model))]


def health(record: RunRecord) -> list[Block]:
    """Warnings of the hooks."""
    if not record.starts:
        raise UserError('nothing is logged of this run, so nobody knows how well it was')
    found = record.warnings()
    return [Block('list', found) if found else Block('text', 'Nothing was wrong: the log has no warnings.')]


def evaluation(record: RunRecord) -> list[Block]:
    """Results of the quick start and of tools/evaluate.py, and the papers' numbers of this config."""
    blocks = []
    path = record.folder / 'results.json'
    quick = json.loads(path.read_text(encoding='utf-8')) if path.is_file() else None
    if isinstance(quick, dict):
        blocks.append(_quick_start(quick))
    checkpoints = [record.folder, *sorted(record.folder.glob('*_*.pth'))]
    rows = {json.dumps(row, sort_keys=True): row for path in checkpoints for row in stored_beside(path)}
    if rows:
        blocks.append(Block('table', cells([*rows.values()]), head=HEAD))
        blocks.append(details('What the protocols are', Block('list', captions([*rows.values()]))))
    if not blocks:
        missing = f'nothing was evaluated after training: mixcl evaluate {record.folder} --data NAME --protocols knn linear'
        blocks.append(Block('missing', f'{missing[0].upper()}{missing[1:]}'))
    name = record.config.get('config_name')
    keys = ('method', 'epochs', 'protocol', 'data', 'metric', 'value', 'source')
    papers = [[str(number.get(key, '')) for key in keys] for number in all_published() if number.get('config') == name]
    if name and papers:
        blocks.append(details(f'What the papers print of {name}', Block('table', papers, head=keys)))
    else:
        blocks.append(Block('text', f'No paper has numbers of {name or "this run"}.'))
    return blocks


def _quick_start(results: Mapping[str, Any]) -> Block:
    names = {
        'raw_pixels_': 'raw pixels', 'random_init_': 'randomly initialised encoder', '': 'online encoder',
        'ema_': 'EMA encoder',
    }  # fmt: skip
    values = {name: [results.get(f'{start}{kind}_top1') for kind in ('knn', 'linear')] for start, name in names.items()}
    rows = [[name, *('-' if one is None else f'{one:.1%}' for one in found)] for name, found in values.items()]
    return Block('table', rows, head=('features', 'kNN', 'linear probe'))


def changes(record: RunRecord, other: RunRecord) -> list[Block]:
    """How the config differs from that of another run, from its file, and its file from what it inherits."""
    blocks = []
    if other is not record:
        blocks += _differences(f'From {other.label} to {record.label}', other.config, record.config)
    name = str(record.config.get('config_name'))
    if name not in known_configs():
        blocks.append(Block('missing', f'{name} did not come with mixcl, so the files that it inherits are not known.'))
    else:
        file = read_config(name)
        blocks += _differences('From its file to this run: the command line', file, record.config)
        blocks += _differences('From the files that it inherits to its own file', base_of(name), file)
    return [*blocks, details('The whole config', Block('code', record.config.pretty_text))]


def _differences(title: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Block]:
    lines = [
        line for line in difference(dict(before), dict(after))
        if not line[2:].partition(' = ')[0].partition(': ')[0].endswith(OWN_AFFAIR)
    ]  # fmt: skip
    return [details(f'{title}: {len(lines)} values', Block('code', '\n'.join(lines) or 'nothing'))]


def environment(record: RunRecord) -> list[Block]:
    """What it ran on."""
    stored = record.environment()
    if not stored:
        raise UserError('this folder has no environment.json: the run is older, or the file was removed')
    system, source = stored.get('system') or {}, stored.get('source') or {}
    names = ('Python', 'PyTorch', 'CUDA available', 'GPU 0', 'CUDA_HOME', 'sys.platform')
    rows = [[name, system[name]] for name in names if name in system]
    packages = stored.get('packages') or {}
    rows += [[name, packages[name]] for name in ('mixcl', 'timm', 'onedl-mmengine', 'onedl-mmpretrain') if name in packages]
    rows += [['started', str(stored.get('time'))], ['processes', str(stored.get('world_size'))]]
    if source:
        rows.append(['source code', f'{source["commit"]}, {len(source["changed"])} files changed since'])
    every = '\n'.join(f'{name}=={version}' for name, version in packages.items())
    return [Block('table', rows), details(f'All {len(packages)} packages', Block('code', every))]


def reproduction(record: RunRecord) -> list[Block]:
    """The command that trained it."""
    stored = record.environment(first=True)
    words = [str(word) for word in stored.get('command') or ()]
    if not words:
        raise UserError('the command is not stored (environment.json)')
    start = words[0] if words[0].startswith('mixcl ') else f'python {shlex.quote(words[0])}'
    commit = (stored.get('source') or {}).get('commit')
    lines = [f'git checkout {commit}', 'pip install -c constraints.txt .'] if commit else []
    shown = '\n'.join([*lines, ' '.join([start, *map(shlex.quote, words[1:])])])
    note = f'With seed {stored.get("seed")} and the same packages and machine the result is the same.'
    return [Block('code', shown), Block('text', note)]


def loading(record: RunRecord) -> list[Block]:
    """How the backbone is loaded."""
    checkpoint = Path(str(record.trained.subject.checkpoint if record.trained.subject else ''))
    folder = record.folder
    ways = {
        'As a module, and features of images': "import mixcl\n\n"
        f'backbone = mixcl.load_backbone({str(folder)!r})  # a torch module: (B, 3, H, W) -> (B, C)\n'
        f"features = mixcl.embed({str(folder)!r}, ['image.png'])",
        'In timm (or torchvision, huggingface, mmpretrain, mmdet, onnx)': f'mixcl export {shlex.quote(str(folder))} '
        '--to timm --out backbone\n'
        """python -c "import timm; timm.create_model('local-dir:backbone', pretrained=True)\"""",
        'As the start of any training of mmpretrain or mmdet': 'mixcl train CONFIG --pretrained '
        f'{shlex.quote(str(checkpoint))}',
    }
    return [block for title, lines in ways.items() for block in (Block('text', f'{title}:'), Block('code', lines))]
