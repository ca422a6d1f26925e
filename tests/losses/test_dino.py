"""The centre and the temperatures of DINO."""

import pytest
import torch

from mixcl.errors import UserError
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


def test_full_precision_under_autocast() -> None:
    objective = DINODistillation(16)
    raw = torch.randn(5, 16)
    keys, queries = objective.prepare_key(raw), objective.prepare_query(raw)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        assert torch.equal(objective.prepare_key(raw), keys) and torch.equal(objective.prepare_query(raw), queries)
        assert objective.prepare_key(raw.bfloat16()).dtype == torch.float32
        objective.observe(dict(view1=raw.bfloat16(), view2=raw.bfloat16()))
    assert objective.centre.dtype == torch.float32


@pytest.mark.parametrize(
    ('argument', 'value'),
    [('student_temperature', 0), ('warmup_temperature', -0.1), ('warmup', 1.5), ('centred_by', ())],
)
def test_out_of_range_is_refused(argument: str, value: float) -> None:
    with pytest.raises(UserError, match=f'DINODistillation: {argument} must '):
        DINODistillation(4, **{argument: value})
