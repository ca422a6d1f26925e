"""The backbone in a checkpoint: which part is read, and whether it fits."""

import re
from pathlib import Path

import pytest
import tiny
import torch
import torchvision
from engine.tiny_runs import run_config, trained
from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmpretrain.models import ResNet, VisionTransformer
from mmpretrain.registry import MODELS
from torch import nn
from weights.other_libraries import prefixed, saved

from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.evaluation.models.frozen_features import FrozenFeatures
from mixcl.weights import PretrainedBackbone, backbone_config, load_pretrained, read_pretrained

ARCH = dict(embed_dims=16, num_layers=2, num_heads=2, feedforward_channels=32)


def vit(img_size: int = 8, patch_size: int = 2, out_type: str = 'cls_token', **arch: int) -> VisionTransformer:
    return VisionTransformer(dict(ARCH, **arch), img_size=img_size, patch_size=patch_size, out_type=out_type)


def resnet() -> ResNet:
    return ResNet(18, base_channels=4, stem_channels=4)


def of(module: nn.Module, **details: object) -> PretrainedBackbone:
    return PretrainedBackbone('some.pth', 'online', module.state_dict(), **details)


def assert_equal(left: dict, right: dict) -> None:
    assert set(left) == set(right)
    assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the checkpoint of a real run."""
    folder = tmp_path_factory.mktemp('run')
    trained(run_config(folder, train_cfg__max_epochs=1, config_name='patchmix/tiny'))
    return folder / 'epoch_1.pth'


def test_encoders_of_a_real_run_differ_and_load(checkpoint: Path) -> None:
    stored, outputs = torch.load(checkpoint, weights_only=True)['state_dict'], []
    for encoder, prefix in (('online', 'backbone.'), ('target', 'target.backbone.')):
        found = read_pretrained(checkpoint, encoder)
        assert_equal(prefixed(found.state, prefix), {name: stored[name] for name in stored if name.startswith(prefix)})
        assert (found.source, found.encoder, found.epochs) == (str(checkpoint), encoder, 1)
        assert found.backbone == tiny.model_config()['backbone']
        assert found.config.config_name == 'patchmix/tiny' and found.config.train_cfg.max_epochs == 1
        backbone = FrozenFeatures(tiny.model_config()['backbone'])
        report = load_pretrained(backbone, found)
        assert report.startswith('format: mixcl; 30 tensors loaded; new: none; left out: ') and 'neck (' in report
        assert ('target (46)' if encoder == 'online' else 'backbone (30)') in report
        assert_equal(backbone.backbone.state_dict(), found.state)
        outputs.append(backbone(torch.ones(1, 3, 8, 8))[0])
    assert not torch.allclose(*outputs)


def test_mmpretrain_reads_a_run_by_itself(checkpoint: Path) -> None:
    """docs/weights.md shows how: the name of the class, and a prefix, in a config of mmpretrain."""
    images = torch.randn(2, 3, 8, 8)
    for encoder, prefix in (('online', 'backbone.'), ('target', 'target.backbone.')):
        ours = FrozenFeatures(tiny.model_config()['backbone'])
        load_pretrained(ours, read_pretrained(checkpoint, encoder))
        stored = dict(type='Pretrained', checkpoint=str(checkpoint), prefix=prefix)
        backbone = dict(tiny.model_config()['backbone'], type='VisionTransformer', init_cfg=stored)
        with DefaultScope.overwrite_default_scope('mmpretrain'):
            classifier = MODELS.build(dict(type='ImageClassifier', backbone=backbone))
            classifier.init_weights()
        classifier.eval()
        torch.testing.assert_close(classifier.extract_feat(images), ours(images), rtol=1e-5, atol=1e-5)


def test_frozen_features_are_looked_through() -> None:
    inner = dict(type='mmpretrain.ResNet', depth=18)
    for backbone in (inner, dict(type='FrozenFeatures', backbone=inner)):
        assert backbone_config(Config(dict(model=dict(backbone=backbone)))) == inner
    assert backbone_config(Config(dict(model=dict(type='RawPixels')))) is None


def test_encoders_that_are_there_and_that_are_not(checkpoint: Path, tmp_path: Path) -> None:
    assert read_pretrained(checkpoint, ('target', 'online')).encoder == 'target'
    for prefix in ('', 'backbone.'):
        path = saved(tmp_path, prefixed(vit().state_dict(), prefix))
        assert read_pretrained(path, ('target', 'online')).encoder == 'online'
    with pytest.raises(UserError, match=r'some\.pth has no target encoder .* use `encoder=online`'):
        read_pretrained(path, 'target')


def test_what_does_not_fit_is_one_sentence() -> None:
    more_heads = dict(type='ContrastiveViT', arch=dict(ARCH, num_heads=4))
    broken = vit()
    broken.layers[0].ln1.weight.data[0] = torch.nan
    load_pretrained(vit(num_heads=4), of(vit(num_heads=4), backbone=more_heads))
    for pretrained, message in (
        (of(vit(embed_dims=24)), 'cls_token is (1, 1, 24) in the file and (1, 1, 16) in the model'),
        (of(vit(num_layers=1)), '12 of 30 tensors are not in the file, for example layers.1.'),
        (of(vit(num_layers=3)), 'the model has no place for 12 tensors of the file, for example layers.2.'),
        (of(resnet()), 'VisionTransformer: 0 of 30 names match; conv1.weight in the file, cls_token in the'),
        (of(vit(num_heads=4), backbone=more_heads), 'it was trained with 4 attention heads, but the model has 2'),
        (of(broken), 'holds infinity or NaN in 1 tensors, for example layers.0.ln1.weight'),
    ):
        with pytest.raises(UserError, match=re.escape(message)) as raised:
            load_pretrained(vit(), pretrained)
        assert '\n' not in str(raised.value) and 'some.pth' in str(raised.value)


def test_heads_are_compared_where_a_whole_model_is_loaded(checkpoint: Path, tmp_path: Path) -> None:
    cfg = run_config(tmp_path, load_from=str(checkpoint), config_name='patchmix/tiny')
    build_runner(cfg.copy())
    cfg.model.backbone.arch.num_heads *= 2
    with pytest.raises(UserError, match='attention heads, but the model has'):
        build_runner(cfg)


def test_files_without_counters_of_batch_normalisation_load() -> None:
    """torchvision's oldest files have no counters."""
    own, other = torchvision.models.resnet18(), torchvision.models.resnet18()
    state = {name: tensor for name, tensor in other.state_dict().items() if 'num_batches_tracked' not in name}
    load_pretrained(own, PretrainedBackbone('some.pth', 'online', state))
    torch.testing.assert_close(own.layer4[1].conv2.weight, other.layer4[1].conv2.weight)


def test_the_report_names_what_is_new_and_unused() -> None:
    state = vit().state_dict()
    state |= {f'head.{name}': torch.zeros(1) for name in 'abcd'}
    own = vit(out_type='avg_featmap')
    before = own.ln2.weight.clone()
    with pytest.raises(UserError, match=r'2 of 32 tensors are not in the file, for example ln2\.weight'):
        load_pretrained(own, PretrainedBackbone('some.pth', 'online', state))
    report = load_pretrained(own, PretrainedBackbone('some.pth', 'online', state), new=('ln2.*',))
    assert torch.equal(own.ln2.weight, before)
    assert report.endswith('30 tensors loaded; new: ln2.weight, ln2.bias; left out: head (4)')
