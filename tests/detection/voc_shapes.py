"""A tiny data set in VOC's format."""

import xml.etree.ElementTree as ET
from pathlib import Path

import cv2
import numpy as np

from tools.examples.shapes import SIZES, draw

CLASSES = ('car', 'dog', 'person')


def write_voc(folder: Path, num_images: int = 6) -> Path:
    """VOC2007 and VOC2012, each with lists trainval and test; the first object of each image is 'difficult'."""
    for year in (2007, 2012):
        root = folder / f'VOC{year}'
        for name in ('JPEGImages', 'Annotations', 'ImageSets/Main'):
            (root / name).mkdir(parents=True)
        generator = np.random.default_rng(year)
        names = [f'{year}_{number:06}' for number in range(num_images)]
        for number, name in enumerate(names):
            height, width = SIZES[number % len(SIZES)]
            image, shapes = draw(generator, height, width)
            cv2.imwrite(str(root / f'JPEGImages/{name}.jpg'), image)
            (root / f'Annotations/{name}.xml').write_bytes(_annotation(shapes, height, width))
        for part in ('trainval', 'test'):
            (root / f'ImageSets/Main/{part}.txt').write_text('\n'.join(names) + '\n')
    return folder


def _annotation(shapes: list[tuple[int, np.ndarray]], height: int, width: int) -> bytes:
    root = ET.Element('annotation')
    size = ET.SubElement(root, 'size')
    for name, value in (('width', width), ('height', height), ('depth', 3)):
        ET.SubElement(size, name).text = str(value)
    for index, (label, corners) in enumerate(shapes):
        item = ET.SubElement(root, 'object')
        ET.SubElement(item, 'name').text = CLASSES[label]
        ET.SubElement(item, 'difficult').text = str(int(index == 0 and len(shapes) > 1))
        box = ET.SubElement(item, 'bndbox')
        low, high = corners.min(0) + 1, corners.max(0) + 1
        for name, value in zip(('xmin', 'ymin', 'xmax', 'ymax'), (*low, *high), strict=True):
            ET.SubElement(box, name).text = str(round(value))
    return ET.tostring(root)
