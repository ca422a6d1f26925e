"""A run resumed from a checkpoint of any step equals an uninterrupted one bit by bit."""

import shutil
from pathlib import Path

import host_steps
import hosts
import numpy as np
import pytest
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config
from mmengine.optim import AmpOptimWrapper, OptimWrapper
from mmengine.runner import Runner
from PIL import Image

from mixcl.engine.hooks import OnlineProbe
from mixcl.engine.runners.launch import build_runner
from mixcl.registry import OPTIM_WRAPPERS

STEPS = 2 * STEPS_PER_EPOCH
EVERY_STEP = dict(
    default_hooks__checkpoint__by_epoch=False,
    default_hooks__checkpoint__max_keep_ckpts=-1,
    default_hooks__online_probe=dict(type='OnlineProbe'),
)
MEASURED = ('time', 'data_time', 'memory', 'images_per_second', 'data_wait', 'mfu')
CROP = dict(type='mmpretrain.RandomResizedCrop', crop_ratio_range=(0.5, 1.0), backend='pillow')
FLIP = dict(type='RandomFlip', prob=0.5)
SIDES = dict(view1=8, view2=8, local=4, more_local=4)
CUTMIX = hosts.MIXERS['cutmix']
RUNS = dict(
    moco_v1=hosts.moco_v1(CUTMIX),
    moco_v2_on_a_resnet=hosts.moco_v2(hosts.MIXERS['mixup'] | dict(pairing='permutation'), 'resnet'),
    moco_v3=hosts.moco_v3(hosts.MIXERS['region_swap']),
    simclr=hosts.simclr(hosts.MIXERS['choice']),
    byol=hosts.byol(CUTMIX),
    simsiam=hosts.simsiam(hosts.MIXERS['resizemix']),
    dino=hosts.dino(hosts.MIXERS['patchmix']),
    ibot=hosts.ibot(hosts.MIXERS['patchmix']),
    swav=hosts.swav(hosts.MIXERS['cutmix']),
    barlow_twins=host_steps.MODELS['barlow_twins, mixed from two views'],
    two_mixers=host_steps.MODELS['two mixers'],
)


@OPTIM_WRAPPERS.register_module(force=True)
class ScaledOptimWrapper(AmpOptimWrapper):
    """Loss scaling on the CPU, which mmengine's constructor refuses; the scale doubles after every third step."""

    def __init__(self, **kwargs) -> None:
        OptimWrapper.__init__(self, **kwargs)
        self._scale_update_param, self.cast_dtype = None, torch.bfloat16
        self.loss_scaler = torch.amp.GradScaler('cpu', init_scale=2.0**8, growth_interval=3)


def of_host(model: dict) -> dict:
    """Return the overrides of a run with a host's model."""
    views = model.get('views', dict(view1=1, view2=1))
    transforms = [[CROP | dict(scale=SIDES[name]), FLIP] for name in views]
    pipeline = [
        dict(type='KeyedMultiView', num_views=list(views.values()), transforms=transforms),
        dict(type='mmpretrain.PackInputs'),
    ]
    overrides = dict(model={**model, '_delete_': True}, train_dataloader__dataset__dataset__pipeline=pipeline)
    if not any(query in views for query, *_ in model['terms']):  # the probe needs a view that the online encoder sees
        overrides['default_hooks__online_probe'] = None
    return overrides


def run(folder: Path, **overrides: object) -> Runner:
    settings = {name: value for name, value in {**EVERY_STEP, **overrides}.items() if value is not None}
    runner = build_runner(run_config(folder, **settings))
    runner.train()
    return runner


def resumed(folder: Path, checkpoint: Path, **overrides: object) -> Runner:
    return run(folder, resume=True, load_from=str(checkpoint), **overrides)


def histories(runner: Runner) -> dict[str, list[float]]:
    """Return every logged value of every step, except measurements of time and memory."""
    scalars = runner.message_hub.log_scalars
    names = [name for name in scalars if name.startswith('train/') and not name[6:].startswith(MEASURED)]
    return {name: scalars[name].data[0].tolist() for name in names}


def assert_same(left: Runner, right: Runner) -> None:
    assert histories(left) == histories(right)
    assert len(histories(left)['train/loss']) == left.max_iters
    torch.testing.assert_close(left.model.state_dict(), right.model.state_dict(), rtol=0, atol=0)
    probes = [
        [part for hook in runner.hooks if isinstance(hook, OnlineProbe) for part in hook.probe.state_dict().values()]
        for runner in (left, right)
    ]
    torch.testing.assert_close(*probes, rtol=0, atol=0)
    left, right = left.optim_wrapper.state_dict(), right.optim_wrapper.state_dict()
    torch.testing.assert_close(left['state'], right['state'], rtol=0, atol=0)
    assert [group['lr'] for group in left['param_groups']] == [group['lr'] for group in right['param_groups']]
    assert left.get('loss_scaler') == right.get('loss_scaler')


