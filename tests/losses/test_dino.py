"""The centre and the temperatures of DINO."""

import numpy as np
import pytest
import torch

from mixcl.losses import DINODistillation


@pytest.mark.parametrize('warmup', [30, 1, 0])
def test_the_teacher_temperature_is_that_of_the_epoch_in_the_authors_code(warmup: int) -> None:
    objective = DINODistillation(4, warmup_epochs=warmup)
    found = []
    for epoch in range(40):
        objective.begin_step(epoch)
        found.append(objective.teacher_temperature)
    assert found == pytest.approx(np.concatenate([np.linspace(0.04, 0.07, warmup), np.full(40 - warmup, 0.07)]))


def test_the_centre_is_a_moving_average_of_the_raw_outputs_of_the_named_streams() -> None:
    objective = DINODistillation(3, centred_by=('view1', 'view2'), centre_momentum=0.9)
    raw = dict(view1=torch.randn(4, 3), view2=torch.randn(6, 3), mix1=torch.randn(4, 3))
    centre = torch.zeros(3)
    for _ in range(3):
        objective.observe(raw)
        centre = 0.9 * centre + 0.1 * torch.cat([raw['view1'], raw['view2']]).mean(dim=0)
    torch.testing.assert_close(objective.state_dict(), dict(centre=centre[None]))
