"""Misspelt keys and types are found; what mmengine accepts is left alone."""

import copy
import functools
from pathlib import Path

import mmpretrain
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import HOOKS, MODELS

from mixcl.configuration.check import check_config
from mixcl.configuration.signature import accepted_keywords
from mixcl.configuration.spelling import slip_of
from mixcl.errors import UserError

MMPRETRAIN_CONFIGS = Path(mmpretrain.__file__).parent / '.mim' / 'configs'


def _config(**changes) -> Config:
    cifar = dict(type='mmpretrain.CIFAR10', data_root='data/cifar10')
    view = [dict(type='mmpretrain.RandomResizedCrop', scale=32), dict(type='mmpretrain.ColorJitter', hue=0.1)]
    nested = dict(
        type='RepeatDataset',
        times=2,
        dataset=dict(
            **cifar,
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='mmpretrain.MultiView', num_views=[2], transforms=[view]),
            ],
        ),
    )
    backbone = dict(
        type='mmpretrain.VisionTransformer',
        arch='deit-tiny',
        drop_path_rate=0.1,
        norm_cfg=dict(type='LN', eps=1e-6, requires_grad=True),
        init_cfg=dict(type='Pretrained', checkpoint='x.pth', prefix='backbone.'),
    )
    return Config(
        dict(
            default_scope='mixcl',
            model=dict(type='mmpretrain.ImageClassifier', backbone=backbone, head=None),
            train_dataloader=dict(
                batch_size=2,
                num_workers=0,
                sampler=dict(type='DefaultSampler', shuffle=True),
                collate_fn=dict(type='default_collate'),
                dataset=nested,
            ),
            train_cfg=dict(by_epoch=True, max_epochs=2),
            optim_wrapper=dict(
                type='AmpOptimWrapper',
                optimizer=dict(type='AdamW', lr=1e-3, betas=(0.9, 0.95)),
                accumulative_counts=2,
                clip_grad=dict(max_norm=1.0, norm_type=2),
                paramwise_cfg=dict(norm_decay_mult=0.0, custom_keys={'.cls_token': dict(decay_mult=0.0)}),
            ),
            param_scheduler=[dict(type='LinearLR', start_factor=0.1, by_epoch=True, end=1, convert_to_iter_based=True)],
            default_hooks=dict(
                checkpoint=dict(type='CheckpointHook', interval=1, priority='LOW'), logger=dict(type='LoggerHook')
            ),
            visualizer=dict(type='Visualizer', vis_backends=[dict(type='LocalVisBackend', name='local')]),
            env_cfg=dict(cudnn_benchmark=True, mp_cfg=dict(mp_start_method='fork'), dist_cfg=dict(backend='gloo')),
            randomness=dict(seed=0, deterministic=True),
            auto_scale_lr=dict(enable=True, base_batch_size=256),
            **changes,
        )
    )


def _at(cfg: Config, path: str):
    return functools.reduce(lambda node, part: node[int(part) if part.isdigit() else part], path.split('.'), cfg)


