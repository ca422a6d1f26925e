"""The prototypes of DINO and SwAV stay fixed in the first epochs and train afterwards."""

from types import SimpleNamespace

import hosts
import pytest
import torch
from mmengine.optim import OptimWrapper

from mixcl.engine import FrozenPrototypesHook


def runner_of(model: torch.nn.Module) -> SimpleNamespace:
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=0.1, weight_decay=0.5)
    wrapper = OptimWrapper(optimizer, clip_grad=dict(max_norm=3.0))
    return SimpleNamespace(model=model, optim_wrapper=wrapper, epoch=0)


def step(runner: SimpleNamespace) -> dict[str, torch.Tensor]:
    """Return the values of the heads' and the objective's parameters after one optimiser step."""
    losses = runner.model([crop.float() for crop in hosts.crops(runner.model, 4)], mode='loss')
    runner.optim_wrapper.update_params(sum(value for name, value in losses.items() if 'loss' in name))
    return values(runner.model)


def values(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    named = [*model.neck.named_parameters(), *model.objective.named_parameters()]
    return {name: parameter.detach().clone() for name, parameter in named}


@pytest.mark.parametrize(('host', 'tensors', 'others'), [('dino', 2, 6), ('swav', 1, 6)])
def test_prototypes_neither_move_nor_decay_in_the_first_epochs(host: str, tensors: int, others: int) -> None:
    model = hosts.build(hosts.HOSTS[host]())
    runner = runner_of(model)
    FrozenPrototypesHook(epochs=2).before_train(runner)
    before = values(model)
    prototypes = {name for name in before if name.startswith('prototypes.')}
    assert (len(prototypes), len(before)) == (tensors, tensors + others)
    for epoch in (0, 1, 2):
        runner.epoch = epoch
        after = step(runner)
        moved = {name for name in before if not torch.equal(before[name], after[name])}
        assert moved == (set(before) if epoch == 2 else set(before) - prototypes)
        before = after
