"""Every config: its keys at full size, the numbers of its recipe, and one step at the size of --smoke."""

import copy
import functools
import math
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.dataset import default_collate
from mmengine.registry import DefaultScope

from mixcl.configuration import check_config
from mixcl.engine.runners.launch import read_config
from mixcl.engine.runners.smoke import shrink_to_smoke
from mixcl.errors import UserError
from mixcl.registry import DATASETS, MODELS

CONFIGS = {
    f'{path.parent.name}/{path.stem}': path
    for path in sorted(Path('configs').rglob('*.py'))
    if not {'_base_', 'evaluation', 'transfer'} & set(path.parts)
}
IN1K_IMAGES = 1281167

# learning rate, global batch it is for, epochs, warm-up epochs, weight decay at the start and at its end
RECIPES = {
    'patchmix/vit-t2_cifar10': (4e-3, 512, 800, 100, 0.02, 0.2),
    'patchmix/vit-t2_cifar100': (4e-3, 512, 800, 100, 0.02, 0.2),
    'patchmix/vit-t2_cifar10_oto': (4e-3, 512, 800, 100, 0.02, 0.2),
    'patchmix/vit-s2_cifar10': (1e-3, 512, 800, 100, 0.04, 0.4),
    'patchmix/vit-s2_cifar100': (1e-3, 512, 800, 100, 0.04, 0.4),
    'patchmix/vit-b2_cifar10': (1.5e-3, 512, 800, 100, 0.04, 0.4),
    'patchmix/vit-b2_cifar100': (1.5e-3, 512, 800, 100, 0.04, 0.4),
    'patchmix/vit-s16_in1k': (2e-3, 1024, 300, 10, 0.04, 0.4),
    'patchmix/vit-s16_in1k_800e': (2e-3, 1024, 800, 10, 0.04, 0.4),
    'patchmix/vit-s16_in1k_oto': (2e-3, 1024, 300, 10, 0.04, 0.4),
    'patchmix/vit-s16_in1k_released': (2e-3, 1024, 300, 10, 0.04, 0.4),
    'patchmix/vit-s16_folder': (2e-3, 1024, 300, 10, 0.04, 0.4),
    'patchmix/vit-b16_in1k': (3e-3, 1024, 300, 10, 0.04, 0.4),
    'patchmix/vit-b16_in1k_800e': (3e-3, 1024, 800, 10, 0.04, 0.4),
    'mocov3/vit-s16_in1k': (1.5e-4 * 4096 / 256, 4096, 300, 40, 0.1, 0.1),
    'mocov3/vit-b16_in1k': (1.5e-4 * 4096 / 256, 4096, 300, 40, 0.1, 0.1),
    'mocov3/vit-s16_folder': (1.5e-4 * 4096 / 256, 4096, 300, 40, 0.1, 0.1),
    'mocov3/vit-t2_cifar10': (1.5e-4 * 512 / 256, 512, 800, 40, 0.1, 0.1),
    'mocov3/vit-s2_cifar100': (1.5e-4 * 512 / 256, 512, 800, 40, 0.1, 0.1),
    'mocov3/vit-b2_cifar10': (1.5e-4 * 512 / 256, 512, 800, 40, 0.1, 0.1),
}
# width, depth, heads
BACKBONES = {'vit-t2': (192, 12, 3), 'vit-s2': (384, 12, 12), 'vit-b2': (768, 12, 12), 'vit-s16': (384, 12, 12),
             'vit-b16': (768, 12, 12)}  # fmt: skip
SIZES = dict(
    in100=(224, 16),
    cifar10=(32, 2),
    cifar100=(32, 2),
    in1k=(224, 16),
    folder=(224, 16),
    digits=(16, 4),
    fashionmnist=(28, 4),
)


@functools.cache
def read(name: str) -> Config:
    """At full size; checks its keys. Read once: to be copied before it is changed."""
    return read_config(CONFIGS[name])


