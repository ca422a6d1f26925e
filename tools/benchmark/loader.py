"""Speed of making batches of two views from photos: torchvision's PIL recipe, mmpretrain's MultiView, and mixcl.

``python tools/benchmark/loader.py`` draws photos into a temporary folder and prints images per second, and ratios to
torchvision. The cache of large photos is filled before. Without workers, a second is one of CPU time of one core, else
of the clock. ``--step-rate 1000`` prints how many cores feed a step of so many images per second.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from mmengine.dataset import default_collate
from mmengine.registry import DefaultScope
from mmpretrain.datasets import CustomDataset
from PIL import Image, ImageFilter
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.datasets import ImageFolder
from turns import common_options, keep_rows, median_seconds

from mixcl.datasets import KeyedDataset, ViewPreprocessor
from mixcl.recipes.prepared import prepared

CONFIG = Path(__file__).parents[2] / 'configs/patchmix/vit-s16_in1k.py'
SIZES = {'500x375': (375, 500), '12 megapixels': (3000, 4000)}
BASELINE = 'torchvision, PIL'
Batch = Callable[[Any], Any]


def draw_photos(folder: Path, shape: tuple[int, int], number: int, quality: int) -> None:
    """Write JPEG files of soft colours and a little noise, about 52 kB at 500x375 and 3.2 MB at 12 megapixels."""
    random = np.random.default_rng(0)
    (folder / 'class').mkdir(parents=True)
    for index in range(number):
        coarse = random.integers(0, 256, (shape[0] // 16 + 1, shape[1] // 16 + 1, 3), dtype=np.uint8)
        photo = cv2.resize(coarse, shape[::-1], interpolation=cv2.INTER_CUBIC)
        photo = cv2.add(photo.astype(np.float32), random.standard_normal(photo.shape, dtype=np.float32) * 8)
        pixels = np.clip(photo, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / 'class' / f'{index}.jpg', quality=quality)


class TwoViews:
    """The recipe of configs/patchmix/vit-s16_in1k.py as one would write it with torchvision."""

    def __init__(self, mean: list[float], std: list[float]) -> None:
        jitter = transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8)
        blur = transforms.Lambda(lambda image: image.filter(ImageFilter.GaussianBlur(np.random.uniform(0.1, 2))))
        self.views = [
            transforms.Compose(
                [
                    transforms.RandomResizedCrop(224, (0.05, 1), interpolation=transforms.InterpolationMode.BICUBIC),
                    jitter,
                    transforms.RandomGrayscale(0.2),
                    transforms.RandomApply([blur], blurred),
                    transforms.RandomSolarize(128, solarized),
                    transforms.RandomHorizontalFlip(),
                    transforms.ToTensor(),
                    transforms.Normalize([value / 255 for value in mean], [value / 255 for value in std]),
                ]
            )
            for blurred, solarized in ((1.0, 0.0), (0.1, 0.2))
        ]

    def __call__(self, image: Image.Image) -> list[torch.Tensor]:
        return [view(image) for view in self.views]


def loaders_to_compare(folder: Path, device: str, cache: Path) -> dict[str, tuple[Dataset, Batch]]:
    """Return by name a data set of samples, and what is then done to a batch."""
    cfg = prepared(CONFIG)
    pipeline = cfg.train_dataloader.dataset.dataset.pipeline
    settings = {name: value for name, value in cfg.data_preprocessor.items() if name != 'type'}
    preprocessor = ViewPreprocessor(**settings).to(device)
    images = dict(type='ImageFolder', data_root=str(folder), pipeline=pipeline)
    multi_view = [
        dict(type='LoadImageFromFile'),
        dict(pipeline[1], type='mmpretrain.MultiView', num_views=[1, 1]),
        pipeline[2],
    ]
    with DefaultScope.overwrite_default_scope('mixcl'):
        cached = KeyedDataset(images, 'device', cache=dict(folder=str(cache), gigabytes=1))
        for index in range(len(cached)):
            cached[index]
        return {
            BASELINE: (ImageFolder(str(folder), TwoViews(settings['mean'], settings['std'])), lambda batch: batch),
            'mmpretrain, MultiView': (CustomDataset(str(folder), pipeline=multi_view), preprocessor),
            'mixcl, Pillow': (KeyedDataset(images, 'pillow'), preprocessor),
            'mixcl to 8-bit batches': (KeyedDataset(images, 'device'), lambda batch: batch),
            f'mixcl, photometry on {device}': (KeyedDataset(images, 'device'), preprocessor),
            'cache, to 8-bit batches': (cached, lambda batch: batch),
            f'cache, photometry on {device}': (cached, preprocessor),
        }


def take_all(loader: DataLoader, finish: Batch) -> None:
    for batch in loader:
        finish(batch)


def rates(kinds: Mapping[str, tuple[Dataset, Batch]], workers: int, images: int, repeats: int) -> dict[str, float]:
    """Measure the images per second of each way."""
    options: dict[str, Any] = dict(num_workers=workers, collate_fn=default_collate, persistent_workers=workers > 0)
    batch = max(1, images // 4)
    calls = {
        name: partial(take_all, DataLoader(dataset, batch, **options), finish)
        for name, (dataset, finish) in kinds.items()
    }
    clock = time.perf_counter if workers else time.process_time
    return {name: images / seconds for name, seconds in median_seconds(calls, repeats, clock).items()}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Images per second of a loader.', parents=[common_options()])
    parser.add_argument('--num-workers', type=int, nargs='+', default=[0], help='0 1 2 4 for all')
    parser.add_argument('--sizes', nargs='+', choices=SIZES, default=list(SIZES))
    parser.add_argument(
        '--images', type=int, default=32, help='photos per turn; of the largest size, an eighth of this'
    )
    parser.add_argument('--quality', type=int, default=85, help='of the JPEG files')
    parser.add_argument('--step-rate', type=float, help='images per second of a training step, to be fed')
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    rows = []
    for size in args.sizes:
        number = args.images if size == '500x375' else max(1, args.images // 8)
        with tempfile.TemporaryDirectory() as folder:
            photos = Path(folder, 'photos')
            draw_photos(photos, SIZES[size], number, args.quality)
            kinds = loaders_to_compare(photos, args.device, Path(folder, 'cache'))
            for workers in args.num_workers:
                print(f'{size}, ' + (f'{workers} worker(s), per second' if workers else 'per second of one core'))
                found = rates(kinds, workers, number, args.repeats)
                for name, rate in found.items():
                    cores = f'  {args.step_rate / rate:6.1f} cores' if args.step_rate and not workers else ''
                    print(f'  {name:30} {rate:8.1f} images/s  {rate / found[BASELINE]:6.2f}x{cores}', flush=True)
                    rows.append(dict(size=size, workers=workers, way=name, rate=rate, ratio=rate / found[BASELINE]))
                keep_rows(rows, args.out)


if __name__ == '__main__':
    main(parse_arguments())
