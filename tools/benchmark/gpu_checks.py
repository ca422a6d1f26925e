"""Whether a device computes what the CPU does: the checks of tools/benchmark/gpu_day.py, at the size of ``--smoke``.

``python tools/benchmark/gpu_checks.py losses --device cuda`` prints a row for each thing that is compared: what was
found, and the largest value that it may have. ``--out`` keeps the rows as they come, so that those before a crash stay.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

CHECKS = ('losses', 'views', 'nonfinite', 'runs', 'compiled')


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('check', choices=CHECKS)
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cuda')
    parser.add_argument('--smoke', action='store_true', help='two methods in place of six')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the rows to this .json file, too')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds
    os.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'  # without which its matrix products differ from run to run


import copy
import traceback
from dataclasses import asdict, dataclass
from socket import socket
from typing import Any

import torch
from mmengine.config import ConfigDict
from mmengine.hooks import Hook
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from torch import Tensor

from mixcl.algorithms import ContrastiveLearner, StepKey
from mixcl.apis.complexity import SyntheticIteration
from mixcl.distributed import unwrapped, whole
from mixcl.engine.hooks.health.step_log import is_logged
from mixcl.engine.runners.compiling import compile_blocks
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import reported_to_user
from mixcl.experiments.options.run import use_launcher
from mixcl.experiments.options.smoke import shrink_to_smoke
from mixcl.experiments.prepared import prepared
from mixcl.registry import MODELS

CONFIGS = Path(__file__).parents[2] / 'configs'
FAMILIES = (
    *('patchmix/vit-s16_in1k', 'simclr/r50_in1k', 'mocov2/r50_in1k', 'byol/r50_in1k', 'simsiam/r50_in1k'),
    'dino/vit-s16_in1k',
)
BATCH = 8
CHECKPOINT, FAILING = 12, 12
"""Steps of 20, within the second epoch and not one after which the log has a line."""

MOST_ROUNDING = 1e-3
"""More than this, relative to the CPU in float64, is not rounding."""


@dataclass(frozen=True)
class Row:
    """What was compared; what was found, and what it may be at most. Without ``found``, why it was not checked."""

    what: str
    found: float | None
    limit: float
    note: str = ''

    @property
    def right(self) -> bool | None:
        return None if self.found is None else self.found <= self.limit  # NaN is not


def small_model(name: str) -> tuple[ContrastiveLearner, list[Tensor]]:
    """Of a config at the size of ``--smoke``, on the CPU, with the views of a batch."""
    cfg = prepared(CONFIGS / f'{name}.py')
    shrink_to_smoke(cfg)
    cfg.model.backbone.pop('drop_path_rate', None)  # draws random numbers on the device
    if 'depth' in cfg.model.backbone:  # rounding grows with every layer and its batch statistics
        cfg.model.backbone.depth = 18
        cfg.model.neck.in_channels = 512
    torch.manual_seed(0)
    iteration = SyntheticIteration(cfg, BATCH)
    model = iteration.model
    model.init_weights()
    for parameter in model.parameters():  # losses of equal encoders are nearly zero, and so mere rounding
        parameter.data += 0.02 * torch.randn_like(parameter)
    return model, model.data_preprocessor(iteration.batch)['inputs']


def step(
    model: ContrastiveLearner, crops: list[Tensor], device: str, dtype: torch.dtype, amp: bool = False
) -> tuple[Tensor, Tensor]:
    """The losses of a copy of the model, and its gradients in one piece, float64 on the CPU."""
    copied = copy.deepcopy(model).to(device, dtype)
    copied.begin_step(StepKey(0, 0, 0))
    with torch.autocast(device, torch.bfloat16, enabled=amp):
        terms = copied([crop.to(device, dtype) for crop in crops], mode='loss')
    loss, _ = copied.parse_losses(terms)
    loss.backward()
    losses = torch.stack([value.detach() for name, value in terms.items() if 'loss' in name])
    gradients = torch.cat([p.grad.flatten() for p in copied.parameters() if p.grad is not None])
    return losses.double().cpu(), gradients.double().cpu()


def deviation(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def losses(args: argparse.Namespace) -> Iterator[Row]:
    """Against float64 on the CPU, from which a device may be as far as float32 on the CPU is, or 1e-5."""
    for name in FAMILIES[: 2 if args.smoke else None]:
        model, crops = small_model(name)
        exact, on_cpu = (step(model, crops, 'cpu', dtype) for dtype in (torch.float64, torch.float32))
        found = step(model, crops, args.device, torch.float32)
        for i, what in enumerate(('losses', 'gradients')):
            limit = max(1e-5, min(3 * deviation(on_cpu[i], exact[i]), MOST_ROUNDING))
            yield Row(f'{name}, fp32, {what}', deviation(found[i], exact[i]), limit)
        in_bf16, _ = step(model, crops, args.device, torch.float32, amp=True)
        # A cosine may be nearly zero.
        yield Row(f'{name}, bf16, losses', float((in_bf16 - exact[0]).norm() / exact[0].norm().clamp(min=1)), 2e-2)


def compiled(args: argparse.Namespace) -> Iterator[Row]:
    for name in ('patchmix/vit-s16_in1k', 'mocov2/r50_in1k'):
        model, crops = small_model(name)
        eager = step(model, crops, args.device, torch.float32)
        compile_blocks(model, True)
        found = step(model, crops, args.device, torch.float32)
        for i, (what, limit) in enumerate(dict(losses=1e-5, gradients=1e-4).items()):
            yield Row(f'{name}, compiled, {what}', deviation(found[i], eager[i]), limit)


def views(args: argparse.Namespace) -> Iterator[Row]:
    """A batch at once on the device, against one image after the other on the CPU."""
    for name in ('patchmix/vit-s16_in1k', 'dino/vit-s16_in1k'):
        cfg = prepared(CONFIGS / f'{name}.py')
        shrink_to_smoke(cfg)
        with DefaultScope.overwrite_default_scope('mixcl'):
            batch = next(iter(Runner.build_dataloader(cfg.train_dataloader, seed=0)))
            preprocessor = MODELS.build(cfg.data_preprocessor)
        crops, programs = batch['inputs'], batch['photometry']
        expected = [
            preprocessor(dict(inputs=[crop[i : i + 1] for crop in crops], photometry=programs[i : i + 1]))['inputs']
            for i in range(len(programs))
        ]
        found = copy.deepcopy(preprocessor).to(args.device)(dict(batch))['inputs']
        off = [
            ((torch.cat(singles) - view.cpu()) * preprocessor.std.cpu()).abs().flatten() > 2.5
            for singles, view in zip(zip(*expected, strict=True), found, strict=True)
        ]
        share = float(torch.cat(off).double().mean())
        yield Row(f'{name}, share of the values more than 2 of 255 levels off', share, 1e-3)


# ----- runs -----


def run(
    args: argparse.Namespace, folder: Path, resume: Path | None = None, hook: Hook | None = None, **overrides: Any
) -> Runner:
    """PatchMix for 20 steps with the views of the device, as tools/train.py would; ``__`` is the dot of a name."""
    cfg = prepared(CONFIGS / f'patchmix/{"vit-xs4_digits" if args.smoke else "vit-s16_in1k"}.py')
    shrink_to_smoke(cfg)
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    cfg.merge_from_dict({name.replace('__', '.'): value for name, value in overrides.items()})
    cfg.default_hooks.checkpoint.update(by_epoch=False, interval=CHECKPOINT)
    cfg.visualizer.vis_backends = [ConfigDict(type='LocalVisBackend')]
    cfg.env_cfg.cudnn_benchmark = False  # it may choose another convolution in each run
    cfg.update(work_dir=str(folder), experiment_name=folder.name)
    if resume is not None:
        cfg.update(resume=True, load_from=str(resume))
    use_launcher(cfg, 'pytorch' if 'RANK' in os.environ else 'none')
    runner = build_runner(cfg)
    if hook is not None:
        runner.register_hook(hook)
    runner.train()
    return runner


def weights(runner: Runner) -> Tensor:
    """All parameters and buffers in one piece, float64 on the CPU."""
    state = unwrapped(runner.model).state_dict().values()
    return torch.cat([whole(value).detach().flatten().double().cpu() for value in state])


def runs(args: argparse.Namespace) -> Iterator[Row]:
    """The end of runs that continue another one: alone, by a process that could have others beside it, and sharded."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    with tempfile.TemporaryDirectory() as folder:
        straight = weights(run(args, Path(folder, 'straight')))
        checkpoint = Path(folder, f'straight/iter_{CHECKPOINT}.pth')
        resumed = run(args, Path(folder, 'resumed'), checkpoint)
        yield Row('a resumed run, bit by bit', deviation(weights(resumed), straight), 0.0)
        os.environ.update(RANK='0', LOCAL_RANK='0', WORLD_SIZE='1', MASTER_ADDR='127.0.0.1', MASTER_PORT=free_port())
        backend = 'NCCL' if args.device == 'cuda' else 'gloo'
        for name, wrapper in dict(DDP='MMDistributedDataParallel', FSDP='MMFullyShardedDataParallel').items():
            overrides = {} if name == 'DDP' else dict(model_wrapper_cfg=ConfigDict(type=wrapper))
            joined = run(args, Path(folder, name), checkpoint, **overrides)
            if type(joined.model).__name__ != wrapper:
                raise TypeError(f'{name}: the model is a {type(joined.model).__name__}')
            yield Row(f'{name} with one process on {backend}', deviation(weights(joined), straight), 1e-6)


