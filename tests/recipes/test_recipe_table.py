"""Which recipe a checkpoint gets, and that every recipe is complete and builds what it says."""

import itertools

import pytest
import torch
from evaluation.composed import CONFIGS, composed, composed_facts, numbers, recipe_of
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope

from mixcl.recipes.images import image_size
from mixcl.recipes.recipe_table import PROTOCOLS, TABLE, data_of, family_of, find_recipe, parts_of_name
from mixcl.registry import MODELS

RESNET, CIFAR_RESNET = (dict(type=f'mmpretrain.{name}', depth=18) for name in ('ResNet', 'ResNet_CIFAR'))
DATA = ('in1k', 'in100', 'cifar10', 'cifar100', 'tinyimagenet', 'digits', 'fashionmnist')
DEIT = 'evaluation/backbones/vit-s16_deit'

# Protocol, data, pretraining config, --recipe: recipe, and learning rate, batch, epochs where no paper has a number
# (test_published.py has those of the papers).
ROWS = [
    ('linear', 'in1k', 'patchmix/vit-s16_in1k_800e', None, 'linear/patchmix'),
    ('linear', 'digits', 'mocov3/vit-xs4_digits', None, 'linear/patchmix', 0.1, 128, 100),
    ('linear', 'in1k', 'imix/vit-s16_in1k_mocov3', None, 'linear/mocov3', 12, 1024, 90),
    ('linear', 'in1k', 'mocov3/vit-b16_in1k', 'dino', 'linear/dino_average'),
    ('linear', 'in1k', 'sdmp/vit-s16_in1k_dino', None, 'linear/dino'),
    ('linear', 'in1k', 'sdmp/vit-s16_in1k_dino', 'mocov3', 'linear/mocov3'),
    ('linear', 'in1k', 'imix/r50_in1k_mocov3', None, 'linear/mocov3_resnet', 0.4, 1024, 90),
    ('linear', 'in1k', 'mocov3/r50_cifar10', None, 'linear/moco', 30, 256, 100),  # its stem differs
    ('linear', 'cifar10', 'mocov3/r50_in1k', None, 'linear/mixco', 3, 256, 100),
    ('linear', 'in1k', 'bsim/r50_in1k_byol', 'moco', 'linear/moco'),
    ('linear', 'in1k', 'mocov2/r50_in1k', 'bsim', 'linear/bsim', 0.01, 256, 90),
    ('linear', 'in1k', 'wbsim/r50_in1k_simsiam', None, 'linear/simsiam'),
    ('linear', 'in1k', 'swav/r50_in1k_0local', None, 'linear/swav', 0.3, 256, 100),
    ('linear', 'in1k', 'patchmix/vit-b16_in1k', None, 'linear/patchmix_vit-b16', 0.04, 1024, 100),
    ('finetune', 'in1k', 'aps/vit-s16_in1k', None, 'finetune/patchmix_online'),
    ('finetune', 'in1k', 'mocov3/vit-s16_in1k', None, 'finetune/mocov3', 1e-3, 1024, 150),
    ('finetune', 'cifar10', 'patchmix/vit-s2_cifar10', None, 'finetune/patchmix', 5e-4, 256, 100),
    ('finetune', 'in1k', 'mocov3/vit-s16_in1k', 'sdmp', 'finetune/deit'),
    ('finetune', 'in1k', 'patchmix/vit-b16_in1k', 'mae', 'finetune/mae', 2e-3, 1024, 100),
    ('finetune', 'in1k', 'mae/vit-s16_in1k', None, 'finetune/mae'),
    ('finetune', 'in1k', 'simmim/vit-b16_in1k', None, 'finetune/simmim', 5e-3, 2048, 100),
    ('finetune', 'cifar100', 'mocov3/vit-s2_cifar100', 'aps', 'finetune/aps', 2.5e-4, 128, 100),
    ('finetune', 'digits', 'patchmix/vit-xs4_digits', None, 'finetune/small', 1e-3, 128, 30),
    ('finetune', 'cifar10', 'mixco/r50_tinyimagenet_mocov2', None, 'finetune/resnet', 0.01, 256, 100),
    ('semi', 'in1k', 'sdmp/vit-s16_in1k_mocov3', None, 'finetune/deit', 1e-3, 1024, 100),
    ('semi', 'in1k', 'mocov3/vit-s16_in1k', '1percent', 'finetune/deit', 1e-3, 1024, 300),
    ('semi', 'in1k', 'mocov2/r50_in1k', '10percent', 'semi/resnet', 0.01, 256, 20),
    ('semi', 'tinyimagenet', 'mixco/r18_tinyimagenet_mocov2', '1percent', 'semi/resnet', 0.01, 128, 100),
    ('segment', 'voc12', 'patchmix/vit-s16_in1k', None, 'segment/dinov2', 1e-3, 16, 437),
    ('supervised', 'in1k', DEIT, None, 'supervised/deit', 1e-3, 1024, 300),
    ('supervised', 'in1k', DEIT, '100e', 'supervised/deit_100e', 1e-3, 1024, 100),
    ('supervised', 'cifar100', 'aps/vit-b2_cifar100', None, 'supervised/aps', 1.25e-4, 128, 300),
    ('supervised', 'digits', 'patchmix/vit-xs4_digits', None, 'supervised/small'),
    ('supervised', 'tinyimagenet', 'mocov2/r18_tinyimagenet', None, 'supervised/resnet', 0.1, 256, 100),
    ('supervised', 'tinyimagenet', 'mocov2/r34_tinyimagenet', None, 'supervised/resnet', 0.1, 256, 200),
]
TRAINED = {row[4]: row[:4] for row in reversed(ROWS)}


