"""The course of a run, read from its log."""

import json
from pathlib import Path

from matplotlib.figure import Figure


def draw_curves(work_dir: str | Path, path: str | Path) -> Path:
    """Draw every loss term and the kNN accuracies over the steps of the newest run in a work dir.

    Args:
        work_dir: where the run's time-stamped folders lie.
        path: of the PNG file.

    Returns:
        The path.
    """
    train, evaluations = _read_log(work_dir)
    figure = Figure(figsize=(10, 3.8), layout='constrained')
    left, right = figure.subplots(1, 2)
    for name in sorted(key for key in train[0] if key.startswith('loss_')):
        left.plot([line['epoch'] for line in train], [line[name] for line in train], label=name.removeprefix('loss_'))
    left.set(xlabel='epoch', ylabel='loss', title='loss terms (query_key, weighted)')
    for name in sorted(key for key in evaluations[0] if key.endswith('_top1')) if evaluations else ():
        epochs = [line['step'] for line in evaluations]
        right.plot(epochs, [line[name] for line in evaluations], marker='o', label=name.removesuffix('_top1'))
    right.set(xlabel='epoch', ylabel='accuracy (%)', title='kNN during pretraining')
    for axis in (left, right):
        if axis.lines:
            axis.legend()
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    return Path(path)


def _read_log(work_dir: str | Path) -> tuple[list[dict], list[dict]]:
    newest = max(Path(work_dir).glob('*/vis_data/scalars.json'))
    lines = [json.loads(line) for line in newest.read_text().splitlines()]
    train = [line for line in lines if 'loss' in line]
    return train, [line for line in lines if any(key.endswith('_top1') for key in line)]
