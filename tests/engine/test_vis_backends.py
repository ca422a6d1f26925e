"""TensorBoard and Weights & Biases: losses and accuracies are over the same steps."""

from pathlib import Path

import pytest
from engine.probe_runs import validated
from engine.tiny_runs import run_config, trained
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def test_accuracies_and_losses_share_an_axis_in_tensorboard(tmp_path: Path) -> None:
    backends = dict(visualizer__vis_backends=[dict(type='TensorboardVisBackend')])
    trained(validated(run_config(tmp_path, train_cfg__val_interval=1, **backends)))
    (events,) = tmp_path.rglob('events.out.tfevents.*')
    found = EventAccumulator(str(events)).Reload()
    names = [tag for tag in found.Tags()['scalars'] if 'knn' in tag]
    for name in ('loss', 'lr', 'feature_std', 'loss_mix2_mix1'):
        assert [event.step for event in found.Scalars(name)] == list(range(1, 11))
    assert names and all([event.step for event in found.Scalars(name)] == [5, 10] for name in names)


def test_wandb_gets_the_step_and_the_epoch_with_every_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip('wandb', reason='needs wandb: pip install wandb')
    monkeypatch.setenv('WANDB_SILENT', 'true')
    offline = dict(type='WandbVisBackend', init_kwargs=dict(mode='offline', project='mixcl'))
    logged, defined = [], []
    log, define = wandb.Run.log, wandb.Run.define_metric
    monkeypatch.setattr(wandb.Run, 'log', lambda run, row, **more: logged.append(row) or log(run, row, **more))
    monkeypatch.setattr(
        wandb.Run,
        'define_metric',
        lambda run, *words, **more: defined.append((words, more)) or define(run, *words, **more),
    )
    trained(validated(run_config(tmp_path, train_cfg__val_interval=1, visualizer__vis_backends=[offline])))
    assert [row['step'] for row in logged if 'loss' in row] == list(range(1, 11))
    assert [(row['step'], row['epoch']) for row in logged if any('knn' in name for name in row)] == [(5, 1), (10, 2)]
    assert (('*',), dict(step_metric='step')) in defined
    assert list(tmp_path.rglob('offline-run-*/run-*.wandb'))
