"""``mixcl complexity`` as a user runs it, and its table of the papers' values."""

import pytest
from tools.command import ROOT
from tools.in_process import run_here

from mixcl.apis.complexity import FLOPS, MEMORY, PAPERS, SECONDS, paper_values


def test_the_table_at_the_size_of_a_smoke_run(capsys: pytest.CaptureFixture) -> None:
    config = 'configs/aps/vit-t2_cifar10.py'
    assert run_here('tools/complexity.py', config, '--smoke', '--batch-size', 8, '--iterations', 1) == 0
    output = capsys.readouterr().out
    title, _, *rows = output.splitlines()[-9:]
    assert title == f'{config}: 8 images per iteration on cpu'
    measured = {row[:32].strip(): float(row[32:]) for row in rows}
    assert len(measured) == 7 and measured['parameters of the backbone (M)'] > 0
    assert measured['GFLOPs per iteration'] == pytest.approx(8 * measured[FLOPS], abs=0.005)
    assert 'APS' not in output, 'a reduced model is not compared with a paper'


def test_every_value_of_a_paper_belongs_to_configs() -> None:
    for name, values in PAPERS.items():
        for path in {name.replace('cifar', f'cifar{classes}') for classes in (10, 100)}:
            assert (ROOT / 'configs' / f'{path}.py').exists()
            assert paper_values(f'configs/{path}.py') == values
        assert set(values) <= {FLOPS, MEMORY, SECONDS}
    assert paper_values('configs/patchmix/vit-s16_in1k.py') == {}
