"""Ranges of numbers in configs by the name of their key, whatever the library."""

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from mixcl.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, POSITIVE, SEVERAL, SHARE, SHARE_ABOVE_ZERO, Range

WHOLE = Range(COUNT.words, lambda value: 1 <= value < 1e12 and value % 1 == 0)  # mmengine takes 2.0, too
CORES = os.cpu_count() or 1
MOST_WORKERS = max(64, 4 * CORES)
UP_TO_A_MILLION = Range('a number above 0, at most 1,000,000', lambda value: 0 < value <= 1e6)  # of positions, 10,000
COUNTED = (
    *('accumulative_counts', 'base_batch_size', 'batch_size', 'max_epochs', 'max_iters', 'val_interval'),
    *('embed_dims', 'feedforward_channels', 'hidden_channels', 'num_heads', 'num_layers', 'num_patches'),
    *('bottleneck_channels', 'decoder_depth', 'decoder_embed_dim', 'decoder_num_heads', 'embed_dim'),
    *('channel', 'encoder_stride', 'in_channels', 'mask_patch_size', 'model_patch_size', 'patch_size'),
)
SHARES = ('attn_drop_rate', 'drop_path_rate', 'drop_prob', 'drop_rate', 'dropout', 'dropout_ratio', 'momentum', 'prob')
RANGES: dict[str, Range] = {
    **dict.fromkeys(COUNTED, WHOLE),
    **dict.fromkeys(SHARES, SHARE),
    **dict.fromkeys(('label_smooth_val', 'label_smoothing', 'smoothing'), BELOW_ONE),
    **dict.fromkeys(('final', 'lr', 'max_seconds', 'warmup', 'weight_decay'), NOT_NEGATIVE),
    **dict.fromkeys(('decay_mult', 'flat_decay_mult', 'lr_mult', 'norm_decay_mult', 'bias_decay_mult'), NOT_NEGATIVE),
    **dict.fromkeys(('epsilon', 'student_temperature', 'teacher_temperature', 'temperature'), UP_TO_A_MILLION),
    **dict.fromkeys(('crop_ratio_range', 'layer_decay_rate'), SHARE_ABOVE_ZERO),
    **dict.fromkeys(('brightness', 'contrast', 'saturation'), Range('from 0 to 100', lambda value: 0 <= value <= 100)),
    'mask_ratio': Range('a number between 0 and 1, neither of them', lambda value: 0 < value < 1),
    'num_prototypes': SEVERAL,
    'position_offset': BELOW_ONE,
    'mean': Range('a number', math.isfinite),
    'std': POSITIVE,
    'thr': Range('a number from 0 to 256', lambda value: 0 <= value <= 256),
    'interval': Range(f'{WHOLE.words}, or -1 for never', lambda value: value == -1 or WHOLE.test(value)),
    'seed': Range('a whole number from 0 to 2**32 - 1', lambda value: isinstance(value, int) and 0 <= value < 2**32),
    'max_norm': Range('a number above 0', lambda value: value > 0),
    'num_workers': Range(
        f'a whole number from 0 to {MOST_WORKERS} (this machine has {CORES} cores)',
        lambda value: isinstance(value, int) and 0 <= value <= MOST_WORKERS,
    ),
}
"""Allowed range of each number under a key, by the name of the key, whatever the library."""


def wrong_values(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a dict whose values make no sense, and what each value must be, in words."""
    for key, value in node.items():
        parts = value if isinstance(value, (list, tuple)) else [value]
        plain = [part for part in parts if isinstance(part, (bool, int, float, str))]
        if key in RANGES and not all(map(RANGES[key].holds, plain)):
            yield key, RANGES[key].words
        elif key != 'max_norm' and any(isinstance(part, float) and not math.isfinite(part) for part in plain):
            yield key, 'finite'
        elif key in ('sampler', 'batch_sampler') and plain:
            yield key, "a dict, such as dict(type='DefaultSampler', shuffle=True)"
    for of_width, of_heads in (('embed_dims', 'num_heads'), ('decoder_embed_dim', 'decoder_num_heads')):
        width, heads = node.get(of_width), node.get(of_heads)
        if isinstance(width, int) and isinstance(heads, int) and (heads < 1 or width % heads):
            yield of_heads, f'a divisor of {of_width}={width}'
