"""The benchmark of a step: both sides do the same work."""

import copy
import json
import sys
from pathlib import Path

import pytest
import torch
from tools.command import ROOT
from tools.in_process import run_as_given

from mixcl.errors import UserError
from mixcl.recipes.prepared import prepared

sys.path.append(str(ROOT / 'tools/benchmark'))  # as Python does for a script
from plain_step import stepper
from step import specification
from synthetic import SyntheticIteration, count_flops

sys.path.pop()  # for these imports alone

STEP = 'tools/benchmark/step.py'
HOSTS = ['mocov3/vit-s16_in1k', 'mocov3/r50_in1k', 'patchmix/vit-b16_in1k', 'simclr/vit-s16_in1k']
HOSTS += ['distillation/r18_folder']


def flops(name: str) -> tuple[int, int]:
    """Count FLOPs of mixcl's step and the plain one, whose last block computes all tokens, at ``--smoke`` size."""
    cfg = copy.deepcopy(prepared(f'configs/{name}.py', smoke=True))
    if cfg.model.backbone.type == 'ContrastiveViT':
        cfg.model.backbone.out_type = 'avg_featmap'
    iteration = SyntheticIteration(cfg, 8)
    spec = dict(specification(cfg, iteration.batch['inputs'][0].shape), precision='fp32')
    return count_flops(iteration.run), count_flops(stepper(spec, torch.device('cpu')))


def test_the_plain_step_of_patchmix_has_the_same_flops() -> None:
    own, plain = flops('patchmix/vit-s16_in1k')
    assert plain == pytest.approx(own, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize('name', HOSTS)
def test_the_plain_step_has_the_same_flops(name: str) -> None:
    own, plain = flops(name)
    assert plain == pytest.approx(own, rel=0.02)


@pytest.mark.parametrize(('name', 'place'), [
    ('sdmp/vit-s16_in1k_mocov3', 'model.mixer.type'), ('byol/vit-s16_in1k', 'model.objective.type'),
])  # fmt: skip
def test_what_the_plain_step_does_not_have_is_named(name: str, place: str) -> None:
    with pytest.raises(UserError, match=rf'knows no {place}='):
        specification(prepared(f'configs/{name}.py'), [2, 3, 224, 224])


@pytest.mark.long
def test_the_table(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    options = '--smoke --batch-size 4 --repeats 1 --precisions fp32 --out'
    assert run_as_given(STEP, 'configs/mocov3/vit-s16_in1k.py', *options.split(), tmp_path / 'rows.json') == 0
    (row,) = json.loads((tmp_path / 'rows.json').read_text())
    assert 'times the plain step in fp32' in capsys.readouterr().out
    assert sum(row['phases'].values()) == pytest.approx(1, abs=0.05)
    assert row['phases']['forward'] > 0 and row['phases']['backward'] > 0
