"""Segmentation by frozen tokens: its measure against scikit-learn, squares of an image, and runs of the protocol."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from evaluation.segmented import masked_folder, voc12
from mmpretrain.structures import DataSample
from PIL import Image
from sklearn.metrics import accuracy_score, confusion_matrix, jaccard_score
from tools.command import run
from tools.in_process import refusal, run_here
from torch import Tensor, nn

from mixcl.datasets import MaskedCrop, MaskedFolder, VOC12Segmentation
from mixcl.datasets.transforms.masks import LoadMask, mask_of
from mixcl.errors import UserError
from mixcl.evaluation.metrics.mean_iou import MeanIoU, confusion
from mixcl.evaluation.models.segmenter import Segmenter, TokenClassifier, places
from mixcl.randomness import seed_global_generators
from mixcl.registry import MODELS, build

VIT = dict(
    type='ContrastiveViT',
    arch=dict(embed_dims=16, num_layers=1, num_heads=2, feedforward_channels=16),
    img_size=12,
    patch_size=4,
)


def test_mean_iou_is_that_of_scikit_learn() -> None:
    draws = np.random.default_rng(0)
    true = [draws.integers(0, 5, (6 + n, 7)).astype(np.uint8) for n in range(4)]
    given = [np.where(draws.random(each.shape) < 0.6, each, draws.integers(0, 4, each.shape)) for each in true]
    for each in true:
        each[draws.random(each.shape) < 0.2] = 255
    metric = MeanIoU()
    metric.dataset_meta = dict(classes=[*'abcdef'])  # 'f' occurs nowhere
    samples = [
        dict(gt_classes=mask, pred_classes=torch.from_numpy(found).to(torch.uint8))
        for mask, found in zip(true, given, strict=True)
    ]
    metric.process({}, samples)
    found = metric.compute_metrics(metric.results)
    known = np.concatenate([mask.ravel() for mask in true])
    pairs = known[known < 255], np.concatenate([each.ravel() for each in given])[known < 255]
    assert torch.equal(sum(metric.results)[:5, :5], torch.from_numpy(confusion_matrix(*pairs, labels=range(5))))
    assert found['miou'] == pytest.approx(100 * jaccard_score(*pairs, average='macro'))
    assert found['pixel_accuracy'] == pytest.approx(100 * accuracy_score(*pairs)) and 'iou_f' not in found
    with pytest.raises(UserError, match='no pixel of the test images has a class'):
        metric.compute_metrics([confusion(torch.tensor([255]), torch.tensor([3]), 4)])


def crop(seed: int, **settings: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mask = np.zeros((30, 50), dtype=np.uint8)
    mask[5:20, 10:35] = 1
    image = np.stack([mask * 100, *np.indices(mask.shape)], axis=2).astype(np.uint8)
    seed_global_generators(seed)
    found = MaskedCrop(20, **settings)(dict(img=image, gt_classes=mask))
    return found['img'], found['gt_classes'], image


def test_crops_show_what_their_masks_say() -> None:
    mirrored = 0
    for seed in range(12):
        image, mask, whole = crop(seed, ratio=(1.5, 1.5))  # of the image's own size
        assert image.shape == (20, 20, 3) and set(np.unique(mask)) == {0, 1}
        assert np.array_equal(image[..., 0], mask * 100)
        top, left, right = image[0, 0, 1], image[0, 0, 2], image[0, -1, 2]
        part = whole[top : top + 20, min(left, right) : max(left, right) + 1]
        assert np.array_equal(image, part[:, ::-1] if left > right else part)
        assert mask.mean() < 0.75 and (1 - mask).mean() < 0.75
        mirrored += left > right
    assert 2 < mirrored < 10
    image, mask, whole = crop(0, ratio=(0.5, 0.5))  # 10 of the 20 rows
    assert (mask == 255).sum() == 10 * 20 + 10 * 3
    assert np.abs(image[mask == 255] - whole.mean(axis=(0, 1))).max() < 1
    assert np.abs(image[..., 0].astype(int) - mask * 100)[mask < 255].mean() < 8


def built(size: int) -> Segmenter:
    backbone, preprocessor = dict(type='FrozenFeatures', backbone=VIT), dict(type='ClassifierViewPreprocessor')
    return build(MODELS, dict(type='Segmenter', size=size, backbone=backbone, data_preprocessor=preprocessor))


class Constant(nn.Module):
    """A head whose scores of a square are its first pixel."""

    num_classes = 3

    def forward(self, features: tuple[Tensor]) -> Tensor:
        return features[0][:, :, :1, :1]


def test_scores_are_averages_over_squares_that_overlap() -> None:
    assert (places(12, 12), places(13, 12), places(30, 12)) == ([0], [0, 1], [0, 8, 16, 18])
    segmenter = built(12)
    segmenter.head, segmenter.extract_feat = Constant(), lambda square: (square,)
    image = torch.randn(1, 3, 12, 18)
    total, times = torch.zeros(3, 12, 18), torch.zeros(12, 18)
    for left in (0, 6):
        total[:, :, left : left + 12] += image[0, :, 0, left, None, None]
        times[:, left : left + 12] += 1
    torch.testing.assert_close(segmenter.scores(image)[0], total / times)
    sample = DataSample()
    sample.set_field(np.zeros((24, 36), dtype=np.uint8), 'gt_classes')
    (found,) = segmenter.predict(image, [sample])
    assert found.pred_classes.shape == (24, 36)
    with pytest.raises(UserError, match=r'patches of 4; set segment\.data.size=16'):
        built(14)


def test_the_loss_is_the_mean_over_pixels_with_a_class() -> None:
    head = TokenClassifier(3, 5)
    tokens, mask = torch.randn(2, 4, 4, 5), torch.randint(0, 3, (2, 8, 8), dtype=torch.uint8)
    mask[0, :3] = 255
    samples = [DataSample() for _ in mask]
    for sample, each in zip(samples, mask, strict=True):
        sample.set_field(each.numpy(), 'gt_classes')
    scores = nn.Upsample(scale_factor=2, mode='bilinear')(head((tokens,)))
    expected = nn.CrossEntropyLoss(ignore_index=255)(scores, mask.long())
    torch.testing.assert_close(head.loss((tokens,), samples)['loss'], expected)
    samples[0].gt_classes[:] = samples[1].gt_classes[:] = 255
    assert head.loss((tokens,), samples)['loss'] == 0


def test_voc_and_a_folder_are_read_as_they_lie(tmp_path: Path) -> None:
    voc = VOC12Segmentation(str(voc12(tmp_path)), split='val')
    assert len(voc) == 4 and len(voc.metainfo['classes']) == 21
    mask = mask_of(voc.get_data_info(0)['mask_path'])
    assert mask.shape == (48, 36) and set(np.unique(mask)) - {0, 255} and mask.max() == 255
    (tmp_path / 'VOCdevkit/VOC2012/SegmentationClass/2007_000009.png').unlink()
    with pytest.raises(UserError, match=r'SegmentationClass/2007_000009\.png is missing'):
        VOC12Segmentation(voc.data_root, split='val')

    root = masked_folder(tmp_path / 'own')
    drawn = {split: MaskedFolder(str(root), split=split) for split in ('train', 'test')}
    assert sum(map(len, drawn.values())) == 10 and len(drawn['test']) >= 1
    assert drawn['train'].metainfo['classes'] == ('0', '1', '2')
    info = drawn['train'].get_data_info(0)
    assert info['mask_path'] == info['img_path'].replace('images', 'masks')
    for part in ('images', 'masks'):
        (root / part / '0').rename(root / part / 'train')
        (root / part / '1').rename(root / part / 'val')
    assert [len(MaskedFolder(str(root), split=split)) for split in ('train', 'test')] == [5, 5]
    Image.new('L', (3, 3)).save(root / 'small.png')
    with pytest.raises(UserError, match='a mask has the size of its image'):
        LoadMask()(dict(img=np.zeros((4, 4, 3)), img_path='a.jpg', mask_path=root / 'small.png', num_classes=2))
    Image.new('L', (3, 3), 2).save(root / 'small.png')
    with pytest.raises(UserError, match='has the grey level 2, but there are 2 classes'):
        LoadMask()(dict(img=np.zeros((3, 3, 3)), img_path='a.jpg', mask_path=root / 'small.png', num_classes=2))
    for path in root.glob('masks/*/*.png'):
        Image.fromarray(np.where(mask_of(path) > 0, 255, 0).astype(np.uint8)).save(path)
    with pytest.raises(UserError, match=r'have the grey level.s. 0, .* write classes as 0, 1, 2'):
        MaskedFolder(str(root))
    Image.new('RGB', (3, 3)).save(root / 'small.png')
    with pytest.raises(UserError, match='pixels of kind RGB; write one byte'):
        mask_of(root / 'small.png')


CALL = ('tools/evaluate.py', 'random', '--config', 'patchmix/vit-xs4_digits', '--protocols', 'segment')
QUICK = [f'segment.{name}_dataloader.num_workers=0' for name in ('train', 'val')]
QUICK += ['segment.data.size=32', 'segment.schedule.epochs=6', 'segment.schedule.warmup=2', 'segment.batch=4']


def metrics(folder: Path) -> dict[str, float]:
    (row,) = json.loads((folder / 'results.json').read_text())
    assert next(iter(row['metrics'])) == 'segment/miou'  # what comparisons take
    return {name: value for name, value in row['metrics'].items() if value == value}


def test_the_protocol_on_voc_and_on_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    root = voc12(tmp_path)
    arguments = (*CALL, '--data', 'cifar10', '--data-root', f'voc12={root}', '--work-dir', tmp_path / 'voc')
    assert run_here(*arguments, options=QUICK) == 0
    found = metrics(tmp_path / 'voc')
    assert 0 < found['segment/miou'] < found['segment/pixel_accuracy'] < 100
    own = (*CALL, '--data', f'folder:{masked_folder(tmp_path / "own")}', '--work-dir', tmp_path / 'out')
    assert run_here(*own, options=[*QUICK, 'segment.optimizer.lr=1', 'segment.schedule.epochs=30']) == 0
    assert metrics(tmp_path / 'out')['segment/miou'] > 50  # colours tell the classes
    line = refusal(capfd, *CALL, '--data', f'list:{tmp_path}/a.csv', options=None)
    assert 'segment needs masks; write folder:PATH' in line


@pytest.mark.long
def test_two_processes_and_a_resumed_run_find_the_same(tmp_path: Path) -> None:
    data = ('--data', 'voc12', '--data-root', voc12(tmp_path))
    assert run_here(*CALL, *data, '--work-dir', tmp_path / 'one', options=QUICK) == 0
    launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
    two = ('--work-dir', tmp_path / 'two', '--launcher', 'pytorch', '--cfg-options', *QUICK)
    result = run(*launch, *CALL, *data, *two, timeout=300)
    assert result.returncode == 0, result.stderr[-3000:]
    assert metrics(tmp_path / 'two') == pytest.approx(metrics(tmp_path / 'one'), abs=0.05)

    expected = metrics(tmp_path / 'one')
    (tmp_path / 'one/results.json').unlink()
    runs = sorted((tmp_path / 'one').glob('segment_*/epoch_*.pth'))
    runs[-1].unlink()
    (runs[-1].parent / 'last_checkpoint').write_text(str(runs[-2]))
    assert run_here(*CALL, *data, '--work-dir', tmp_path / 'one', options=QUICK) == 0
    assert metrics(tmp_path / 'one') == expected
