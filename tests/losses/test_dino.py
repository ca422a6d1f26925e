"""The centre and the temperatures of DINO."""

import pytest
import torch

from mixcl.losses import DINODistillation


def test_the_teacher_temperature_rises_linearly_and_stays() -> None:
    objective = DINODistillation(4, warmup=0.2)
    found = []
    for progress in (0.0, 0.05, 0.1, 0.2, 0.7, 1.0):
        objective.begin_step(progress)
        found.append(objective.teacher_temperature)
    assert found == pytest.approx([0.04, 0.0475, 0.055, 0.07, 0.07, 0.07])
    constant = DINODistillation(4, warmup=0.0)
    constant.begin_step(0.0)
    assert constant.teacher_temperature == 0.07


def test_the_centre_is_a_moving_average_of_the_raw_outputs_of_the_named_streams() -> None:
    objective = DINODistillation(3, centred_by=('view1', 'view2'), centre_momentum=0.9)
    raw = dict(view1=torch.randn(4, 3), view2=torch.randn(6, 3), mix1=torch.randn(4, 3))
    centre = torch.zeros(3)
    for _ in range(3):
        objective.observe(raw)
        centre = 0.9 * centre + 0.1 * torch.cat([raw['view1'], raw['view2']]).mean(dim=0)
    torch.testing.assert_close(objective.state_dict(), dict(centre=centre[None]))
