"""A classifier that is trained beside the encoder without changing it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import tiny
import torch
from engine.probe_runs import Watched, begun, probe_of, validated
from engine.tiny_runs import run_config, trained

from mixcl.engine import OnlineProbe
from mixcl.errors import UserError

LINE = dict(default_hooks__online_probe=dict(type='OnlineProbe'))


@pytest.mark.parametrize('amp', [False, True], ids=['float32', 'bfloat16'])
def test_pretraining_is_the_same_to_the_bit_and_validation_has_its_accuracy(tmp_path: Path, amp: bool) -> None:
    wrapper = dict(optim_wrapper__accumulative_counts=2)
    wrapper |= dict(optim_wrapper__type='mixcl.BFloat16OptimWrapper') if amp else {}
    plain, watched = (
        trained(validated(run_config(tmp_path / name, **wrapper, **line))) for name, line in (('a', {}), ('b', LINE))
    )
    torch.testing.assert_close(watched.model.state_dict(), plain.model.state_dict(), rtol=0, atol=0)
    scalars = watched.message_hub.log_scalars
    assert len(scalars['train/online_probe_train_top1'].data[0]) == 10
    hook = probe_of(watched)
    loader, hits = watched.val_dataloader, 0
    with torch.no_grad():
        for batch in loader:
            images = watched.model.data_preprocessor(batch)['inputs']
            features = watched.model.eval().extract_features(images)
            labels = torch.cat([sample.gt_label for sample in batch['data_samples']])
            hits += int((hook.probe.eval()(features).argmax(dim=1) == labels).sum())
    assert scalars['val/online_probe_top1'].current() == pytest.approx(100 * hits / 21)


def test_it_learns_what_can_be_learnt_from_those_with_labels() -> None:
    accuracies = Watched().learn(slice(None), steps=30, unlabelled=(0, 5)).accuracies
    assert accuracies[0] < 60 and accuracies[-1] == 100, 'the first is before it has learnt anything'


def test_batches_without_labels_or_not_finite_are_survived() -> None:
    watched = Watched().learn(slice(0, 2), steps=2, unlabelled=(0, 1))
    assert watched.accuracies == []
    watched.see(torch.full((4, 6), torch.nan), [0] * 4)
    assert all(value.isfinite().all() for value in watched.hook.probe.state_dict().values())


def test_two_processes_have_the_probe_of_one(pair: list[dict]) -> None:
    expected = Watched().learn(slice(None), steps=4).hook.probe.state_dict()
    for found in pair:
        torch.testing.assert_close(found['probe'], expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(*(found['probe'] for found in pair), rtol=0, atol=0)


BSIM = dict(terms=[('mix1', 'view2', 1.0)], streams=dict(mix1=dict(mix='view1')))


@pytest.mark.parametrize(
    ('hook', 'build', 'labels', 'message'),
    [
        (OnlineProbe(), tiny.build, [None, None], 'needs training images with one label each'),
        (OnlineProbe(), tiny.build, [None, 3], 'two classes or more; the training set names 0, set num_classes'),
        (OnlineProbe(4), partial(tiny.build, **BSIM), [3], r'mixtures only \(mix1\); leave it out'),
        (OnlineProbe(4), partial(torch.nn.Linear, 1, 1), [3], 'not a Linear'),
    ],
)
def test_what_cannot_be_probed_is_refused(hook: OnlineProbe, build: Callable, labels: list, message: str) -> None:
    with pytest.raises(UserError, match=message):
        begun(hook, build(), labels)


def test_a_label_beyond_the_classes_is_refused() -> None:
    with pytest.raises(UserError, match='num_classes=3, but an image has the label 3'):
        Watched().see(torch.zeros(1, 6), [3])
