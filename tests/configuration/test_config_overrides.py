"""Overrides that would change nothing, or that mmengine cannot merge, are refused before."""

import copy

import pytest
from mmengine.config import Config

from mixcl.configuration import check_config, check_overrides
from mixcl.errors import UserError


def _config() -> Config:
    images = dict(type='mmpretrain.CIFAR10', data_root='data/cifar10')
    pipeline = [dict(type='mmpretrain.ResizeEdge', scale=36), dict(type='mmpretrain.PackInputs')]
    return Config(
        dict(
            default_scope='mixcl',
            data_root='data/cifar10',
            epochs=77,
            lost=(9, 9),
            flag=True,
            images=images,
            pipeline=pipeline,
            model=dict(
                type='mmpretrain.ImageClassifier',
                backbone=dict(type='mmpretrain.VisionTransformer', arch='deit-tiny', out_indices=(3, 11)),
                head=None,
            ),
            train_dataloader=dict(batch_size=2, dataset=dict(type='RepeatDataset', times=2, dataset=images)),
            val_dataloader=dict(batch_size=2, dataset=dict(**images, pipeline=pipeline)),
            train_cfg=dict(by_epoch=True, max_epochs=77),
            optim_wrapper=dict(optimizer=dict(type='AdamW', lr=1e-3), clip_grad=None),
            param_scheduler=[dict(type='LinearLR', end=7), dict(type='MultiStepLR', milestones=[1, 2])],
        )
    )


ALLOWED = [
    {'model.backbone.arch': 'deit-small'},
    {'model.backbone.drop_path_rate': 0.1},
    {'model.backbone.init_cfg.type': 'Pretrained', 'model.backbone.init_cfg.checkpoint': 'x.pth'},
    {'model.backbone.type': 'mmpretrain.ResNet', 'model.backbone.conv_cfg.type': 'Conv2d'},
    {'param_scheduler.0.end': 3},
    {'param_scheduler.1': {'gamma': 0.2}},
    {'val_dataloader.dataset.pipeline.0.scale': 40},
    {'val_dataloader.sampler.type': 'DefaultSampler'},
    {'randomness.seed': 1},
    {'env_cfg.mp_cfg.mp_start_method': 'spawn'},
    {'default_hooks.checkpoint.type': 'CheckpointHook'},
    {'optim_wrapper.paramwise_cfg.norm_decay_mult': 0.0},
    {'optim_wrapper.clip_grad._delete_': True, 'optim_wrapper.clip_grad.max_norm': 1.0},
    {'optim_wrapper.optimizer.typ': 'SGD'},
    {'load_from': 'x.pth'},
]


def test_what_is_allowed_can_be_merged():
    for overrides in ALLOWED:
        cfg = _config()
        check_overrides(cfg, copy.deepcopy(overrides))
        cfg.merge_from_dict(overrides)


@pytest.mark.parametrize(
    ('key', 'message'),
    [
        ('optim_wrapper.optimizer.typ', r"optim_wrapper\.optimizer has an unknown key 'typ'"),
        ('model.bakbone.arch', "model has an unknown key 'bakbone' for .*ImageClassifier; did you mean 'backbone'"),
        ('model.backbone.conv_cfg.type', r"model\.backbone has an unknown key 'conv_cfg'"),
        ('model.backbone.x.y.z', r"model\.backbone has an unknown key 'x'"),
        ('model..arch', "model has an unknown key ''"),
        ('train_dataloader.datset.times', r"did you mean 'dataset'"),
    ],
)
def test_what_nothing_reads_is_found_after_merging(key, message):
    cfg = _config()
    check_overrides(cfg, {key: 5})
    cfg.merge_from_dict({key: 5})
    with pytest.raises(UserError, match=message):
        check_config(cfg)


@pytest.mark.parametrize(
    ('key', 'message'),
    [
        ('modle.backbone.arch', "the config has no 'modle'; did you mean 'model'"),
        ('epoch', "the config has no 'epoch'; did you mean 'epochs'"),
        ('data_roots', "the config has no 'data_roots'; did you mean 'data_root'"),
        ('model.backbone.arch.depth', 'arch is a dict in the child config but is of type .*str'),
        ('model.backbone.out_indices.0', 'out_indices is a dict .* of type .*tuple.* set as a whole'),
        ('optim_wrapper.clip_grad.max_norm', r'clip_grad is a dict .* with NAME\._delete_=True'),
        ('param_scheduler.2.end', 'Index 2 exceeds the length of list'),
        ('param_scheduler.-1.end', 'a list of values is set as a whole'),
        ('param_scheduler.0', 'a list of values is set as a whole'),
        ('param_scheduler.1.milestones.0', 'a list of values is set as a whole'),
    ],
)
def test_what_cannot_be_merged_is_refused(key, message):
    cfg = _config()
    before = copy.deepcopy(cfg.to_dict())
    with pytest.raises(UserError, match=f'--cfg-options {key}.*{message}'):
        check_overrides(cfg, {key: 5})
    assert cfg.to_dict() == before


@pytest.mark.parametrize(
    ('key', 'hint'),
    [
        ('data_root', r'train_dataloader\.dataset\.dataset\.data_root or val_d.*data_root, or pass --data-root DIR$'),
        ('epochs', r'for example train_cfg\.max_epochs$'),
        ('pipeline.0.scale', r'for example val_dataloader\.dataset\.pipeline$'),
        ('lost', r'override the place that uses it$'),
        ('flag', r'override the place that uses it$'),
    ],
)
def test_a_used_variable_is_refused_with_the_places_that_use_it(key, hint):
    with pytest.raises(UserError, match=f'--cfg-options {key}=5 has no effect.* has already used; .*{hint}'):
        check_overrides(_config(), {key: 5})


def test_data_root_without_such_a_variable_points_to_the_option():
    with pytest.raises(UserError, match="has no 'data_root'; pass --data-root DIR"):
        check_overrides(Config(dict(model=dict())), {'data_root': '/x'})
