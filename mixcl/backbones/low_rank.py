"""Low-rank updates of a model's linear layers by peft; the weights keep their names."""

import copy
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from mixcl.errors import UserError

PEFT_INFIX = '.base_layer.'
"""Part of a name that peft inserts for the weights of a layer with updates."""


SCALE = 2
"""Factor of an update in its sum with the weights."""


def add_low_rank(model: nn.Module, rank: int) -> None:
    """Give every linear layer of a model a low-rank update, scaled by 2, and freeze all else, in place.

    Weights keep their names in state dicts, so that weights without updates load. The updates are named ``lora_A`` and
    ``lora_B``.

    Raises:
        UserError: if peft is missing, or the model has no linear layer.

    Source: Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise UserError('model.backbone.lora needs the package peft: pip install peft, or leave lora out') from None
    # No subclasses of nn.Linear: torch's own attention reads the weights of its output layer instead of calling it.
    linear = [name for name, module in model.named_modules() if type(module) is nn.Linear]
    if not linear:
        raise UserError(f'model.backbone.lora: a {type(model).__name__} has no linear layers; leave lora out')
    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=SCALE * rank, target_modules=linear), model)
    model._register_state_dict_hook(_to_plain_names)
    model.register_load_state_dict_pre_hook(_from_plain_names)


def merged_updates(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights with the updates beside them, if any, added: for a model without updates."""
    merged = dict(state)
    for name in [name for name in state if '.lora_A.' in name]:
        layer, _, rest = name.partition('.lora_A.')
        weight, other = f'{layer}.weight', f'{layer}.lora_B.{rest}'
        if weight in merged and other in merged:
            update = merged.pop(other).double() @ merged.pop(name).double()
            merged[weight] = (merged[weight] + SCALE * update).to(merged[weight].dtype)
    return merged


def without_low_rank(model: nn.Module) -> nn.Module:
    """Return a copy with the updates, if any, merged into the weights."""
    model = copy.deepcopy(model)
    for name, module in list(model.named_modules()):
        if hasattr(module, 'base_layer'):
            module.merge()
            model.set_submodule(name, module.base_layer)
    return model


def _to_plain_names(module: nn.Module, state: dict[str, Any], prefix: str, metadata: dict) -> None:
    for name in [name for name in state if name.startswith(prefix) and PEFT_INFIX in name]:
        state[name.replace(PEFT_INFIX, '.')] = state.pop(name)


def _from_plain_names(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    for name, _parameter in module.named_parameters():
        plain = prefix + name.replace(PEFT_INFIX, '.')
        if PEFT_INFIX in name and plain in state:
            state[prefix + name] = state.pop(plain)
