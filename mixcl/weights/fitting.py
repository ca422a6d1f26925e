"""Fitting of the weights of a file to a model: its names, its image size, its number of channels."""

import math
from collections.abc import Iterator, Mapping, Sequence

import torch
from timm.layers import resize_rel_pos_bias_table
from timm.models import adapt_input_conv
from torch import Tensor, nn

from mixcl.backbones.position_grids import Grid, grid_of, grid_of_tokens, resized
from mixcl.weights.checkpoint import REAL
from mixcl.weights.layouts import layout_of, translated, without_wrapper

HEADS = frozenset({'classifier', 'fc', 'head', 'heads', 'l1', 'l2', 'neck', 'pooler', 'predictor'})
"""Names that authors give the parts behind a backbone."""

TOKENS = frozenset({'dist_token', 'reg_token', 'register_tokens', 'storage_tokens'})
POSITIONS = frozenset({'absolute_pos_embed', 'pos_embed', 'rel_pos_bias', 'rope', 'rope_embed', 'shared_rel_pos'})
POSITION_NAMES = ('pos_embed', 'encoder.pos_embedding', 'embeddings.position_embeddings')
"""Names of learned or fixed absolute positions within a vision transformer, by library."""

ESSENTIAL = TOKENS | POSITIONS | {'attn_pool', 'norm_pre', 'pre_norm'}
"""Parts of vision transformers, other than blocks and heads, without which the rest gives other features."""

NOT_LEARNED = frozenset({'attn_mask', 'mask_token', 'relative_coords_table', 'relative_position_index'})
"""Tensors inside other parts that models compute by themselves, or that only pretraining needs."""


