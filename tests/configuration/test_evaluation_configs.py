"""Recipes and data sets of evaluations: each is complete, and builds what it says."""

import pytest
import torch
from evaluation.composed import CONFIGS, backbone_of, composed
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope

from mixcl.evaluation.adaptation import image_size
from mixcl.evaluation.recipes import PROTOCOLS
from mixcl.registry import MODELS

DEIT = 'evaluation/backbones/vit-s16_deit'
RECIPES = {
    'knn/randomhead': ('knn', 'cifar10', None, 'randomhead'),
    'linear/patchmix': ('linear', 'cifar100', 'patchmix/vit-t2_cifar100', None),
    'linear/mocov3': ('linear', 'in1k', 'mocov3/vit-s16_in1k', None),
    'linear/mocov3_resnet': ('linear', 'cifar10', 'mocov3/r50_cifar10', None),
    'linear/dino': ('linear', 'in100', 'dino/vit-s16_in100', None),
    'linear/dino_average': ('linear', 'in1k', 'mocov3/vit-b16_in1k', 'dino'),
    'linear/moco': ('linear', 'tinyimagenet', 'mocov2/r18_tinyimagenet', None),
    'linear/mixco': ('linear', 'cifar10', 'mixco/r18_tinyimagenet_mocov2', None),
    'linear/simsiam': ('linear', 'in1k', 'simsiam/r50_in1k', None),
    'linear/bsim': ('linear', 'in1k', 'bsim/r50_in1k_byol', None),
    'finetune/patchmix': ('finetune', 'cifar10', 'patchmix/vit-s2_cifar10', None),
    'finetune/deit': ('finetune', 'in1k', 'sdmp/vit-s16_in1k_dino', None),
    'finetune/mae': ('finetune', 'in1k', 'aps/vit-b16_in1k', None),
    'finetune/aps': ('finetune', 'cifar100', 'aps/vit-t2_cifar100', None),
    'finetune/small': ('finetune', 'digits', 'patchmix/vit-xs4_digits', None),
    'finetune/resnet': ('finetune', 'fashionmnist', 'mocov2/r18_tinyimagenet', None),
    'semi/resnet': ('semi', 'in1k', 'mocov2/r50_in1k', '1percent'),
    'supervised/resnet': ('supervised', 'tinyimagenet', 'mocov2/r34_tinyimagenet', None),
    'supervised/deit': ('supervised', 'in1k', DEIT, None),
    'supervised/aps': ('supervised', 'cifar10', 'aps/vit-t2_cifar10', None),
    'supervised/small': ('supervised', 'digits', 'patchmix/vit-xs4_digits', None),
}
"""Every recipe of a protocol with several: protocol, data, pretraining and ``--recipe``."""


def read(recipe: str) -> Config:
    protocol, data, name, asked = RECIPES[recipe]
    return composed(protocol, data, name, recipe=asked, builds=False)


def test_every_recipe_says_what_it_is() -> None:
    paths = sorted((CONFIGS / 'evaluation/recipes').glob('*/*.py'))
    assert {path.parent.name for path in paths} == set(PROTOCOLS)
    for path in paths:
        protocol = Config.fromfile(path).protocol
        assert protocol.name == path.parent.name and protocol.version == 1
        assert protocol.get('encoder', 'online') in ('online', 'target')
        assert len(path.read_text().splitlines()) < 60 and path.read_text().startswith('# ')
    several = {str(path.relative_to(path.parents[1]).with_suffix('')) for path in paths} - set(RECIPES)
    assert {name.partition('/')[0] for name in several} == {
        *('knn', 'linear_fast', 'quality', 'svm', 'lowshot', 'robustness')
    }


@pytest.mark.long
def test_every_recipe_that_trains_builds_and_classifies() -> None:
    for recipe in RECIPES:
        protocol, data, name, asked = RECIPES[recipe]
        cfg = composed(protocol, data, name, recipe=asked, builds='dino_average' not in recipe)
        if protocol == 'knn':
            continue
        assert cfg.train_cfg.type == 'KeyedTrainLoop' and cfg.val_evaluator == cfg.test_evaluator
        assert (cfg.model.backbone.type == 'FrozenFeatures') == (protocol == 'linear')
        if 'dino_average' in recipe:
            cfg.model.head.in_channels = 2 * 768
        size, model = image_size(cfg), {**cfg.model, 'data_preprocessor': cfg.data_preprocessor}
        with DefaultScope.overwrite_default_scope('mixcl'):
            model = MODELS.build(model).eval()
            build_optim_wrapper(model, cfg.optim_wrapper)
            with torch.no_grad():
                scores = model(torch.zeros(2, 3, size, size), mode='tensor')
        classes = cfg.data_preprocessor.num_classes
        shapes = [tuple(part.shape) for part in (scores if isinstance(scores, tuple) else (scores,))]
        assert shapes == [(2, classes)] * (5 if recipe == 'linear/bsim' else 1), recipe


def test_what_all_recipes_of_vision_transformers_share() -> None:
    for recipe in ('finetune/patchmix', 'finetune/deit', 'finetune/mae', 'finetune/aps', 'supervised/deit'):
        cfg = read(recipe)
        assert cfg.optim_wrapper.optimizer.type == 'AdamW' and cfg.optim_wrapper.optimizer.weight_decay == 0.05
        assert cfg.optim_wrapper.paramwise_cfg.flat_decay_mult == 0
        assert {'.cls_token', '.pos_embed'} == set(cfg.optim_wrapper.paramwise_cfg.custom_keys)
        assert [augment.alpha for augment in cfg.model.train_cfg.augments] == [0.8, 1.0]
        assert cfg.model.head.loss.label_smooth_val == 0.1
        types = [step.type for step in cfg.train_dataloader.dataset.dataset.pipeline]
        assert types[-3:] == ['RandAugment', 'RandomErasing', 'mmpretrain.PackInputs']


def test_the_knn_recipe_is_the_papers_protocol() -> None:
    cfg = composed('knn', 'in1k', builds=False)
    assert cfg.protocol.encoder == 'target' and cfg.model.feature == dict(type='Output')
    for settings in (cfg.test_evaluator, cfg.protocol):
        assert (settings.neighbours, settings.temperature) == ((10, 20, 100, 200), 0.07)
    queries = cfg.test_dataloader.dataset.dataset.pipeline
    assert (queries[1].scale, queries[2].crop_size) == (cfg.protocol.resize, cfg.protocol.crop) == (256, 224)
    assert read('knn/randomhead').model.feature == dict(type='RandomHead', channels=1000, seed=0)


def test_deit_from_scratch_is_deits_own_network() -> None:
    backbone = composed('supervised', 'in1k', DEIT, builds=False).model.backbone
    assert backbone.arch.num_heads == 6 and backbone.drop_path_rate == 0.1
    assert {**backbone_of(DEIT), 'drop_path_rate': 0.1} == backbone
