"""Short real runs: what a step depends on, gradient accumulation, what is logged, what is refused."""

import json
from pathlib import Path

import pytest
import tiny
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.hooks import Hook
from mmengine.runner import Runner
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError

STEPS = 2 * STEPS_PER_EPOCH
WITH_DROP_PATH = dict(model__backbone__drop_path_rate=0.5)


class Distraction(Hook):
    """Uses up different amounts of randomness after every step."""

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        torch.rand(1 + runner.iter)


def losses(runner: Runner, name: str = 'loss') -> list[float]:
    return runner.message_hub.get_scalar(f'train/{name}').data[0].tolist()


def test_losses_do_not_depend_on_what_was_drawn_before(tmp_path: Path) -> None:
    straight = trained(run_config(tmp_path / 'straight', **WITH_DROP_PATH))
    # With a worker, no sample seeds the generators of the training process.
    distracted = build_runner(run_config(tmp_path, train_dataloader__num_workers=1, **WITH_DROP_PATH))
    distracted.register_hook(Distraction())
    distracted.train()
    assert losses(distracted) == losses(straight)
    assert len(set(losses(straight))) == STEPS, 'every step differs'


def test_the_target_follows_once_per_optimiser_step(tmp_path: Path) -> None:
    """Five batches, gradients of two accumulated: steps after the second, the fourth and the last."""
    runner = build_runner(run_config(tmp_path, optim_wrapper__accumulative_counts=2, train_cfg__max_epochs=1))
    events, progress = [], []

    class Listener(Hook):
        priority = 'VERY_HIGH'

        def before_train(self, runner: Runner) -> None:
            optimizer, end_step = runner.optim_wrapper.optimizer, runner.model.end_step
            optimizer.register_step_post_hook(lambda *_: events.append('optimiser'))

            def listened(share: float, *rest: object) -> dict:
                events.append('target')
                progress.append(share)
                return end_step(share, *rest)

            runner.model.end_step = listened

        def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
            events.append('hooks')

    runner.register_hook(Listener())
    runner.train()
    step = ['optimiser', 'target', 'hooks']
    assert events == ['hooks', *step, 'hooks', *step, *step]
    assert progress == pytest.approx([0.4, 0.8, 1.0])


def test_the_log_tells_everything(tmp_path: Path) -> None:
    backends = [dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')]
    runner = trained(run_config(tmp_path, visualizer__vis_backends=backends))
    (log,) = tmp_path.glob('*/vis_data/scalars.json')
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    terms = [f'loss_{query}_{key}' for query, key, _ in tiny.PATCHMIX_TERMS]
    names = {'loss', 'lr', 'weight_decay', 'ema_momentum', 'feature_std', *terms}
    assert len(lines) == STEPS
    assert all(names <= set(line) for line in lines)
    # Halfway, the weight decay is halfway; the momentum rose from .9 to 1 with the last step.
    assert lines[0]['weight_decay'] == pytest.approx(0.04)
    assert lines[STEPS // 2]['weight_decay'] == pytest.approx(0.22)
    assert [lines[index]['ema_momentum'] for index in (STEPS // 2 - 1, -1)] == pytest.approx([0.95, 1.0])
    assert lines[0]['loss'] == pytest.approx(sum(lines[0][term] for term in terms), rel=1e-4)
    assert sum(losses(runner, terms[0])) < sum(losses(runner))
    events = EventAccumulator(str(log.parent)).Reload()
    assert names <= set(events.Tags()['scalars'])
    assert len(events.Scalars('feature_std')) == STEPS


def test_a_batch_larger_than_the_data_set_is_refused(tmp_path: Path) -> None:
    runner = build_runner(run_config(tmp_path, train_dataloader__batch_size=64))
    with pytest.raises(UserError, match=r'40 images, fewer than one batch of 64 per process.*batch_size'):
        runner.train()


@pytest.mark.parametrize(
    ('overrides', 'message'),
    [
        (dict(model__mixer__patch_size=3), 'images of 8x8 pixels cannot be cut into patches of 3x3'),
        (dict(model__mixer__num_mix=17), 'num_mix=17 images do not fit into the 4x4 patches'),
        (dict(train_dataloader__batch_size=2), 'num_mix=3 images cannot be mixed from the 2 images'),
        (dict(model__views=dict(view1=1, view2=2)), 'delivers 2 views per image'),
    ],
)
def test_what_cannot_be_mixed_is_refused_before_data_are_read(tmp_path: Path, overrides: dict, message: str) -> None:
    cfg = run_config(tmp_path, **overrides)
    cfg.train_dataloader.dataset.dataset.type = 'ImageFolder'  # which would want a folder
    with pytest.raises(UserError, match=message):
        build_runner(cfg)
