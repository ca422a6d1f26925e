"""The protocols that train: every config is complete, builds, and says what its recipe says."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmcv.transforms import Compose
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.engine.runners.launch import read_config
from mixcl.evaluation.adaptation import image_size
from mixcl.registry import MODELS

FOLDER = Path(__file__).parents[2] / 'configs/evaluation'
PROTOCOLS = ('linear', 'finetune', 'semi', 'supervised')
ALL = [f'{path.parent.name}/{path.stem}' for name in PROTOCOLS for path in sorted((FOLDER / name).glob('*.py'))]
FRAGMENTS = sorted((FOLDER.parent / '_base_/evaluation/datasets').glob('*.py'))
CLASSES = dict(in1k=1000, in100=100, tinyimagenet=200, cifar10=10, cifar100=100, digits=10, fashionmnist=10)


def read(name: str) -> Config:
    return read_config(FOLDER / f'{name}.py')


def data_of(name: str) -> str:
    return name.partition('/')[2].split('_')[1]


def scores(cfg: Config, device: str) -> list[tuple[int, ...]]:
    size = image_size(cfg)
    with DefaultScope.overwrite_default_scope('mixcl'), torch.device(device):
        model = MODELS.build({**cfg.model, 'data_preprocessor': cfg.data_preprocessor})
        model.eval()
        output = model(torch.zeros(2, 3, size, size), mode='tensor')
    return [tuple(part.shape) for part in (output if isinstance(output, tuple) else (output,))]


@pytest.mark.parametrize('name', [name for name in ALL if 'vit-' in name or 'any_' in name])
def test_a_vision_transformer_builds_and_classifies(name: str) -> None:
    cfg = read(name)
    assert scores(cfg, 'meta') == [(2, CLASSES[data_of(name)])]
    assert cfg.data_preprocessor.num_classes == CLASSES[data_of(name)]


RESNETS = [
    *('linear/r18_tinyimagenet', 'supervised/r34_tinyimagenet', 'linear/r50_cifar10', 'finetune/resnet_digits'),
    *('finetune/resnet-cifar_cifar10', 'semi/resnet_fashionmnist_1percent', 'linear/resnet_digits'),
]


@pytest.mark.parametrize('name', RESNETS)
def test_a_residual_network_builds_and_classifies(name: str) -> None:
    assert scores(read(name), 'cpu') == [(2, CLASSES[data_of(name)])]


def test_bsim_probes_five_depths_of_1000_classes() -> None:
    cfg = read('linear/r50_in1k_bsim')
    assert scores(cfg, 'cpu') == [(2, 1000)] * 5
    assert cfg.test_evaluator.type == cfg.val_evaluator.type == 'StageAccuracy'


@pytest.mark.parametrize('name', [name for name in ALL if '/r' in name])
def test_heads_fit_the_depth_of_residual_networks(name: str) -> None:
    cfg = read(name)
    backbone = cfg.model.backbone.get('backbone', cfg.model.backbone)
    if cfg.model.head.type != 'StageProbes':
        assert cfg.model.head.in_channels == (512 if backbone.depth < 50 else 2048)
    assert cfg.model.head.num_classes == cfg.data_preprocessor.num_classes == CLASSES[data_of(name)]
    assert f'/r{backbone.depth}_' in name or '/resnet' in name


@pytest.mark.parametrize('name', ALL)
def test_a_protocol_says_what_it_is_and_trains_by_keys(name: str) -> None:
    cfg = read(name)
    assert cfg.protocol.name == name.partition('/')[0]
    assert cfg.protocol.version == 1 and cfg.protocol.encoder in ('online', 'target')
    assert cfg.train_cfg.type == 'KeyedTrainLoop'
    assert cfg.train_dataloader.sampler.type in ('KeyedSampler', 'RepeatedKeyedSampler')
    assert cfg.train_dataloader.dataset.type == 'KeyedDataset'
    assert cfg.val_evaluator == cfg.test_evaluator
    assert cfg.val_cfg.type == 'ValLoop' and cfg.test_cfg.type == 'TestLoop'
    assert (cfg.model.backbone.type == 'FrozenFeatures') == (name.partition('/')[0] == 'linear')
    subset = cfg.train_dataloader.dataset.dataset.type == 'LabelledSubset'
    assert subset == (name.partition('/')[0] == 'semi')


@pytest.mark.parametrize('name', ALL)
def test_the_batch_is_that_of_the_rate(name: str) -> None:
    """On one process, or on eight."""
    cfg = read(name)
    assert cfg.auto_scale_lr.base_batch_size in (cfg.train_dataloader.batch_size, 8 * cfg.train_dataloader.batch_size)
    assert (cfg.auto_scale_lr.base_batch_size >= 1024) <= ('in1k' in name or 'in100' in name)


@pytest.mark.parametrize('name', [name for name in ALL if 'any_digits' in name or 'resnet_in1k' in name])
def test_a_config_can_be_written_and_read(name: str) -> None:
    cfg = Config.fromfile(FOLDER / f'{name}.py')
    assert Config.fromstring(cfg.pretty_text, '.py').to_dict() == cfg.to_dict()


@pytest.mark.parametrize(
    ('name', 'rate', 'batch', 'epochs'),
    [
        ('linear/vit-s16_in1k_patchmix', 0.08, 1024, 100),
        ('linear/vit-b16_in1k_patchmix', 0.04, 1024, 100),
        ('linear/vit-t2_cifar10', 0.05, 256, 100),
        ('linear/vit-s2_cifar10', 0.02, 256, 100),
        ('linear/vit-b2_cifar100', 0.01, 256, 100),
        ('linear/vit-b16_in1k_mocov3', 12, 1024, 90),
        ('linear/r50_in1k_mocov3', 0.4, 1024, 90),
        ('linear/vit-s16_in1k_dino', 0.004, 1024, 100),
        ('linear/r18_tinyimagenet', 3, 256, 100),
        ('linear/r50_cifar100', 3, 256, 100),
        ('linear/r50_in1k', 30, 256, 100),
        ('linear/r50_in1k_bsim', 0.01, 256, 90),
        ('linear/r50_in1k_simsiam', 1.6, 4096, 90),
        ('linear/r50_in1k_bsim_simsiam', 1.6, 4096, 90),
        ('linear/r50_in1k_wbsim_simsiam', 1.6, 4096, 90),
        ('finetune/vit-s16_in1k_patchmix', 2e-3, 1024, 100),
        ('finetune/vit-t2_cifar100', 1e-3, 256, 100),
        ('finetune/vit-b2_cifar10', 5e-4, 256, 100),
        ('finetune/vit-t2_cifar10_aps', 5e-4, 128, 100),
        ('finetune/vit-s2_cifar10_aps', 2.5e-4, 128, 100),
        ('finetune/vit-b2_cifar10_aps', 1.25e-4, 128, 100),
        ('finetune/vit-s16_in1k_sdmp', 1e-3, 1024, 100),
        ('finetune/vit-b16_in1k_mocov3', 1e-3, 1024, 150),
        ('finetune/vit-b16_in1k_mae', 2e-3, 1024, 100),
        ('semi/resnet_in1k_1percent', 0.01, 256, 20),
        ('semi/resnet_tinyimagenet', 0.01, 256, 100),
        ('semi/resnet-cifar_cifar10_1percent', 0.01, 128, 100),
        ('finetune/resnet_cifar100', 0.01, 256, 100),
        ('semi/vit-s16_in1k_10percent', 1e-3, 1024, 100),
        ('supervised/vit-s16_in1k', 1e-3, 1024, 300),
        ('supervised/vit-s16_in1k_100e', 1e-3, 1024, 100),
        ('supervised/vit-s16_in100', 1e-3, 1024, 300),
        ('supervised/vit-b2_cifar100', 1.25e-4, 128, 300),
        ('supervised/r18_tinyimagenet', 0.1, 256, 100),
        ('supervised/r34_tinyimagenet', 0.1, 256, 200),
    ],
)
def test_rates_of_the_recipes(name: str, rate: float, batch: int, epochs: int) -> None:
    cfg = read(name)
    assert cfg.optim_wrapper.optimizer.lr == pytest.approx(rate)
    assert (cfg.auto_scale_lr.base_batch_size, cfg.train_cfg.max_epochs) == (batch, epochs)


@pytest.mark.parametrize('name', [name for name in ALL if name.startswith('semi/resnet')])
def test_few_labels_of_residual_networks(name: str) -> None:
    """OpenSelfSup's: the head learns a hundred times as fast, the rates fall after 60 and 80 % of the epochs."""
    cfg = read(name)
    assert cfg.optim_wrapper.paramwise_cfg.custom_keys == {'head.': dict(lr_mult=100)}
    assert cfg.optim_wrapper.optimizer.weight_decay == 5e-4
    (schedule,) = cfg.param_scheduler
    assert schedule.milestones == [0.6 * cfg.train_cfg.max_epochs, 0.8 * cfg.train_cfg.max_epochs]
    assert schedule.gamma == 0.2


