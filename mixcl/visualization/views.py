"""Effect of augmentation on images, with the parameters that were drawn."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from mmengine.config import Config
from torch import Tensor

from mixcl.datasets import KeyedDataset
from mixcl.datasets.keyed_dataset import SampleKey
from mixcl.datasets.transforms.device_views import DeviceViews
from mixcl.datasets.transforms.photometry import Operation
from mixcl.errors import UserError
from mixcl.shipped import name_of
from mixcl.visualization.canvas import PALETTE, finished, plain, show
from mixcl.visualization.gallery import displayed
from mixcl.visualization.pictured import spread, training_crops, training_set

MOST_VIEWS = 12
WORDS = {
    Operation.BRIGHTNESS: 'brightness x {:.2f}',
    Operation.CONTRAST: 'contrast x {:.2f}',
    Operation.SATURATION: 'saturation x {:.2f}',
    Operation.HUE: 'hue {:+.2f}',
    Operation.GRAY: 'grey',
    Operation.BLUR: 'blur {:.1f} px',
    Operation.SOLARIZE: 'solarised from {:.0f}',
    Operation.FLIP: 'mirrored',
}


def view_figure(cfg: Config, num_images: int = 4, seed: int = 0, dataset: KeyedDataset | None = None) -> Figure:
    """Draw images with the crop boxes of their views, the views, and the random parameters of each.

    The views are those of the config's kind, 'device' or 'pillow'. Their parameters are read from the device's
    programs, as a key gives the same for both kinds. Of the other steps, only crop and flip are named. For
    sampled patches (APS) the first chunk is shown, the other patches are dimmed. ``dataset`` is the config's training
    set, if already built.

    Raises:
        UserError: if the config has neither ``KeyedMultiView`` nor ``SampledPatchPair``, or too few images.
    """
    dataset = dataset or training_set(cfg, num_images)
    keys = [SampleKey(seed, 0, index) for index in spread(len(dataset), num_images)]
    samples = [dataset[key] for key in keys]
    drawn = views_as_drawn(dataset, keys)
    crops = training_crops(cfg, samples)
    columns = 1 + min(len(crops), MOST_VIEWS)
    lines = max(len(parameters_in_words(view, full)) for _, full, views in drawn for view in views)
    figure = Figure(figsize=(1.6 * columns, num_images * (1.75 + 0.13 * lines) + 0.4), layout='constrained')
    axes = figure.subplots(num_images, columns, squeeze=False)
    for row, (image, full, views) in enumerate(drawn):
        pixels = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)
        show(axes[row][0], displayed(cfg, pixels[None])[0], f'image {row + 1}')
        tokens = samples[row]['data_samples'].get('tokens') if 'data_samples' in samples[row] else None
        for number, (axis, view) in enumerate(zip(axes[row][1:], views, strict=False)):
            colour = PALETTE[number % len(PALETTE)]
            crop, title = crops[number][row], f'view {number + 1}'
            if tokens is not None:
                crop = _dimmed(crop, tokens[number, 0], samples[row]['data_samples'].patch_grid)
                title += f', {tokens.shape[2]} patches'
            show(axis, crop, title, parameters_in_words(view, full))
            axis.title.set_color(colour)
            if 'crop_box' in view:
                scale = image.shape[0] / full[0], image.shape[1] / full[1]  # a JPEG may be decoded at reduced size
                top, left, height, width = np.multiply(view['crop_box'], (*scale, *scale))
                place = (left - 0.5, top - 0.5)
                axes[row][0].add_patch(Rectangle(place, width, height, fill=False, color=colour, lw=1.5))
    title = f'Views of {plain(name_of(cfg) or "the config")}, made by: {dataset.views}'
    figure.suptitle(title, fontsize=9)
    return finished(figure)


def views_as_drawn(
    dataset: KeyedDataset, keys: Sequence[SampleKey]
) -> list[tuple[np.ndarray, tuple[int, int], list[dict]]]:
    """Return each image as its views found it, the (height, width) of its file, and the views before the photometry."""
    dataset = KeyedDataset(dataset.dataset, views='device')
    steps: list[Any] = [
        step for steps in dataset.pipelines for step in steps if isinstance(step, DeviceViews) and step.whole
    ]
    if not steps:
        raise UserError('the training pipeline makes no views: it has neither KeyedMultiView nor SampledPatchPair')
    seen: list[tuple[np.ndarray, tuple[int, int], list[dict]]] = []

    def noted(make: Callable, results: dict) -> tuple[dict, list[dict]]:
        loaded, views = make(results)
        image = loaded['img']
        seen.append((image, loaded.get('full_shape', image.shape[:2]), list(map(dict, views))))
        return loaded, views

    for step in steps:
        step.drawn = partial(noted, step.drawn)
    found = []
    for key in keys:
        dataset[key]
        found.append(seen[-1])
    return found


def parameters_in_words(view: dict, full: tuple[int, int]) -> list[str]:
    """List what was done to make a view, a line each."""
    lines = []
    if 'crop_box' in view:
        _, _, height, width = view['crop_box']
        lines.append(f'crop of {height * width / (full[0] * full[1]):.0%}')
    program = [(Operation(int(code)), number) for code, number in view['program']]
    if view.get('flip') and (Operation.FLIP, 0.0) not in program:
        lines.append(WORDS[Operation.FLIP])
    return lines + [WORDS[operation].format(number) for operation, number in program if operation in WORDS]


def _dimmed(crop: Tensor, kept: Tensor, grid: Sequence[int]) -> Tensor:
    """Make the patches of an image (C, h, w) that were not sampled pale and grey."""
    mask = torch.zeros(grid[0] * grid[1])
    mask[kept] = 1
    down, across = crop.shape[1] // grid[0], crop.shape[2] // grid[1]
    mask = mask.view(1, *grid).repeat_interleave(down, dim=1).repeat_interleave(across, dim=2)
    return mask * crop + (1 - mask) * (0.7 + 0.2 * crop.mean(dim=0, keepdim=True))