def one_step(cfg: Config) -> tuple[torch.nn.Module, list[torch.Tensor], dict[str, torch.Tensor]]:
    """The model after forward and backward of one batch of the config's own data; the views; the outputs."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        dataset = DATASETS.build(cfg.train_dataloader.dataset)
        model = MODELS.build(dict(cfg.model, data_preprocessor=cfg.data_preprocessor))
    model.init_weights()
    batch = default_collate([dataset[index] for index in range(cfg.train_dataloader.batch_size)])
    model.check_batch([view[0] for view in batch['inputs']], cfg.train_dataloader.batch_size)
    if hasattr(model, 'chunk'):
        batch = model.chunk(batch, 0)
    data = model.data_preprocessor(batch, True)
    outputs = model(**data, mode='loss')
    views = data['inputs']
    total, _ = model.parse_losses(outputs)
    total.backward()
    return model, views, outputs


def every_config(short: set[str]) -> list:
    """All configs as parameters, of which some run in every test and the others take long."""
    return [pytest.param(name, marks=() if name in short else pytest.mark.long) for name in CONFIGS]


ONE_PER_METHOD = {name.partition('/')[0]: name for name in CONFIGS}


@pytest.mark.parametrize('name', every_config(set(ONE_PER_METHOD.values())))
def test_one_step_of_every_config(name: str) -> None:
    full = read(name)
    cfg = copy.deepcopy(full)
    shrink_to_smoke(cfg)
    check_config(cfg)
    model, views, outputs = one_step(cfg)
    assert len(views[0]) == 8
    patch = cfg.model.backbone.get('patch_size')
    for view in views:
        height, width = view.shape[-2:]
        if patch:
            assert height % patch == width % patch == 0
            assert (height // patch) * (width // patch) <= 16
        else:
            assert max(height, width) <= 56
    if patch:
        assert len(model.backbone.layers) <= 2
    widths = [layer.out_features for head in (model.neck, model.predictor) for layer in head.modules()
              if isinstance(layer, torch.nn.Linear)]  # fmt: skip
    assert max(widths) <= (256 if cfg.model.neck.get('hidden_channels') else 2048)
    losses = {key for key in outputs if 'loss' in key}
    assert losses == {f'loss_{term[0]}_{term[1]}' for term in full.model.terms}
    assert all(math.isfinite(value.item()) for value in outputs.values())
    for parameter in model.parameters():
        assert not parameter.requires_grad or parameter.grad.isfinite().all()
    # What makes the method stays as it was.
    for part in ('streams', 'terms', 'views', 'joint', 'swap_views', 'shared_plan'):
        assert cfg.model.get(part) == full.model.get(part)
    for part in ('mixer', 'target', 'objective'):
        assert (cfg.model.get(part) or {}).get('type') == (full.model.get(part) or {}).get('type')


@pytest.mark.long
def test_every_config_builds_at_full_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the device 'meta', where weights have a shape and take no memory."""
    # Rates of drop path, which mmpretrain's ResNet reads while it is built.
    monkeypatch.setattr(torch, 'linspace', functools.partial(torch.linspace, device='cpu'))
    for name in CONFIGS:
        with DefaultScope.overwrite_default_scope('mixcl'), torch.device('meta'):
            model = MODELS.build(dict(read(name).model))
        assert {parameter.device.type for parameter in model.parameters()} == {'meta'}, name


def test_configs_are_short() -> None:
    assert not [path for path in Path('configs').rglob('*.py') if len(path.read_text().splitlines()) >= 60]


def test_every_method_has_the_backbones_and_data_sets_of_the_papers() -> None:
    small = {f'vit-{size}2_cifar{classes}' for size in 'tsb' for classes in (10, 100)}
    names = small | {'vit-s16_in1k', 'vit-b16_in1k', 'vit-s16_folder', 'vit-xs4_digits', 'vit-xs4_fashionmnist'}
    assert {f'{method}/{name}' for method in ('patchmix', 'mocov3') for name in names} <= set(CONFIGS)
    assert {f'patchmix/{name}_oto' for name in names} <= set(CONFIGS)
    assert {'patchmix/vit-s16_in1k_800e', 'patchmix/vit-b16_in1k_800e'} <= set(CONFIGS)


