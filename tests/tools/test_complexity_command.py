"""tools/complexity.py as a user runs it, and its table of the papers' values."""

from pathlib import Path

import pytest
from tools.command import ROOT
from tools.in_process import run_here

from mixcl.apis.complexity import Complexity
from tools.complexity import FLOPS, MEMORY, PAPERS, SECONDS, paper_values, table


def test_the_table_at_the_size_of_a_smoke_run(capsys: pytest.CaptureFixture) -> None:
    config = 'configs/aps/vit-t2_cifar10.py'
    assert run_here('tools/complexity.py', config, '--smoke', '--batch-size', 8, '--iterations', 1) == 0
    output = capsys.readouterr().out
    lines = output.splitlines()
    assert f'{config}: 8 images per iteration on cpu' in lines
    measured = {line[:30].strip(): line[30:42].split()[0] for line in lines[lines.index(lines[-1]) - 6 :]}
    assert list(measured) == [
        'parameters of the backbone', 'parameters trained', 'GFLOPs per iteration', 'GFLOPs per image',
        'without attention products', 'activation memory', 'seconds per iteration',
    ]  # fmt: skip
    assert float(measured['GFLOPs per iteration']) == pytest.approx(8 * float(measured['GFLOPs per image']), abs=0.05)
    assert 'APS' not in output, 'a reduced model is not compared with a paper'


def test_every_value_of_a_paper_belongs_to_configs() -> None:
    for name, values in PAPERS.items():
        paths = [name.replace('cifar', f'cifar{classes}') for classes in (10, 100)] if 'cifar' in name else [name]
        for path in paths:
            assert (ROOT / 'configs' / f'{path}.py').exists()
            assert paper_values(f'configs/{path}.py') == values
        assert set(values) <= {FLOPS, MEMORY, SECONDS}
    assert paper_values(str(Path('configs/patchmix/vit-s16_in1k.py'))) == {}


def test_memory_of_a_paper_stands_beside_the_peak_where_there_is_one() -> None:
    values = {MEMORY: 'memory of a paper', FLOPS: 'FLOPs of a paper'}
    on_cpu = Complexity(10**6, 2 * 10**6, 6 * 10**9, 4 * 10**9, 2**30, None, 1.0)
    on_gpu = Complexity(10**6, 2 * 10**6, 6 * 10**9, 4 * 10**9, 2**30, 3 * 2**30, 1.0)
    found = [{label: (value, paper) for label, value, paper in table(cost, 2, values)} for cost in (on_cpu, on_gpu)]
    assert found[0]['activation memory'] == ('1.000 GiB', 'memory of a paper')
    assert found[1]['activation memory'] == ('1.000 GiB', '-')
    assert found[1]['peak memory'] == ('3.000 GiB', 'memory of a paper')
    assert found[0][FLOPS] == ('3.00', 'FLOPs of a paper')
