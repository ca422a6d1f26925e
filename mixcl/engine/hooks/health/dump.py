"""What is written down of a step whose loss or gradient was not finite."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from mmengine.dist import get_rank, get_world_size
from mmengine.runner import Runner
from torch import Tensor

from mixcl.files import written_whole


@dataclass
class BatchRecord:
    """One batch of a step: its index, its images, and the losses by name, on the device, after the forward pass."""

    step: int
    images: list[str]
    losses: dict[str, Tensor] = field(default_factory=dict)

    def broken_terms(self) -> list[str]:
        """The names of the terms that are infinite or NaN, in the order of the model."""
        return [name for name, value in self.losses.items() if name != 'loss' and not value.isfinite()]


def image_names(data_batch: object) -> list[str]:
    """The files of a batch, or where images have no file their indices in the data set."""
    samples = data_batch.get('data_samples') if isinstance(data_batch, dict) else None
    return [str(sample.get('img_path') or tuple(sample.get('sample_key', ('?',)))[-1]) for sample in samples or ()]


def write_dump(runner: Runner, batches: list[BatchRecord]) -> Path:
    """Write ``nonfinite/step_<step>_rank<rank>.json`` below the work dir: seed, step, process, images and losses."""
    step, rank = batches[-1].step, get_rank()
    dump = dict(config=runner.cfg.filename, seed=runner.seed, step=step, rank=rank, world_size=get_world_size())
    dump['batches'] = [
        dict(step=b.step, images=b.images, losses={name: loss.item() for name, loss in b.losses.items()})
        for b in batches
    ]
    path = Path(runner.work_dir, 'nonfinite', f'step_{step}_rank{rank}.json')
    with written_whole(path) as file:
        file.write(json.dumps(dump, indent=1).encode())
    return path
