"""Every config of a method: it builds, its views fit, it opens few files, and its numbers are those of its recipe."""

import pytest
from configuration.all_configs import CONFIGS, built, read, twins
from configuration.readme import images_per_step

from mixcl.engine.runners.dry_run import try_views
from mixcl.recipes.facts import read_facts
from mixcl.recipes.making import made
from mixcl.recipes.paths import innermost
from mixcl.recipes.reading import read_config

# learning rate for 256 images, batch, epochs, warm-up epochs, first and last weight decay
RECIPES = {
    'patchmix/vit-t2_cifar10': (2e-3, 512, 800, 100, 0.02, 0.2),
    'patchmix/vit-s2_cifar10': (5e-4, 512, 800, 100, 0.04, 0.4),
    'patchmix/vit-b2_cifar10': (7.5e-4, 512, 800, 100, 0.04, 0.4),
    'patchmix/vit-s16_in1k': (5e-4, 1024, 300, 10, 0.04, 0.4),
    'patchmix/vit-s16_in1k_800e': (5e-4, 1024, 800, 10, 0.04, 0.4),
    'patchmix/vit-s16_in1k_released': (5e-4, 1024, 300, 10, 0.04, 0.4),
    'patchmix/vit-b16_in1k': (7.5e-4, 1024, 300, 10, 0.04, 0.4),
    **{f'mocov3/vit-{name}': (1.5e-4, 4096, 300, 40, 0.1, 0.1) for name in ('s16_in1k', 'b16_in1k')},
    **{f'mocov3/vit-{name}_cifar10': (1.5e-4, 512, 800, 40, 0.1, 0.1) for name in ('t2', 's2', 'b2')},
}
# width, depth, heads
BACKBONES = {'vit-t2': (192, 12, 3), 'vit-s2': (384, 12, 12), 'vit-b2': (768, 12, 12), 'vit-s16': (384, 12, 12),
             'vit-b16': (768, 12, 12)}  # fmt: skip
SIZES = dict(cifar10=(32, 2), cifar100=(32, 2), digits=(16, 4), fashionmnist=(28, 4))
"""Sizes of images and patches in pixels; 224 and 16 elsewhere."""


@pytest.mark.parametrize('method', sorted({name.partition('/')[0] for name in CONFIGS}))
def test_every_model_builds_and_takes_the_views_of_its_pipeline(method: str) -> None:
    tried = set()
    for name in (name for name in CONFIGS if name.startswith(f'{method}/')):
        cfg, model = read(name), built(name)
        what = str((innermost(cfg.train_dataloader.dataset).pipeline, cfg.model.backbone, cfg.model.get('views')))
        if what not in tried:
            tried.add(what)
            try_views(cfg, model)


def test_the_configs_of_both_cifars_differ_in_the_images_alone() -> None:
    assert len(list(twins())) > 20
    for first, second in twins():
        text = str(read(first).to_dict()).replace('CIFAR10', 'CIFAR100').replace('cifar10', 'cifar100')
        own = {key: value for key, value in read(second).to_dict().items() if key != 'images'}
        assert {key: value for key, value in eval(text).items() if key != 'images'} == own, second


def test_numbers_of_the_recipes() -> None:
    for name, expected in RECIPES.items():
        cfg = read(name)
        optimizer, schedule = cfg.optim_wrapper.optimizer, {node.type: node for node in cfg.param_scheduler}
        rise = schedule.get('mmpretrain.CosineAnnealingWeightDecay', dict(eta_min_ratio=1))
        found = (cfg.recipe.optimizer.lr, cfg.recipe.batch, cfg.train_cfg.max_epochs)
        kind, final = ('WarmupCosineLR', 1e-6) if name.startswith('patchmix') else ('MoCoV3CosineLR', 0)
        found += (schedule[kind].warmup, optimizer.weight_decay)
        assert (*found, optimizer.weight_decay * rise['eta_min_ratio']) == pytest.approx(expected), name
        assert (optimizer.type, tuple(optimizer.betas)) == ('AdamW', (0.9, 0.999))
        assert schedule[kind].final == final
        assert all(node.convert_to_iter_based for node in cfg.param_scheduler) and cfg.train_dataloader.drop_last


def test_any_number_of_processes_takes_the_batch_of_the_recipe_or_a_smaller_one_with_the_rate_for_it() -> None:
    for name, path in CONFIGS.items():
        cfg = read_config(path)
        recipe = read_facts(cfg)
        most = recipe.at_once or recipe.data.at_once
        needed = -(-recipe.batch // most)
        for processes in {1, needed}:
            found = made(cfg, processes)
            images = images_per_step(found, processes)
            assert images == (recipe.batch if recipe.accumulate or processes == needed else processes * most), name
            assert found.optim_wrapper.optimizer.lr == pytest.approx(recipe.optimizer.lr * images / 256), name
            assert found.train_dataloader.batch_size <= most and found.train_cfg.max_epochs == recipe.schedule.epochs


def test_backbone_and_image_size_are_what_the_name_says() -> None:
    for name in (name for name in CONFIGS if name.startswith(('patchmix/', 'mocov3/vit'))):
        model = read(name).model
        if model.backbone.type == 'TimmBackbone':  # a released model, whose name says both
            continue
        method, _, rest = name.partition('/')
        backbone, data = rest.split('_')[:2]
        side, patch = SIZES.get(data, (224, 16))
        assert (model.backbone.img_size, model.backbone.patch_size) == (side, patch), name
        arch, width = model.backbone.arch, next(built(name).neck.parameters()).shape[1]
        if backbone in BACKBONES:
            assert (arch.embed_dims, arch.num_layers, arch.num_heads) == BACKBONES[backbone]
            assert (model.neck.hidden_channels, model.neck.out_channels) == (4096, 256)
            assert model.backbone.get('drop_path_rate', 0) == (0.1 if method == 'patchmix' else 0)
        assert arch.feedforward_channels == 4 * arch.embed_dims
        assert width == arch.embed_dims
        assert (model.neck.num_layers, model.predictor.num_layers) == (3, 2)
        if method == 'patchmix' and model.mixer.type == 'PatchMix':
            assert built(name).recipe.mixer.patch_size == patch


def test_patchmix_and_its_frame() -> None:
    model = read('patchmix/vit-s16_in1k').model
    assert model.terms == [('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)]
    assert (model.mixer.num_mix, model.objective.temperature) == (3, 0.2)
    assert 'temperature_scale' not in model.objective
    assert model.target == dict(type='EMA', momentum=0.996)
    assert read('patchmix/vit-t2_cifar10').model.target == model.target  # by the paper's GFLOPs; its code has none
    for name in (name for name in CONFIGS if name.endswith('_oto')):
        frame, full = read(name), read(name.removesuffix('_oto'))
        assert frame.model.terms == [('view1', 'view2', 1.0)]
        assert {**frame.model, 'terms': None} == {**full.model, 'terms': None}
        assert (frame.optim_wrapper, frame.train_cfg) == (full.optim_wrapper, full.train_cfg)


def test_mocov3_recipe() -> None:
    for name in (name for name in CONFIGS if name.startswith('mocov3/vit') and not name.endswith('_digits')):
        model = read(name).model
        assert model.terms == [('view1', 'view2', 1.0), ('view2', 'view1', 1.0)]
        assert model.objective == dict(type='InfoNCE', temperature=0.2, temperature_scale=2)
        assert model.target == dict(type='EMA', momentum=0.99)
        assert model.backbone.fixed_position and model.backbone.frozen_patch_embed
