from pathlib import Path

import numpy as np
import pytest
import torch
from evaluation.toy_encoders import (
    BANK,
    QUERIES,
    ToyModel,
    built,
    dataloader,
    evaluation,
    loop,
    runner_of,
    two_processes,
)
from mmcv.transforms import BaseTransform
from mmengine.evaluator import Evaluator
from mmengine.hooks import Hook
from mmengine.registry import TRANSFORMS
from mmengine.runner import Runner
from pairs import run_pair
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.features import extract
from mixcl.evaluation.functional.knn import knn_accuracy
from mixcl.evaluation.metrics.feature_metric import FeatureMetric


class Recorder(Hook):
    """Notes every call that belongs to evaluation."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.metrics: dict[str, float] = {}

    def _before_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None, mode: str = 'train') -> None:
        self.calls.append(f'before_{mode}_iter')

    def _after_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: list | None = None,
                    mode: str = 'train') -> None:  # fmt: skip
        self.calls.append(f'after_{mode}_iter {batch_idx}')

    def before_val(self, runner: Runner) -> None:
        self.calls.append('before_val')

    def before_test(self, runner: Runner) -> None:
        self.calls.append('before_test')

    def after_val_epoch(self, runner: Runner, metrics: dict | None = None) -> None:
        self.calls.append('after_val_epoch')
        self.metrics = metrics

    def after_test_epoch(self, runner: Runner, metrics: dict | None = None) -> None:
        self.calls.append('after_test_epoch')
        self.metrics = metrics

    def after_val(self, runner: Runner) -> None:
        self.calls.append('after_val')

    def after_test(self, runner: Runner) -> None:
        self.calls.append('after_test')


def expected(model: ToyModel, *neighbours: int) -> dict[str, float]:
    queries, labels = extract(model, built(dataloader(QUERIES, seed=1)), model.encoder_names)
    bank, bank_labels = extract(model, built(dataloader(BANK)), model.encoder_names)
    return {
        f'{name}_{metric}': value
        for name in model.encoder_names
        for metric, value in knn_accuracy(queries[name], labels, bank[name], bank_labels, neighbours).items()
    }


@pytest.mark.parametrize('mode', ['val', 'test'])
def test_metrics_of_every_encoder_and_the_hooks_of_the_mode(tmp_path: Path, mode: str) -> None:
    model, recorder = ToyModel(), Recorder()
    # Both loops are configured, so that the mode cannot be guessed from what exists.
    settings = evaluation('val', dataloader(BANK), dataloader(QUERIES, seed=1), 3, 20)
    settings.update(evaluation('test', dataloader(BANK), dataloader(QUERIES, seed=1), 3, 20))
    metrics = getattr(runner_of(tmp_path, model, custom_hooks=[recorder], **settings), mode)()
    assert metrics == pytest.approx(expected(model, 3, 20))
    assert list(metrics) == [
        f'{name}_knn{k}_top{best}' for name in ('online', 'target') for k in (3, 20) for best in (1, 5)
    ]
    assert recorder.metrics == metrics
    assert recorder.calls == [
        f'before_{mode}',
        f'before_{mode}_iter', f'after_{mode}_iter 0', f'before_{mode}_iter', f'after_{mode}_iter 1',
        f'after_{mode}_epoch', f'after_{mode}',
    ]  # fmt: skip


def test_training_goes_the_same_way_with_and_without_it(tmp_path: Path) -> None:
    weights = []
    for settings in ({}, evaluation('val', dataloader(BANK), dataloader(QUERIES, seed=1), 3)):
        model = ToyModel()
        runner = runner_of(
            tmp_path, model, train_dataloader=dataloader(8), train_cfg=dict(by_epoch=True, max_epochs=2),
            optim_wrapper=dict(optimizer=dict(type='SGD', lr=0.1)), **settings,
        )  # fmt: skip
        runner.train()
        weights.append(model.state_dict())
    assert 'val/online_knn3_top1' in runner.message_hub.log_scalars
    assert len(runner.message_hub.get_scalar('val/target_knn3_top1').data[0]) == 2
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)


class LabelsSeen(FeatureMetric):
    """Notes what it is given."""

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        self.seen = bank_labels, labels
        return dict(dimensions=float(bank.shape[1]), queries=float(len(queries)))


class Presence(BaseTransform):
    """Two classes; the second one's presence goes round by the image's class."""

    def transform(self, results: dict) -> dict:
        results['present'] = np.array([1, results['gt_label'] - 1], dtype=np.int8)
        return results


TRANSFORMS.register_module(module=Presence, force=True)


def test_several_labels_per_image(tmp_path: Path) -> None:
    pack = [dict(type='mmengine.Presence'), dict(type='mmpretrain.PackInputs', algorithm_keys=('present',))]
    bank, queries = dataloader(BANK), dataloader(QUERIES, seed=1)
    for loader in (bank, queries):
        loader['dataset']['pipeline'] = pack
    metric = LabelsSeen()
    settings = evaluation('test', bank, queries, labels='multiple') | dict(test_evaluator=Evaluator(metric))
    metrics = runner_of(tmp_path, ToyModel(), **settings).test()
    assert metrics['online_dimensions'] == 6 and metrics['target_queries'] == QUERIES
    bank_labels, labels = metric.seen
    assert bank_labels.dtype == labels.dtype == torch.int8
    assert labels.tolist() == [[1, index % 3 - 1] for index in range(QUERIES)]
    assert bank_labels.tolist() == [[1, index % 3 - 1] for index in range(BANK)]


def test_two_processes_give_what_one_gives_and_refuse_together(tmp_path: Path) -> None:
    model = ToyModel()
    metrics = expected(model, 3, 20)
    assert 0 < metrics['online_knn3_top1'] < 100
    features, labels = extract(model, built(dataloader(BANK)), ('online',))
    for results in run_pair(two_processes, tmp_path):
        assert results.pop('refusal') == 'these features will not do'
        for found, found_features, found_labels in results.values():
            assert found == metrics
            torch.testing.assert_close(found_features, features)
            assert torch.equal(found_labels, labels)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(test_dataloader=dataloader(QUERIES, labelled=False)), 'ToyImages does not give one label per image'),
        (dict(test_cfg=loop(dataloader(BANK, labelled=False))), 'ToyImages does not give one label per image'),
        (dict(test_cfg=loop(dataloader(BANK), labels='multiple')), 'does not say which classes an image shows'),
        (dict(test_cfg=loop(dataloader(BANK), labels='many')), "must be 'class' or 'multiple', not 'many'"),
        (dict(test_evaluator=[dict(type='KNNAccuracy')] * 2), 'one of each, but the evaluator holds 2 KNNAccuracy'),
        (dict(test_evaluator=dict(type='DumpResults', out_file_path='x.pkl')), 'the evaluator holds 1 DumpResults'),
    ],
)
def test_refuses_before_encoding(tmp_path: Path, change: dict, message: str) -> None:
    model = ToyModel()
    settings = evaluation('test', dataloader(BANK), dataloader(QUERIES), 1) | change
    with pytest.raises(UserError, match=message):
        runner_of(tmp_path, model, **settings).test()
    assert not model.modes_seen


def test_a_model_without_encoders_is_refused(tmp_path: Path) -> None:
    settings = evaluation('test', dataloader(BANK), dataloader(QUERIES), 1)
    with pytest.raises(UserError, match='cannot evaluate a Linear'):
        runner_of(tmp_path, torch.nn.Linear(2, 2), **settings).test()