def free_port() -> str:
    with socket() as free:
        free.bind(('127.0.0.1', 0))
        return str(free.getsockname()[1])


class FailOnce(Hook):
    """Lets one step see NaN, forbids to wait for the GPU where the log has no line, and notes the weights."""

    def __init__(self, device: str) -> None:
        self.on_gpu = device == 'cuda'
        self.after: dict[int, Tensor] = {}

    def before_train(self, runner: Runner) -> None:
        def spoilt(module: Any, inputs: tuple) -> Any:
            return inputs[0] * float('nan') if runner.iter == FAILING else inputs

        unwrapped(runner.model).backbone.register_forward_pre_hook(spoilt)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        self._mode('error' if runner.epoch > 0 and not is_logged(runner, batch_idx) else 'default')

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: dict | None = None
    ) -> None:
        trained = [p.detach().flatten() for p in runner.model.parameters() if p.requires_grad]
        self.after[runner.iter] = torch.cat(trained)

    def after_train(self, runner: Runner) -> None:
        self._mode('default')

    def _mode(self, mode: str) -> None:
        if self.on_gpu:
            torch.cuda.set_sync_debug_mode(mode)


def nonfinite(args: argparse.Namespace) -> Iterator[Row]:
    """A step with NaN in the second epoch: it alone leaves the weights, and no step waits for the device."""
    what = 'places in a step that wait for the device'
    hook = FailOnce(args.device)
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(args, Path(folder), hook=hook, default_hooks__nonfinite__policy='skip')
        except RuntimeError as error:
            if 'synchroniz' not in str(error):
                raise
            torch.cuda.set_sync_debug_mode('default')
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if frame.filename.startswith(str(CONFIGS.parent / 'mixcl'))]
            yield Row(what, 1.0, 0.0, f'{Path(own[-1].filename).name}, line {own[-1].lineno}: {own[-1].line}')
            return
    yield Row(what, 0.0 if hook.on_gpu else None, 0.0, '' if hook.on_gpu else 'a CPU has nothing to wait for')
    steps = range(FAILING - 1, FAILING + 2)
    wrong = [i for i in steps if torch.equal(hook.after[i], hook.after[i - 1]) != (i == FAILING)]
    finite = hook.after[max(hook.after)].isfinite().all()
    yield Row('steps wrongly taken or wrongly refused around a NaN', float(len(wrong) + int(not finite)), 0.0)


def main(args: argparse.Namespace) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    rows = []
    for row in globals()[args.check](args):
        rows.append(asdict(row) | dict(right=row.right))
        found = 'not checked' if row.found is None else f'{row.found:.2g} (at most {row.limit:.2g})'
        print(f'{row.what}: {found}{": WRONG" if row.right is False else ""} {row.note}', flush=True)
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1))


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
