"""Position embeddings of one grid of patches in another, against interpolation of the map that they are."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from mmengine.config import Config
from mmpretrain.models.utils import build_2d_sincos_position_embedding
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional
from weights import other_libraries as others

from mixcl.errors import UserError
from mixcl.recipes.subject import read_subject
from mixcl.registry import MODELS
from mixcl.weights import check_fits, load_pretrained, read_pretrained

WIDTH, PATCH = 32, 4
ARCH = dict(embed_dims=WIDTH, num_layers=1, num_heads=2, feedforward_channels=32)
Grid = tuple[int, int]

CHANGES: list[tuple[Grid, Grid]] = [
    ((4, 4), (2, 8)), ((8, 2), (2, 8)), ((2, 8), (4, 4)), ((2, 8), (4, 16)), ((3, 5), (4, 4)), ((4, 4), (3, 5)),
    ((6, 10), (10, 6)), ((5, 5), (3, 7)), ((3, 7), (6, 5)),
]  # fmt: skip
"""Changes of the grid, with equal and with other numbers of patches; 3x5 and a class token are as many as 4x4."""


def own(grid: Grid, **changes: Any) -> dict:
    size = tuple(PATCH * side for side in grid)
    return dict(type='ContrastiveViT', arch=ARCH, img_size=size, patch_size=PATCH) | changes


def timm(grid: Grid, **changes: Any) -> dict:
    shape = dict(embed_dim=WIDTH, depth=1, num_heads=2, mlp_ratio=1, patch_size=PATCH, img_size=own(grid)['img_size'])
    return dict(type='TimmBackbone', name='vit_tiny_patch16_224', arguments=shape | changes)


KINDS: dict[str, tuple[Any, Any, int, bool]] = dict(
    own=(own, own, 1, False),
    dino=(lambda grid: own(grid, type='DINOViT'), own, 1, False),
    timm=(timm, timm, 1, True),
    dynamic=(timm, lambda grid: timm(grid, dynamic_img_size=True), 1, True),
    average=(*[lambda grid: timm(grid, class_token=False, global_pool='avg')] * 2, 0, True),
    registers=(*[lambda grid: timm(grid, reg_tokens=4)] * 2, 5, True),
    no_row=(*[lambda grid: timm(grid, reg_tokens=4, no_embed_class=True)] * 2, 0, True),
    own_in_timm=(own, timm, 1, True),
    timm_in_own=(timm, own, 1, False),
)
"""The file's and the model's configs, the tokens before the patches in the model, and whether timm resizes."""


def built(config: dict) -> Any:
    model = MODELS.build(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


def saved(path: Path, model: nn.Module, config: dict | None = None) -> Path:
    """Save a backbone as a run does, with its config if one is given."""
    state = {f'backbone.{name}': value for name, value in model.state_dict().items()}
    meta = {} if config is None else dict(meta=dict(cfg=Config(dict(model=dict(backbone=config))).pretty_text))
    torch.save(dict(state_dict=state, **meta), path)
    return path


def positions(model: nn.Module) -> Tensor:
    return next(value for name, value in model.state_dict().items() if name.endswith('pos_embed'))[0]


def interpolated(rows: Tensor, old: Grid, new: Grid, antialias: bool) -> Tensor:
    """Resize a position embedding (patches, C) by grid, map by map."""
    maps = torch.stack([rows[:, channel].reshape(old) for channel in range(rows.shape[1])])
    resized = functional.interpolate(maps[None], size=new, mode='bicubic', align_corners=False, antialias=antialias)
    return torch.stack([resized[0, :, row, column] for row in range(new[0]) for column in range(new[1])])


def new_for(model: Any) -> tuple[str, ...]:
    return tuple(getattr(model, 'new_parameters', ()))


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize(('old', 'new'), CHANGES)
def test_a_stored_config_tells_the_grid(old: Grid, new: Grid, kind: str, tmp_path: Path) -> None:
    of_file, of_model, extra, antialias = KINDS[kind]
    source, model = built(of_file(old)), built(of_model(new))
    path = saved(tmp_path / 'some.pth', source, of_file(old))
    report = load_pretrained(model, read_pretrained(path), new_for(model))
    stored, found = positions(source), positions(model)
    before = len(stored) - math.prod(old)
    assert torch.equal(found[:extra], stored[before - extra : before])
    torch.testing.assert_close(found[extra:], interpolated(stored[before:], old, new, antialias), rtol=0, atol=1e-6)
    assert f'pos_embed resized from {old[0]}x{old[1]} to {new[0]}x{new[1]} patches' in report
    again = built(of_file(old))
    load_pretrained(again, read_pretrained(path))
    assert torch.equal(positions(again), stored)


@pytest.mark.parametrize(('old', 'new'), CHANGES)
def test_fixed_positions_are_those_of_the_model(old: Grid, new: Grid, tmp_path: Path) -> None:
    source, model = (MODELS.build(own(grid, fixed_position=True)) for grid in (old, new))
    source.init_weights()
    report = load_pretrained(model, read_pretrained(saved(tmp_path / 'some.pth', source, own(old))))
    table = build_2d_sincos_position_embedding(new[::-1], WIDTH, cls_token=True)
    assert torch.equal(model.pos_embed, table) and f'computed anew from {old[0]}x{old[1]} to' in report


BARE: list[tuple[Grid, Grid, str | None]] = [
    ((4, 4), (4, 4), None),
    ((4, 4), (6, 6), 'resized from 4x4 to 6x6 patches'),
    ((4, 4), (4, 16), 'resized from 4x4 (a square, since the file says nothing else) to 4x16 patches'),
    ((6, 10), (6, 10), 'taken to be of 6x10 patches, as those of the model'),
    ((4, 4), (2, 8), 'may be of 4x4 or of 2x8 patches'),
    ((2, 8), (2, 8), 'may be of 4x4 or of 2x8 patches'),
    ((3, 5), (3, 5), 'may be of 4x4 or of 3x5 patches'),
    ((6, 10), (8, 8), 'has 61 tokens, which are no square of patches'),
    ((6, 10), (4, 16), 'has 61 tokens, which are no square of patches'),
]


@pytest.mark.parametrize('kind', ['own', 'timm'])
@pytest.mark.parametrize(('old', 'new', 'said'), BARE)
def test_files_without_a_config(old: Grid, new: Grid, said: str | None, kind: str, tmp_path: Path) -> None:
    of_file, of_model, extra, antialias = KINDS[kind]
    source, model = built(of_file(old)), built(of_model(new))
    pretrained = read_pretrained(saved(tmp_path / 'some.pth', source))
    if said and ('may be' in said or 'has 61' in said):
        with pytest.raises(UserError, match=f'pos_embed {said}.*config.*docs/weights.md') as raised:
            load_pretrained(model, pretrained, new_for(model))
        assert 'some.pth' in str(raised.value) and '\n' not in str(raised.value)
        # The user's own config says it.
        load_pretrained(model, replace(pretrained, image_shape=own(old)['img_size']), new_for(model))
    else:
        report = load_pretrained(model, pretrained, new_for(model))
        assert said in report if said else 'pos_embed' not in report or extra == 0
    expected = interpolated(positions(source)[1:], old, new, antialias)
    torch.testing.assert_close(positions(model)[extra:], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize('config', [dict(type='TimmBackbone', arguments=dict(num_heads=2)), dict(type='DINOViT')])
def test_a_config_without_a_size_is_of_squares(config: dict, tmp_path: Path) -> None:
    source, model = built(own((4, 4))), built(own((2, 8)))
    load_pretrained(model, read_pretrained(saved(tmp_path / 'some.pth', source, config)))
    expected = interpolated(positions(source)[1:], (4, 4), (2, 8), False)
    torch.testing.assert_close(positions(model)[1:], expected, rtol=0, atol=1e-6)


def test_a_config_that_the_user_names_tells_the_grid(tmp_path: Path) -> None:
    source, config = built(own((2, 8))), tmp_path / 'mine.py'
    preprocessor = dict(type='ViewPreprocessor', mean=[0.0] * 3, std=[1.0] * 3)
    model = dict(type='FrozenEncoder', backbone=own((2, 8)), data_preprocessor=preprocessor)
    config.write_text(Config(dict(model=model, default_scope='mixcl')).pretty_text)
    subject = read_subject(str(saved(tmp_path / 'some.pth', source)), str(config))
    assert torch.equal(positions(subject.encoder()), positions(source))
    square = built(own((4, 4)))
    load_pretrained(square, subject.encoders['online'])
    expected = interpolated(positions(source)[1:], (2, 8), (4, 4), False)
    torch.testing.assert_close(positions(square)[1:], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize('library', ['timm', 'transformers'])
def test_a_folder_of_another_library_tells_the_grid(library: str, tmp_path: Path) -> None:
    source = built(timm((2, 8)))
    arguments = timm((2, 8))['arguments']
    content = dict(architecture='vit_tiny_patch16_224', model_args=arguments)
    if library == 'transformers':
        content = dict(num_attention_heads=2, image_size=list(arguments['img_size']), patch_size=PATCH)
    (tmp_path / 'config.json').write_text(json.dumps(content))
    save_file(source.model.state_dict(), tmp_path / 'model.safetensors')
    model = built(own((4, 4)))
    load_pretrained(model, read_pretrained(tmp_path))
    expected = interpolated(positions(source)[1:], (2, 8), (4, 4), False)
    torch.testing.assert_close(positions(model)[1:], expected, rtol=0, atol=1e-6)


def test_torchvision_has_squares_only(tmp_path: Path) -> None:
    model, arch = others.torchvision_vit(WIDTH, PATCH, 16), dict(ARCH, num_layers=2, feedforward_channels=4 * WIDTH)
    model.heads = nn.Identity()
    source = built(own((2, 8), arch=arch))
    load_pretrained(model, read_pretrained(saved(tmp_path / 'some.pth', source, own((2, 8)))))
    expected = interpolated(positions(source)[1:], (2, 8), (4, 4), False)
    found = model.state_dict()['encoder.pos_embedding'][0]
    torch.testing.assert_close(found[1:], expected, rtol=0, atol=1e-6)


def test_whole_models_of_another_grid_are_refused(tmp_path: Path) -> None:
    class Learner(nn.Module):
        def __init__(self, grid: Grid) -> None:
            super().__init__()
            self.backbone = built(own(grid))

    path = saved(tmp_path / 'some.pth', built(own((4, 4))), own((4, 4)))
    check_fits(Learner((4, 4)), torch.load(path), path)
    with pytest.raises(UserError, match='its patches form a grid of 4x4, those of the model one of 2x8'):
        check_fits(Learner((2, 8)), torch.load(path), path)
