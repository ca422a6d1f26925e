"""Figure of the tokens of images: their principal components as colours."""

import torch
from matplotlib.figure import Figure
from torch import Tensor

from mixcl.visualization.canvas import finished, plain, show
from mixcl.visualization.gallery import displayed, gallery_of
from mixcl.visualization.pictured import Pictured

ACROSS = 4


def principal_colours(tokens: Tensor) -> Tensor:
    """Return (B, h, w, 3) in [0, 1]: the first three principal components of all tokens (B, h, w, C) together.

    Each component has the sign that makes its skewness positive, and runs from its 1st to its 99th percentile.
    """
    rows = tokens.flatten(0, 2).double()
    centred = rows - rows.mean(dim=0)
    _, directions = torch.linalg.eigh(centred.T @ centred)  # by rising eigenvalue
    components = centred @ directions[:, -3:].flip(1)
    components = torch.where(components.pow(3).mean(dim=0) < 0, -components, components)
    low, high = components.quantile(torch.tensor([0.01, 0.99], dtype=rows.dtype), dim=0)
    colours = ((components - low) / (high - low).clamp_min(1e-12)).clamp(0, 1).float()
    if colours.shape[1] < 3:  # of fewer channels
        colours = torch.cat([colours, colours.new_zeros(len(colours), 3 - colours.shape[1])], dim=1)
    return colours.unflatten(0, tokens.shape[:3])


def token_figure(pictured: Pictured, num_images: int = 8) -> Figure:
    """Draw images, and under each the principal components of its tokens as red, green and blue.

    Cells of one colour are alike to the encoder, in one image and across images. The components are those of the images
    that are drawn (as in DINOv2, https://arxiv.org/abs/2304.07193, Fig. 1, but without removing the background).

    Raises:
        UserError: if there are too few images, or the backbone has no tokens.
    """
    model, gallery = pictured.model, gallery_of(pictured, num_images, 1)
    pixels = gallery.images(range(len(gallery.indices)))
    with torch.no_grad():
        tokens = model.tokens(model.data_preprocessor(dict(inputs=pixels), False)['inputs']).float()
    colours, seen = principal_colours(tokens), displayed(pictured.config, pixels)
    columns = min(len(pixels), ACROSS)
    down = -(-len(pixels) // columns)
    figure = Figure(figsize=(max(1.9 * columns, 5), 3.8 * down + 0.6), layout='constrained')
    axes = figure.subplots(2 * down, columns, squeeze=False)
    for axis in axes.flat:
        axis.axis('off')
    for number, (image, coloured) in enumerate(zip(seen, colours, strict=True)):
        row, column = 2 * (number // columns), number % columns
        show(axes[row, column], image)
        show(axes[row + 1, column], coloured.permute(2, 0, 1))
    height, width = tokens.shape[1:3]
    figure.suptitle(f'{plain(pictured.name)}: principal components of {height} x {width} tokens', fontsize=10)
    return finished(figure)
