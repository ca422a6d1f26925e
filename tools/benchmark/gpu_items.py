"""What gpu_day.py measures, one function per item; each is called with the worker's :class:`~gpu_worker.Work`."""

import copy
import gc
import json
import math
import multiprocessing
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import torch
from gpu_counts import CONFIGS, COUNTS, ROOT
from gpu_day import read_figures
from gpu_profile import idle_share, profiled, profiling
from mmengine.config import Config, ConfigDict
from mmengine.hooks import Hook
from mmengine.runner import Runner
from plain_step import stepper
from sklearn.datasets import load_sample_images
from step import specification
from synthetic import SyntheticIteration
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from mixcl.engine.runners.compiling import compile_blocks
from mixcl.engine.runners.data_workers import kill_workers
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.quiet_runner import QuietRunner
from mixcl.recipes.images import crop_sizes
from mixcl.recipes.prepared import prepared
from mixcl.recipes.run_options import use_mixed_precision

if TYPE_CHECKING:
    from gpu_worker import Work

PEAK = 989e12
"""FLOPs per second of bfloat16 that the datasheets of H100 and H200 promise."""
PHOTOS, LINKS = 2048, 14
"""Drawn photos, and how often each is in the folder, so that an epoch is longer than what is measured."""
FOLDER = Path(tempfile.gettempdir()) / 'mixcl_photos'
WARM, MEASURED, PROFILED = 16, 64, 24
"""Steps of the end-to-end runs: before the measured ones, measured for speed, and then for idle time, in the last third
of which the loader's queue is no longer full of batches from the time that the profiler takes to start."""


def start(work: 'Work') -> None:
    """Draw photos, before CUDA starts, and start it."""
    begun = time.time()
    draw_photos(PHOTOS if work.on_gpu else 32)
    drawn = time.time()
    torch.ones(1, device=work.device).sum().item()
    card = torch.cuda.get_device_name() if work.on_gpu else 'cpu'
    shared = shutil.disk_usage('/dev/shm').free / 2**30
    seconds = dict(imports_s=begun - work.began, photos_s=drawn - begun, device_s=time.time() - drawn)
    work.record('start', card=card, shared_memory_gib=shared, **seconds)