@pytest.mark.parametrize('name', RECIPES)
def test_numbers_of_the_recipes(name: str) -> None:
    lr, batch, epochs, warmup, decay, final_decay = RECIPES[name]
    cfg = read(name)
    optimizer = cfg.optim_wrapper.optimizer
    assert (optimizer.type, tuple(optimizer.betas)) == ('AdamW', (0.9, 0.999))
    assert optimizer.lr == pytest.approx(lr)
    assert optimizer.weight_decay == decay
    assert cfg.auto_scale_lr.base_batch_size == batch
    assert cfg.train_cfg.max_epochs == epochs
    schedule = {node.type: node for node in cfg.param_scheduler}
    assert schedule['WarmupCosineLR'].warmup == warmup
    assert schedule['WarmupCosineLR'].final == (1e-6 if name.startswith('patchmix') else 0)
    rise = schedule.get('mmpretrain.CosineAnnealingWeightDecay', dict(eta_min_ratio=1))
    assert optimizer.weight_decay * rise['eta_min_ratio'] == pytest.approx(final_decay)
    assert all(node.convert_to_iter_based for node in cfg.param_scheduler)
    assert cfg.train_dataloader.drop_last


@pytest.mark.long
@pytest.mark.parametrize('name', [name for name in CONFIGS if name.startswith(('patchmix/', 'mocov3/vit'))])
def test_backbone_and_image_size_are_what_the_name_says(name: str) -> None:
    cfg = read(name)
    method, _, rest = name.partition('/')
    backbone, data = rest.split('_')[:2]
    side, patch = SIZES[data]
    assert (cfg.model.backbone.img_size, cfg.model.backbone.patch_size) == (side, patch)
    arch = cfg.model.backbone.arch
    if backbone in BACKBONES:
        assert (arch.embed_dims, arch.num_layers, arch.num_heads) == BACKBONES[backbone]
        assert (cfg.model.neck.hidden_channels, cfg.model.neck.out_channels) == (4096, 256)
        assert cfg.model.backbone.get('drop_path_rate', 0) == (0.1 if method == 'patchmix' else 0)
    assert arch.feedforward_channels == 4 * arch.embed_dims
    assert cfg.model.neck.in_channels == arch.embed_dims
    assert cfg.model.predictor.in_channels == cfg.model.neck.out_channels
    assert (cfg.model.neck.num_layers, cfg.model.predictor.num_layers) == (3, 2)
    if method == 'patchmix' and cfg.model.mixer.type == 'PatchMix':
        assert cfg.model.mixer.patch_size == patch


def test_patchmix_and_its_frame() -> None:
    model = read('patchmix/vit-s16_in1k').model
    assert model.terms == [('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)]
    assert (model.mixer.num_mix, model.objective.temperature) == (3, 0.2)
    assert 'temperature_scale' not in model.objective
    assert model.target == dict(type='EMA', momentum=0.996)
    assert read('patchmix/vit-t2_cifar10').model.target == dict(type='StopGrad')
    for name in CONFIGS:
        if name.endswith('_oto'):
            frame, full = read(name).model, read(name.removesuffix('_oto')).model
            assert frame.terms == [('view1', 'view2', 1.0)]
            assert {**frame, 'terms': None} == {**full, 'terms': None}


def test_mocov3_recipe() -> None:
    for name in (name for name in CONFIGS if name.startswith('mocov3/vit')):
        model = read(name).model
        assert model.terms == [('view1', 'view2', 1.0), ('view2', 'view1', 1.0)]
        assert model.objective == dict(type='InfoNCE', temperature=0.2, temperature_scale=2)
        assert model.target == dict(type='EMA', momentum=0.99)
        assert model.backbone.fixed_position and model.backbone.frozen_patch_embed


def test_batch_times_processes_gives_the_epoch_of_the_paper() -> None:
    batch = read('patchmix/vit-s16_in1k').train_dataloader.batch_size
    assert IN1K_IMAGES // 8 // batch == 1251


def test_only_pretraining_configs_have_a_smoke_size() -> None:
    with pytest.raises(UserError, match='--smoke runs pretraining configs'):
        shrink_to_smoke(Config(dict(model=dict(type='mmpretrain.ImageClassifier'))))