@pytest.mark.parametrize('data', ['in1k', 'in100'])
def test_dino_tests_on_bicubic_images_and_trains_on_bilinear_crops(data: str) -> None:
    cfg = read(f'linear/vit-s16_{data}_dino')
    tested, trained = (loader.dataset.dataset.pipeline for loader in (cfg.test_dataloader, cfg.train_dataloader))
    assert (tested[1].type, tested[1].scale, tested[1].interpolation) == ('mmpretrain.ResizeEdge', 256, 'bicubic')
    assert (trained[1].type, trained[1].interpolation) == ('mmpretrain.RandomResizedCrop', 'bilinear')
    assert cfg.val_dataloader == cfg.test_dataloader


@pytest.mark.parametrize('name', [name for name in ALL if name.startswith(('finetune/vit', 'supervised/vit'))])
def test_what_all_recipes_of_vision_transformers_share(name: str) -> None:
    cfg = read(name)
    assert cfg.optim_wrapper.optimizer.type == 'AdamW' and cfg.optim_wrapper.optimizer.weight_decay == 0.05
    assert cfg.optim_wrapper.paramwise_cfg.flat_decay_mult == 0
    assert {'.cls_token', '.pos_embed'} == set(cfg.optim_wrapper.paramwise_cfg.custom_keys)
    assert [augment.alpha for augment in cfg.model.train_cfg.augments] == [0.8, 1.0]
    assert cfg.model.head.loss.label_smooth_val == 0.1
    types = [step.type for step in cfg.train_dataloader.dataset.dataset.pipeline]
    assert types[-3:] == ['RandAugment', 'mmpretrain.RandomErasing', 'mmpretrain.PackInputs']


