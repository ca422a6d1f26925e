"""The benchmark of a step: both sides do the same work."""

import json
import sys
from pathlib import Path

import pytest
import torch

from mixcl.apis.complexity import SyntheticIteration, count_flops
from mixcl.errors import UserError
from mixcl.experiments.options.smoke import shrink_to_smoke
from mixcl.experiments.prepared import prepared
from tools.benchmark.plain_step import stepper
from tools.benchmark.step import main, parse_arguments, specification

HOSTS = [
    'patchmix/vit-s16_in1k', 'mocov3/vit-s16_in1k', 'simclr/vit-s16_in1k', 'mocov2/vit-s16_in1k', 'byol/vit-s16_in1k',
    'dino/vit-s16_in1k', 'mocov2/r50_in1k', 'simclr/r50_in1k', 'byol/r50_in1k', 'simsiam/r50_in1k',
]  # fmt: skip


def flops(name: str) -> tuple[int, int]:
    """Of mixcl's step and of the plain one, at the size of ``--smoke``."""
    cfg = prepared(f'configs/{name}.py')
    shrink_to_smoke(cfg)
    cfg.optim_wrapper.pop('accumulative_counts', None)
    iteration = SyntheticIteration(cfg, 8)
    spec = dict(specification(cfg, iteration.batch['inputs']), precision='fp32')
    return count_flops(iteration.run)[0], count_flops(stepper(spec, torch.device('cpu')))[0]


def test_the_plain_step_of_patchmix_has_the_same_flops() -> None:
    own, plain = flops(HOSTS[0])
    assert plain == pytest.approx(own, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize('name', HOSTS[1:])
def test_the_plain_step_has_the_same_flops(name: str) -> None:
    own, plain = flops(name)
    assert plain == pytest.approx(own, rel=0.02)


def test_what_the_plain_step_does_not_have_is_named() -> None:
    cfg = prepared('configs/sdmp/vit-s16_in1k_mocov3.py')
    with pytest.raises(UserError, match=r"knows no model\.mixer\.type='"):
        specification(cfg, [torch.zeros(2, 3, 224, 224)] * 2)


@pytest.mark.long
def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    options = '--smoke --batch-size 4 --repeats 1 --device cpu --precisions fp32 --out'
    words = ['step.py', 'configs/mocov3/vit-s16_in1k.py', *options.split(), str(tmp_path / 'rows.json')]
    monkeypatch.setattr(sys, 'argv', words)
    main(parse_arguments())
    (row,) = json.loads((tmp_path / 'rows.json').read_text())
    assert 'times the plain step in fp32' in capsys.readouterr().out
    assert sum(row['phases'].values()) == pytest.approx(1, abs=0.05)
    assert row['phases']['forward'] > 0 and row['phases']['backward'] > 0
