"""Short real runs of APS: two steps per loaded batch, counted everywhere, and resumed."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from engine.tiny_runs import BATCH_SIZE, STEPS_PER_EPOCH, run_config, scalars, trained
from mmengine.runner import Runner
from watching import WatchingHook

from mixcl.datasets import SampledPatchPair
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError

CHUNKS = 2
STEPS = 2 * STEPS_PER_EPOCH * CHUNKS
CROP = dict(type='RecordedResizedCrop', scale=8, crop_ratio_range=(0.5, 1.0), backend='pillow')
VIEWS = dict(type='SampledPatchPair', transforms=[[CROP], [CROP]], patch_size=2, ratio=0.25, chunks=CHUNKS)
PACK = dict(type='mmpretrain.PackInputs', algorithm_keys=['tokens', 'patch_grid'])
APS = dict(
    model__type='PatchSamplingLearner',
    model__mixer=None,
    model__streams=None,
    model__terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
    train_cfg__type='ChunkedPretrainLoop',
    train_dataloader__dataset__dataset__pipeline=[VIEWS, PACK],
)


EVERY_STEP = dict(default_hooks__checkpoint__by_epoch=False, default_hooks__checkpoint__max_keep_ckpts=-1)


class Recorder(WatchingHook):
    """A record of the patches, images and key of every step, and of the number of optimiser steps."""

    def __init__(self) -> None:
        self.tokens: list[torch.Tensor] = []
        self.images: list[torch.Tensor] = []
        self.keys: list[int] = []
        self.optimizer_steps = 0

    def before_train(self, runner: Runner) -> None:
        runner.optim_wrapper.optimizer.register_step_post_hook(self._count)

    def _count(self, *args: object) -> None:
        self.optimizer_steps += 1

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict) -> None:
        self.tokens.append(torch.stack([sample.tokens for sample in data_batch['data_samples']]))
        self.images.append(data_batch['inputs'][0])
        self.keys.append(runner.model.step_key.step)


def run(folder: Path, **overrides: object) -> tuple[Runner, Recorder]:
    runner, recorder = build_runner(run_config(folder, **{**APS, **overrides})), Recorder()
    runner.register_hook(recorder)
    runner.train()
    return runner, recorder


@pytest.fixture(scope='module')
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Recorder, Path]:
    folder = tmp_path_factory.mktemp('straight')
    return *run(folder, **EVERY_STEP), folder


def test_every_chunk_is_a_step_of_its_own(straight: tuple[Runner, Recorder, Path]) -> None:
    runner, recorder, _ = straight
    assert runner.iter == runner.max_iters == recorder.optimizer_steps == STEPS
    assert recorder.keys == list(range(STEPS))
    assert len(scalars(runner, 'lr')) == len(scalars(runner, 'ema_momentum')) == STEPS
    assert scalars(runner, 'ema_momentum')[STEPS // 2 - 1] == pytest.approx(0.95), 'half of the cosine from .9 to 1'
    assert len(runner.train_dataloader) == STEPS_PER_EPOCH * CHUNKS
    assert all(tokens.shape == (BATCH_SIZE, 2, 4) for tokens in recorder.tokens)
    for first, second in zip(range(0, STEPS, 2), range(1, STEPS, 2), strict=True):
        assert torch.equal(recorder.images[first], recorder.images[second]), 'the same images'
        both = torch.cat([recorder.tokens[first], recorder.tokens[second]], dim=2)[:, 0]
        assert all(len(row.unique()) == 8 for row in both), 'other patches of view 1'
    assert not torch.equal(recorder.images[1], recorder.images[2])


def test_a_run_resumed_between_two_steps_of_a_batch_goes_on(
    straight: tuple[Runner, Recorder, Path], tmp_path: Path
) -> None:
    runner, recorder, folder = straight
    step = STEPS // 2 + 3
    checkpoint = folder / f'iter_{step}.pth'
    resumed, again = run(tmp_path / 'resumed', resume=True, load_from=str(checkpoint), **EVERY_STEP)
    torch.testing.assert_close(runner.model.state_dict(), resumed.model.state_dict(), rtol=0, atol=0)
    assert scalars(runner, 'loss') == scalars(resumed, 'loss')
    assert again.keys == recorder.keys[step:]
    assert all(map(torch.equal, again.tokens, recorder.tokens[step:]))


WRONG = [
    (dict(train_cfg__type='PretrainLoop'), r"train_cfg\.type='ChunkedPretrainLoop'"),
    (dict(model__type='ContrastiveLearner'), 'a ContrastiveLearner trains with'),
    (dict(train_dataloader__dataset__dataset__pipeline=[VIEWS, dict(type='mmpretrain.PackInputs')]), 'algorithm_keys'),
    (dict(train_dataloader__dataset__dataset__pipeline=[{**VIEWS, 'patch_size': 4}, PACK]), 'samples from 2x2 patches'),
]


@pytest.mark.parametrize(('overrides', 'named'), WRONG)
def test_parts_that_do_not_fit_are_refused(tmp_path: Path, overrides: dict, named: str) -> None:
    with pytest.raises(UserError, match=named):
        trained(run_config(tmp_path, **{**APS, **overrides}))


def test_runs_read_only_as_many_images_as_they_have_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    combined: Callable = SampledPatchPair.combined
    monkeypatch.setattr(SampledPatchPair, 'combined', lambda self, *found: calls.append(1) or combined(self, *found))
    run(tmp_path, train_cfg__max_epochs=1)
    checked_at_the_start = 7  # five of them synthetic images
    assert len(calls) == checked_at_the_start + STEPS_PER_EPOCH * BATCH_SIZE
