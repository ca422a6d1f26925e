"""Tiny images with masks, in the layouts of VOC 2012 and of people's own folders."""

from pathlib import Path

import numpy as np
from PIL import Image

PALETTE = np.random.default_rng(0).integers(0, 256, 768, dtype=np.uint8).tolist()


def scene(number: int, classes: int, height: int = 40, width: int = 52) -> tuple[np.ndarray, np.ndarray]:
    """Return an image (H, W, 3) of rectangles on grey, whose colours tell their classes, and its mask with borders."""
    draws = np.random.default_rng(number)
    mask = np.zeros((height, width), dtype=np.uint8)
    for kind in draws.permutation(classes - 1)[:2] + 1:
        top, left = draws.integers(0, height // 2), draws.integers(0, width // 2)
        inside = slice(top, top + height // 2), slice(left, left + width // 2)
        mask[inside] = 255
        mask[inside][2:-2, 2:-2] = kind
    colours = np.random.default_rng(99).integers(0, 256, (256, 3), dtype=np.uint8)
    return colours[mask], mask


def voc12(root: Path, train: int = 8, val: int = 4) -> Path:
    """Write ``root/VOCdevkit/VOC2012`` as the archive has it; return that folder."""
    folder = root / 'VOCdevkit/VOC2012'
    for part in ('JPEGImages', 'SegmentationClass', 'ImageSets/Segmentation'):
        (folder / part).mkdir(parents=True)
    for split, numbers in dict(train=range(train), val=range(train, train + val)).items():
        names = [f'2007_{number:06d}' for number in numbers]
        (folder / f'ImageSets/Segmentation/{split}.txt').write_text('\n'.join(names) + '\n')
        for number, name in zip(numbers, names, strict=True):
            image, mask = scene(number, 21, *((40, 52) if number % 2 else (48, 36)))
            Image.fromarray(image).save(folder / f'JPEGImages/{name}.jpg', quality=95)
            indexed = Image.fromarray(mask).convert('P')
            indexed.putpalette(PALETTE)
            indexed.save(folder / f'SegmentationClass/{name}.png')
    return folder


def masked_folder(root: Path, count: int = 10, classes: int = 3) -> Path:
    """Write ``root/images`` and ``root/masks``."""
    for number in range(count):
        image, mask = scene(number, classes)
        for part, pixels in dict(images=image, masks=mask).items():
            path = root / part / f'{number % 2}/{number}.png'
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    return root