@pytest.mark.parametrize('path', FRAGMENTS, ids=lambda path: path.stem)
def test_pipelines_of_the_data_sets(path: Path, tmp_path: Path) -> None:
    cfg = Config.fromfile(path)
    size = 224 if '224' in path.stem else dict(cifar10=32, cifar100=32, digits=16, fashionmnist=28).get(
        path.stem.split('_')[0], 224
    )  # fmt: skip
    picture = np.random.default_rng(0).integers(0, 256, (40 if size > 32 else size, 48 if size > 32 else size, 3))
    cv2.imwrite(str(tmp_path / 'image.png'), picture.astype(np.uint8))
    held_out = cfg.val_dataloader.dataset
    held_out = held_out.get('dataset', held_out)
    with DefaultScope.overwrite_default_scope('mixcl'):
        for images in (cfg.train_dataloader.dataset.dataset, held_out):
            pipeline = Compose(images.pipeline)
            for _ in range(5):
                results = dict(img_path=str(tmp_path / 'image.png'), gt_label=1)
                if images.pipeline[0].type != 'LoadImage':
                    results['img'] = cv2.imread(results['img_path'])
                packed = pipeline(results)
                noisy = 'jitter' in path.stem and images is not held_out
                expected = torch.float32 if noisy else torch.uint8
                assert packed['inputs'].shape == (3, size, size) and packed['inputs'].dtype == expected
                assert packed['data_samples'].gt_label.item() == 1
    assert cfg.data_preprocessor.num_classes == CLASSES[path.stem.split('_')[0]]
    assert held_out.split != cfg.train_dataloader.dataset.dataset.split


@pytest.mark.parametrize('name', ['in1k', 'in1k_bilinear', 'in1k_dino', 'in1k_jitter', 'tinyimagenet'])
def test_training_images_stay_in_the_order_that_the_preprocessor_turns(name: str, tmp_path: Path) -> None:
    cfg = Config.fromfile(FOLDER.parent / f'_base_/evaluation/datasets/{name}.py')
    cv2.imwrite(str(tmp_path / 'image.png'), np.full((40, 40, 3), (220, 120, 20), dtype=np.uint8))
    with DefaultScope.overwrite_default_scope('mixcl'):
        inputs = Compose(cfg.train_dataloader.dataset.dataset.pipeline)(
            dict(img_path=str(tmp_path / 'image.png'), gt_label=1)
        )['inputs']
        preprocessor = MODELS.build(cfg.data_preprocessor)
    assert inputs[0].float().mean() > inputs[1].float().mean() > inputs[2].float().mean()
    red, _, blue = preprocessor(dict(inputs=inputs[None]))['inputs'][0]
    assert red.mean() < blue.mean()
