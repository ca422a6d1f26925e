"""Draws two pictures beside it: target.png, four images, their mixtures of two each, and what the loss asks for; and
patches.png, a mixture, and the patches that its own find."""

from pathlib import Path

import torch
from matplotlib import cbook
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch
from PIL import Image
from sklearn.datasets import load_sample_images
from torchvision.transforms.functional import to_tensor

from mixcl import Composition, PatchMix
from mixcl.visualization.canvas import show

PIXELS, PATCH = 96, 24
BOXES = (0, 0, 427, 427), (105, 15, 445, 355), (56, 0, 456, 400), (300, 70, 640, 410)


def photos() -> torch.Tensor:
    """(4, 3, PIXELS, PIXELS): a pavilion, a flower, Grace Hopper, a lake."""
    china, flower = map(Image.fromarray, load_sample_images().images)
    hopper = Image.open(cbook.get_sample_data('grace_hopper.jpg', asfileobj=False))
    files = zip((china, flower, hopper, china), BOXES, strict=True)
    squares = [image.resize((PIXELS, PIXELS), Image.Resampling.LANCZOS, box) for image, box in files]
    return torch.stack([to_tensor(square) for square in squares])


def draw(images: torch.Tensor) -> Figure:
    mixed, mixtures = PatchMix(num_mix=2, patch_size=PATCH)(images, generator=torch.Generator().manual_seed(3))
    sides = ('to the images', images, Composition.identity(4)), ('to each other', mixed, mixtures)
    figure = Figure(figsize=(9.6, 5.1), layout='constrained')
    for part, (title, keys, composition) in zip(figure.subfigures(1, 2, wspace=0.08), sides, strict=True):
        part.suptitle(f'Mixtures {title}', fontsize=13)
        axes = part.subplots(5, 5)
        axes[0, 0].axis('off')
        target = mixtures.target(composition).dense(4)
        for row in range(4):
            show(axes[row + 1, 0], mixed[row])
            show(axes[0, row + 1], keys[row])
            for column, value in enumerate(target[row].tolist()):
                axis = axes[row + 1, column + 1]
                axis.set(xticks=[], yticks=[], facecolor=(0, 0.45, 0.7, value))
                axis.text(0.5, 0.5, f'{value:.2f}' if value else '0', ha='center', va='center', fontsize=13)
    return figure


def draw_patches(images: torch.Tensor) -> Figure:
    """A mixture, and its two images, which are pale where none of its patches finds them."""
    mixed, mixtures = PatchMix(num_mix=2, patch_size=PATCH)(images, generator=torch.Generator().manual_seed(3))
    shown = mixtures.shown[0]
    figure = Figure(figsize=(9.6, 3.6), layout='constrained')
    left, *right = figure.subplots(1, 3)
    show(left, mixed[0])
    left.set_title('a mixture: query tokens', fontsize=13)
    for image, axis in enumerate(right):
        found = (shown == image).repeat_interleave(PATCH, 0).repeat_interleave(PATCH, 1)
        show(axis, torch.where(found, images[image], 1 - 0.3 * (1 - images[image])))
        axis.set_title(f'view of image {image}: key tokens', fontsize=13)
        row, column = (shown == image).nonzero()[-image].tolist()  # one that is easily seen
        centre = (column + 0.5) * PATCH, (row + 0.5) * PATCH
        look = dict(arrowstyle='-|>', mutation_scale=18, color='magenta', linewidth=2.5)
        figure.add_artist(ConnectionPatch(centre, centre, 'data', 'data', axesA=left, axesB=axis, **look))
    for axis in (left, *right):
        for line in range(0, PIXELS + 1, PATCH):
            axis.axhline(line - 0.5, color='white', linewidth=1)
            axis.axvline(line - 0.5, color='white', linewidth=1)
    return figure


def save(figure: Figure, name: str) -> None:
    path = Path(__file__).with_name(name)
    figure.savefig(path, dpi=100)
    Image.open(path).convert('RGB').quantize(128).save(path, optimize=True)


if __name__ == '__main__':
    save(draw(photos()), 'target.png')
    save(draw_patches(photos()), 'patches.png')
