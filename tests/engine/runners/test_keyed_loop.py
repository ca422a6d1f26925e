"""Classifiers trained by the keyed loops: exact resumes with all sources of randomness, by epochs and by steps."""

from pathlib import Path

import pytest
import torch
from engine.tiny_runs import trained
from evaluation.composed import composed
from mmengine.config import Config
from mmengine.runner import Runner
from torch import Tensor
from watching import WatchingHook

from mixcl.engine.runners.launch import build_runner
from mixcl.errors import RunStopped, UserError


def digits(name: str, work_dir: Path, **overrides: object) -> Config:
    """Return the config of a protocol on 40 digits in batches of 8, without workers."""
    cfg = composed(name)
    small = {
        'train_dataloader.num_workers': 0, 'val_dataloader.num_workers': 0, 'test_dataloader.num_workers': 0,
        'train_dataloader.batch_size': 8, 'train_dataloader.sampler.multiple_of': 8,
        'train_dataloader.dataset.dataset.indices': 40,
        'val_dataloader.dataset.indices': 50, 'train_cfg.max_epochs': 2, 'train_cfg.val_interval': 1,
        'default_hooks.logger.interval': 1, 'work_dir': str(work_dir), 'experiment_name': work_dir.name,
    }  # fmt: skip
    cfg.merge_from_dict({**small, **{name.replace('__', '.'): value for name, value in overrides.items()}})
    return cfg


def random_everywhere(cfg: Config) -> Config:
    """Add RandAugment, erasing, mixup, drop path and an average of the weights, as in fine-tuning on large data."""
    large = composed('finetune', 'cifar10')
    cfg.model.train_cfg = large.model.train_cfg
    cfg.model.backbone.drop_path_rate = 0.3
    cfg.train_dataloader.dataset.dataset.pipeline[2:2] = large.train_dataloader.dataset.dataset.pipeline[-3:-1]
    cfg.custom_hooks = large.custom_hooks
    return cfg


def weights(work_dir: Path, epoch: int, part: str = 'state_dict') -> dict[str, Tensor]:
    return torch.load(work_dir / f'epoch_{epoch}.pth', weights_only=True)[part]


def equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_resumed_classifier_ends_where_the_uninterrupted_one_does(tmp_path: Path) -> None:
    straight, halves = tmp_path / 'straight', tmp_path / 'halves'
    trained(random_everywhere(digits('finetune', straight)))
    trained(random_everywhere(digits('finetune', halves, train_cfg__max_epochs=1)))
    torch.rand(3)  # the global generators have moved when a run is resumed
    resumed = random_everywhere(digits('finetune', halves, resume=True))
    resumed.experiment_name = 'second_half'
    assert trained(resumed).epoch == 2
    for part in ('state_dict', 'ema_state_dict'):
        assert equal(weights(straight, 2, part), weights(halves, 2, part))


def by_steps(work_dir: Path, **overrides: object) -> Config:
    """Return a config of twelve steps over five batches: a checkpoint after each, validation after 7 and after 12."""
    cfg = random_everywhere(digits('finetune', work_dir, **overrides))
    cfg.train_cfg = dict(type='KeyedIterTrainLoop', max_iters=12, val_interval=7, **overrides.get('train_cfg', {}))
    cfg.param_scheduler = [dict(type='LinearLR', by_epoch=False, start_factor=0.1, begin=0, end=12)]
    cfg.default_hooks.checkpoint.update(by_epoch=False, max_keep_ckpts=-1)
    cfg.custom_hooks.append(dict(type=SeenImages))
    cfg.log_processor = dict(by_epoch=False)
    return cfg


class SeenImages(WatchingHook):
    """A record of the images of every step."""

    def before_train(self, runner: Runner) -> None:
        runner.seen = []

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict) -> None:
        runner.seen.append([tuple(sample.sample_key) for sample in data_batch['data_samples']])


@pytest.fixture(scope='module')
def twelve_steps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Runner]:
    work_dir = tmp_path_factory.mktemp('steps')
    return work_dir, trained(by_steps(work_dir))


def test_a_run_by_steps_passes_over_the_data(twelve_steps: tuple[Path, Runner]) -> None:
    _, runner = twelve_steps
    passes = [[key for batch in runner.seen[start : start + 5] for key in batch] for start in (0, 5, 10)]
    for number, keys in enumerate(passes[:2]):
        assert {epoch for _, epoch, _ in keys} == {number}
        assert sorted(index for *_, index in keys) == list(range(40))
    assert len(passes[2]) == 16 and len({key for keys in passes for key in keys}) == 96
    assert len(runner.message_hub.get_scalar('val/accuracy/top1').data[0]) == 2


def test_with_another_batch_a_run_by_steps_stays_at_its_step(tmp_path: Path, twelve_steps: tuple[Path, Runner]) -> None:
    checkpoint = str(twelve_steps[0] / 'iter_7.pth')
    cfg = by_steps(tmp_path, resume=True, load_from=checkpoint, train_dataloader__batch_size=4)
    runner = build_runner(cfg, allow_changes=True)
    runner.train()
    assert len(runner.seen) == 5


@pytest.mark.parametrize('step', [3, 5])
def test_a_run_by_steps_resumes_exactly(tmp_path: Path, twelve_steps: tuple[Path, Runner], step: int) -> None:
    work_dir, straight = twelve_steps
    torch.rand(3)
    runner = trained(by_steps(tmp_path, resume=True, load_from=str(work_dir / f'iter_{step}.pth')))
    assert runner.seen == straight.seen[step:]
    assert equal(runner.model.state_dict(), straight.model.state_dict())


def test_a_run_by_steps_stops_in_time(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match=r'the time limit after step 0 of 12: everything is saved in .*iter_0'):
        trained(by_steps(tmp_path, train_cfg=dict(max_seconds=0)))


def test_other_samplers_are_refused(tmp_path: Path) -> None:
    cfg = digits('finetune', tmp_path / 'run')
    cfg.train_dataloader.sampler = dict(type='DefaultSampler', shuffle=True)
    runner = build_runner(cfg)
    with pytest.raises(UserError, match='DefaultSampler, with which every epoch would see the same views'):
        runner.train()
