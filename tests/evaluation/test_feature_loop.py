from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from evaluation.toy_encoders import BANK, QUERIES, ToyModel, built, dataloader, evaluation, runner_of, two_processes
from pairs import run_pair

from mixcl.errors import UserError
from mixcl.evaluation.features import extract
from mixcl.evaluation.functional.knn import knn_accuracy


def expected(model: ToyModel, *neighbours: int) -> dict[str, float]:
    queries, labels = extract(model, built(dataloader(QUERIES, 'test')), model.encoder_names)
    bank, bank_labels = extract(model, built(dataloader(BANK)), model.encoder_names)
    return {
        f'{name}_{metric}': value
        for name in model.encoder_names
        for metric, value in knn_accuracy(queries[name], labels, bank[name], bank_labels, neighbours).items()
    }


@pytest.mark.parametrize('mode', ['val', 'test'])
def test_metrics_of_every_encoder_and_the_hooks_of_the_mode(tmp_path: Path, mode: str) -> None:
    model = ToyModel()
    # Both loops are configured, so that the mode cannot be guessed from what exists.
    settings = evaluation('val', dataloader(BANK), dataloader(QUERIES, 'test'), 3, 20)
    settings.update(evaluation('test', dataloader(BANK), dataloader(QUERIES, 'test'), 3, 20))
    runner = runner_of(tmp_path, model, **settings)
    with patch.object(runner, 'call_hook', wraps=runner.call_hook) as hooks:
        metrics = getattr(runner, mode)()
    assert metrics == pytest.approx(expected(model, 3, 20))
    assert list(metrics) == [
        f'{name}_knn{k}_top{best}'
        for name in ('online', 'target')
        for k in (3, 13)
        for best in (1, 5)  # 13: the bank
    ]
    calls = {call.args[0]: call.kwargs for call in hooks.call_args_list if mode in call.args[0]}
    assert list(calls) == [
        f'before_{mode}', f'before_{mode}_epoch', f'before_{mode}_iter', f'after_{mode}_iter', f'after_{mode}_epoch',
        f'after_{mode}',
    ]  # fmt: skip
    assert calls[f'after_{mode}_iter']['batch_idx'] == 1 and calls[f'after_{mode}_epoch'] == dict(metrics=metrics)


def test_features_are_encoded_in_bfloat16_where_asked(tmp_path: Path) -> None:
    model, seen = ToyModel(), []
    encode = model.extract_features
    settings = evaluation('test', dataloader(BANK), dataloader(QUERIES, 'test'), 3)
    settings['test_cfg']['amp'] = True
    runner = runner_of(tmp_path, model, **settings)
    with patch.object(
        model, 'extract_features', lambda *given, **named: seen.append(_precision()) or encode(*given, **named)
    ):
        runner.test()
    assert set(seen) == {(True, torch.bfloat16)}


def _precision() -> tuple[bool, torch.dtype]:
    return torch.is_autocast_enabled('cpu'), torch.get_autocast_dtype('cpu')


def test_training_goes_the_same_way_with_and_without_it(tmp_path: Path) -> None:
    weights = []
    for settings in ({}, evaluation('val', dataloader(BANK), dataloader(QUERIES, 'test'), 3)):
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


def test_two_processes_give_what_one_gives_and_refuse_together(tmp_path: Path) -> None:
    model = ToyModel()
    metrics = expected(model, 3, 20)
    assert 0 < metrics['online_knn3_top1'] < 100
    features, labels = extract(model, built(dataloader(BANK)), ('online',))
    first, second = run_pair(two_processes, tmp_path)
    for results in (first, second):  # both are told what one of them finds
        assert results.pop('refusal') == 'these features will not do'
        assert results.pop('short') == 'gave 4 of 5 images'
    for found, found_features, found_labels, _ in first.values():
        assert found == metrics
        torch.testing.assert_close(found_features, features)
        assert torch.equal(found_labels, labels)
    for found, found_features, found_labels, most in second.values():
        assert found == metrics
        assert found_features['online'].shape == (0, 6) and found_labels.shape == (0,)
        assert most <= 7  # its share of the 13


def test_refuses_before_encoding(tmp_path: Path) -> None:
    for labels, metric, message in (
        ('multiple', 'KNNAccuracy', 'Digits does not say which classes an image shows'),
        ('class', 'StageAccuracy', 'the evaluator holds a StageAccuracy'),
    ):
        model = ToyModel()
        settings = evaluation('test', dataloader(BANK), dataloader(QUERIES), labels=labels)
        settings['test_evaluator'] = dict(type=metric)
        with pytest.raises(UserError, match=message):
            runner_of(tmp_path, model, **settings).test()
        assert not model.modes_seen
