"""Detection runs that are interrupted, fed broken images, or diverge."""

import shutil

import pytest
import torch
from detection.shapes_runs import SHAPES, SMALL, log_of, shapes_config, trained
from mmengine.runner import Runner
from tools.command import ROOT, run

from mixcl.errors import UserError
from mixcl.weights import newest_checkpoint


@pytest.fixture(scope='module')
def straight(shapes, tmp_path_factory):
    work_dir = tmp_path_factory.mktemp('straight')
    every = dict(default_hooks__checkpoint__interval=1, default_hooks__checkpoint__max_keep_ckpts=-1)
    return work_dir, trained(shapes_config(shapes, work_dir, **every))


def assert_same(left: Runner, right: Runner):
    losses = [runner.message_hub.get_scalar('train/loss').data[0].tolist() for runner in (left, right)]
    assert losses[0] == losses[1] and len(losses[0]) == 5
    torch.testing.assert_close(left.model.state_dict(), right.model.state_dict(), rtol=0, atol=0)
    states = [runner.optim_wrapper.state_dict()['state'] for runner in (left, right)]
    torch.testing.assert_close(*states, rtol=0, atol=0)


@pytest.mark.parametrize(('step', 'workers'), [(2, 2), pytest.param(3, 0, marks=pytest.mark.long)])
def test_a_resumed_run_equals_the_undisturbed_one(shapes, straight, tmp_path, step, workers):
    work_dir, runner = straight
    torch.rand(3)  # the global generators are somewhere else when a run is resumed
    checkpoint = str(work_dir / f'iter_{step}.pth')
    cfg = shapes_config(
        shapes, tmp_path, resume=True, load_from=checkpoint, train_dataloader__num_workers=workers,
        train_dataloader__persistent_workers=bool(workers),
    )  # fmt: skip
    assert_same(runner, trained(cfg))


STOP_AFTER_TWO = """
import os, subprocess
from mmengine.hooks import Hook
from mixcl.registry import HOOKS

@HOOKS.register_module()
class StopAfterTwo(Hook):
    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        if runner.iter == 1:
            # Not by itself: data workers do end when the training process tells them to.
            subprocess.call(['kill', '-TERM', '--', f'-{os.getpgrp()}'])
"""


@pytest.mark.long
def test_sigterm_to_all_processes_of_a_run_with_workers(shapes, straight, tmp_path):
    (tmp_path / 'stop_after_two.py').write_text(STOP_AFTER_TWO)
    (tmp_path / 'shapes.py').write_text(
        f"_base_ = '{ROOT}/{SHAPES}'\n"
        "custom_imports = dict(imports=['mixcl.detection', 'stop_after_two'], allow_failed_imports=False)\n"
        "custom_hooks = [*_base_.custom_hooks, dict(type='mixcl.StopAfterTwo')]\n"
    )
    options = [
        f'{name}={value}'.replace(' ', '') for name, value in {**SMALL, 'train_dataloader.num_workers': 2}.items()
    ]
    command = ('tools/train.py', tmp_path / 'shapes.py', '--no-validate', '--data-root', shapes)
    result = run(*command, '--work-dir', tmp_path / 'run', '--cfg-options', *options)
    assert result.returncode == 85, result.stderr[-3000:]
    path = tmp_path / 'run/iter_2.pth'
    said = f'stopped by SIGTERM after step 2 of 5: everything is saved in {path}'
    assert result.stderr.splitlines()[-1].startswith(said) and newest_checkpoint(path.parent) == str(path)
    assert_same(straight[1], trained(shapes_config(shapes, tmp_path / 'run', resume=True)))


def test_an_unreadable_image_is_replaced_and_named(shapes, tmp_path):
    data = shutil.copytree(shapes, tmp_path / 'data')
    broken = data / 'images/004.png'
    broken.write_bytes(broken.read_bytes()[:100])
    runner = trained(shapes_config(data, tmp_path / 'run', train_cfg__max_iters=3, train_dataloader__num_workers=1))
    assert runner.message_hub.get_scalar('train/unreadable_images').current() == 1
    assert log_of(tmp_path / 'run').count(f'unreadable image, another one takes its place: {broken} (') == 1


def test_an_infinite_loss_ends_the_run_before_the_weights_change(shapes, tmp_path):
    """It is a list: one loss of each level of the pyramid."""
    cfg = shapes_config(shapes, tmp_path, model__rpn_head__loss_cls__loss_weight=float('inf'))
    with pytest.raises(UserError, match='step 0: the loss or the gradient is not finite'):
        trained(cfg)
    assert not list(tmp_path.glob('*.pth'))
