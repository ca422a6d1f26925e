"""Which recipe a checkpoint gets; rates, batches and epochs are those of the papers and their authors' code."""

import pytest
from evaluation.composed import CONFIGS, composed, recipe_of
from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.evaluation.recipes import PROTOCOLS, TABLE, data_of, family_of, find_recipe, parts_of_name

RESNET, CIFAR_RESNET = (dict(type=f'mmpretrain.{name}', depth=18) for name in ('ResNet', 'ResNet_CIFAR'))
DATA = ('in1k', 'in100', 'cifar10', 'cifar100', 'tinyimagenet', 'digits', 'fashionmnist')


def facts(cfg: Config) -> tuple[float, int, int]:
    return cfg.optim_wrapper.optimizer.lr, cfg.auto_scale_lr.base_batch_size, cfg.train_cfg.max_epochs


def test_names_and_families() -> None:
    assert parts_of_name('sdmp/vit-s16_in1k_mocov3') == ('vit-s16', ['sdmp', 'mocov3'])
    assert parts_of_name('my_config') == parts_of_name(None) == (None, [])
    assert [family_of(backbone) for backbone in (RESNET, CIFAR_RESNET, dict(type='ContrastiveViT'), None)] == [
        *('resnet', 'resnet-cifar', 'other', 'other')
    ]


def test_protocols_with_data_of_their_own() -> None:
    assert data_of('knn', 'cifar10') == ('cifar10',)
    assert data_of('svm', 'in1k') == data_of('lowshot', 'voc07') == ('voc07',)
    assert data_of('robustness', 'in1k') == ('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c')
    assert data_of('robustness', 'imagenet-c') == ('imagenet-c',)
    with pytest.raises(UserError, match='--data cifar10 has none'):
        data_of('robustness', 'cifar10')


# protocol, data, config of pretraining, --recipe: recipe, learning rate, batch, epochs
ROWS = [
    ('linear', 'in1k', 'patchmix/vit-s16_in1k_800e', None, 'linear/patchmix', 0.08, 1024, 100),
    ('linear', 'in1k', 'patchmix/vit-b16_in1k', None, 'linear/patchmix', 0.04, 1024, 100),
    ('linear', 'in1k', 'patchmix/vit-s2_cifar10', None, 'linear/patchmix', 0.08, 1024, 100),
    ('linear', 'cifar100', 'patchmix/vit-t2_cifar100', None, 'linear/patchmix', 0.05, 256, 100),
    ('linear', 'cifar10', 'mocov3/vit-b2_cifar10', None, 'linear/patchmix', 0.01, 256, 100),
    ('linear', 'digits', 'mocov3/vit-xs4_digits', None, 'linear/patchmix', 0.1, 128, 100),
    ('linear', 'in1k', 'sdmp/vit-s16_in1k_mocov3', None, 'linear/mocov3', 12, 1024, 90),
    ('linear', 'in1k', 'imix/vit-s16_in1k_mocov3', None, 'linear/mocov3', 12, 1024, 90),
    ('linear', 'in1k', 'mocov3/vit-b16_in1k', None, 'linear/mocov3', 12, 1024, 90),
    ('linear', 'in1k', 'sdmp/vit-s16_in1k_dino', None, 'linear/dino', 0.004, 1024, 100),
    ('linear', 'in1k', 'sdmp/vit-s16_in1k_dino', 'mocov3', 'linear/mocov3', 12, 1024, 90),
    ('linear', 'in100', 'sdmp/vit-s16_in100_dino', None, 'linear/dino', 0.004, 1024, 100),
    ('linear', 'in1k', 'imix/r50_in1k_mocov3', None, 'linear/mocov3_resnet', 0.4, 1024, 90),
    ('linear', 'cifar100', 'sdmp/r101_cifar100_mocov3', None, 'linear/mocov3_resnet', 0.1, 256, 90),
    ('linear', 'in1k', 'mocov3/r50_cifar10', None, 'linear/moco', 30, 256, 100),  # its stem is another one
    ('linear', 'cifar10', 'mocov3/r50_in1k', None, 'linear/mixco', 3, 256, 100),
    ('linear', 'in1k', 'mocov1/r50_in1k', None, 'linear/moco', 30, 256, 100),
    ('linear', 'tinyimagenet', 'simclr/r18_tinyimagenet', None, 'linear/moco', 3, 256, 100),
    ('linear', 'cifar10', 'mixco/r34_tinyimagenet_mocov2', None, 'linear/mixco', 3, 256, 100),
    ('linear', 'in1k', 'bsim/r50_in1k_byol', None, 'linear/bsim', 0.01, 256, 90),
    ('linear', 'in1k', 'bsim/r50_in1k_byol', 'moco', 'linear/moco', 30, 256, 100),
    ('linear', 'in1k', 'mocov2/r50_in1k', 'bsim', 'linear/bsim', 0.01, 256, 90),
    ('linear', 'in1k', 'wbsim/r50_in1k_simsiam', None, 'linear/simsiam', 1.6, 4096, 90),
    ('linear', 'in1k', 'wbsim/r50_in1k_byol_300e', None, 'linear/bsim', 0.01, 256, 90),
    ('finetune', 'in1k', 'patchmix/vit-s16_in1k', None, 'finetune/patchmix', 2e-3, 1024, 100),
    ('finetune', 'in1k', 'mocov3/vit-b16_in1k', None, 'finetune/deit', 1e-3, 1024, 150),
    ('finetune', 'in1k', 'sdmp/vit-s16_in1k_mocov3', None, 'finetune/deit', 1e-3, 1024, 100),
    ('finetune', 'in1k', 'mocov3/vit-s16_in1k', 'sdmp', 'finetune/deit', 1e-3, 1024, 100),
    ('finetune', 'in1k', 'aps/vit-s16_in1k', None, 'finetune/patchmix', 2e-3, 1024, 100),
    ('finetune', 'in1k', 'aps/vit-b16_in1k', None, 'finetune/mae', 2e-3, 1024, 100),
    ('finetune', 'in1k', 'patchmix/vit-b16_in1k', 'mae', 'finetune/mae', 2e-3, 1024, 100),
    ('finetune', 'cifar100', 'mocov3/vit-t2_cifar100', None, 'finetune/patchmix', 1e-3, 256, 100),
    ('finetune', 'cifar10', 'aps/vit-t2_cifar10_clip', None, 'finetune/aps', 5e-4, 128, 100),
    ('finetune', 'cifar100', 'mocov3/vit-s2_cifar100', 'aps', 'finetune/aps', 2.5e-4, 128, 100),
    ('finetune', 'cifar10', 'aps/vit-b2_cifar10', None, 'finetune/aps', 1.25e-4, 128, 100),
    ('finetune', 'cifar10', 'mixco/r50_tinyimagenet_mocov2', None, 'finetune/resnet', 0.01, 256, 100),
    ('semi', 'in1k', 'sdmp/vit-s16_in1k_mocov3', None, 'finetune/deit', 1e-3, 1024, 100),
    ('semi', 'in1k', 'mocov3/vit-s16_in1k', '1percent', 'finetune/deit', 1e-3, 1024, 300),
    ('semi', 'in1k', 'mocov2/r50_in1k', '10percent', 'semi/resnet', 0.01, 256, 20),
    ('semi', 'tinyimagenet', 'mixco/r18_tinyimagenet_mocov2', '1percent', 'semi/resnet', 0.01, 128, 100),
    ('supervised', 'in1k', 'evaluation/backbones/vit-s16_deit', None, 'supervised/deit', 1e-3, 1024, 300),
    ('supervised', 'in1k', 'evaluation/backbones/vit-s16_deit', '100e', 'supervised/deit', 1e-3, 1024, 100),
    ('supervised', 'cifar100', 'aps/vit-b2_cifar100', None, 'supervised/aps', 1.25e-4, 128, 300),
    ('supervised', 'tinyimagenet', 'mocov2/r18_tinyimagenet', None, 'supervised/resnet', 0.1, 256, 100),
    ('supervised', 'tinyimagenet', 'mocov2/r34_tinyimagenet', None, 'supervised/resnet', 0.1, 256, 200),
]


