"""Short real runs: resuming, gradient accumulation, what is logged, what is refused."""

import hashlib
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


class Interrupt(Hook):
    """Ctrl-C in the middle of the second epoch."""

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        if runner.iter == STEPS_PER_EPOCH + 2:
            raise KeyboardInterrupt


class MixingRecorder(Hook):
    """Digests of the mixed images and their sources, by step."""

    def __init__(self) -> None:
        self.digests: dict[int, str] = {}

    def before_train(self, runner: Runner) -> None:
        recipe = runner.model.recipe
        build = recipe.build

        def recorded(crops: list, names: set, key: tuple) -> dict:
            streams = build(crops, names, key)
            parts = [tensor for name in ('mix1', 'mix2')
                     for tensor in (streams[name].images, streams[name].composition.sources)]  # fmt: skip
            content = b''.join(tensor.numpy().tobytes() for tensor in parts)
            self.digests[key.step] = hashlib.sha256(content).hexdigest()
            return streams

        recipe.build = recorded


class Distraction(Hook):
    """Uses up different amounts of randomness after every step."""

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        torch.rand(1 + runner.iter)


def losses(runner: Runner, name: str = 'loss') -> list[float]:
    return runner.message_hub.get_scalar(f'train/{name}').data[0].tolist()


def assert_same_end(left: Runner, right: Runner) -> None:
    for name, tensor in left.model.state_dict().items():
        assert torch.equal(tensor, right.model.state_dict()[name]), name
    for one, other in zip(left.optim_wrapper.param_groups, right.optim_wrapper.param_groups, strict=True):
        assert (one['lr'], one['weight_decay']) == (other['lr'], other['weight_decay'])


@pytest.fixture(scope='module')
def straight_and_resumed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Runner, dict, dict]:
    """A run of two epochs, and one that was interrupted in its second and resumed; with what they mixed."""
    recorders = [MixingRecorder() for _ in range(3)]
    straight = build_runner(run_config(tmp_path_factory.mktemp('straight'), **WITH_DROP_PATH))
    straight.register_hook(recorders[0])
    straight.train()
    folder = tmp_path_factory.mktemp('interrupted')
    interrupted = build_runner(run_config(folder, **WITH_DROP_PATH))
    interrupted.register_hook(Interrupt())
    interrupted.register_hook(recorders[1])
    with pytest.raises(KeyboardInterrupt):
        interrupted.train()
    resumed = build_runner(run_config(folder, resume=True, **WITH_DROP_PATH))
    resumed.register_hook(recorders[2])
    resumed.train()
    assert set(recorders[2].digests) == set(range(STEPS_PER_EPOCH, STEPS)), 'the second epoch was done again'
    return straight, resumed, recorders[0].digests, recorders[1].digests | recorders[2].digests


def test_an_interrupted_and_resumed_run_ends_with_the_same_weights(straight_and_resumed: tuple) -> None:
    straight, resumed, *_ = straight_and_resumed
    assert_same_end(straight, resumed)
    assert len(losses(straight)) == STEPS
    assert losses(straight) == losses(resumed)


def test_the_mixing_of_a_step_is_the_same_after_a_resume(straight_and_resumed: tuple) -> None:
    *_, straight, resumed = straight_and_resumed
    assert straight == resumed
    assert len(set(straight.values())) == STEPS, 'every step mixes anew'


def test_a_run_without_a_seed_resumes_with_that_of_its_checkpoint(tmp_path: Path) -> None:
    straight = trained(run_config(tmp_path / 'straight', randomness=dict(seed=None)))
    checkpoint = str(tmp_path / 'straight/epoch_1.pth')
    resumed = trained(run_config(tmp_path / 'new', randomness=dict(seed=None), resume=True, load_from=checkpoint))
    assert_same_end(straight, resumed)


def test_losses_do_not_depend_on_what_was_drawn_before(tmp_path: Path, straight_and_resumed: tuple) -> None:
    # With a worker, no sample seeds the generators of the training process.
    distracted = build_runner(run_config(tmp_path, train_dataloader__num_workers=1, **WITH_DROP_PATH))
    distracted.register_hook(Distraction())
    distracted.train()
    assert losses(distracted) == losses(straight_and_resumed[0])
    without_drop_path = trained(run_config(tmp_path / 'plain'))
    assert losses(without_drop_path)[0] != losses(distracted)[0], 'drop path takes part in the loss'


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
