"""Detection by the commands that a user types: from a pretraining checkpoint to metrics and pictures."""

import importlib.util
import json
import re
import sys

import pytest
from mmengine.config import Config
from mmengine.runner import Runner
from tools.command import ROOT, error_lines, run
from tools.in_process import run_here

from mixcl.weights import newest_checkpoint

SHAPES = 'configs/transfer/shapes/mask-rcnn_vit-xs16.py'
VOC = 'configs/transfer/voc/faster-rcnn_r50-c4_24k.py'
VIT_S = (
    'model.backbone.arch.embed_dims=384', 'model.backbone.arch.num_layers=2', 'model.backbone.arch.num_heads=12',
    'model.backbone.arch.feedforward_channels=1536', 'model.backbone.global_blocks=(1,)', 'model.neck.in_channels=384',
)  # fmt: skip
"""Options for the backbone that a smoke run of ViT-S/16 pretrains."""

SHORT = (
    'train_cfg.max_iters=2', 'train_cfg.val_interval=2', 'default_hooks.logger.interval=1',
    'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0',
)  # fmt: skip
SHORT_VOC = (
    *SHORT,
    'train_cfg.max_iters=1',
    *(f'train_dataloader.dataset.dataset.datasets.{part}.pipeline.2.scales=[(64,48),(64,64)]' for part in (0, 1)),
    'model.train_cfg.rcnn.sampler.num=4',
    'model.train_cfg.rpn_proposal.max_per_img=8',
    'custom_hooks.4.num_samples=4',
)


def pretrain(folder, config):
    """Return the checkpoint of a run that stops at once; it is like any other."""
    command = ('tools/train.py', config, '--smoke', '--no-validate', '--work-dir', folder)
    assert run_here(*command, options=('train_cfg.max_seconds=0',)) == 85
    return newest_checkpoint(folder)


@pytest.fixture(scope='module')
def patchmix(tmp_path_factory):
    return pretrain(tmp_path_factory.mktemp('patchmix'), 'configs/patchmix/vit-s16_in1k.py')


def test_from_patchmix_to_boxes_and_masks(patchmix, shapes, tmp_path):
    data = ('--data-root', shapes, '--work-dir', tmp_path)
    train = ('tools/train.py', SHAPES, *data, '--pretrained', patchmix, '--amp')
    assert run_here(*train, options=('train_dataloader.batch_size=2', *SHORT, *VIT_S)) == 0
    log = '\n'.join(path.read_text() for path in tmp_path.glob('*/*.log'))
    assert 'BFloat16OptimWrapper' in log
    report = re.search(r'backbone from the online encoder in \S+: (.*)', log).group(1)
    loaded = '27 tensors loaded; new: layers.0.attn.rel_pos_h, layers.0.attn.rel_pos_w, layers.1'
    assert report.partition('; ')[2].startswith(loaded)
    # four tables of relative positions; class token and final norm stay behind
    assert 'and 1 more; left out: cls_token (1), ln1 (2), ' in report
    assert 'Iter(train) [2/2]' in log and 'loss_mask' in log and '2 steps, seed' in log
    checkpoint, out = tmp_path / 'iter_2.pth', tmp_path / 'results.json'
    options = (*VIT_S, 'test_dataloader.num_workers=0', 'model.test_cfg.rcnn.score_thr=0.0')
    assert run_here('tools/test.py', SHAPES, checkpoint, '--out', out, *data, options=options) == 0
    results = json.loads(out.read_text())
    assert {'coco/bbox_mAP', 'coco/segm_mAP'} <= results.keys() and 0 <= results['coco/bbox_mAP'] <= 1
    pictures = tmp_path / 'pictures'
    draw = ('tools/visualize_detections.py', SHAPES, checkpoint, '--data-root', shapes, '--out-dir', pictures)
    assert run_here(*draw, '--num-images', 2, options=VIT_S) == 0
    assert {path.name for path in pictures.glob('*.png')} == {'000.png', '001.png'}


@pytest.mark.long
def test_from_mixco_to_voc_in_two_processes(voc, tmp_path):
    """Synchronised batch norm, the extra norm of the C4 head and precise statistics under gloo; then a test."""
    mixco = pretrain(tmp_path / 'mixco', 'configs/mixco/r50_in1k_mocov2.py')
    launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2, 'tools/train.py', VOC)
    options = ('--data-root', voc, '--work-dir', tmp_path / 'run', '--pretrained', mixco)
    train = run(*launch, '--launcher', 'pytorch', '--no-validate', *options, '--cfg-options', *SHORT_VOC, timeout=400)
    assert train.returncode == 0, train.stderr[-3000:]
    assert 'global batch 4: 2 images on each of 2 process(es)' in train.stdout
    backbone = re.search(r'backbone from the online encoder in \S+: (.*)', train.stdout).group(1)
    assert 'new: none; left out: layer4 (' in backbone
    head = re.search(r'shared head from the online encoder in \S+: (.*)', train.stdout).group(1)
    assert 'new: norm.weight, norm.bias, norm.running_mean and 1 more' in head and 'left out: conv1 (1), ' in head
    assert 'batch norms from 4 images' in max(tmp_path.glob('run/*/*.log')).read_text()
    # one process reads what two have written
    out = tmp_path / 'results.json'
    test = ('tools/test.py', VOC, tmp_path / 'run/iter_1.pth', '--data-root', voc, '--out', out)
    size = 'test_dataloader.dataset.pipeline.1.scale=(64,64)'
    options = ('test_dataloader.num_workers=0', size, 'model.test_cfg.rpn.max_per_img=4')
    assert run_here(*test, '--work-dir', tmp_path / 'test', options=options) == 0
    results = json.loads(out.read_text())
    assert all(0 <= results[f'pascal_voc/{metric}'] <= 1 for metric in ('mAP', 'AP50', 'AP75'))


def test_a_plain_mmdet_config_needs_one_import(patchmix, tmp_path):
    """The example of the documentation, with mmengine's Runner as mmdet's tools use it."""
    page = (ROOT / 'docs/detection.md').read_text()
    (example,) = re.findall(r'```python\n(# in a config of mmdet.*?)```', page, re.DOTALL)
    changes = {'epoch_300.pth': str(patchmix), 'num_layers=12': 'num_layers=2', '(2, 5, 8, 11)': '(1,)'}
    for old, new in changes.items():
        assert old in example
        example = example.replace(old, new)
    (tmp_path / 'plain.py').write_text(example)
    cfg = Config.fromfile(tmp_path / 'plain.py')
    cfg.work_dir, cfg.experiment_name = str(tmp_path), 'plain'
    runner = Runner.from_cfg(cfg)
    rates = [group['lr'] for group in runner.build_optim_wrapper(cfg.optim_wrapper).param_groups]
    assert type(runner.model.backbone).__name__ == 'DetectionViT' and min(rates) == pytest.approx(1e-4 * 0.7**3)


def test_without_mmdet_one_sentence_names_the_command(tmp_path, monkeypatch, capsys):
    """``find_spec`` finds no mmdet, as if it were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name, *rest: None if name == 'mmdet' else find(name, *rest))
    for name in [name for name in sys.modules if name.startswith('mixcl.detection')]:
        monkeypatch.delitem(sys.modules, name)
    assert run_here('tools/train.py', SHAPES, '--work-dir', tmp_path) == 2
    (line,) = error_lines(capsys.readouterr().err)
    assert 'needs mmdet, which is not installed; run `make det`' in line
