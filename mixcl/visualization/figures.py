"""Figures by name."""

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from mixcl.visualization.attention import attention_figure
from mixcl.visualization.feature_map import map_figure
from mixcl.visualization.keys import key_figure
from mixcl.visualization.mix_preview import mixture_figure
from mixcl.visualization.neighbours import neighbour_figure
from mixcl.visualization.pictured import Pictured
from mixcl.visualization.similarity import similarity_figure
from mixcl.visualization.token_colours import token_figure
from mixcl.visualization.views import view_figure

OF_TRAINING: dict[str, Callable[..., Figure]] = dict(mix=mixture_figure, views=view_figure)
OF_MODELS: dict[str, Callable[..., Figure]] = dict(
    attention=attention_figure,
    tokens=token_figure,
    similarity=similarity_figure,
    keys=key_figure,
    neighbours=neighbour_figure,
    map=map_figure,
)


def drawn(name: str, pictured: Pictured, **options: Any) -> Figure:
    """Draw the figure of a name, with options such as ``num_images``.

    Raises:
        UserError: if it cannot be drawn.
    """
    if name in OF_TRAINING:
        return OF_TRAINING[name](pictured.training, seed=pictured.seed, **options)
    return OF_MODELS[name](pictured, **options)
