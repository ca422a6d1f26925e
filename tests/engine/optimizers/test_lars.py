"""MoCo v3's LARS against its formulas written out, and LARS against mmpretrain's."""

import pytest
import torch
from mmengine.optim import build_optim_wrapper
from mmpretrain.engine.optimizers import LARS as MMPretrainLARS

from mixcl.engine import LARS, MoCoLARS

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


@pytest.mark.parametrize('settings', [{}, dict(momentum=0.9), dict(momentum=0.9, nesterov=True)])
def test_values_and_states_are_those_of_mmpretrain(settings: dict) -> None:
    """Bit by bit, also for an excluded parameter and zeros; a step that ``found_inf`` refuses changes nothing."""
    start = [torch.randn(4, 3), torch.randn(5), torch.zeros(2, 2)]
    found = []
    for optimiser_class in (MMPretrainLARS, LARS):
        parameters = [torch.nn.Parameter(value.clone()) for value in start]
        groups = [dict(params=parameters[::2]), dict(params=parameters[1:2], weight_decay=0.0, lars_exclude=True)]
        optimiser = optimiser_class(groups, lr=0.3, weight_decay=0.1, **settings)
        for step, rate in enumerate(RATES):
            for group in optimiser.param_groups:
                group['lr'] = rate
            if optimiser_class is LARS and step == 2:
                refuse(optimiser, parameters)
            for parameter in parameters:
                parameter.grad = gradients(step, parameter)
            optimiser.step()
        found.append(values_and_states(optimiser, parameters))
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def refuse(optimiser: LARS, parameters: list[torch.nn.Parameter]) -> None:
    before = [value.clone() for value in values_and_states(optimiser, parameters)]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, torch.nan)
    optimiser.found_inf = torch.tensor(1.0)
    optimiser.step()
    assert all(map(torch.equal, values_and_states(optimiser, parameters), before))
    optimiser.found_inf = torch.tensor(0.0)


def values_and_states(optimiser: torch.optim.Optimizer, parameters: list[torch.nn.Parameter]) -> list[torch.Tensor]:
    states = [value for state in optimiser.state_dict()['state'].values() for value in state.values()]
    return [*(parameter.data for parameter in parameters), *states]
