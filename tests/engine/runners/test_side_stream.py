"""Batches prepared on a stream of their own: what waits for what, and runs that end with the same weights."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from engine.runners.test_chunk_loop import APS
from engine.tiny_runs import run_config, trained

from mixcl.engine.runners.pretrain_loop import PretrainLoop
from mixcl.engine.runners.side_stream import SideStream


def test_the_step_waits_for_a_batch_that_is_prepared_beside_the_step_before() -> None:
    done: list[str] = []
    step = SimpleNamespace(wait_stream=lambda other: done.append(f'step waits for {other.name}'))

    def entered(stream: SimpleNamespace) -> AbstractContextManager:
        done.append(f'on {stream.name}')
        return nullcontext()

    streams = SimpleNamespace(
        Stream=lambda: SimpleNamespace(name='side'), current_stream=lambda: step, stream=entered
    )  # no waiting of the side stream: it would begin after the step before
    prepared = SideStream(lambda batch: done.append('prepare') or {**batch, 'ready': True}, streams)(dict(inputs=[1]))
    assert prepared == dict(inputs=[1], ready=True)
    assert done == ['on side', 'prepare', 'step waits for side']


@pytest.mark.parametrize('overrides', [{}, APS], ids=['one step a batch', 'two steps a batch'])
def test_a_run_is_the_same_bit_by_bit(overrides: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = trained(run_config(tmp_path / 'without', **overrides))
    begin = PretrainLoop.__init__

    def beside(loop: PretrainLoop, *args: object, **kwargs: object) -> None:
        begin(loop, *args, **kwargs)
        loop.finish = SideStream(loop.runner.model.data_preprocessor.finish, torch.cpu)

    monkeypatch.setattr(PretrainLoop, '__init__', beside)
    found = trained(run_config(tmp_path / 'with', **overrides))
    torch.testing.assert_close(found.model.state_dict(), without.model.state_dict(), rtol=0, atol=0)