def renamed_for(of_model: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Return the weights of a file (``state``) by the names of a model (``of_model``), and the names that it lacks."""
    inner, prefix = without_wrapper(of_model)
    plain, wrapper = without_wrapper(state)
    around = [name for name in state if wrapper and not name.startswith(wrapper)]
    candidates: list[tuple[dict[str, Tensor], list[str]]] = [(dict(state), []), (plain, around)]
    layout, wanted = layout_of(plain), layout_of(inner) or 'mmpretrain'
    if layout and layout != wanted:
        found, no_name = translated(plain, layout, wanted)
        candidates.append((found, no_name + around))
    candidates += [({prefix + name: tensor for name, tensor in found.items()}, rest) for found, rest in candidates]
    found, rest = max(candidates, key=lambda candidate: len(of_model.keys() & candidate[0].keys()))
    return found, [*rest, *(name.removeprefix(prefix) for name in found if name not in of_model)]


def inseparable(of_model: Mapping[str, Tensor], state: Mapping[str, Tensor], unused: Sequence[str]) -> list[str]:
    """Return the unused names of a file without which its other weights give other features.

    These names are inside used parts, such as blocks, or are :data:`ESSENTIAL`. Other whole parts, such as heads and
    decoders, may stay unused.
    """
    names = [name for weights in (of_model, state) for name in without_wrapper(weights)[0] if name not in unused]
    parts = ESSENTIAL | {name.partition('.')[0] for name in names} - HEADS
    learned = [name for name in unused if name.rpartition('.')[2] not in NOT_LEARNED]
    return [name for name in learned if name.partition('.')[0] in parts]


def adapt(module: nn.Module, state: dict[str, Tensor], shape: Sequence[int] | None) -> tuple[list[str], list[str]]:
    """Adapt, in place, the weights of a file to a model of the same names; say what was changed and what is unclear.

    ``shape`` is the (height, width) of the file's images, up to a factor; None if unknown.
    """
    of_model = module.state_dict()
    notes = [*_adapt_channels(of_model, state), *_adapt_biases(of_model, state)]
    changes, unclear = _adapt_positions(module, of_model, state, shape)
    return notes + changes + _adapt_relative_positions(module, of_model, state), unclear


def _adapt_channels(of_model: Mapping[str, Tensor], state: dict[str, Tensor]) -> list[str]:
    """Sum or repeat the kernels of the first convolution for images with another number of channels, as timm does."""
    notes = []
    for name in of_model.keys() & state.keys():
        new, old = of_model[name].shape, state[name].shape
        is_first = len(new) == len(old) == 4 and old[1] == 3 and new[1] != 3
        if is_first and (new[0], *new[2:]) == (old[0], *old[2:]):
            state[name] = adapt_input_conv(new[1], state[name])
            how = 'summed' if new[1] == 1 else 'repeated and scaled by 3 / channels'
            notes.append(f'{name} from 3 to {new[1]} channels ({how})')
    return notes


def _adapt_biases(of_model: Mapping[str, Tensor], state: dict[str, Tensor]) -> list[str]:
    """Add biases of zero for query, key and value if the file has none."""
    wanted = [name for name in of_model if name.endswith('.attn.qkv.bias')]
    if not wanted or any(name in state for name in wanted):
        return []
    present = [name for name in wanted if name.removesuffix('bias') + 'weight' in state]
    state.update((name, torch.zeros_like(of_model[name])) for name in present)
    return ['no biases of query, key and value in the file: zero'] if present else []


def _adapt_positions(
    module: nn.Module, of_model: Mapping[str, Tensor], state: dict[str, Tensor], shape: Sequence[int] | None
) -> tuple[list[str], list[str]]:
    """Bring position embeddings to the model's grid, with or without a row for the class token."""
    _, prefix = without_wrapper(of_model)
    name = next(
        (prefix + name for name in POSITION_NAMES if prefix + name in of_model and prefix + name in state), None
    )
    if name is None:
        return [], []
    position, wanted, of_class, notes = state[name], of_model[name].shape, f'{prefix}cls_token', []
    if position.dim() == 3 and position.shape[1] == 1:  # (T, 1, C), as in APS
        position = position.transpose(0, 1)
    if position.dim() != 3 or position.shape[2] != wanted[2] or position.dtype not in REAL:
        return [], []
    state[name], tokens, new = position, position.shape[1], grid_of(module)
    extra, new = (wanted[1] - math.prod(new), new) if new else grid_of_tokens(wanted[1]) or (0, None)
    if new is None or extra < 0:
        return [], []
    candidates = (extra,) if extra > 1 else (extra, 1 - extra)
    told, square = shape and grid_of_tokens(tokens, shape, candidates), grid_of_tokens(tokens, extra=candidates)
    same = next(((number, new) for number in candidates if tokens - number == math.prod(new)), None)
    if told is None and (square is None if same is None else square not in (None, same)):
        grids = ' or of '.join(_sides(grid) for _, grid in filter(None, (square, same)))
        what = f'may be of {grids} patches' if square else f'has {tokens} tokens, which are no square of patches'
        return [], [f'{name} {what}, and no config in or beside the file says of which: name one (docs/weights.md)']
    found, old = told or same or square or (0, new)
    if (extra, found) == (1, 0):
        position = torch.cat([torch.zeros_like(position[:, :1]), position], dim=1)
        notes.append(f'{name} has no row for the class token in the file: zero')
    elif (extra, found) == (0, 1):
        is_kept = of_class in of_model and of_class in state
        if is_kept:
            state[of_class] = state[of_class] + position[:, :1]
        position = position[:, 1:]
        notes.append(f'{name} without the row of the class token' + f', which goes into {of_class}' * is_kept)
    is_square = new[0] == new[1]
    if old != new:
        # Between squares, fixed positions are resized too, as mmpretrain does.
        anew = getattr(module, 'fixed_position', False) and not (is_square and old[0] == old[1])
        position = of_model[name] if anew else resized(module, position, old, new, extra)
        how = 'computed anew' if anew else 'resized'
        guessed = '' if told or is_square else ' (a square, since the file says nothing else)'
        notes.append(f'{name} {how} from {_sides(old)}{guessed} to {_sides(new)} patches')
    elif not told and not is_square:
        notes.append(f'{name} taken to be of {_sides(new)} patches, as those of the model')
    state[name] = position
    return notes, []


def _adapt_relative_positions(module: nn.Module, of_model: Mapping[str, Tensor], state: dict[str, Tensor]) -> list[str]:
    """Resize tables of relative positions (BEiT, Swin) of a square window to the model's window, as timm does."""
    resized_from = set[Grid]()
    for name in of_model.keys() & state.keys():
        holder, _, kind = name.rpartition('.')
        window = getattr(module.get_submodule(holder), 'window_size', None)
        old, new = state[name], of_model[name].shape
        if kind != 'relative_position_bias_table' or not window or old.shape == new or old.shape[1:] != new[1:]:
            continue
        extra = new[0] - math.prod(2 * side - 1 for side in window)  # of a class token
        side = math.isqrt(max(len(old) - extra, 0))
        if side % 2 and side**2 == len(old) - extra:
            state[name] = resize_rel_pos_bias_table(old, tuple(window), tuple(new))
            resized_from.add(((side + 1) // 2,) * 2)
    return [f'relative positions resized from a window of {_sides(grid)}' for grid in sorted(resized_from)]


def grid_mismatch(model: nn.Module, shape: Sequence[int] | None) -> Iterator[str]:
    """Yield a sentence if a whole model's backbone has the patches of images of a shape in another grid."""
    new = grid_of(getattr(model, 'backbone', nn.Identity()))
    _, old = (new and shape and grid_of_tokens(math.prod(new), shape, (0,))) or (0, new)
    if new and old and old != new:
        yield f'its patches form a grid of {_sides(old)}, those of the model one of {_sides(new)}'


def _sides(grid: Grid) -> str:
    return f'{grid[0]}x{grid[1]}'
