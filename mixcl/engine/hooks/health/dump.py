"""What is written down of a step whose loss or gradient was not finite, so that it can be replayed."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from mmengine.dist import get_rank, get_world_size, is_main_process
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner

from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
from mixcl.errors import UserError

FOLDER = 'nonfinite'
"""Below the work dir."""


@dataclass
class BatchRecord:
    """One batch of a step (several, where gradients are accumulated).

    Attributes:
        step: index of the training iteration.
        progress: share of the run that was over.
        chunk: which chunk of sampled patches (APS); 0 elsewhere.
        keys: (seed, epoch, index) of every sample, which decide its views.
    """

    step: int
    progress: float
    chunk: int
    keys: list[list[int]]


@dataclass
class StepDump:
    """A step that failed, on one process.

    Attributes:
        config_name: of the run.
        config: its resolved text.
        config_folder: where it lay; modules that it imports may lie there, too.
        step: index of the training iteration whose optimiser step was due.
        seed: of the run; with step and rank, the key of everything random in the step.
        rank, world_size: which process this was, of how many.
        batches: what it saw.
        last_losses: of the steps before and of this one, newest last.
        gradients: names of parameters whose gradients were not finite, where known; at most ten.
        weights: the file, beside this one, with the weights before the step; None where there is none.
    """

    config_name: str
    config: str
    step: int
    seed: int
    rank: int
    world_size: int
    batches: list[BatchRecord]
    last_losses: list[float]
    gradients: list[str] = field(default_factory=list)
    weights: str | None = None
    config_folder: str = ''


def record_batch(runner: Runner, batch_idx: int, data_batch: dict) -> BatchRecord:
    """Note what a training iteration is about to see."""
    chunks = getattr(runner.train_loop.dataloader, 'chunks', 1)
    samples = data_batch.get('data_samples') if isinstance(data_batch, dict) else None
    keys = [list(sample.get('sample_key', ())) for sample in samples or ()]
    return BatchRecord(runner.iter, runner.iter / runner.max_iters, batch_idx % chunks, keys)


def write_dump(runner: Runner, batches: list[BatchRecord], last_losses: list[float], gradients: list[str]) -> Path:
    """Write ``nonfinite/step_<step>_rank<rank>.json`` below the work dir, and the weights from the first process."""
    step = batches[-1].step
    folder = Path(runner.work_dir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    dump = StepDump(
        config_name=Path(runner.cfg.filename or runner.experiment_name).stem,
        config=runner.cfg.pretty_text,
        config_folder=str(Path(runner.cfg.filename).resolve().parent) if runner.cfg.filename else '',
        step=step,
        seed=runner.seed,
        rank=get_rank(),
        world_size=get_world_size(),
        batches=batches,
        last_losses=last_losses,
        gradients=gradients[:10],
        weights=_write_weights(runner, folder / f'step_{step}.pth'),
    )
    path = folder / f'step_{step}_rank{dump.rank}.json'
    path.write_text(json.dumps(asdict(dump), indent=1), encoding='utf-8')
    return path


def _write_weights(runner: Runner, path: Path) -> str | None:
    if isinstance(runner.model, MMFullyShardedDataParallel):
        return None  # no process has all of them
    if is_main_process():
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        partial = path.with_suffix('.partial')
        try:
            with open(partial, 'wb') as file:
                torch.save(dict(state_dict=model.state_dict()), file)
            os.replace(partial, path)
        except (OSError, RuntimeError) as error:  # torch's writer says the latter of a full disk
            partial.unlink(missing_ok=True)
            raise OSError(str(error)) from error
    return path.name


def read_dump(path: str | Path) -> StepDump:
    """Read what :func:`write_dump` wrote.

    Raises:
        UserError: if the file is missing or is no such file.
    """
    try:
        content = json.loads(Path(path).read_text(encoding='utf-8'))
        batches = [BatchRecord(**batch) for batch in content['batches']]
        return StepDump(**{**content, 'batches': batches})
    except OSError as error:
        raise UserError(f'the dump {path} cannot be read: {error.strerror}') from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f'{path} is no dump of a step; give a file nonfinite/step_<step>_rank<rank>.json of a work dir'
        ) from error
