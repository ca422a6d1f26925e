"""Parameter groups, and what runs in bfloat16."""

from unittest.mock import patch

import pytest
import tiny
import torch
from mmengine.optim import OptimWrapper
from mmengine.registry import DefaultScope
from torch import nn

from mixcl.algorithms import ContrastiveLearner
from mixcl.engine import FewGroupsConstructor
from mixcl.registry import OPTIM_WRAPPERS


def build_wrapper(model: ContrastiveLearner, kind: str = 'OptimWrapper', **paramwise) -> OptimWrapper:
    cfg = dict(type=kind, optimizer=dict(type='AdamW', lr=1e-3, weight_decay=0.1))
    with DefaultScope.overwrite_default_scope('mixcl'):
        return FewGroupsConstructor(cfg, dict(flat_decay_mult=0.0, **paramwise))(model)


@pytest.mark.parametrize('paramwise', [{}, dict(custom_keys={'predictor': dict(lr_mult=10.0)})])
def test_groups_split_by_settings(paramwise: dict) -> None:
    """Position embedding and class token decay, 1-D parameters do not; the target is left out."""
    model = tiny.build()
    expected: dict[tuple, list] = {}
    for name, parameter in model.named_parameters():
        setting = (1e-3, 0.0 if parameter.dim() == 1 else 0.1)
        if paramwise and name.startswith('predictor'):
            setting = (1e-2, 0.1)
        if parameter.requires_grad:
            expected.setdefault(setting, []).append(name)
    names = {parameter: name for name, parameter in model.named_parameters()}
    groups = build_wrapper(model, **paramwise).optimizer.param_groups
    found = {(group['lr'], group['weight_decay']): sorted(names[p] for p in group['params']) for group in groups}
    assert found == {setting: sorted(group) for setting, group in expected.items()}
    assert len(groups) == (3 if paramwise else 2)


def train_once(kind: str) -> tuple[ContrastiveLearner, set[torch.dtype], dict[str, torch.Tensor]]:
    """Take one training step; return the model, the output dtypes of the backbone's linear layers and the losses."""
    torch.manual_seed(0)
    model = tiny.build().train()
    dtypes: set[torch.dtype] = set()
    for layer in model.backbone.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(lambda module, inputs, output: dtypes.add(output.dtype))
    losses = model.train_step(dict(inputs=[torch.randn(8, 3, 8, 8) for _ in range(2)]), build_wrapper(model, kind))
    return model, dtypes, losses


def test_bfloat16_computes_in_bfloat16_and_keeps_weights_in_float32() -> None:
    model, dtypes, losses = train_once('BFloat16OptimWrapper')
    assert dtypes == {torch.bfloat16}
    assert {value.dtype for value in (*model.parameters(), *losses.values())} == {torch.float32}
    reference, reference_dtypes, expected = train_once('OptimWrapper')
    assert reference_dtypes == {torch.float32}
    found, wanted = ({name: value.item() for name, value in part.items()} for part in (losses, expected))
    assert found == pytest.approx(wanted, rel=0.03)
    # AdamW's first step has the length of the learning rate wherever there is a gradient, whatever its size.
    for one, other in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=2.1e-3)


def test_clipping_reads_no_norm_and_keeps_it_for_the_log() -> None:
    parameter = nn.Parameter(torch.tensor([3.0, 4.0]))
    wrapper = OPTIM_WRAPPERS.build(
        dict(type='mixcl.OptimWrapper', optimizer=torch.optim.SGD([parameter], lr=1.0), clip_grad=dict(max_norm=1.0))
    )
    with patch.object(torch.Tensor, '__float__', side_effect=AssertionError('waits for the device')):
        wrapper.update_params((parameter.square() / 2).sum())
    torch.testing.assert_close(parameter.data, torch.tensor([2.4, 3.2]))
    assert float(wrapper.norm_before_clipping) == 5.0
