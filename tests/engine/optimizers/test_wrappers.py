"""Parameter groups, and what runs in bfloat16."""

import pytest
import tiny
import torch
from mmengine.optim import OptimWrapper
from mmengine.registry import DefaultScope

from mixcl.algorithms import ContrastiveLearner
from mixcl.engine import FewGroupsConstructor


def build_wrapper(model: ContrastiveLearner, kind: str = 'OptimWrapper', **paramwise) -> OptimWrapper:
    cfg = dict(type=kind, optimizer=dict(type='AdamW', lr=1e-3, weight_decay=0.1))
    with DefaultScope.overwrite_default_scope('mixcl'):
        return FewGroupsConstructor(cfg, paramwise)(model)


def names_by_group(model: ContrastiveLearner, wrapper: OptimWrapper) -> list[list[str]]:
    names = {parameter: name for name, parameter in model.named_parameters()}
    return [[names[parameter] for parameter in group['params']] for group in wrapper.optimizer.param_groups]


def trainable(model: ContrastiveLearner) -> dict[str, torch.nn.Parameter]:
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_two_groups_split_by_dimension() -> None:
    model = tiny.build()
    wrapper = build_wrapper(model, flat_decay_mult=0.0)
    decayed, flat = names_by_group(model, wrapper)
    assert [group['weight_decay'] for group in wrapper.optimizer.param_groups] == [0.1, 0.0]
    own = trainable(model)
    assert sorted(flat) == sorted(name for name, parameter in own.items() if parameter.dim() == 1)
    assert sorted(decayed + flat) == sorted(own)
    assert {'backbone.pos_embed', 'backbone.cls_token'} <= set(decayed)
    assert not any(name.startswith('target.') for name in decayed + flat)


def test_custom_keys_make_a_group_of_their_own() -> None:
    model = tiny.build()
    wrapper = build_wrapper(model, flat_decay_mult=0.0, custom_keys={'predictor': dict(lr_mult=10.0)})
    decayed, flat, predictor = names_by_group(model, wrapper)
    settings = [(group['lr'], group['weight_decay']) for group in wrapper.optimizer.param_groups]
    assert settings == [(1e-3, 0.1), (1e-3, 0.0), (pytest.approx(1e-2), 0.1)]
    assert sorted(predictor) == sorted(name for name in trainable(model) if name.startswith('predictor'))
    assert sorted(decayed + flat + predictor) == sorted(trainable(model))


def train_once(kind: str) -> tuple[ContrastiveLearner, set[torch.dtype], dict[str, torch.Tensor]]:
    """One training step; also the dtypes that the backbone's linear layers gave."""
    torch.manual_seed(0)
    model = tiny.build().train()
    dtypes: set[torch.dtype] = set()
    for layer in model.backbone.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(lambda module, inputs, output: dtypes.add(output.dtype))
    views = [torch.randn(8, 3, 8, 8) for _ in range(2)]
    wrapper = build_wrapper(model, kind, flat_decay_mult=0.0)
    losses = model.train_step(dict(inputs=views), wrapper)
    return model, dtypes, losses


def test_bfloat16_computes_in_bfloat16_and_keeps_weights_in_float32() -> None:
    model, dtypes, losses = train_once('BFloat16OptimWrapper')
    assert dtypes == {torch.bfloat16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    reference, reference_dtypes, expected = train_once('OptimWrapper')
    assert reference_dtypes == {torch.float32}
    for name, value in expected.items():
        assert losses[name].item() == pytest.approx(value.item(), rel=0.03), name
        assert losses[name].dtype == torch.float32, name
    for name, parameter in trainable(model).items():
        # AdamW's first step has the length of the learning rate wherever there is a gradient, whatever its size.
        torch.testing.assert_close(parameter, reference.get_parameter(name), rtol=0, atol=2.1e-3, msg=name)