@pytest.mark.parametrize(
    ('place', 'key', 'message'),
    [
        (
            'model.backbone',
            'drop_pathrate',
            r"config: model\.backbone has an unknown key 'drop_pathrate' for mmpretrain\.VisionTransformer; "
            r"did you mean 'drop_path_rate'\?",
        ),
        ('model.backbone.norm_cfg', 'epss', r"norm_cfg has an unknown key 'epss' for torch\.LayerNorm"),
        ('model.backbone.init_cfg', 'check_point', "did you mean 'checkpoint'"),
        ('train_dataloader', 'batchsize', r"unknown key 'batchsize' for torch\.DataLoader; did you mean 'batch_size'"),
        ('train_dataloader.sampler', 'shufle', "did you mean 'shuffle'"),
        ('train_dataloader.collate_fn', 'bach', 'train_dataloader.collate_fn has an unknown key'),
        ('train_dataloader.dataset', 'time', "RepeatDataset; did you mean 'times'"),
        ('train_dataloader.dataset.dataset', 'dataroot', r"dataset\.dataset .*did you mean 'data_root'"),
        (
            'train_dataloader.dataset.dataset.pipeline.1.transforms.0.1',
            'brightnes',
            r"train_dataloader\.dataset\.dataset\.pipeline\[1\]\.transforms\[0\]\[1\] has .*'brightness'",
        ),
        ('train_cfg', 'max_epoch', "EpochBasedTrainLoop; did you mean 'max_epochs'"),
        ('optim_wrapper', 'accumulative_count', "did you mean 'accumulative_counts'"),
        ('optim_wrapper.optimizer', 'learning_rate', r"'learning_rate' for torch\.AdamW"),
        ('optim_wrapper.clip_grad', 'maxnorm', "did you mean 'max_norm'"),
        ('optim_wrapper.paramwise_cfg', 'norm_decay_mutl', "did you mean 'norm_decay_mult'"),
        ('optim_wrapper.paramwise_cfg.custom_keys', {'bias': {'decay_mul': 0.0}}, "did you mean 'decay_mult'"),
        ('param_scheduler.0', 'start_facter', r"param_scheduler\[0\] .*'start_factor'"),
        ('default_hooks', {'chekpoint': {'type': 'CheckpointHook'}}, "default_hooks .*did you mean 'checkpoint'"),
        ('default_hooks', {'chekpoint': {'interval': 1}}, "default_hooks .*did you mean 'checkpoint'"),
        ('default_hooks.checkpoint', 'intervall', "did you mean 'interval'"),
        ('visualizer.vis_backends.0', 'savedir', r"vis_backends\[0\] .*'save_dir'"),
        ('env_cfg', 'cudnn_benchmarks', "did you mean 'cudnn_benchmark'"),
        ('env_cfg.mp_cfg', 'start_method', 'env_cfg.mp_cfg'),
        ('env_cfg.dist_cfg', 'bakend', "did you mean 'backend'"),
        ('randomness', 'sead', "did you mean 'seed'"),
        ('auto_scale_lr', 'base_batchsize', "did you mean 'base_batch_size'"),
    ],
)
def test_an_unknown_key_is_named_with_its_place(place, key, message):
    cfg = _config()
    _at(cfg, place).update(key if isinstance(key, dict) else {key: 1})
    with pytest.raises(UserError, match=message):
        check_config(cfg)


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('mmpretrain.VisonTransformer', "did you mean 'mmpretrain.VisionTransformer'"),
        ('VisionTransformer', "did you mean 'mmpretrain.VisionTransformer'"),
        ('no_such_package.ResNet', "package 'no_such_package' is not installed"),
        ('os', 'no registry knows'),
        ('torch.nn.Gelu', 'no registry knows'),
        ('', 'no registry knows'),
        ('.x', 'no registry knows'),
    ],
)
def test_an_unknown_type_is_named_with_its_place(name, message):
    cfg = _config()
    cfg.model.backbone = dict(type=name)
    with pytest.raises(UserError, match=rf'model\.backbone has type=.*{message}'):
        check_config(cfg)


def test_all_problems_are_listed():
    cfg = _config(param_schedular=[])
    cfg.model.backbone.depht = 3
    cfg.optim_wrapper.optimizer.type = 'AdmaW'
    with pytest.raises(UserError) as error:
        check_config(cfg)
    summary, *problems = str(error.value).split('\n')
    assert summary == 'config: 3 problems:'
    assert [problem.split()[0] for problem in problems] == [
        'param_schedular',
        'model.backbone',
        'optim_wrapper.optimizer',
    ]


def test_a_slip_of_a_section_is_refused():
    slips = ('param_schedular', 'custom_hook', 'optim_wraper', 'modle', 'train_dataloder', 'loadfrom')
    with pytest.raises(UserError) as error:
        check_config(_config(**dict.fromkeys(slips, 1)))
    for name in slips:
        assert f'{name} is read by nothing; did you mean' in str(error.value)


def test_own_variables_are_allowed_and_not_looked_into():
    names = ('data_root', 'bank_dataloader', 'pipeline', 'train_pipeline', 'crop', 'knn_evaluator', '_modle')
    variable = dict(type='Nothing', dataset=dict(type='mmpretrain.CIFAR10', rot=1))
    check_config(_config(**dict.fromkeys(names, variable)))


def test_loaders_and_evaluators_inside_loops_are_checked():
    loader = dict(batch_size=1, datset=dict(type='mmpretrain.CIFAR10'))
    with pytest.raises(UserError, match=r"val_cfg\.bank_dataloader has an unknown key 'datset'.*'dataset'"):
        check_config(_config(val_cfg=dict(bank_dataloader=loader)))
    with pytest.raises(UserError, match=r"val_evaluator has an unknown key 'topks' .*'topk'"):
        check_config(_config(val_evaluator=dict(type='mmpretrain.Accuracy', topks=(1,))))


def test_the_scope_of_a_dict_holds_for_what_lies_below():
    model = dict(type='ImageClassifier', _scope_='mmpretrain', backbone=dict(type='LeNet5', num_classes=10))
    cfg = _config()
    cfg.model = copy.deepcopy(model)
    check_config(cfg)
    cfg.model.backbone.classes = 10
    with pytest.raises(UserError, match=r"unknown key 'classes' for mmpretrain\.LeNet5"):
        check_config(cfg)


def test_classes_can_be_given_as_objects():
    cfg = _config()
    cfg.optim_wrapper.optimizer = dict(type=torch.optim.SGD, lr=1.0, momentum=0.9)
    check_config(cfg)
    cfg.optim_wrapper.optimizer.momentun = 0.9
    with pytest.raises(UserError, match=r"unknown key 'momentun' for torch\.SGD; did you mean 'momentum'"):
        check_config(cfg)