SHORT = ('moco_v2_on_a_resnet', 'ibot', 'swav')
"""One host with a queue and batch norm, one with centres, masks and local crops, one with weights in the objective."""


@pytest.mark.parametrize('host', [pytest.param(host, marks=() if host in SHORT else pytest.mark.long) for host in RUNS])
def test_every_host_continues_within_an_epoch(tmp_path: Path, host: str) -> None:
    straight = run(tmp_path / 'straight', **of_host(RUNS[host]))
    checkpoint = tmp_path / 'straight' / f'iter_{STEPS - 2}.pth'
    assert_same(straight, resumed(tmp_path / 'resumed', checkpoint, **of_host(RUNS[host])))


@pytest.fixture(scope='module')
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Path]:
    folder = tmp_path_factory.mktemp('straight')
    return run(folder, model__backbone__drop_path_rate=0.5), folder


@pytest.mark.parametrize(
    ('step', 'workers', 'persistent'), [(3, 0, False), (STEPS_PER_EPOCH, 2, True), (STEPS_PER_EPOCH + 1, 1, False)]
)
def test_any_step_any_workers(
    tmp_path: Path, straight: tuple[Runner, Path], step: int, workers: int, persistent: bool
) -> None:
    loading = dict(train_dataloader__num_workers=workers, train_dataloader__persistent_workers=persistent)
    checkpoint = straight[1] / f'iter_{step}.pth'
    assert_same(straight[0], resumed(tmp_path, checkpoint, model__backbone__drop_path_rate=0.5, **loading))


def test_photos_that_are_read_by_a_cache(tmp_path: Path) -> None:
    """A deleted cache changes nothing: the copies of a photo are always the same."""
    for number, pixels in enumerate(np.random.default_rng(0).integers(0, 256, (STEPS * 4, 6, 8, 3), dtype=np.uint8)):
        Image.fromarray(pixels).resize((80, 60)).save(tmp_path / f'{number}.jpg')
    views = dict(type='KeyedMultiView', num_views=[2], transforms=[[CROP | dict(scale=8), FLIP]])
    pipeline = [dict(type='LoadImage'), views, dict(type='mmpretrain.PackInputs')]
    photos = dict(type='ImageFolder', data_root=str(tmp_path), pipeline=pipeline, _delete_=True)
    cached = dict(
        train_dataloader__dataset__dataset=photos,
        train_dataloader__dataset__cache=dict(folder=str(tmp_path / 'cache'), gigabytes=1),
        default_hooks__online_probe=None,  # there are no labels
    )
    straight = run(tmp_path / 'straight', **cached)
    assert len(list(tmp_path.glob('cache/??/*'))) == STEPS * 4
    shutil.rmtree(tmp_path / 'cache')
    assert_same(straight, resumed(tmp_path / 'resumed', tmp_path / 'straight/iter_3.pth', **cached))


def test_a_run_without_a_seed_resumes_with_that_of_its_checkpoint(tmp_path: Path) -> None:
    straight = run(tmp_path / 'straight', randomness=dict(seed=None))
    again = resumed(tmp_path / 'resumed', tmp_path / 'straight/iter_5.pth', randomness=dict(seed=None))
    assert_same(straight, again)


def test_the_checkpoint_of_a_whole_epoch_waits_for_the_accumulated_gradient(tmp_path: Path) -> None:
    """With five batches and gradients of two accumulated, the first epoch ends within an optimiser step."""
    accumulated = dict(optim_wrapper__accumulative_counts=2, default_hooks__checkpoint__by_epoch=True)
    straight = run(tmp_path / 'straight', **accumulated)
    checkpoint = tmp_path / 'straight/epoch_1.pth'
    meta = torch.load(checkpoint, weights_only=True)['meta']
    assert (meta['epoch'], meta['iter']) == (1, STEPS_PER_EPOCH + 1)
    assert_same(straight, resumed(tmp_path / 'resumed', checkpoint, **accumulated))


def test_the_loss_scale_continues(tmp_path: Path) -> None:
    scaled = dict(optim_wrapper__type='ScaledOptimWrapper')
    straight = run(tmp_path / 'straight', **scaled)
    assert straight.optim_wrapper.loss_scaler.get_scale() == 2.0**11, 'it doubled three times in ten steps'
    assert_same(straight, resumed(tmp_path / 'resumed', tmp_path / 'straight/iter_7.pth', **scaled))
