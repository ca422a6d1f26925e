"""Misspelt keys, and types and values that cannot be meant, are found; what mmengine accepts is left alone."""

import copy
from pathlib import Path

import mmpretrain
import pytest
import torch
from configuration.all_configs import read
from mmengine.config import Config
from mmengine.registry import HOOKS, MODELS

from mixcl.engine.runners import PretrainLoop
from mixcl.errors import UserError
from mixcl.recipes.checking import check_config
from mixcl.recipes.paths import kind_of
from mixcl.registry import keywords_of, takes_more
from mixcl.setting_ranges import wrong_values

MMPRETRAIN_CONFIGS = Path(mmpretrain.__file__).parent / '.mim' / 'configs'


def changed(overrides: dict | None = None) -> Config:
    """Return the config of the digits, with all kinds of sections."""
    cfg = copy.deepcopy(read('patchmix/vit-xs4_digits'))
    cfg.merge_from_dict({'optim_wrapper.clip_grad.max_norm': 1.0})
    cfg.merge_from_dict(copy.deepcopy(overrides or {}))
    return cfg


def refusal(cfg: Config) -> str:
    before = copy.deepcopy(cfg.to_dict())
    with pytest.raises(UserError) as raised:
        check_config(cfg)
    assert cfg.to_dict() == before
    return str(raised.value)


REFUSED: list[tuple[str, object, str]] = [
    ('model.backbone.drop_pathrate', 0, "config: model.backbone has an unknown key 'drop_pathrate' for "
     "mixcl.ContrastiveViT; did you mean 'drop_path_rate'?"),
    ('model.mixer.swap', 0, "config: model.mixer has an unknown key 'swap' for mixcl.PatchMix; there are "),
    ('model.backbone.norm_cfg', {'type': 'LN', 'epss': 1}, "norm_cfg has an unknown key 'epss' for torch.LayerNorm"),
    ('model.backbone.init_cfg', {'type': 'Pretrained', 'check_point': 1}, "did you mean 'checkpoint'"),
    ('model..arch', 0, "model has an unknown key ''"),
    ('model.mixer.type', 'CutMix', 'of the class that stood there before, model.mixer._delete_=True drops all'),
    ('train_dataloader.batchsize', 1, "unknown key 'batchsize' for torch.DataLoader; did you mean 'batch_size'"),
    ('train_dataloader.dataset.dataset.pipeline.1.transforms.0.1.transforms.brightnes', 0, 'train_dataloader.dataset.'
     "dataset.pipeline[1].transforms[0][1].transforms has an unknown key 'brightnes'"),
    ('train_cfg.max_epoch', 1, "did you mean 'max_epochs'"),
    ('optim_wrapper.optimizer.learning_rate', 1, "'learning_rate' for torch.AdamW"),
    ('optim_wrapper.clip_grad.maxnorm', 1, "did you mean 'max_norm'"),
    ('optim_wrapper.paramwise_cfg.norm_decay_mutl', 0, "did you mean 'norm_decay_mult'"),
    ('optim_wrapper.paramwise_cfg.custom_keys', {'bias': {'decay_mul': 0.0}}, "did you mean 'decay_mult'"),
    ('param_scheduler.0.warmups', 1, "param_scheduler[0] has an unknown key 'warmups'"),
    ('default_hooks.chekpoint', {'interval': 1}, "default_hooks has an unknown key 'chekpoint'"),
    ('auto_scale_lr.base_batchsize', 1, "did you mean 'base_batch_size'"),
    *((name, 0, f'{name} is read by nothing; did you mean') for name in ('param_schedular', 'custom_hook', 'modle')),
    ('model.backbone.type', 'mmpretrain.VisonTransformer', "config: model.backbone has type='mmpretrain.VisonTransf"
     "ormer', which no registry knows; did you mean 'mmpretrain.VisionTransformer'"),
    ('optim_wrapper.optimizer.type', 'AdmaW', "optimizer has type='AdmaW', which no registry knows; did you mean"),
    ('model.backbone.type', 'no_such_package.ResNet', "package 'no_such_package' is not installed"),
    *(('model.backbone.type', name, 'no registry knows') for name in ('os', 'torch.nn.Gelu', '', '.x')),
    ('train_dataloader.batch_size', 0, 'train_dataloader.batch_size=0 must be a whole number of at least 1'),
    ('train_dataloader.num_workers', 100_000, 'train_dataloader.num_workers=100000 must be a whole number from 0 to '),
    ('optim_wrapper.optimizer.lr', True, 'optim_wrapper.optimizer.lr=True must be a finite number of at least 0'),
    ('train_dataloader.sampler.shuffle', 'maybe', "train_dataloader.sampler.shuffle='maybe' must be True or False"),
    ('model.swap_views', 'half', "model.swap_views='half' must be a number"),
    ('model.mixer.num_mix', 2.5, 'model.mixer.num_mix=2.5 must be a whole number'),
    ('val_evaluator.temperature', 0, 'val_evaluator.temperature=0 must be a number above 0'),
    ('optim_wrapper.paramwise_cfg.custom_keys', {'bias': {'decay_mult': 'x'}}, "bias.decay_mult='x' must be a finite"),
    ('data_preprocessor.std', [1, 0, 1], 'data_preprocessor.std=[1, 0, 1] must be a finite number above 0'),
    ('model.backbone.arch.num_heads', 5, 'arch.num_heads=5 must be a divisor of embed_dims=96'),
    ('val_dataloader.dataset.pipeline', [], 'val_dataloader.dataset.pipeline=[] must be a list of transforms'),
]  # fmt: skip
"""Keys and values set in a config, and words of the error."""


