import pytest
import torch
from torch import nn

from mixcl.engine import ParameterClipHook
from mixcl.engine.hooks.gradient_clip import clip_each
from mixcl.errors import UserError


def test_every_gradient_is_clipped_by_itself():
    gradients = [torch.tensor([3.0, 4.0]), torch.tensor([[0.3, 0.4]]), torch.zeros(2)]
    clip_each(gradients, 1.0)
    torch.testing.assert_close(gradients[0], torch.tensor([0.6, 0.8]))
    torch.testing.assert_close(gradients[1], torch.tensor([[0.3, 0.4]]))
    assert not gradients[2].any()


class RunnerOf:
    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optim_wrapper = type('Wrapper', (), dict(optimizer=optimizer))()


def test_the_hook_acts_before_the_step():
    large, small = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
    unused = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([large, small, unused], lr=1.0)
    ParameterClipHook(max_norm=3.0).before_train(RunnerOf(optimizer))
    (100 * large + small).sum().backward()
    optimizer.step()
    torch.testing.assert_close(torch.cat([large, small, unused]).detach(), torch.tensor([-3.0, -1.0, 0.0]))


@pytest.mark.parametrize('max_norm', [0, -1.0])
def test_a_norm_that_is_not_above_zero_is_refused(max_norm):
    with pytest.raises(UserError, match='max_norm must be above 0'):
        ParameterClipHook(max_norm)