def test_recipes_of_the_papers() -> None:
    for protocol, data, name, asked, config, *expected in ROWS:
        row = recipe_of(protocol, data, name, recipe=asked)
        found = facts(composed(protocol, data, name, recipe=asked, builds=False))
        assert (row.config, *found) == (config, *map(pytest.approx, expected)), (protocol, data, name, asked)


def test_every_host_on_cifar_gets_the_rates_of_its_size() -> None:
    paths = [path for path in CONFIGS.glob('*/vit-*2_cifar10*.py') if path.parent.name not in ('evaluation', '_base_')]
    assert len(paths) > 20
    for path in paths:
        name = f'{path.parent.name}/{path.stem}'
        data, size = path.stem.split('_')[1], path.stem[4]
        linear, finetune = (recipe_of(protocol, data, name) for protocol in ('linear', 'finetune'))
        of_aps = dict(t=5e-4, s=None, b=1.25e-4) if path.parent.name == 'aps' else dict(t=1e-3, s=5e-4, b=5e-4)
        assert (linear.rate, finetune.rate) == (dict(t=0.05, s=0.02, b=0.01)[size], of_aps[size]), name


def test_residual_networks_get_recipes_of_their_own() -> None:
    for protocol, asked in (('linear', None), ('finetune', None), ('semi', None), ('semi', '1percent')):
        for data in DATA:
            for backbone in (RESNET, CIFAR_RESNET):
                cfg = composed(protocol, data, backbone=backbone, recipe=asked, builds=False)
                assert cfg.optim_wrapper.optimizer.type == 'SGD' and cfg.protocol.encoder == 'online'
                assert 'LayerDecay' not in cfg.optim_wrapper.constructor


def test_few_labels_of_residual_networks() -> None:
    """OpenSelfSup's: the head learns a hundred times as fast, the rates fall after 60 and 80 % of the epochs."""
    for data in DATA:
        cfg = composed('semi', data, backbone=RESNET, builds=False)
        assert cfg.optim_wrapper.paramwise_cfg.custom_keys == {'head.': dict(lr_mult=100)}
        (schedule,) = cfg.param_scheduler
        assert schedule.milestones == [0.6 * cfg.train_cfg.max_epochs, 0.8 * cfg.train_cfg.max_epochs]


def test_every_protocol_has_a_recipe_for_any_backbone_on_any_data() -> None:
    for protocol in PROTOCOLS:
        for family in ('resnet', 'resnet-cifar', 'other'):
            assert find_recipe(protocol, {'new'}, None, family) is not None


def test_every_recipe_is_used_and_exists() -> None:
    used = {row.config for rows in TABLE.values() for row in rows}
    folder = CONFIGS / 'evaluation/recipes'
    assert used == {str(path.relative_to(folder).with_suffix('')) for path in folder.rglob('*.py')}
