"""Compiled blocks: they compute what eager ones do, and leave no trace in checkpoints."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hosts import BACKBONES, build, crops, moco_v3
from mmengine.config import Config
from torch import nn

from mixcl.engine.runners import compiling
from mixcl.engine.runners.compiling import check_compiling, compile_blocks
from mixcl.errors import UserError
from mixcl.registry import MODELS


@pytest.mark.parametrize(
    ('name', 'value'),
    [('activation_checkpointing', ['backbone.layers']), ('model_wrapper_cfg', dict(type='MMFullyShardedDataParallel'))],
)
def test_what_does_not_go_with_it_is_refused(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f'cannot be combined with {name}'):
        check_compiling(Config({'compile': True, name: value}))
    check_compiling(Config({name: value}))


def test_a_model_without_blocks_is_refused() -> None:
    with pytest.raises(UserError, match='Linear has none'):
        compile_blocks(nn.Linear(2, 2), True)


@pytest.mark.parametrize(('layers', 'rate'), [(2, 0.0), (4, 0.5)])
def test_blocks_share_a_graph_whatever_their_rate(monkeypatch: pytest.MonkeyPatch, layers: int, rate: float) -> None:
    """A block, and the last one with the class token alone: with gradient, and without in the target."""
    monkeypatch.setattr(compiling, 'check_compiler', lambda device: None)  # no C++ compiler is needed here
    torch._dynamo.reset()
    arch = dict(BACKBONES['vit']['arch'], num_layers=layers)
    model, graphs = build(moco_v3(), backbone=dict(BACKBONES['vit'], arch=arch, drop_path_rate=rate)), []

    def counted(graph: torch.fx.GraphModule, _: list) -> Callable:
        graphs.append(graph)
        return graph.forward

    compile_blocks(model.double(), dict(backend=counted, fullgraph=True))
    model.parse_losses(model.loss(crops(model, 4)))[0].backward()
    assert len(graphs) == 4


@pytest.mark.long
def test_losses_gradients_and_names_stay_at_every_resolution() -> None:
    settings = moco_v3()
    settings['backbone'] = dict(settings['backbone'], drop_path_rate=0.5)
    eager, compiled = (MODELS.build(settings).train() for _ in range(2))
    compiled.load_state_dict(eager.state_dict())
    compile_blocks(compiled, True)
    for size in (8, 4):
        images, found = [torch.randn(6, 3, size, size) for _ in range(2)], []
        for model in (eager, compiled):
            torch.manual_seed(0)  # for drop path
            loss, _ = model.parse_losses(model.loss(images))
            model.zero_grad()
            loss.backward()
            gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
            found.append((loss.detach(), torch.cat(gradients)))
        (loss, gradient), (compiled_loss, compiled_gradient) = found
        torch.testing.assert_close(compiled_loss, loss)
        assert (compiled_gradient - gradient).norm() < 1e-4 * gradient.norm()
    assert list(compiled.state_dict()) == list(eager.state_dict())


@pytest.mark.long
def test_a_compiled_run_resumes_an_eager_one(tmp_path: Path) -> None:
    from tools.in_process import run_here

    config, options = 'configs/mocov3/vit-xs4_digits.py', ['experiment_name=compiled']
    command = ['tools/train.py', config, '--smoke', '--no-validate', '--work-dir', tmp_path]
    assert run_here(*command, options=['schedule.epochs=1']) == 0
    names = list(torch.load(tmp_path / 'epoch_1.pth', weights_only=False)['state_dict'])
    assert run_here(*command, '--compile', '--resume', options=options) == 0
    assert list(torch.load(tmp_path / 'epoch_2.pth', weights_only=False)['state_dict']) == names
