"""The resolved configs of transfer are complete, follow the protocols and load nothing from elsewhere."""

import ast
from functools import cache
from pathlib import Path

import mmdet
import pytest
import torch
from mmdet.registry import MODELS
from mmengine.registry import DefaultScope
from tools.in_process import run_here
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from mixcl.engine.runners.dry_run import check_classes
from mixcl.errors import UserError
from mixcl.recipes.paths import walk
from mixcl.recipes.prepared import prepared

FOLDER = Path(__file__).parents[2] / 'configs/transfer'
CONFIGS = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob('*.py') if '_base_' not in path.parts)
RESNETS = [name for name in CONFIGS if 'r50' in name]
TRANSFORMERS = [name for name in CONFIGS if name.startswith('coco/') and 'vit' in name]
REMOTE = ('open-mmlab://', 'openmmlab.com', 'torchvision://', 'http://', 'https://')


@cache
def read(name):
    return prepared(FOLDER / name)


def built(cfg):
    with DefaultScope.overwrite_default_scope('mmdet'), torch.device('meta'):
        return MODELS.build(cfg.model)


def test_nothing_is_loaded_from_elsewhere():
    for name in CONFIGS:
        content = read(name).to_dict()
        values = [value for _, value in walk(content)]
        assert not [value for value in values if isinstance(value, dict) and value.get('type') == 'Pretrained'], name
        assert not [address for address in REMOTE if address in repr(content)], name
        assert content['load_from'] is None


def test_data_sets_that_check_themselves_and_runs_that_resume_exactly():
    for name in CONFIGS:
        cfg = read(name)
        images = cfg.train_dataloader.dataset.dataset
        for dataset in (*images.get('datasets', [images]), cfg.val_dataloader.dataset, cfg.test_dataloader.dataset):
            assert dataset.type in ('mixcl.CocoDetection', 'mixcl.VOCDetection')
            assert dataset.pipeline[0].type == 'mixcl.LoadImage'
        loader, hooks = cfg.train_dataloader, cfg.default_hooks
        assert (loader.dataset.type, loader.sampler.type) == ('mixcl.KeyedDataset', 'mixcl.KeyedSampler')
        assert loader.get('batch_sampler', {}).get('type') in (None, 'mixcl.KeyedAspectRatioBatchSampler')
        assert cfg.train_cfg.type in ('mixcl.KeyedTrainLoop', 'mixcl.KeyedIterTrainLoop')
        assert hooks.checkpoint.type == 'mixcl.CheckpointHook' and hooks.checkpoint.max_keep_ckpts == 2
        assert hooks.checkpoint.get('by_epoch', True) == ('max_epochs' in cfg.train_cfg)
        assert hooks.nonfinite.policy == 'raise'


@pytest.mark.parametrize('name', RESNETS)
def test_resnets_are_pytorch_style_with_synchronised_batch_norm_and_nothing_frozen(name):
    cfg = read(name)
    for part in (cfg.model.backbone, *([cfg.model.roi_head.shared_head] if 'c4' in name else [])):
        assert (part.style, part.norm_eval) == ('pytorch', False)
        assert part.norm_cfg == dict(type='SyncBN', requires_grad=True)
    assert cfg.model.backbone.frozen_stages == -1
    preprocessor = cfg.model.data_preprocessor
    assert preprocessor.bgr_to_rgb and preprocessor.std == [58.395, 57.12, 57.375]
    model = built(cfg)
    assert all(parameter.requires_grad for parameter in model.parameters())
    norms = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]
    assert len(norms) > 50 and all(isinstance(layer, nn.SyncBatchNorm) for layer in norms)
    if 'c4' in name:
        assert type(model.roi_head.shared_head).__name__ == 'ResLayerExtraNorm'
        assert model.roi_head.shared_head.norm.num_features == 2048


def test_schedules_of_coco():
    for name, epochs, milestones in (('r50-fpn_1x', 12, [8, 11]), ('r50-c4_2x', 24, [16, 22])):
        cfg = read(f'coco/mask-rcnn_{name}.py')
        assert cfg.train_cfg.max_epochs == cfg.param_scheduler[1].end == epochs
        assert cfg.param_scheduler[1].milestones == milestones
        assert cfg.optim_wrapper.optimizer.lr == 0.02 and cfg.auto_scale_lr.base_batch_size == 16
        (sizes,) = (step.scales for step in cfg.train_dataloader.dataset.dataset.pipeline if 'scales' in step)
        assert [side for _, side in sizes] == [640, 672, 704, 736, 768, 800]