def test_names_and_families() -> None:
    assert parts_of_name('sdmp/vit-s16_in1k_mocov3') == ('vit-s16', ['sdmp', 'mocov3'])
    assert parts_of_name('my_config') == parts_of_name(None) == (None, [])
    assert [family_of(backbone) for backbone in (RESNET, CIFAR_RESNET, dict(type='ContrastiveViT'), None)] == [
        *('resnet', 'resnet-cifar', 'other', 'other')
    ]


def test_protocols_with_data_of_their_own() -> None:
    assert data_of('knn', 'cifar10') == data_of('robustness', 'cifar10') == ('cifar10',)  # cifar10 has no robustness
    assert data_of('svm', 'in1k') == data_of('lowshot', 'voc07') == ('voc07',)
    assert data_of('robustness', 'in1k') == ('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c')
    assert data_of('robustness', 'imagenet-c') == ('imagenet-c',)


def test_the_recipes_of_checkpoints() -> None:
    for protocol, data, name, asked, config, *expected in ROWS:
        assert recipe_of(protocol, data, name, recipe=asked).config == config, (protocol, data, name, asked)
        if expected:
            found = numbers(composed_facts(protocol, data, name, recipe=asked))
            assert found == pytest.approx(tuple(expected)), (protocol, data, name, asked)


def test_every_host_on_cifar_is_evaluated_as_patchmix_is() -> None:
    paths = [path for path in CONFIGS.glob('*/vit-*2_cifar10*.py') if path.parent.name not in ('_base_', 'aps')]
    assert len(paths) > 20
    for path in paths:
        backbone, data = path.stem.split('_')[:2]
        for protocol in ('linear', 'finetune'):
            patchmix = recipe_of(protocol, data, f'patchmix/{backbone}_{data}')
            assert recipe_of(protocol, data, f'{path.parent.name}/{path.stem}') is patchmix, path


def test_residual_networks_get_recipes_of_their_own() -> None:
    """Few labels follow OpenSelfSup: the head learns a hundred times as fast, rates fall after 60 and 80 %."""
    for protocol, asked in (('linear', None), ('finetune', None), ('semi', None), ('semi', '1percent')):
        for data, backbone in itertools.product(DATA, (RESNET, CIFAR_RESNET)):
            cfg = composed(protocol, data, backbone=backbone, recipe=asked)
            assert cfg.optim_wrapper.optimizer.type == 'SGD' and cfg.protocol.encoder == 'online'
            assert 'LayerDecay' not in cfg.optim_wrapper.constructor
            if protocol == 'semi':
                assert cfg.optim_wrapper.paramwise_cfg.custom_keys == {'head.': dict(lr_mult=100)}
                milestones = [round(share * cfg.train_cfg.max_epochs) for share in (0.6, 0.8)]
                assert [schedule.milestones for schedule in cfg.param_scheduler] == [milestones]


def test_every_protocol_has_a_recipe_for_any_backbone_on_any_data() -> None:
    for protocol in PROTOCOLS:
        for family in ('resnet', 'resnet-cifar', 'other'):
            assert find_recipe(protocol, {'new'}, None, family) is not None


def test_every_recipe_is_used_and_says_what_it_is() -> None:
    folder, used = CONFIGS / 'evaluation/recipes', {row.config for rows in TABLE.values() for row in rows}
    paths = {str(path.relative_to(folder).with_suffix('')): path for path in folder.rglob('*.py')}
    assert used == set(paths)
    for name, path in paths.items():
        cfg = Config.fromfile(path)
        assert cfg.protocol.name == path.parent.name and cfg.protocol.version >= 1
        assert len(path.read_text().splitlines()) < 60 and path.read_text().startswith('# ')
        assert (name in TRAINED) == bool(cfg.get('schedule'))


@pytest.mark.long
def test_every_recipe_that_trains_builds_and_classifies() -> None:
    for recipe, (protocol, data, name, asked) in TRAINED.items():
        cfg = composed(protocol, data, name, recipe=asked)
        assert cfg.train_cfg.type == 'KeyedTrainLoop' and cfg.val_evaluator == cfg.test_evaluator
        assert (cfg.model.backbone.type == 'FrozenFeatures') == (protocol in ('linear', 'segment'))
        size, model = image_size(cfg), {**cfg.model, 'data_preprocessor': cfg.data_preprocessor}
        with DefaultScope.overwrite_default_scope('mixcl'):
            model = MODELS.build(model).eval()
            build_optim_wrapper(model, cfg.optim_wrapper)
            with torch.no_grad():
                scores = model(torch.zeros(2, 3, size, size), mode='tensor')
        if protocol == 'segment':  # of every token of 16 pixels
            scores = scores[:, :, size // 16 - 1, size // 16 - 1]
        shapes = [tuple(part.shape) for part in (scores if isinstance(scores, tuple) else (scores,))]
        assert shapes == [(2, cfg.data_preprocessor.num_classes)] * (5 if recipe == 'linear/bsim' else 1), recipe


def test_the_knn_recipe_is_the_papers_protocol() -> None:
    cfg = composed('knn', 'in1k')
    assert cfg.protocol.encoder == 'target' and cfg.model.feature == dict(type='Output')
    for settings in (cfg.test_evaluator, cfg.protocol):
        assert (settings.neighbours, settings.temperature) == ((10, 20, 100, 200), 0.07)
    queries = cfg.test_dataloader.dataset.dataset.pipeline
    assert (queries[1].scale, queries[2].crop_size) == (cfg.protocol.resize, cfg.protocol.crop) == (256, 224)