def test_one_name_in_two_registries_fits_if_one_of_them_does(monkeypatch):
    monkeypatch.setitem(MODELS.module_dict, 'TwoFold', torch.nn.Linear)
    monkeypatch.setitem(HOOKS.module_dict, 'TwoFold', torch.optim.SGD)
    cfg = _config()
    for good in (dict(in_features=1, out_features=2), dict(lr=1.0)):
        cfg.model = dict(type='TwoFold', **good)
        check_config(cfg)
    cfg.model = dict(type='TwoFold', lr=1.0, in_features=1)
    with pytest.raises(UserError, match='unknown key'):
        check_config(cfg)


def test_nothing_is_built_nor_changed():
    cfg = _config()
    before = copy.deepcopy(cfg.to_dict())
    check_config(cfg)
    assert cfg.to_dict() == before


class _Base:
    def __init__(self, depth, width=1):
        pass


class _PassesOn(_Base):
    def __init__(self, *args, rate=0.0, **options):
        options.pop('removed', None)
        super().__init__(*args, **options)


class _ByName(_Base):
    def __init__(self, **kwargs):
        _Base.__init__(self, **kwargs)


class _Stores(_Base):
    def __init__(self, rate=0.0, **kwargs):
        super().__init__(1)
        self.extra = kwargs


class _Ignores:
    def __init__(self, rate=0.0, **kwargs):
        pass


class _Inherits(_PassesOn):
    pass


@pytest.mark.parametrize(
    ('factory', 'names', 'is_open'),
    [
        (_Base, {'depth', 'width'}, False),
        (_PassesOn, {'depth', 'width', 'rate', 'removed'}, False),
        (_Inherits, {'depth', 'width', 'rate', 'removed'}, False),
        (_ByName, {'depth', 'width'}, False),
        (_Stores, {'rate'}, True),
        (_Ignores, {'rate'}, False),
        (object, set(), False),
        (lambda a, /, b, *, c=1: None, {'b', 'c'}, False),
        (lambda a, **rest: None, {'a'}, True),
        (functools.partial(_Base, width=2), {'depth', 'width'}, False),
        (zip, set(), True),
    ],
)
def test_keywords_are_followed_to_the_bases(factory, names, is_open):
    assert accepted_keywords(factory) == (names, is_open)


def test_slips():
    slips = {'modle': 'model', 'optimwrapper': 'optim_wrapper', 'model': None, 'bank_dataloader': None, '': None}
    known = ['model', 'optim_wrapper', 'val_dataloader']
    assert {name: slip_of(name, known) for name in slips} == slips


@pytest.mark.skipif(not MMPRETRAIN_CONFIGS.is_dir(), reason="mmpretrain's config files are not installed")
@pytest.mark.parametrize(
    'name',
    [
        'mocov3/mocov3_vit-small-p16_16xb256-amp-coslr-300e_in1k.py',
        'swav/swav_resnet50_8xb32-mcrop-coslr-200e_in1k-224px-96px.py',
        'mae/benchmarks/vit-base-p16_8xb128-coslr-100e_in1k.py',
        'hornet/hornet-tiny_8xb128_in1k.py',
        'resnet/resnet50_8xb256-rsb-a1-600e_in1k.py',
    ],
)
def test_no_false_alarm_on_published_configs(name):
    cfg = Config.fromfile(MMPRETRAIN_CONFIGS / name)
    check_config(cfg)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(param_scheduler='cosine'), "param_scheduler='cosine' must be a list of dicts"),
        (dict(param_scheduler=['cosine']), r"param_scheduler\[0\]='cosine' must be a dict with a type"),
        (dict(param_scheduler={}), 'param_scheduler={} must be a dict with a type'),
        (dict(custom_hooks=[3]), r'custom_hooks\[0\]=3 must be a dict with a type'),
        (dict(custom_hooks=dict(type='EMAHook')), 'custom_hooks=.* must be a list of dicts'),
        (dict(default_hooks=dict(logger=3)), 'default_hooks.logger=3 must be a dict with a type'),
        (dict(val_evaluator='knn'), "val_evaluator='knn' must be a list of dicts"),
        (dict(env_cfg='nccl'), "env_cfg='nccl' must be a dict"),
        (dict(model='vit'), "model='vit' must be a dict"),
        (dict(train_dataloader=dict(dataset=[])), r'train_dataloader.dataset=\[\] must be a dict'),
        (
            dict(train_dataloader=dict(dataset=dict(type='mmpretrain.CIFAR10', pipeline=[]))),
            r'train_dataloader.dataset.pipeline=\[\] must be a list of transforms, at least one',
        ),
    ],
)
def test_sections_of_another_shape(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_config(Config({**_config().to_dict(), **changes}))
