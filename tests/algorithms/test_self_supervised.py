"""mmpretrain's algorithms in mixcl's loop: the same losses, and what the loop promises for any learner."""

from pathlib import Path

import masked
import pairs
import pytest
import torch
from engine.runners.test_exact_resume import STEPS, histories, resumed, run
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.registry import DefaultScope
from mmpretrain.registry import MODELS as MMPRETRAIN
from mmpretrain.structures import DataSample

from mixcl.algorithms import SelfSupervised
from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators

BOTH = ('mae', 'simmim')


@pytest.mark.parametrize('name', BOTH)
def test_losses_are_those_of_mmpretrain(name: str) -> None:
    """Both have the same weights, and draw masks from the same state of the generators."""
    ours, (images, samples, _) = masked.built(name), masked.batch(0)
    with DefaultScope.overwrite_default_scope('mixcl'):
        kind, preprocessor = masked.ALGORITHMS[name]['type'], dict(type='mmpretrain.SelfSupDataPreprocessor')
        own = dict(type=f'mmpretrain.{kind}', data_preprocessor=preprocessor)
        theirs = MMPRETRAIN.build({**masked.ALGORITHMS[name], **own}).double()
    assert not isinstance(theirs, SelfSupervised)
    theirs.load_state_dict(ours.state_dict())
    found = []
    for model, inputs in ((ours, [images]), (theirs, images)):
        seed_global_generators(1)
        found.append(model(inputs, samples, mode='loss')['loss'])
    assert torch.equal(*found) and found[0] > 0


def test_the_loss_of_simmim_by_hand() -> None:
    model, (images, samples, _) = masked.built('simmim'), masked.batch(0)
    loss = model([images], samples, mode='loss')['loss']
    mask = torch.stack([sample.mask for sample in samples])
    (features,) = model.backbone(images, mask)
    predicted, total, count = model.neck(features), 0.0, 0
    for image, row, column in mask.nonzero().tolist():
        cell = (image, slice(None), slice(2 * row, 2 * row + 2), slice(2 * column, 2 * column + 2))
        total, count = total + (predicted[cell] - images[cell]).abs().sum(), count + 12
    torch.testing.assert_close(loss, total / count)


def test_masks_move_to_the_device_of_the_model() -> None:
    """Tensors of one shape in all samples move; labels of different lengths stay."""
    learner = masked.built('simmim').to('meta')
    images, samples, _ = masked.batch(0)
    for number, sample in enumerate(samples):
        sample.set_gt_label(list(range(number + 1)))
    learner([images.to('meta')], samples, mode='loss')
    assert {sample.mask.device.type for sample in samples} == {'meta'}
    assert {sample.gt_label.device.type for sample in samples} == {'cpu'}


@pytest.mark.parametrize('name', BOTH)
def test_a_run_continues_within_an_epoch(tmp_path: Path, name: str) -> None:
    without, checkpoint = dict(default_hooks__online_probe=None), tmp_path / f'straight/iter_{STEPS_PER_EPOCH - 2}.pth'
    straight = run(tmp_path / 'straight', **masked.changes(name), **without)
    again = resumed(tmp_path / 'resumed', checkpoint, **masked.changes(name), **without)
    assert histories(straight) == histories(again) and len(histories(again)['train/loss']) == STEPS
    torch.testing.assert_close(straight.model.state_dict(), again.model.state_dict(), rtol=0, atol=0)


def test_two_processes_have_the_gradients_of_one(tmp_path: Path) -> None:
    found = pairs.run_pair(masked.step, tmp_path)
    for name in BOTH:
        expected = masked.gradients(name, masked.batch(0), masked.batch(1))
        assert max(gradient.abs().max() for gradient in expected.values()) > 1e-3
        for part in found:
            torch.testing.assert_close(part[name], expected)


@pytest.mark.parametrize('name', ['maskfeat', 'barlowtwins', 'densecl'])
def test_other_algorithms_train(tmp_path: Path, name: str) -> None:
    runner = trained(run_config(tmp_path, **masked.changes(name)))
    side = masked.SIDES.get(name, 8)
    losses = runner.message_hub.log_scalars['train/loss'].data[0]
    assert len(losses) == STEPS and torch.tensor(losses).isfinite().all()
    assert runner.model.extract_features(torch.randn(2, 3, side, side)).dim() == 2


def test_mmpretrains_own_kind_is_named(tmp_path: Path) -> None:
    changes = masked.changes('mae')
    changes['model']['type'] = 'mmpretrain.MAE'
    with pytest.raises(UserError, match=r"MAE is not one of them: write model\.type='MAE'"):
        trained(run_config(tmp_path, **changes))


def test_samples_without_tensors() -> None:
    learner, (images, *_) = masked.built('mae'), masked.batch(0)
    assert learner([images], [DataSample()] * 4, mode='loss')['loss'] > 0
