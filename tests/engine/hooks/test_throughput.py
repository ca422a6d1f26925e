"""What the log says about speed and FLOPs."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from engine.tiny_runs import run_config, scalars, trained
from torch.nn import functional
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler

from mixcl.datasets import Digits, KeyedDataset
from mixcl.engine.hooks.health import throughput
from mixcl.engine.hooks.health.throughput import flop_counter, peak_flops


def test_speed_is_in_every_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, 'peak_flops', lambda device, dtype: {torch.float32: 1e12}[dtype])
    runner = trained(run_config(tmp_path, default_hooks__logger__interval=2))
    log = next(tmp_path.glob('*/*.log')).read_text()
    lines = [line for line in log.splitlines() if 'Epoch(train)' in line]
    assert len(lines) == 4
    assert all(f'{name}: ' in line for line in lines for name in ('images_per_second', 'data_wait', 'mfu'))
    times = scalars(runner, 'time')
    seconds = [sum(times[steps]) / len(times[steps]) for steps in (slice(0, 2), slice(2, 4), slice(4, 5))]
    assert scalars(runner, 'images_per_second')[:3] == pytest.approx([8 / s for s in seconds], rel=1e-6)
    assert all(0 <= share <= 1 for share in scalars(runner, 'data_wait'))
    gflops = float(re.search(r'([\d.]+) GFLOPs per step and process', log)[1])
    assert scalars(runner, 'mfu')[:3] == pytest.approx([gflops / 1000 / s for s in seconds], rel=1e-3)


def test_advice_on_photos_is_given_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, 'peak_flops', lambda device, dtype: 1e12)
    asked = []
    copies = SimpleNamespace(advice=lambda *facts: asked.append(facts) or 'a cache' * (len(asked) > 1))
    monkeypatch.setattr(KeyedDataset, 'copies', property(lambda dataset: copies, lambda *_: None), raising=False)
    info = Digits.get_data_info
    monkeypatch.setattr(Digits, 'get_data_info', lambda *place: {**info(*place), 'ori_shape': (8, 8)})
    trained(run_config(tmp_path, default_hooks__logger__interval=2))
    assert next(tmp_path.glob('*/*.log')).read_text().count('a cache') == 1
    assert len(asked) == 2 and asked[0][:2] == ([(8, 8)] * 8, 40) and 0 <= asked[0][2] <= 1


def test_batches_that_a_sampler_makes_are_counted() -> None:
    """Loaders in detection have no batch size of their own."""
    images = list(range(12))
    loader = DataLoader(images, batch_sampler=BatchSampler(SequentialSampler(images), 6, drop_last=True))
    hub, found = SimpleNamespace(get_scalar=lambda name: SimpleNamespace(mean=lambda steps: 3.0)), {}
    hub.update_scalar, hub.log_scalars = found.__setitem__, {'train/time'}
    runner = SimpleNamespace(hooks=[], message_hub=hub, train_dataloader=loader, world_size=2)
    throughput.ThroughputHook().after_train_iter(runner, batch_idx=1)
    assert found['train/images_per_second'] == 6 * 2 / 3.0
    loader.chunks = 4  # as those of APS, each of which is a step
    throughput.ThroughputHook().after_train_iter(runner, batch_idx=1)
    assert found['train/images_per_second'] == 6 * 2 / 3.0 / 4


def test_attention_of_the_cpu_is_counted() -> None:
    images, heads, tokens, channels = 2, 3, 64, 16
    query, key, value = torch.randn(3, images, heads, tokens, channels, requires_grad=True)
    product = 2 * images * heads * tokens * tokens * channels
    with flop_counter() as counter:
        attended = functional.scaled_dot_product_attention(query, key, value)
        assert counter.get_total_flops() == 2 * product
        attended.sum().backward()
    assert counter.get_total_flops() == (2 + 5) * product  # the backward pass repeats one


def test_the_peak_is_that_of_the_fastest_product(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0, 9, 10, 10.5, 20, 24])  # when products begin and end
    monkeypatch.setattr(throughput, 'time', SimpleNamespace(perf_counter=lambda: next(ticks)))
    state = torch.get_rng_state()
    assert peak_flops.__wrapped__('cpu', torch.float32) == 2 * 1024**3 / 0.5
    assert torch.equal(torch.get_rng_state(), state)
