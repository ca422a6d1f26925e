"""Exported backbones give the same features in their libraries, from images that are prepared alike."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import timm
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from mmengine.registry import DefaultScope
from PIL import ExifTags, Image, ImageOps
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoImageProcessor

from mixcl.apis.export import export, preprocessing_of
from mixcl.datasets.transforms.decoding import decode
from mixcl.evaluation.results import Results
from mixcl.files import sha256_of
from mixcl.heads.mlp import pooled
from mixcl.registry import MODELS, TRANSFORMS
from mixcl.weights import load_pretrained, read_pretrained

WIDE = dict(embed_dims=192, num_layers=2, num_heads=12, feedforward_channels=768)  # timm's vit_tiny has 3 heads
ARCH = dict(embed_dims=32, num_layers=2, num_heads=4, feedforward_channels=48)
BACKBONES: dict[str, dict] = dict(
    vit=dict(type='ContrastiveViT', arch=WIDE, img_size=32, patch_size=4, fixed_position=True, position_offset=0.1),
    patch2=dict(type='DINOViT', arch=ARCH, img_size=16, patch_size=2),
    aps=dict(type='APSViT', arch=ARCH, img_size=32, patch_size=8, qkv_bias=False, norm_cfg=dict(type='LN', eps=1e-5)),
    plain=dict(type='mmpretrain.VisionTransformer', arch=ARCH, img_size=32, patch_size=8, in_channels=4),
    map=dict(type='ContrastiveViT', arch=ARCH, img_size=32, patch_size=8, out_type='featmap'),
    r18=dict(type='mmpretrain.ResNet', depth=18, norm_cfg=dict(type='mixcl.SyncBatchNorm')),
    r50=dict(type='mmpretrain.ResNet', depth=50),
    grey=dict(type='mmpretrain.ResNet', depth=18, in_channels=1),
    cifar=dict(type='mmpretrain.ResNet_CIFAR', depth=18),
    convnext=dict(type='TimmBackbone', name='convnext_atto', arguments=dict(depths=(1, 1, 1, 1))),
    lying=dict(type='ContrastiveViT', arch=ARCH, img_size=(96, 160), patch_size=16),
    lying_timm=dict(type='TimmBackbone', name='vit_tiny_patch16_224', arguments=dict(img_size=(96, 160), depth=2)),
    adapted=dict(type='TimmBackbone', name='vit_tiny_patch16_224', img_size=32, arguments=dict(depth=2), lora=2),
    mobilenet=dict(type='TorchvisionBackbone', name='mobilenet_v3_small', in_channels=4),
    squeezenet=dict(type='TorchvisionBackbone', name='squeezenet1_1'),
    googlenet=dict(type='TorchvisionBackbone', name='googlenet', arguments=dict(init_weights=False)),
    swin=dict(type='TimmBackbone', name='swin_tiny_patch4_window7_224', arguments=dict(depths=(1, 1, 1, 1))),
    larger=dict(type='TorchvisionBackbone', name='vit_b_32', img_size=64),  # evaluated at 32
    narrow=dict(type='mmpretrain.ResNet', depth=18, base_channels=8, stem_channels=8),
    average=dict(type='mmpretrain.VisionTransformer', arch=ARCH, img_size=32, patch_size=8, out_type='avg_featmap'),
    other_norm=dict(type='ContrastiveViT', arch=ARCH, img_size=32, patch_size=8, norm_cfg=dict(type='LN', eps=1e-3)),
)
STATISTICS = dict(mean=[51.0, 102.0, 153.0], std=[25.5, 51.0, 76.5])
PIPELINE = [
    dict(type='mmpretrain.ResizeEdge', scale=40, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=32),
    dict(type='mmpretrain.PackInputs'),
]


def drawn(backbone: Mapping) -> nn.Module:
    """Build a backbone in evaluation mode whose weights, biases and statistics are all random."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        module = MODELS.build(dict(backbone))
    for name, value in module.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape) + 0.5 if 'var' in name else value + torch.randn(value.shape) * 0.1)
    module.eval()
    return module


def save(path: Path, name: str, config_name: str = 'mocov3/some_cifar10', **states: Mapping[str, Tensor]) -> Path:
    """Save a checkpoint as a run writes it, with weights by the prefixes of encoders."""
    channels = BACKBONES[name].get('in_channels', 3)
    statistics = STATISTICS if channels == 3 else dict(mean=[51.0], std=[51.0])
    cfg = Config(
        dict(
            config_name=config_name,
            model=dict(type='ContrastiveLearner', backbone=BACKBONES[name]),
            data_preprocessor=dict(type='ViewPreprocessor', to_rgb=channels == 3, **statistics),
            val_dataloader=dict(dataset=dict(type='ImageFolder', pipeline=PIPELINE)),
            train_dataloader=dict(
                dataset=dict(type='KeyedDataset', dataset=dict(type='CIFAR10', data_root='some/data'))
            ),
        )
    )
    weights = {f'{prefix}.{key}': value for prefix, state in states.items() for key, value in state.items()}
    weights = {key.replace('target.', 'target.backbone.', 1): value for key, value in weights.items()}
    torch.save(dict(state_dict=weights, meta=dict(cfg=cfg.pretty_text, epoch=3)), path)
    return path


