"""Last lines of a run on unlabelled images: what they measure, that they change nothing, and resumed runs."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from engine.tiny_runs import run_config
from mmengine.runner import Runner

import mixcl
from mixcl.apis.learnt_hook import LearntHook
from mixcl.datasets.keyed_dataset import SampleKey
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import RunStopped
from mixcl.visualization.pictured import training_crops, training_set

LINE = re.compile(
    r'(at the start|a random encoder|now): ([\d.]+)% of (\d+) images found again, effective rank ([\d.]+)'
)


def trained(folder: Path, hook: LearntHook | None = None, **overrides: object) -> Runner:
    runner = build_runner(run_config(folder, model__backbone__drop_path_rate=0.5, **overrides))
    if hook is not None:
        runner.register_hook(hook)
    runner.train()
    return runner


def said(runner: Runner) -> dict[str, tuple[str, str, str]]:
    """Return the numbers of the lines, as written."""
    text = Path(runner.log_dir, f'{runner.timestamp}.log').read_text()
    return {when: tuple(numbers) for when, *numbers in LINE.findall(text)}


def test_a_run_is_the_same_to_the_bit_and_its_numbers_are_those_of_embed(tmp_path: Path) -> None:
    plain, runner = trained(tmp_path / 'plain'), trained(tmp_path / 'run', LearntHook())
    torch.testing.assert_close(runner.model.state_dict(), plain.model.state_dict(), rtol=0, atol=0)
    dataset = training_set(runner.cfg, 40)
    images = [dataset.dataset.get_data_info(index)['img'] for index in range(40)]
    backbone = mixcl.load_backbone(tmp_path / 'run')
    features = mixcl.embed(backbone, images)
    crops = training_crops(runner.cfg, [dataset[SampleKey(runner.seed, 0, index)] for index in range(40)])
    views = backbone((crops[0] * 255 - 127.5) / 127.5).detach().numpy()
    distances = [[1 - np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b) for b in views] for a in features]
    shares = np.linalg.svd(features, compute_uv=False)
    shares = shares / shares.sum()
    found = np.mean(np.argmin(distances, axis=1) == np.arange(40))
    assert said(runner)['now'] == (f'{100 * found:.1f}', '40', f'{np.exp(-(shares * np.log(shares)).sum()):.1f}')
    assert said(runner)['at the start'] != said(runner)['now'] and said(plain) == {}


def test_a_resumed_run_knows_its_start_and_an_older_one_a_random_encoder(tmp_path: Path) -> None:
    whole = said(trained(tmp_path / 'whole', LearntHook()))
    trained(tmp_path / 'run', LearntHook(), train_cfg__max_epochs=1)
    resumed = said(trained(tmp_path / 'run', LearntHook(), resume=True))
    assert resumed['at the start'] == whole['at the start'] and list(resumed) == ['at the start', 'now']
    # Who stops a run waits only for the checkpoint.
    runner = build_runner(run_config(tmp_path / 'stopped', train_cfg__max_seconds=0))
    runner.register_hook(LearntHook())
    with pytest.raises(RunStopped):
        runner.train()
    assert said(runner) == {}
    # The checkpoint is of a run without the hook: a random encoder stands in for the start.
    trained(tmp_path / 'older', train_cfg__max_epochs=1)
    assert list(said(trained(tmp_path / 'older', LearntHook(), resume=True))) == ['a random encoder', 'now']