def ceilings(work: 'Work') -> None:
    """Measure the products and copies that the device reaches, and name it."""
    side, dtype = (8192, torch.bfloat16) if work.on_gpu else (512, torch.float32)
    a, b = (torch.randn(side, side, device=work.device, dtype=dtype) for _ in range(2))
    product = 2 * side**3 / seconds_of(lambda: a @ b, work.device)
    source = torch.randn(2**31 // 4 if work.on_gpu else 2**22, device=work.device)
    target = torch.empty_like(source)
    copy = 2 * source.numel() * 4 / seconds_of(lambda: target.copy_(source), work.device)
    driver = Path('/proc/driver/nvidia/version')
    version = re.search(r'\d{3}\.\d+(\.\d+)?', driver.read_text() if driver.exists() else '')
    work.record(
        'ceilings',
        product_tflops=product / 1e12,
        copy_tb_per_s=copy / 1e12,
        torch=torch.__version__,
        cuda=torch.version.cuda,
        driver=version.group() if version else None,
    )
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        if work.on_gpu:
            work.record('attention', heads_of=32, **{backend.name: attention_ms(backend, work.device)})


def right_losses(work: 'Work') -> None:
    """Compare losses and gradients of a small PatchMix ViT in float32 with the CPU's."""
    sys.path.append(str(ROOT / 'tests/gpu'))
    from test_gpu_steps import deviation, losses_and_gradients, small_step

    torch.set_float32_matmul_precision('highest')
    torch.backends.cudnn.allow_tf32 = False
    try:
        step = small_step(config('patchmix/vit-s16_in1k', work, small=True))
        own, other = (losses_and_gradients(step, device, torch.float32) for device in (work.device, 'cpu'))
        off = dict(zip(('losses', 'gradients'), map(deviation, own, other), strict=True))
        work.record('deviation', **off)
        assert max(off.values()) <= 1e-5, off
    finally:
        torch.set_float32_matmul_precision('high')
        torch.backends.cudnn.allow_tf32 = True


def right_loop(work: 'Work') -> None:
    """Let three whole steps of the train loop run while nothing may wait for the device."""
    steps = TimedSteps(5, 3, work.device, forbid_waiting=True)
    train(config('patchmix/vit-s16_in1k', work, small=True), steps)
    work.record('steps without a wait', steps=steps.count)


def steps(work: 'Work', name: str) -> None:
    """Time the plain step and mixcl's, eager, on synthetic views in bfloat16."""
    cfg = config(name, work)
    spec = dict(specification(cfg, shape_of_views(cfg, name, work)), precision='bf16' if work.on_gpu else 'fp32')
    plain = measured(stepper(spec, torch.device(work.device)), work, name, 'plain')
    free_memory(work.device)
    own = measured(eager_step(cfg, name, work).run, work, name, 'mixcl')
    work.record('speed', mixcl_over_plain=plain / own)


def compiled(work: 'Work', name: str) -> None:
    """Time mixcl's step with compiled blocks, and what compiling takes."""
    iteration = eager_step(config(name, work), name, work)
    torch._dynamo.reset()  # else blocks that earlier parts compiled would be ready
    begun = time.time()
    compile_blocks(iteration.model, True if work.on_gpu else dict(backend='aot_eager'))
    iteration.run()
    synchronize(work.device)
    work.record('start', compile_s=time.time() - begun)
    measured(iteration.run, work, name, 'mixcl')


def profile(work: 'Work', name: str) -> None:
    """Show where the time of the eager step goes, views included."""
    cfg, batch = config(name, work), batch_size(name, work)
    iteration = SyntheticIteration(cfg, min(batch, 64), work.device, 'device')
    repeats = batch // iteration.batch_size
    iteration.batch = dict(
        inputs=[crops.repeat(repeats, 1, 1, 1).to(work.device) for crops in iteration.batch['inputs']],
        photometry=iteration.batch['photometry'].repeat(repeats, 1, 1, 1),
    )
    seconds = seconds_of(iteration.run, work.device)
    moved = json.loads(COUNTS.read_text())[name]['bytes']
    work.record('traffic', ms=1000 * seconds, gb_per_image=moved / 1e9, tb_per_s=moved * batch / seconds / 1e12)
    for figure, values in profiled(iteration, work.device, 5 if work.on_gpu else 1).items():
        work.record(figure, **values)


def end_to_end(work: 'Work', workers: str) -> None:
    """Train from JPEG files: images over the time of many steps; what data and views take."""
    cfg = config('simclr/vit-s16_in1k', work)
    batch, warm, many = (256, WARM, MEASURED) if work.on_gpu else (4, 3, 3)
    loader = cfg.train_dataloader
    loader.update(batch_size=batch, num_workers=int(workers) if work.on_gpu else 1, persistent_workers=True)
    images = dict(type='ImageFolder', data_root=str(FOLDER), pipeline=loader.dataset.dataset.pipeline)
    loader.dataset = ConfigDict(type='KeyedDataset', dataset=images, views='device')

    def record(seconds: float, data_wait: float) -> None:
        work.record('training', images_per_s=batch * many / seconds, data_wait=data_wait)

    timed = TimedSteps(warm, many, work.device, record=record)
    train(cfg, timed)
    work.record('training', idle=timed.idle)
    alone = iter(QuietRunner.build_dataloader(loader, seed=0))
    for _ in range(warm // 2):
        next(alone)
    begun = time.time()
    for _ in range(many // 2):
        data = next(alone)
    rate = batch * (many // 2) / (time.time() - begun)
    preprocessor = SyntheticIteration(cfg, 4, work.device).model.data_preprocessor
    finishing = seconds_of(lambda: preprocessor(dict(data)), work.device)
    work.record('loader', images_per_s=rate, copy_and_views_ms=1000 * finishing)


ITEMS: dict[str, Callable[..., None]] = {
    'start': start,
    'ceilings': ceilings,
    'right-losses': right_losses,
    'right-loop': right_loop,
    'steps': steps,
    'profile': profile,
    'end-to-end': end_to_end,
    'compiled': compiled,
}


# ----- parts of the items -----


def attention_ms(backend: SDPBackend, device: str) -> float | str:
    """Time attention of ViT-S/16 with 12 heads, forward and backward at 512 images; or return why there is none."""
    packed = torch.randn(512, 197, 3, 12, 32, device=device, dtype=torch.bfloat16, requires_grad=True)

    gradient = torch.randn(512, 12, 197, 32, device=device, dtype=torch.bfloat16)

    def call() -> None:
        query, key, value = (part.transpose(1, 2) for part in packed.unbind(2))
        torch.autograd.grad(scaled_dot_product_attention(query, key, value), packed, gradient)

    try:
        with sdpa_kernel(backend):
            return 1000 * seconds_of(call, device)
    except RuntimeError as error:
        return str(error)[:80]


def config(name: str, work: 'Work', small: bool = False) -> Config:
    """Read a config, to be trained in bfloat16 and without validation; rehearsals are small and in float32."""
    cfg = copy.deepcopy(prepared(ROOT / f'configs/{name}.py', smoke=small or not work.on_gpu))
    if 'depth' in cfg.model.backbone and not work.on_gpu:
        cfg.model.backbone.depth, cfg.model.neck.in_channels = 18, 512
    if work.on_gpu:  # CPUs without bfloat16 take a hundred times as long with it
        use_mixed_precision(cfg)
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    cfg.test_cfg = cfg.test_dataloader = cfg.test_evaluator = None
    cfg.visualizer.vis_backends = [ConfigDict(type='LocalVisBackend')]
    return cfg


def batch_size(name: str, work: 'Work') -> int:
    return CONFIGS[name] if work.on_gpu else 4


def shape_of_views(cfg: Config, name: str, work: 'Work') -> tuple[int, int, int, int]:
    side = max(crop_sizes(cfg.train_dataloader))
    return batch_size(name, work), 3, side, side


def eager_step(cfg: Config, name: str, work: 'Work') -> SyntheticIteration:
    """Build mixcl's step on finished views that are on the device."""
    iteration = SyntheticIteration(cfg, 8, work.device)
    shape = shape_of_views(cfg, name, work)
    views = [torch.randint(256, shape, device=work.device, dtype=torch.uint8) for _ in iteration.batch['inputs']]
    iteration.batch = dict(inputs=views)
    return iteration


def free_memory(device: str) -> None:
    gc.collect()
    if device == 'cuda':
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def synchronize(device: str) -> None:
    if device == 'cuda':
        torch.cuda.synchronize()


def seconds_of(call: Callable[[], object], device: str, count: int = 20, before: int = 5) -> float:
    """Return the median seconds of a call, by CUDA events or the clock."""
    if device == 'cpu':
        count, before = min(count, 3), 1
    for _ in range(before):
        call()
    synchronize(device)
    marks: list[Any] = []
    for _ in range(count + 1):
        if device == 'cuda':
            marks.append(torch.cuda.Event(enable_timing=True))
            marks[-1].record()
        else:
            marks.append(time.perf_counter())
        call()
    synchronize(device)
    if device == 'cuda':
        return statistics.median(one.elapsed_time(other) / 1000 for one, other in pairwise(marks))
    return statistics.median(other - one for one, other in pairwise(marks))


def measured(step: Callable[[], object], work: 'Work', name: str, side: str) -> float:
    """Record the time of a step, and return it."""
    batch, flops = batch_size(name, work), json.loads(COUNTS.read_text())[name]['flops']
    seconds = seconds_of(step, work.device)
    values = dict(ms=1000 * seconds, images_per_s=batch / seconds)
    if side == 'mixcl':  # a plain last block computes more
        figures = read_figures(work.out / 'figures.jsonl')
        ceiling = next((line['product_tflops'] for line in figures if 'product_tflops' in line), math.nan)
        used = flops * batch / seconds
        values |= dict(mfu=used / PEAK, of_measured_product=used / 1e12 / ceiling)
    if work.on_gpu:
        values['peak_gib'] = torch.cuda.max_memory_allocated() / 2**30
    work.record(side, batch=batch, **values)
    return seconds


class Enough(Exception):
    """Ends a run whose steps are measured."""


class TimedSteps(Hook):
    """Measures ``count`` steps of a run after the first ones, then the idle share of more, and ends the run.

    Args:
        record: called with the seconds of the steps, data included, and the share of them spent waiting for data.

    Attributes:
        idle: share of the time in which the GPU had nothing to do; None without one.
    """

    priority = 'LOWEST'

    def __init__(
        self,
        first: int,
        count: int,
        device: str,
        forbid_waiting: bool = False,
        record: Callable[[float, float], None] = lambda *_: None,
    ) -> None:
        self.first, self.count, self.device, self.forbid_waiting = first, count, device, forbid_waiting
        self.record = record
        self.idle: float | None = None

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None) -> None:
        if self.forbid_waiting and self.device == 'cuda' and runner.iter == self.first:
            torch.cuda.set_sync_debug_mode('error')

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None) -> None:
        done = runner.iter + 1 - self.first
        if done == 0 and not self.forbid_waiting:
            synchronize(self.device)
            self.begun = time.perf_counter()
        if done == self.count:
            if self.forbid_waiting:
                raise Enough
            synchronize(self.device)
            seconds = time.perf_counter() - self.begun
            waited, whole = (runner.message_hub.get_scalar(f'train/{name}') for name in ('data_time', 'time'))
            self.record(seconds, float(waited.mean(self.count) / whole.mean(self.count)))
            if self.device == 'cpu':
                raise Enough
            self.profiler = profiling(self.device, host=False)
            self.profiler.start()
        if done == self.count + PROFILED:
            synchronize(self.device)
            self.profiler.stop()
            self.idle = idle_share(self.profiler.events() or (), last=1 / 3)
            raise Enough


def train(cfg: Config, hook: TimedSteps) -> None:
    """Train until the hook has seen enough."""
    with tempfile.TemporaryDirectory(prefix='gpu_day') as folder:
        cfg.update(work_dir=folder, experiment_name=Path(folder).name)
        runner = build_runner(cfg)
        runner.register_hook(hook)
        try:
            runner.train()
        except Enough:
            pass
        finally:
            if hook.device == 'cuda':
                torch.cuda.set_sync_debug_mode('default')
    kill_workers()
    free_memory(hook.device)


def draw_photos(number: int) -> None:
    """Write JPEG files of 500x375, parts of scikit-learn's two photos, by as many processes as there are cores."""
    if FOLDER.exists():
        return
    unfinished = FOLDER.with_suffix('.unfinished')
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    with multiprocessing.get_context('fork').Pool(os.cpu_count()) as pool:
        pool.starmap(_draw_photo, [(unfinished, index) for index in range(number)], chunksize=8)
    unfinished.rename(FOLDER)


def _draw_photo(folder: Path, index: int) -> None:
    random = np.random.default_rng(index)
    photo = load_sample_images().images[index % 2]
    top, left = random.integers((428 - 240, 641 - 320))
    part = cv2.resize(photo[top : top + 240, left : left + 320, ::-1], (500, 375), interpolation=cv2.INTER_CUBIC)
    cv2.imwrite(str(folder / f'{index:05d}_0.jpg'), part)
    for link in range(1, LINKS):
        os.link(folder / f'{index:05d}_0.jpg', folder / f'{index:05d}_{link}.jpg')
