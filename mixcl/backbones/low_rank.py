"""Low-rank updates of a model's linear layers by peft, under which the model keeps the names of its weights."""

import copy
from typing import Any

from torch import nn

from mixcl.errors import UserError

INSIDE = '.base_layer.'
"""Where peft keeps the weights of a layer that has updates."""


def add_low_rank(model: nn.Module, settings: dict) -> None:
    """Give every linear layer of a model a low-rank update and freeze all else, in place.

    In state dicts the weights keep their names, so that weights without updates load, and the updates have names of
    their own, ``lora_A`` and ``lora_B``.

    Args:
        model: with linear layers.
        settings: arguments of ``peft.LoraConfig``, for example ``dict(r=8)``; ``lora_alpha`` is twice r by default.

    Raises:
        UserError: if peft is missing or refuses the settings, or the model has no linear layer.

    Source: Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise UserError('model.backbone.lora needs the package peft: pip install peft, or leave lora out') from None
    # Not its subclasses: torch's own attention reads the weights of its output layer instead of calling it.
    linear = [name for name, module in model.named_modules() if type(module) is nn.Linear]
    if not linear and 'target_modules' not in settings:
        raise UserError(f'model.backbone.lora: a {type(model).__name__} has no linear layers; leave lora out')
    defaults = dict(target_modules=linear, lora_alpha=2 * settings.get('r', 8))
    try:
        inject_adapter_in_model(LoraConfig(**(defaults | settings)), model)
    except (TypeError, ValueError) as error:
        raise UserError(f'model.backbone.lora={settings!r}: peft refuses it ({error})') from error
    model._register_state_dict_hook(_to_plain_names)
    model.register_load_state_dict_pre_hook(_from_plain_names)


def without_low_rank(model: nn.Module) -> nn.Module:
    """A copy with the updates, if there are any, merged into the weights."""
    model = copy.deepcopy(model)
    for name, module in list(model.named_modules()):
        if hasattr(module, 'base_layer'):
            module.merge()
            parent, _, last = name.rpartition('.')
            setattr(model.get_submodule(parent), last, module.base_layer)
    return model


def _to_plain_names(module: nn.Module, state: dict[str, Any], prefix: str, metadata: dict) -> None:
    for name in [name for name in state if name.startswith(prefix) and INSIDE in name]:
        state[name.replace(INSIDE, '.')] = state.pop(name)


def _from_plain_names(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    for name, _parameter in module.named_parameters():
        plain = prefix + name.replace(INSIDE, '.')
        if INSIDE in name and plain in state:
            state[prefix + name] = state.pop(plain)
