"""Circles, rectangles and triangles on noise, to try detectors on (in COCO's format), or with masks for segmentation.

``python tools/examples/shapes.py data/shapes --images 24``
``python tools/examples/shapes.py data/masked_shapes --images 600 --masks``
"""

import argparse
import json
from pathlib import Path

import cv2
import numpy as np

CLASSES = ('circle', 'rectangle', 'triangle')
COLOURS = ((220, 60, 60), (60, 200, 60), (70, 90, 230))
SIZES = ((192, 160), (160, 192), (150, 131))  # height, width; the last is no multiple of any patch


def outline(kind: str, centre: np.ndarray, radius: float) -> np.ndarray:
    """Return (n, 2) corners of a shape, in pixels."""
    corners = dict(circle=24, rectangle=4, triangle=3)[kind]
    angles = 2 * np.pi * np.arange(corners) / corners + (np.pi / 4 if kind == 'rectangle' else -np.pi / 2)
    return centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def draw(
    generator: np.random.Generator, height: int, width: int, striped: bool = False
) -> tuple[np.ndarray, list[tuple[int, np.ndarray]]]:
    """Draw an image (H, W, 3) uint8 of one to three shapes side by side; return it with their classes and outlines.

    Each class has its colour on black; with ``striped``, all is grey, and each class has its stripes.
    """
    image = generator.integers(0, 128 if striped else 60, (height, width, 3), dtype=np.uint8)
    if striped:
        image = 64 + image[..., :1].repeat(3, axis=2)
    shapes = []
    cells = [(x, y) for x in (0.27, 0.73) for y in (0.27, 0.73)]
    for cell in generator.permutation(len(cells))[: generator.integers(1, 4)]:
        label = int(generator.integers(len(CLASSES)))
        centre = np.array(cells[cell]) * (width, height)
        radius = generator.uniform(*((0.2, 0.23) if striped else (0.14, 0.2))) * min(height, width)
        corners = outline(CLASSES[label], centre, radius)
        if striped:
            inside = fill(np.zeros((height, width), dtype=np.uint8), corners, 1) == 1
            image[inside] = stripes(generator, label, height, width)[inside, None]
        else:
            fill(image, corners, COLOURS[label])
        shapes.append((label, corners))
    return image, shapes


def fill(image: np.ndarray, corners: np.ndarray, value: int | tuple[int, int, int]) -> np.ndarray:
    """Give the pixels of an image, or a mask, within the corners a value; return it."""
    return cv2.fillPoly(image, [corners.round().astype(np.int32)], value)


def stripes(generator: np.random.Generator, label: int, height: int, width: int) -> np.ndarray:
    """Return (H, W) uint8: stripes upright, level or aslant by class, within 15 degrees; width and contrast vary."""
    angle = np.radians((0, 90, generator.choice((-45, 45)))[label] + generator.uniform(-15, 15))
    y, x = np.mgrid[:height, :width]
    waves = (x * np.cos(angle) + y * np.sin(angle)) / generator.uniform(5, 9) + generator.uniform()
    return (128 + generator.uniform(60, 127) * np.sin(2 * np.pi * waves)).astype(np.uint8)


def annotation(corners: np.ndarray, label: int, height: int, width: int, form: str) -> dict:
    """Annotate an object; ``form`` is 'polygon', 'rle' (compressed), 'counts' (uncompressed) or 'crowd'."""
    polygon = [corners.flatten().round(2).tolist()]
    from pycocotools import mask as masks  # `make det` installs it; --help needs only the core

    encoded = masks.merge(masks.frPyObjects(polygon, height, width))
    pixels = masks.decode(encoded)
    segmentation = dict(
        polygon=polygon,
        rle=dict(size=[height, width], counts=encoded['counts'].decode()),
        counts=dict(size=[height, width], counts=run_lengths(pixels)),
        crowd=dict(size=[height, width], counts=run_lengths(pixels)),
    )[form]
    return dict(
        category_id=10 * (label + 1),  # COCO's numbers have gaps, too
        bbox=masks.toBbox(encoded).tolist(),
        area=float(masks.area(encoded)),
        segmentation=segmentation,
        iscrowd=int(form == 'crowd'),
    )


def run_lengths(pixels: np.ndarray) -> list[int]:
    """Return the lengths of the runs of 0 and 1 in turn, down the columns, beginning with 0."""
    values = pixels.flatten(order='F')
    borders = np.flatnonzero(np.diff(values)) + 1
    lengths = np.diff([0, *borders, len(values)]).tolist()
    return [0, *lengths] if values[0] else lengths


def write_shapes(folder: str | Path, num_images: int = 24, seed: int = 0) -> Path:
    """Write images/ and annotations.json: polygons and run lengths in turn, a crowd in every sixth image.

    Returns:
        The folder.
    """
    folder, generator = Path(folder), np.random.default_rng(seed)
    (folder / 'images').mkdir(parents=True, exist_ok=True)
    images: list[dict] = []
    annotations: list[dict] = []
    for number in range(num_images):
        height, width = SIZES[number % len(SIZES)]
        pixels, shapes = draw(generator, height, width)
        cv2.imwrite(str(folder / 'images' / f'{number:03}.png'), pixels)
        images.append(dict(id=number, file_name=f'{number:03}.png', height=height, width=width))
        for index, (label, corners) in enumerate(shapes):
            crowd = number % 6 == 5 and index == len(shapes) - 1 > 0
            form = 'crowd' if crowd else ('polygon', 'rle', 'counts')[number % 3]
            new = annotation(corners, label, height, width, form)
            annotations.append(dict(id=len(annotations) + 1, image_id=number, **new))
    categories = [dict(id=10 * (index + 1), name=name) for index, name in enumerate(CLASSES)]
    content = dict(images=images, annotations=annotations, categories=categories)
    (folder / 'annotations.json').write_text(json.dumps(content), encoding='utf-8')
    return folder


def write_masks(folder: str | Path, num_images: int = 24, seed: int = 0, side: int = 64) -> Path:
    """Write images/ and masks/, squares of ``side`` pixels; a mask has 0 for the background and 1 to 3 for the classes.

    Returns:
        The folder.
    """
    folder, generator = Path(folder), np.random.default_rng(seed)
    for part in ('images', 'masks'):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for number in range(num_images):
        pixels, shapes = draw(generator, side, side, striped=True)
        mask = np.zeros((side, side), dtype=np.uint8)
        for label, corners in shapes:  # in the order of drawing, since two may touch
            fill(mask, corners, label + 1)
        for part, values in dict(images=pixels, masks=mask).items():
            cv2.imwrite(str(folder / part / f'{number:05}.png'), values)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a data set in COCO's format, or with masks.")
    parser.add_argument('folder')
    parser.add_argument('--images', type=int, default=24)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--masks', action='store_true', help='images/ and masks/ for segmentation, grey and striped')
    arguments = parser.parse_args()
    write = write_masks if arguments.masks else write_shapes
    print(f'written: {write(arguments.folder, arguments.images, arguments.seed)}')


if __name__ == '__main__':
    main()