def test_what_cannot_be_meant_is_named_with_its_place() -> None:
    for key, value, message in REFUSED:
        assert message in refusal(changed({key: value})), key


def test_ranges_of_numbers() -> None:
    for key, wrong, right in (
        ('val_interval', [0, 1.5, float('inf'), float('nan'), '1'], [1, 2.0, None, [2.0]]),
        ('interval', [0, -2], [-1, 3]),
        ('num_workers', [-1, '2'], [0]),
        ('drop_path_rate', [-0.1, 1.5], [0, 1]),
        ('max_norm', [0, -1.0, True], [0.1, float('inf')]),
        ('std', [0, [1.0, 0.0], [float('nan')]], [0.02, (1.0, 2.0), None]),
        ('mask_ratio', [0, 1, 1.5, 2], [0.75]),
        ('num_prototypes', [1, 2.5], [2]),
        ('temperature', [0, 1e30], [0.07, 10_000]),
        ('embed_dim', [-1, 2.5, 1e30], [96]),
        ('momentum', [-0.1, 1.1, 'x'], [0, 0.9]),
        ('unknown', [float('nan'), float('inf')], [-5, 'text', True]),
    ):
        assert all(list(wrong_values({key: value})) for value in wrong), key
        assert not any(list(wrong_values({key: value})) for value in right), key


def test_own_variables_are_allowed_and_not_looked_into() -> None:
    variable = dict(type='Nothing', dataset=dict(type='mmpretrain.CIFAR10', rot=1))
    check_config(changed(dict.fromkeys(('bank_dataloader', 'train_pipeline', 'knn_evaluator', '_modle'), variable)))


def test_the_scope_of_a_dict_holds_for_what_lies_below() -> None:
    cfg = changed()
    backbone = dict(type='LeNet5', num_classes=10)
    cfg.model = dict(type='ImageClassifier', _scope_='mmpretrain', backbone=backbone)
    check_config(cfg)
    cfg.model.backbone.num_clases = 10
    assert "unknown key 'num_clases' for mmpretrain.LeNet5; did you mean 'num_classes'" in refusal(cfg)


def test_one_name_in_two_registries_fits_if_one_of_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS.module_dict, 'TwoFold', torch.nn.Linear)
    monkeypatch.setitem(HOOKS.module_dict, 'TwoFold', torch.optim.SGD)
    cfg = changed()
    for good in (dict(in_features=1, out_features=2), dict(lr=1.0)):
        cfg.model = dict(type='TwoFold', **good)
        check_config(cfg)
    cfg.model = dict(type='TwoFold', lr=1.0, in_features=1)
    assert 'unknown key' in refusal(cfg)


def test_a_type_may_be_a_class_as_in_configs_with_imports() -> None:
    assert kind_of(dict(type=PretrainLoop)) == kind_of(dict(type='mixcl.PretrainLoop')) == 'PretrainLoop'
    cfg = changed()
    cfg.optim_wrapper.optimizer = dict(type=torch.optim.SGD, lr=1.0, momentum=0.9)
    check_config(cfg)
    cfg.optim_wrapper.optimizer.momentun = 0.9
    assert "unknown key 'momentun' for torch.SGD; did you mean 'momentum'" in refusal(cfg)


class _Base:
    def __init__(self, depth, width=1):
        pass


class _PassesOn(_Base):
    __init__ = lambda self, *args, rate=0.0, **options: None  # noqa: E731


def test_keywords_are_followed_to_the_bases_of_mixcl_s_classes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert keywords_of(_PassesOn).keys() == {'depth', 'width', 'rate'}
    assert [takes_more(one) for one in (_Base, _PassesOn, lambda **rest: None, zip)] == [False, True, True, True]
    monkeypatch.setattr(_PassesOn.__init__, '__module__', 'mixcl.mine')
    assert not takes_more(_PassesOn)


@pytest.mark.skipif(not MMPRETRAIN_CONFIGS.is_dir(), reason="mmpretrain's config files are not installed")
def test_no_false_alarm_on_published_configs() -> None:
    for name in (
        'mocov3/mocov3_vit-small-p16_16xb256-amp-coslr-300e_in1k.py',
        'swav/swav_resnet50_8xb32-mcrop-coslr-200e_in1k-224px-96px.py',
        'mae/benchmarks/vit-base-p16_8xb128-coslr-100e_in1k.py',
        'hornet/hornet-tiny_8xb128_in1k.py',
        'resnet/resnet50_8xb256-rsb-a1-600e_in1k.py',
    ):
        check_config(Config.fromfile(MMPRETRAIN_CONFIGS / name))
