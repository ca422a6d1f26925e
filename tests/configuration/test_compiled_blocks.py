"""Blocks of every recipe with a vision transformer compile whole: a graph break would split a block into pieces."""

import pytest
import torch
from configuration.all_configs import CONFIGS, read
from torch import nn

from mixcl.encoders.outputs import last_output
from mixcl.engine.runners import compiling
from mixcl.recipes.prepared import prepared
from mixcl.recipes.smoke import PATCHES_PER_SIDE
from mixcl.registry import MODELS

SIZES = ('arch', 'img_size', 'patch_size', 'in_channels')
BY_NAME = dict(
    type='TimmBackbone', name='vit_tiny_patch16_224', arguments=dict(img_size=64, depth=2), drop_path_rate=0.1
)


@pytest.mark.long
def test_blocks_of_every_vit_recipe_compile_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, 'check_compiler', lambda device: None)  # no C++ compiler is needed here
    recipes: dict[str, str] = {}
    for name in (name for name in CONFIGS if '/vit-' in name):
        backbone = {key: value for key, value in read(name).model.backbone.items() if key not in SIZES}
        recipes.setdefault(str(backbone), name)
    assert len(recipes) > 8
    for backbone in (*(prepared(CONFIGS[name], smoke=True).model.backbone for name in recipes.values()), BY_NAME):
        torch._dynamo.reset()
        model = nn.ModuleDict(dict(backbone=MODELS.build(backbone)))
        model.train()
        compiling.compile_blocks(model, dict(backend='eager', fullgraph=True))  # raises at a break
        side = PATCHES_PER_SIDE * backbone.get('patch_size', 16)
        images = torch.randn(2, backbone.get('in_channels', 3), side, side)
        outputs = model['backbone'](images)
        last_output(outputs[:1]).sum().backward()