def test_protocol_of_voc():
    cfg = read('voc/faster-rcnn_r50-c4_24k.py')
    assert cfg.train_cfg.max_iters == 24000 and cfg.param_scheduler[1].milestones == [18000, 22000]
    assert cfg.param_scheduler[0].end == 100 and cfg.optim_wrapper.optimizer.lr == 0.02
    datasets = cfg.train_dataloader.dataset.dataset.datasets
    assert [dataset.ann_file[:7] for dataset in datasets] == ['VOC2007', 'VOC2012']
    assert cfg.test_dataloader.dataset.ann_file == 'VOC2007/ImageSets/Main/test.txt'
    assert cfg.test_evaluator.eval_mode == '11points'
    assert cfg.test_evaluator.iou_thrs == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    assert cfg.model.roi_head.bbox_head.num_classes == 20
    (sizes,) = (step.scales for step in datasets[0].pipeline if 'scales' in step)
    assert [side for _, side in sizes] == list(range(480, 801, 32))


@pytest.mark.parametrize('name', TRANSFORMERS)
def test_recipe_of_vitdet(name):
    cfg = read(name)
    backbone, optimizer = cfg.model.backbone, cfg.optim_wrapper.optimizer
    assert backbone.global_blocks == (2, 5, 8, 11) and backbone.drop_path_rate == 0.1 and backbone.img_size == 1024
    assert (optimizer.type, optimizer.lr, optimizer.betas, optimizer.weight_decay) == ('AdamW', 1e-4, (0.9, 0.999), 0.1)
    assert cfg.optim_wrapper.paramwise_cfg.layer_decay_rate == 0.7
    assert cfg.train_dataloader.batch_size * 8 == cfg.auto_scale_lr.base_batch_size == 64
    steps = 184375 if '100e' in name else 22125
    assert cfg.train_cfg.max_iters == cfg.param_scheduler[1].end == steps
    assert [round(step / steps, 3) for step in cfg.param_scheduler[1].milestones] == [0.889, 0.963]
    pipeline = {step.type: step for step in cfg.train_dataloader.dataset.dataset.pipeline}
    assert pipeline['RandomResize'].ratio_range == (0.1, 2.0) and pipeline['RandomResize'].scale == (1024, 1024)
    assert pipeline['RandomCrop'].crop_size == (1024, 1024) and pipeline['RandomCrop'].recompute_bbox


def test_every_norm_of_the_transformers_detector_is_a_layer_norm():
    detector = built(read('coco/mask-rcnn_vit-b16_1x.py'))
    for part, count in (('neck', 9), ('roi_head.bbox_head', 4), ('roi_head.mask_head', 4)):
        layers = list(detector.get_submodule(part).modules())
        assert sum(isinstance(layer, nn.LayerNorm) for layer in layers) == count
        assert not any(isinstance(layer, _BatchNorm) for layer in layers)
    assert len(detector.rpn_head.rpn_conv) == 2


def test_configs_of_mmdet_and_with_bases_of_mmdet_are_checked(capfd):
    name = 'retinanet/retinanet_r50_fpn_1x_coco.py'
    assert prepared(Path(mmdet.__file__).parent / '.mim/configs' / name).default_scope == 'mmdet'
    assert run_here('tools/check_config.py', FOLDER / 'voc/faster-rcnn_r50-c4_24k.py', '--no-data') == 0
    assert capfd.readouterr().out.splitlines()[-1] == 'a run could start'
    with pytest.raises(
        UserError,
        match=r"rpn_head has an unknown key 'in_chanels' for mixcl\.FullPrecisionRPNHead; did you mean 'in_ch",
    ):
        prepared(FOLDER / 'coco/mask-rcnn_r50-fpn_1x.py', cfg_options={'model.rpn_head.in_chanels': 3})


def test_heads_have_as_many_classes_as_their_data():
    for name in CONFIGS:
        check_classes(read(name), built(read(name)))
    shapes = str(FOLDER / 'shapes/mask-rcnn_vit-xs16.py')
    options = 'model.roi_head.mask_head.num_classes=4', "val_dataloader.dataset.metainfo.classes=('cat','dog')"
    problems = 'mask_head.num_classes=4, but train.* has 3', '3, but val.* has 2'
    for option, problem in zip(options, problems, strict=True):
        key, _, value = option.partition('=')
        cfg = prepared(shapes, cfg_options={key: ast.literal_eval(value)})
        with pytest.raises(UserError, match=f'{problem} classes .*: set num_classes=[23] in every head'):
            check_classes(cfg, built(cfg))
    with pytest.raises(UserError, match=r"\('circle',\)"):
        cfg = prepared(shapes, cfg_options={'train_dataloader.dataset.dataset.metainfo.classes': 'circle'})
        check_classes(cfg, built(cfg))
