"""Figure of where an encoder looks in images and in mixtures of them."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor, nn

from mixcl.backbones.patch_size import plain_patch_size
from mixcl.backbones.transformer_parts import transformer_parts
from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.randomness import generator
from mixcl.recipes.paths import mixers_of
from mixcl.registry import MIXERS
from mixcl.visualization.attention_maps import attention_layers, patch_shares, rollout, shares_by_source
from mixcl.visualization.canvas import PALETTE, finished, heat, plain, show
from mixcl.visualization.gallery import displayed, gallery_of
from mixcl.visualization.pictured import Pictured

MOST_HEADS = 12
MIXTURES = 3


def maps_of(backbone: nn.Module, images: Tensor) -> tuple[str, dict[str, Tensor]]:
    """Return what to draw beside each image: its kind, and named maps (B, h, w) that each sum to 1.

    The maps are attention of the class token or else of the patches. The last map is counted by source.

    Raises:
        UserError: if the backbone is no vision transformer whose attention is known.
    """
    parts = transformer_parts(backbone)
    layers = attention_layers(backbone, images) if parts else []
    if not parts or not layers:
        raise UserError(
            f'{type(backbone).__name__} has no attention between patches that could be drawn, as vision transformers '
            'have; draw `neighbours` or `map` of it'
        )
    tokens, size = (parts.num_prefix_tokens, parts.has_class_token), images.shape[-2:]
    heads = patch_shares(layers[-1], *tokens, size)
    maps = {f'head {number + 1}': heads[:, number] for number in range(min(heads.shape[1], MOST_HEADS))}
    maps['rollout'] = patch_shares(rollout(layers), *tokens, size)
    maps['mean of heads'] = heads.mean(dim=1)
    return 'attention of the class token' if parts.has_class_token else 'attention of all patches', maps


def attention_figure(pictured: Pictured, num_images: int = 4) -> Figure:
    """Draw heads of the last block and rollout; for mixtures, also the share of each source.

    Raises:
        UserError: if there are too few images, or the backbone has no attention.
    """
    model = pictured.model
    gallery = gallery_of(pictured, num_images, num_images)
    pixels = gallery.images(range(num_images))
    inputs = model.data_preprocessor(dict(inputs=pixels), False)['inputs']
    backbone: Any = model.backbone
    seen = displayed(pictured.config, pixels)
    kind, maps = maps_of(backbone, inputs)
    mixtures = _mixtures(pictured, backbone, inputs, seen)
    columns, extra = 1 + len(maps), min(MIXTURES, num_images) if mixtures else 0
    figure = Figure(figsize=(max(1.35 * columns, 7.5), 1.5 * (num_images + extra) + 1), layout='constrained')
    parts: Any = figure.subfigures(2, 1, height_ratios=[num_images, extra * 1.15]) if extra else [figure]
    parts[0].suptitle(f'{plain(pictured.name)}: {kind}, last block', fontsize=10)
    for row, (image, *others) in enumerate(parts[0].subplots(num_images, columns, squeeze=False)):
        show(image, seen[row], f'image {row + 1}')
        for axis, (name, values) in zip(others, maps.items(), strict=True):
            heat(axis, values[row], '' if row else name)
    if mixtures:
        _draw_mixtures(parts[1], *mixtures[1:], *maps_of(backbone, mixtures[0]), extra)
    return finished(figure)


def _mixtures(
    pictured: Pictured, backbone: nn.Module, inputs: Tensor, seen: Tensor
) -> tuple[Tensor, Tensor, Composition, Tensor] | None:
    """Return mixtures as the model and as people see them, their composition and the sources shown; None if unknown."""
    mixers = mixers_of(pictured.config.get('model') or {})
    if not mixers:
        return None
    mixer = MIXERS.build(dict(mixers[0]))
    try:
        mixer.follow(plain_patch_size(backbone))
        mixer.check(len(inputs), *inputs.shape[-2:])
    except UserError:  # too few images, or another backbone, without patches
        return None
    plan = mixer.plan(len(inputs), generator(pictured.seed, 'attention'))
    (mixed, composition), (visible, _) = (
        mixer.place(part, plan, generator(pictured.seed, 'place')) for part in (inputs, seen)
    )
    if composition.shown is None:  # every part of the image shows all sources
        return None
    return mixed, visible, composition, composition.shown


def _draw_mixtures(
    figure: Any, visible: Tensor, composition: Composition, shown: Tensor, kind: str, named: dict, count: int
) -> None:
    name, maps = list(named.items())[-1]
    sources = composition.sources.shape[1]
    attended, area = shares_by_source(maps, shown, sources)
    figure.suptitle(f'Mixtures: {kind}, by source', fontsize=10)
    axes = figure.subplots(count, 4, squeeze=False, width_ratios=[1, 1, 1, 2.2])
    colours = ListedColormap(PALETTE[:sources])
    for row, (image, where, map_, bars) in enumerate(axes[:count]):
        titles = ('mixture', 'source', name) if row == 0 else ('', '', '')
        show(image, visible[row], titles[0])
        heat(where, shown[row].int(), titles[1], colours, vmin=0, vmax=sources - 1)
        heat(map_, maps[row], titles[2])
        _draw_bars(bars, attended[row], area[row], composition.sources[row].tolist(), kind if row == 0 else '')


def _draw_bars(axis: Axes, attended: Tensor, area: Tensor, sources: Sequence[int], kind: str) -> None:
    for place, (share, part) in enumerate(zip(attended.tolist(), area.tolist(), strict=True)):
        axis.barh(place - 0.2, share, 0.36, color=PALETTE[place])
        axis.barh(place + 0.2, part, 0.36, color=PALETTE[place], alpha=0.35)
        axis.text(share, place - 0.2, f' {share:.0%}', va='center', fontsize=6)
        axis.text(part, place + 0.2, f' {part:.0%} of the area', va='center', fontsize=6)
    axis.set_yticks(range(len(sources)), [f'image {source + 1}' for source in sources], fontsize=6)
    axis.set(xlim=(0, 1.15 * max(attended.max().item(), area.max().item()) + 0.25), xticks=[])
    axis.invert_yaxis()
    axis.spines[['top', 'right', 'bottom']].set_visible(False)
    axis.set_title(f'{kind}, and (pale) of the area' if kind else '', fontsize=7)
