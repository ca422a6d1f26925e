"""Results of another folder, as one file of its lines."""

import lzma
from pathlib import Path

import numpy as np
import pytest

from mixcl.comparison.state import Result, State
from mixcl.errors import UserError


def test_stored_results_count_where_their_settings_are_those_asked_for(tmp_path: Path) -> None:
    first, settings = State(tmp_path / 'first'), dict(config='patchmix', epochs=3, model=None)
    right, stored = np.arange(12).reshape(2, 6) % 3 > 0, tmp_path / 'stored.json.xz'
    first.write(Result('ours', 1, settings, dict(knn=right), {}, {}))
    stored.write_bytes(lzma.compress(b''.join(path.read_bytes() for path in first.results.glob('*.json'))))
    second = State(tmp_path / 'second', stored)
    assert (second.read('ours', 1, settings | dict(of_later_versions=None)).answers['knn'] == right).all()
    assert second.read('ours', 1, settings | dict(epochs=4)) is None and second.read('ours', 0, settings) is None
    second.write(Result('ours', 1, settings, {}, dict(finetune=70.0), {}))
    assert second.read('ours', 1, settings).accuracies == dict(finetune=70.0), 'its own come first'
    for content in (b'', b'no xz', lzma.compress(b'{"name": 3'), lzma.compress(b'[]')):
        stored.write_bytes(content)
        with pytest.raises(UserError, match=r"results='.*stored\.json\.xz' cannot be read"):
            State(tmp_path, stored)
