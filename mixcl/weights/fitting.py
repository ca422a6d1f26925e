"""Fitting of the weights of a file to a model: its names, its image size, its number of channels."""

import math
from collections.abc import Mapping, Sequence

import torch
from timm.models import adapt_input_conv
from torch import Tensor, nn

from mixcl.weights.layouts import layout_of, translated, without_wrapper

HEADS = frozenset({'classifier', 'fc', 'head', 'heads', 'l1', 'l2', 'neck', 'pooler', 'predictor'})
"""Names that authors give the parts behind a backbone."""

TOKENS = frozenset({'dist_token', 'reg_token', 'register_tokens', 'storage_tokens'})
POSITIONS = frozenset({'absolute_pos_embed', 'pos_embed', 'rel_pos_bias', 'rope', 'rope_embed', 'shared_rel_pos'})
ESSENTIAL = TOKENS | POSITIONS | {'attn_pool', 'norm_pre', 'pre_norm'}
"""Parts of vision transformers, other than blocks and heads, without which the rest gives other features."""

NOT_LEARNED = frozenset({'attn_mask', 'mask_token', 'relative_coords_table', 'relative_position_index'})
"""Tensors inside other parts that models compute by themselves, or that only pretraining needs."""


def renamed_for(own: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Return a file's weights (``state``) by a model's names (``own``), and the names that the model does not have."""
    inner, prefix = without_wrapper(own)
    plain, wrapper = without_wrapper(state)
    around = [name for name in state if wrapper and not name.startswith(wrapper)]
    candidates: list[tuple[dict[str, Tensor], list[str]]] = [(dict(state), []), (plain, around)]
    layout, wanted = layout_of(plain), layout_of(inner) or 'mmpretrain'
    if layout and layout != wanted:
        found, no_name = translated(plain, layout, wanted)
        candidates.append((found, no_name + around))
    candidates += [({prefix + name: tensor for name, tensor in found.items()}, rest) for found, rest in candidates]
    found, rest = max(candidates, key=lambda candidate: len(own.keys() & candidate[0].keys()))
    return found, [*rest, *(name.removeprefix(prefix) for name in found if name not in own)]


def inseparable(own: Mapping[str, Tensor], state: Mapping[str, Tensor], unused: Sequence[str]) -> list[str]:
    """Return the unused names of a file without which its other weights give other features.

    These names are inside used parts, such as blocks, or are :data:`ESSENTIAL`. Other whole parts, such as heads and
    decoders, may stay unused.
    """
    names = [name for weights in (own, state) for name in without_wrapper(weights)[0] if name not in unused]
    parts = ESSENTIAL | {name.partition('.')[0] for name in names} - HEADS
    learned = [name for name in unused if name.rpartition('.')[2] not in NOT_LEARNED]
    return [name for name in learned if name.partition('.')[0] in parts]


def adapt(module: nn.Module, state: dict[str, Tensor]) -> list[str]:
    """Adapt, in place, the weights of a file to a model of the same names; return what was changed, in words."""
    own = module.state_dict()
    _, prefix = without_wrapper(own)
    notes = [*_adapt_channels(own, state), *_adapt_biases(own, state)]
    position = f'{prefix}pos_embed'
    return notes + (_adapt_positions(module, own, state, prefix) if position in own and position in state else [])


def _adapt_channels(own: Mapping[str, Tensor], state: dict[str, Tensor]) -> list[str]:
    """Sum or repeat the kernels of the first convolution for images with another number of channels, as timm does."""
    notes = []
    for name in own.keys() & state.keys():
        new, old = own[name].shape, state[name].shape
        is_first = len(new) == len(old) == 4 and old[1] == 3 and new[1] != 3
        if is_first and (new[0], *new[2:]) == (old[0], *old[2:]):
            state[name] = adapt_input_conv(new[1], state[name])
            how = 'summed' if new[1] == 1 else 'repeated and scaled by 3 / channels'
            notes.append(f'{name} from 3 to {new[1]} channels ({how})')
    return notes


def _adapt_biases(own: Mapping[str, Tensor], state: dict[str, Tensor]) -> list[str]:
    """Add biases of zero for query, key and value if the file has none."""
    wanted = [name for name in own if name.endswith('.attn.qkv.bias')]
    if not wanted or any(name in state for name in wanted):
        return []
    present = [name for name in wanted if name.removesuffix('bias') + 'weight' in state]
    state.update((name, torch.zeros_like(own[name])) for name in present)
    return ['no biases of query, key and value in the file: zero'] if present else []


def _adapt_positions(module: nn.Module, own: Mapping[str, Tensor], state: dict[str, Tensor], prefix: str) -> list[str]:
    """Bring position embeddings to (1, n, C), with or without a row for the class token; the model resizes them."""
    name, of_class, notes = f'{prefix}pos_embed', f'{prefix}cls_token', []
    position, wanted = state[name], own[name].shape
    if position.dim() == 3 and position.shape[1] == 1:  # (T, 1, C), as in APS
        position = position.transpose(0, 1)
    if position.dim() != 3 or position.shape[2] != wanted[2]:
        return []
    grid = getattr(module, 'position_resolution', None) or getattr(module, 'patch_resolution', None)
    rows = wanted[1] - math.prod(grid) if grid else _rows_before(wanted[1])
    found = _rows_before(position.shape[1])
    if (rows, found) == (1, 0):
        position = torch.cat([torch.zeros_like(position[:, :1]), position], dim=1)
        notes.append(f'{name} has no row for the class token in the file: zero')
    elif (rows, found) == (0, 1):
        is_kept = of_class in own and of_class in state
        if is_kept:
            state[of_class] = state[of_class] + position[:, :1]
        position = position[:, 1:]
        notes.append(f'{name} without the row of the class token' + f', which goes into {of_class}' * is_kept)
    if position.shape[1] != wanted[1] and rows is not None:
        notes.append(f'{name} resized from {position.shape[1]} to {wanted[1]} tokens')  # by the model, as it loads
    state[name] = position
    return notes


def _rows_before(tokens: int) -> int | None:
    """Return the number of extra tokens (0 or 1) before a square grid of patches; None if neither fits."""
    return next((extra for extra in (0, 1) if math.isqrt(tokens - extra) ** 2 == tokens - extra), None)
