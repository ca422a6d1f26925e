"""Names are translated and back again without a loss."""

import pytest
import torch
from weights import other_libraries as others

from mixcl.weights.layouts import LAYOUTS, from_layout, layout_of, to_layout


@pytest.mark.parametrize('layout', [name for name, kinds in LAYOUTS.items() if 'vit' in kinds])
def test_vision_transformers_come_back_the_same(layout: str) -> None:
    state = others.contrastive_vit(32).state_dict()
    there = to_layout(state, layout)
    assert layout_of(there) == layout
    back = from_layout(there, layout)
    torch.testing.assert_close(back, dict(state), rtol=0, atol=0)


@pytest.mark.parametrize('depth', [18, 50])
@pytest.mark.parametrize('layout', [name for name, kinds in LAYOUTS.items() if 'resnet' in kinds])
def test_resnets_come_back_the_same(layout: str, depth: int) -> None:
    state = others.resnet(depth).state_dict()
    torch.testing.assert_close(from_layout(to_layout(state, layout), layout), dict(state), rtol=0, atol=0)


def test_what_has_no_name_is_an_error() -> None:
    state = others.contrastive_vit(32, out_type='avg_featmap').state_dict()
    with pytest.raises(ValueError, match=r'huggingface has no names for ln2\.bias, ln2\.weight'):
        to_layout(state, 'huggingface')
    with pytest.raises(ValueError, match='aps has no names for such a network'):
        to_layout(others.resnet(18).state_dict(), 'aps')
    with pytest.raises(ValueError, match='by the names of timm'):
        from_layout(state, 'timm')