VITS = ('vit', 'patch2', 'aps', 'plain', 'map')
PAIRS = [
    *((name, to) for name in VITS for to in ('timm', 'huggingface')),
    *(('r18', to) for to in ('timm', 'torchvision', 'huggingface')),
    *(('r50', to) for to in ('timm', 'huggingface')),
    *(('grey', 'torchvision'), ('cifar', 'torchvision'), ('grey', 'timm')),
    *(('convnext', 'timm'), ('adapted', 'timm'), ('mobilenet', 'torchvision'), ('other_norm', 'huggingface')),
    *(('convnext', 'huggingface'), ('swin', 'huggingface'), ('larger', 'torchvision')),
    *(('squeezenet', 'torchvision'), ('googlenet', 'torchvision')),
    *((name, 'onnx') for name in ('vit', 'grey', 'convnext', 'lying', 'lying_timm')),
    *(('lying_timm', to) for to in ('timm', 'huggingface')),
]


@pytest.mark.parametrize(('name', 'to'), PAIRS)
def test_features_are_the_same(name: str, to: str, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """The export compares features in the other library; here its weights are read into mixcl again."""
    backbone = drawn(BACKBONES[name])
    folder = export(save(tmp_path / 'some.pth', name, backbone=backbone.state_dict()), to, tmp_path / "it's there")
    said = capfd.readouterr().out
    assert f'written: {folder}, the online encoder of' in said and 'not checked' not in said
    assert ('tokens = ' in said) == (to in ('timm', 'huggingface')) == ('features and tokens of random' in said)
    assert said.count('# checked with') == (2 if to == 'timm' else 1)
    assert sorted(tmp_path.iterdir()) == [folder, tmp_path / 'some.pth']
    size = dict(swin=224, larger=64).get(name) or BACKBONES[name].get('img_size', 32)
    size = (96, 160) if 'lying' in name else (size, size)
    images = torch.randn(5, BACKBONES[name].get('in_channels', 3), *size)
    with torch.no_grad():
        expected = pooled(backbone(images)[-1])
        if to == 'onnx':  # any number of images
            session = onnxruntime.InferenceSession(folder / 'model.onnx')
            parts = [session.run(None, {'images': part.numpy()})[0] for part in images.split((1, 4))]
            np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-5 * float(expected.abs().max()))
        elif name != 'adapted':  # its updates are merged into the weights
            again = drawn(BACKBONES[name])
            load_pretrained(again, read_pretrained(folder / 'model.safetensors'))
            torch.testing.assert_close(pooled(again(images)[-1]), expected, rtol=1e-5, atol=1e-5)


IMAGE = Image.fromarray((np.random.default_rng(0).random((60, 60, 3)) * 255).astype('uint8')).resize((240, 240))


@pytest.mark.parametrize('to', ['timm', 'huggingface'])
def test_images_are_prepared_alike(to: str, tmp_path: Path) -> None:
    state = drawn(BACKBONES['vit']).state_dict()
    folder = export(save(tmp_path / 'some.pth', 'vit', backbone=state), to, tmp_path / 'out')
    steps = Compose([TRANSFORMS.build(step) for step in PIPELINE])
    packed = steps(dict(img=np.asarray(IMAGE)[..., ::-1]))['inputs']  # decoded as BGR
    preprocessor = MODELS.build(dict(type='ViewPreprocessor', to_rgb=True, **STATISTICS))
    expected = preprocessor(dict(inputs=[packed[None]], data_samples=None))['inputs']
    if to == 'timm':
        model = timm.create_model(f'local-dir:{folder}', pretrained=True)
        settings = timm.data.resolve_model_data_config(model)
        found = timm.data.create_transform(**settings)(IMAGE)[None]
    else:
        found = AutoImageProcessor.from_pretrained(folder)(IMAGE, return_tensors='pt')['pixel_values']
    expected = expected[0] if isinstance(expected, list) else expected
    assert found.shape == (1, 3, 32, 32)
    assert (found - expected).abs().mean() < 0.02  # values are about 1: same channels, size and statistics


