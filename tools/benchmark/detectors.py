"""Time and memory of a training step: mixcl's ViT Mask R-CNN beside mmdet's own Mask R-CNN R50-FPN, on equal images.

``python tools/benchmark/detectors.py --image-size 1024`` prints a table. A step is a batch of random images with ten
random objects each through the detector, the backward pass, and the optimiser. Memory is the peak above what was
allocated before the step on a GPU, on a CPU that of tensors saved for the backward pass. Times are taken in turns; on a
CPU they are of computing, which other work on the machine does not change.
"""

import argparse
import statistics
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Cost of a training step of detectors.')
    parser.add_argument('--config', default=str(ROOT / 'configs/transfer/coco/mask-rcnn_vit-b16_1x.py'))
    parser.add_argument('--image-size', type=int, default=1024, help='a multiple of 64')
    parser.add_argument('--batch-size', type=int, default=1)
    parser.add_argument('--repeats', type=int, default=5, help='timed steps, of which the median is printed')
    parser.add_argument('--amp', action='store_true', help='bfloat16 autocast')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import mmdet
import torch
from mmdet.registry import MODELS
from mmdet.testing import demo_mm_inputs
from mmengine.config import Config, ConfigDict
from mmengine.model import BaseModel, revert_sync_batchnorm
from mmengine.registry import init_default_scope
from torch.optim import SGD, Optimizer

import mixcl.detection  # noqa: F401
from mixcl.apis.complexity import activation_bytes
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations

MMDET_CONFIG = Path(mmdet.__file__).parent / '.mim/configs/mask_rcnn/mask-rcnn_r50_fpn_1x_coco.py'
OBJECTS = 10
CHECKPOINTED = 'the same, activation checkpointing'


def detectors(config: str, image_size: int) -> dict[str, ConfigDict]:
    """The models' configs by name, all of which start from random weights and pad to ``image_size``."""
    transformer = Config.fromfile(config).model
    transformer.backbone.img_size = image_size
    residual = Config.fromfile(MMDET_CONFIG).model
    residual.backbone.init_cfg = None
    models = {
        'R50-FPN of mmdet': residual,
        Path(config).stem: transformer,
        CHECKPOINTED: transformer,
    }
    for model in models.values():
        model.data_preprocessor.pad_size_divisor = image_size
    return models


def random_batch(batch_size: int, image_size: int) -> dict:
    """Images and objects as mmdet's loaders give them."""
    shape = (3, image_size, image_size)
    return demo_mm_inputs(batch_size, [shape] * batch_size, [OBJECTS] * batch_size, num_classes=2, with_mask=True)


def step(model: BaseModel, optimizer: Optimizer, batch: dict, amp: bool) -> None:
    data = model.data_preprocessor(batch, training=True)
    with torch.autocast(data['inputs'].device.type, torch.bfloat16, enabled=amp):
        loss, _ = model.parse_losses(model(**data, mode='loss'))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def seconds(run: partial) -> float:
    """Duration of one step: as a clock shows it on a GPU, of computing in all threads on a CPU."""
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    start = clock()
    run()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - start


def main(arguments: argparse.Namespace) -> None:
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    place = torch.cuda.get_device_name() if device.type == 'cuda' else f'{torch.get_num_threads()} CPU thread(s)'
    print(f'{arguments.batch_size} x {arguments.image_size}^2 px, {"bf16" if arguments.amp else "fp32"}, {place}')
    init_default_scope('mmdet')
    torch.manual_seed(0)
    batch = random_batch(arguments.batch_size, arguments.image_size)
    runs, models = {}, {}
    for name, settings in detectors(arguments.config, arguments.image_size).items():
        model = revert_sync_batchnorm(MODELS.build(settings)).to(device)
        model.train()
        if name == CHECKPOINTED:
            checkpoint_activations(model, 'backbone.layers')
        models[name] = model
        runs[name] = partial(step, model, SGD(model.parameters(), lr=0.0), batch, arguments.amp)
        runs[name]()  # caches are warm
    memory = {name: activation_bytes(models[name], run) for name, run in runs.items()}
    times = [{name: seconds(run) for name, run in runs.items()} for _ in range(arguments.repeats)]
    print(f'{"":36}{"parameters":>12}{"s per step":>12}{"MiB":>10}')
    for name, model in models.items():
        size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        median = statistics.median(part[name] for part in times)
        print(f'{name:36}{size:>10.1f} M{median:>12.3f}{memory[name] / 2**20:>10.0f}', flush=True)


if __name__ == '__main__':
    main(arguments)
