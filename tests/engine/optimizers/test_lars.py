"""MoCo v3's LARS against its formulas written out."""

import pytest
import torch
from mmengine.optim import build_optim_wrapper

from mixcl.engine import MoCoLARS

SETTINGS = dict(weight_decay=0.01, momentum=0.9, trust_coefficient=0.001)
RATES = [0.5, 1.0, 0.2, 0.05]


def gradients(step: int, parameter: torch.Tensor) -> torch.Tensor:
    random = torch.Generator().manual_seed(100 * step + parameter.ndim)
    return torch.randn(parameter.shape, generator=random, dtype=parameter.dtype)


def by_hand(values: torch.Tensor) -> torch.Tensor:
    value, velocity = values.clone(), torch.zeros_like(values)
    for step, rate in enumerate(RATES):
        direction = gradients(step, value)
        if value.ndim > 1:
            direction = direction + 0.01 * value
            direction = 0.001 * value.pow(2).sum().sqrt() / direction.pow(2).sum().sqrt() * direction
        velocity = 0.9 * velocity + direction
        value = value - rate * velocity
    return value


@pytest.mark.parametrize('shape', [(4, 3), (2, 3, 2, 2), (5,)])
def test_trajectory_under_a_changing_rate(shape: tuple[int, ...]) -> None:
    """The rate is not folded into the velocity; 1-D parameters are neither decayed nor adapted. A fresh optimiser
    loads the state at every step."""
    start = torch.randn(shape, dtype=torch.float64)
    parameter, state = torch.nn.Parameter(start.clone()), None
    for step, rate in enumerate(RATES):
        optimiser = MoCoLARS([parameter], lr=1.0, **SETTINGS)
        if state is not None:
            optimiser.load_state_dict(state)
        optimiser.param_groups[0]['lr'] = rate
        parameter.grad = gradients(step, parameter)
        optimiser.step()
        state = optimiser.state_dict()
    torch.testing.assert_close(parameter.detach(), by_hand(start))


def test_zero_gradients_and_zero_weights_stay_finite() -> None:
    """Without decay a zero gradient moves nothing; zero weights move by the plain gradient."""
    still, new = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.zeros(2, 2))
    still.grad, new.grad = torch.zeros(2, 2), torch.full((2, 2), 3.0)
    build = dict(optimizer=dict(type='mixcl.MoCoLARS', lr=0.1, weight_decay=0.0))
    build_optim_wrapper(torch.nn.ParameterList([still, new]), build).step()
    assert torch.equal(still.data, torch.ones(2, 2))
    torch.testing.assert_close(new.data, torch.full((2, 2), -0.3))
