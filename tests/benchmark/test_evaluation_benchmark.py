"""The benchmarks of evaluation, on small sizes."""

import re
import sys

import pytest

from tools.benchmark.evaluation import main, parse_arguments


def test_the_table_of_a_small_search(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    sizes = '--bank 3000 --queries 200 --dimensions 16 --neighbours 20 --subset-bank 1000 --subset-queries 50'
    monkeypatch.setattr(sys, 'argv', ['evaluation.py', 'knn', *sizes.split()])
    main(parse_arguments())
    output = capsys.readouterr().out
    assert '200 queries against 3000 features of 16 dimensions' in output
    assert re.search(r'^all: .* s \(.* GFLOP/s\), peak .* GiB beyond the features, ok$', output, re.MULTILINE)
    shares = dict(re.findall(r'^ +(mixcl|scikit-learn) .* s +([\d.]+) %$', output, re.MULTILINE))
    assert shares.keys() == {'mixcl', 'scikit-learn'}
    assert float(shares['mixcl']) > 99.9


def test_features_and_probes_are_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    parts = [
        'forward configs/mocov3/vit-xs4_digits.py --batch-size 4 --image-size 32 --repeats 1 --device cpu',
        'probe --images 200 --dimensions 8 --classes 3 --repeats 1 --device cpu',
    ]
    for part in parts:
        monkeypatch.setattr(sys, 'argv', ['evaluation.py', *part.split()])
        main(parse_arguments())
    output = capsys.readouterr().out
    assert re.findall(r'^(fp32|bf16): .* images per second, [\d.]+ of the bare backbone', output, re.MULTILINE) == [
        'fp32', 'bf16',
    ]  # fmt: skip
    assert re.search(r'probes, an epoch: .* times one by one', output)