def test_the_page_opens_images_as_mixcl_does(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / 'docs/python.md').read_text()
    scope: dict = dict(Image=Image, ImageOps=ImageOps, np=np)
    exec(re.search(r'\ndef opened.*?RGB.\)\n', page, re.S)[0], scope)
    turned, colours = Image.Exif(), IMAGE.crop((0, 0, 240, 160))
    turned[ExifTags.Base.Orientation] = 6
    colours.save(tmp_path / 'turned.jpg', exif=turned)
    colours.convert('CMYK').save(tmp_path / 'cmyk.jpg')
    colours.convert('RGBA').save(tmp_path / 'transparent.png')
    deep = np.asarray(colours.convert('L')).astype(np.uint16) * 257
    Image.fromarray(deep).save(tmp_path / 'deep.png')
    for path in tmp_path.iterdir():
        expected = decode(path.read_bytes(), str(path))[0][..., ::-1]
        found = np.asarray(scope['opened'](path))
        np.testing.assert_allclose(found, expected.astype(int), atol=1 if path.stem == 'cmyk' else 0)


def test_encoder(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The exported encoder is the one asked for, else that of the method's linear probe."""
    states = dict(backbone=drawn(BACKBONES['patch2']).state_dict(), target=drawn(BACKBONES['patch2']).state_dict())
    for name, asked, prefix in (
        ('patchmix', None, 'target'), ('mocov3', None, 'backbone'), ('patchmix', 'online', 'backbone'),
    ):  # fmt: skip
        checkpoint = save(tmp_path / 'some.pth', 'patch2', f'{name}/vit-s16_in1k', **states)
        folder = export(checkpoint, 'timm', tmp_path / f'{name}_{asked}', asked)
        assert f'the {prefix.replace("backbone", "online")} encoder' in capsys.readouterr().out
        assert torch.equal(load_file(folder / 'model.safetensors')['norm.weight'], states[prefix]['ln1.weight'])


def saved_small(tmp_path: Path) -> Path:
    return save(tmp_path / 'some.pth', 'patch2', backbone=drawn(BACKBONES['patch2']).state_dict())


def test_model_card(tmp_path: Path) -> None:
    checkpoint = saved_small(tmp_path)
    row = dict(
        checkpoint=dict(path=str(checkpoint), sha256=sha256_of(checkpoint), config_name='mocov3/some', epoch=3),
        config=dict(path='some.py', sha256='0'), protocol=dict(name='knn'), data='cifar10', encoder='online',
        metrics={'knn10_top1': 12.345}, best={}, paper=[], overrides={}, precision='fp32', seed=0,
    )  # fmt: skip
    for other in (dict(row), dict(row, encoder='target', metrics={'knn10_top1': 77.777})):
        Results(tmp_path).add(other)
    card = (export(checkpoint, 'huggingface', tmp_path / 'out') / 'README.md').read_text()
    digest = sha256_of(tmp_path / 'out/model.safetensors')
    known = '| mocov3 |', 'CIFAR10, some/data', '| 3 |', '12.35', '[0.2, 0.4, 0.6]', "from_pretrained('out')"
    assert all(text in card for text in (*known, digest))
    assert '77.78' not in card and 'licence' in card


@pytest.mark.parametrize(('channels', 'size'), [(3, 96), (4, 96)])
def test_images_are_described_as_they_are_embedded(channels: int, size: int) -> None:
    """This holds without labels to test on, and for OpenCV's area interpolation, which the other libraries lack."""
    crop = dict(type='mmpretrain.RandomResizedCrop', scale=size)
    pipeline = [
        dict(type='LoadChannels', channels=channels) if channels != 3 else dict(type='LoadImage'),
        dict(type='KeyedMultiView', num_views=[2], transforms=[[crop]]),
    ]
    backbone = dict(type='mmpretrain.ResNet', depth=18, in_channels=channels)
    dataset = dict(type='KeyedDataset', dataset=dict(type='FolderImages', pipeline=pipeline))
    preprocessor = dict(mean=[128.0] * channels, std=[64.0] * channels)
    model = dict(backbone=backbone, data_preprocessor=preprocessor)
    cfg = Config(dict(model=model, train_dataloader=dict(dataset=dataset)))
    found = preprocessing_of(cfg, MODELS.build(backbone))
    assert (found.resize, found.size, found.interpolation) == (size * 256 // 224, (size, size), 'bicubic')


def test_images_that_are_not_square_keep_height_and_width() -> None:
    backbone = dict(type='mmpretrain.ResNet', depth=18)
    steps = [dict(type='mmpretrain.ResizeEdge', scale=110), dict(type='mmpretrain.CenterCrop', crop_size=(160, 96))]
    loader = dict(dataset=dict(type='ImageFolder', pipeline=[*steps, dict(type='mmpretrain.PackInputs')]))
    found = preprocessing_of(Config(dict(model=dict(backbone=backbone), val_dataloader=loader)), MODELS.build(backbone))
    assert (found.resize, found.size) == (110, (96, 160))
