"""The average of the weights that checkpoints store."""

from pathlib import Path

import torch
from engine.tiny_runs import run_config, trained


def test_it_moves_once_per_step_of_the_optimiser(tmp_path: Path) -> None:
    hook = dict(type='StoredAverageHook', momentum=0.5)
    trained(run_config(tmp_path, custom_hooks=[hook], optim_wrapper__accumulative_counts=5))
    stored = torch.load(tmp_path / 'epoch_2.pth', weights_only=True)['ema_state_dict']
    assert stored['steps'] == 2
