"""Tiny data in the layout of the archives of VOC 2007, ImageNet-A, ImageNet-R and ImageNet-C."""

import os
from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np
from mmpretrain.datasets.categories import VOC2007_CATEGORIES as VOC_CLASSES

from mixcl.datasets.imagenet_robustness import CORRUPTIONS, SEVERITIES, imagenet_classes

GROUPS = dict(
    noise=('gaussian_noise', 'shot_noise', 'impulse_noise'),
    blur=('defocus_blur', 'glass_blur', 'motion_blur', 'zoom_blur'),
    weather=('snow', 'frost', 'fog', 'brightness'),
    digital=('contrast', 'elastic_transform', 'pixelate', 'jpeg_compression'),
)


def picture(path: Path, height: int = 40, width: int = 30, seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    cv2.imwrite(str(path), image)


def voc_image(folder: Path, name: str, objects: Mapping[str, list[int]], size: int = 40) -> None:
    """Write an image and its annotation; ``objects`` gives the difficult flags of its objects by class."""
    picture(folder / f'JPEGImages/{name}.jpg', size, size, seed=int(name))
    items = [
        f'<object><name>{kind}</name><pose>Left</pose><truncated>0</truncated><difficult>{flag}</difficult>'
        f'<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>{size - 1}</xmax><ymax>{size - 1}</ymax></bndbox></object>'
        for kind, flags in objects.items()
        for flag in flags
    ]
    (folder / 'Annotations').mkdir(exist_ok=True)
    (folder / f'Annotations/{name}.xml').write_text(
        f'<annotation><folder>VOC2007</folder><filename>{name}.jpg</filename><size><width>{size}</width>'
        f'<height>{size}</height><depth>3</depth></size>{"".join(items)}</annotation>\n'
    )


def voc_list(folder: Path, split: str, names: list[str]) -> None:
    (folder / 'ImageSets/Main').mkdir(parents=True, exist_ok=True)
    (folder / f'ImageSets/Main/{split}.txt').write_text('\n'.join(names) + '\n')


def voc07(root: Path, size: int) -> Path:
    """Write ``root/VOCdevkit/VOC2007`` with ``size`` images in trainval and in test; return that folder.

    Every class is in four of ten images, and only difficult in one more.
    """
    folder = root / 'VOCdevkit/VOC2007'
    folder.mkdir(parents=True)
    for start, split in ((1, 'trainval'), (1 + size, 'test')):
        names = [f'{number:06d}' for number in range(start, start + size)]
        voc_list(folder, split, names)
        for number, name in enumerate(names):
            places = {
                kind: (number * (1, 3, 7)[position % 3] + position) % 10 for position, kind in enumerate(VOC_CLASSES)
            }
            objects = {kind: [0, 1] if place < 4 else [1] for kind, place in places.items() if place < 5}
            voc_image(folder, name, objects)
    return folder


def class_folders(root: Path, subset: str, per_class: int = 1) -> Path:
    """Write a folder per class of ImageNet-A ('imagenet_a') or ImageNet-R ('imagenet_r')."""
    source = root / 'README.txt'
    root.mkdir(parents=True, exist_ok=True)
    source.write_text('as in the archive')
    for position, wnid in enumerate(imagenet_classes(subset)):
        for number in range(per_class):
            picture(root / f'{wnid}/{number}.jpg', seed=position * per_class + number)
    return root


def imagenet_c(root: Path, classes: int = 2, grouped: bool = True) -> Path:
    """Write the 75 settings with an image of each of the first classes, below the archives' folders or not."""
    picture(root.parent / 'source.jpg', 224, 224)
    parents = {corruption: group for group, names in GROUPS.items() for corruption in names}
    for corruption in CORRUPTIONS:
        for severity in SEVERITIES:
            for wnid in imagenet_classes()[:classes]:
                parent = root / parents[corruption] if grouped else root
                folder = parent / corruption / str(severity) / wnid
                folder.mkdir(parents=True)
                os.link(root.parent / 'source.jpg', folder / 'ILSVRC2012_val_00000293.JPEG')
    return root


def imagenet_archives(root: Path, images: bool) -> dict[str, str]:
    """Write ImageNet-1K (an image per class and split, or none), -A, -R and -C; return roots by data set."""
    picture(root / 'picture.jpg')
    for wnid in imagenet_classes():
        for split in ('train', 'val'):
            (root / f'in1k/{split}/{wnid}').mkdir(parents=True)
            if images:
                os.link(root / 'picture.jpg', root / f'in1k/{split}/{wnid}/{split}_1.JPEG')
    for letter in 'ar':
        class_folders(root / f'imagenet-{letter}', f'imagenet_{letter}')
    imagenet_c(root / 'imagenet-c', classes=1)
    return {name: str(root / name) for name in ('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c')}
