"""Names are translated there and back without loss."""

import pytest
import torch
from weights import other_libraries as others

from mixcl.weights.layouts import LAYOUTS, layout_of, translated


@pytest.mark.parametrize(('layout', 'kind'), [(layout, kind) for layout, kinds in LAYOUTS.items() for kind in kinds])
def test_weights_come_back_the_same(layout: str, kind: str) -> None:
    for model in (others.contrastive_vit(32),) if kind == 'vit' else (others.resnet(18), others.resnet(50)):
        state = model.state_dict()
        there, _ = translated(state, 'mmpretrain', layout)
        back, left_out = translated(there, layout, 'mmpretrain')
        assert left_out == [] and (kind == 'resnet' or layout_of(there) == layout)
        torch.testing.assert_close(back, dict(state), rtol=0, atol=0)


def test_what_has_no_name_is_listed() -> None:
    state = others.contrastive_vit(32, out_type='avg_featmap').state_dict()
    assert translated(state, 'mmpretrain', 'huggingface')[1] == ['ln2.weight', 'ln2.bias']
    for layout, wanted in (('mmpretrain', 'sequential'), ('timm', 'mmpretrain')):
        assert translated(state, layout, wanted) == ({}, list(state))
