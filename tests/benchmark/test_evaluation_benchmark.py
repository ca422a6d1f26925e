"""Benchmarks of evaluation: they run, and searches find the same neighbours."""

import re

import pytest
from tools.in_process import run_as_given

PROGRAM = 'tools/benchmark/evaluation.py'


def lines_of(words: str, capsys: pytest.CaptureFixture) -> str:
    assert run_as_given(PROGRAM, *words.split(), '--repeats', '1', '--device', 'cpu') == 0
    return capsys.readouterr().out


def test_a_small_search_finds_the_neighbours_of_scikit_learn(capsys: pytest.CaptureFixture) -> None:
    output = lines_of('knn --bank 3000 --queries 200 --dimensions 16 --neighbours 20', capsys)
    assert '200 queries against 3000 features of 16 dimensions' in output
    assert re.search(r'^all: .* s \(.* GFLOP/s\), peak .* GiB beyond the features, ok$', output, re.MULTILINE)
    (share,) = re.findall(r'([\d.]+)% of the neighbours are the same', output)
    assert float(share) > 99.9


def test_features_and_probes_are_compared(capsys: pytest.CaptureFixture) -> None:
    output = lines_of('forward configs/mocov3/vit-xs4_digits.py --batch-size 4 --image-size 32', capsys)
    rates = re.findall(r'^(fp32|bf16): .* images per second, [\d.]+ of the bare backbone', output, re.MULTILINE)
    assert rates == ['fp32', 'bf16']
    assert 'times one by one' in lines_of('probe --images 200 --dimensions 8 --classes 3', capsys)
