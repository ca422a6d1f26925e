"""``mixcl neighbours``: the nearest images of a folder, by the features that ``mixcl.embed`` computes."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tools.command import ROOT
from tools.in_process import run_as_given

import mixcl


def test_the_nearest_files_are_those_of_the_cosines_between_features(
    pretrained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    for number in range(12):
        folder = tmp_path / 'photos' / f'{number % 2}'
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (8, 8), dtype=np.uint8)).resize((20, 24)).save(folder / f'{number}.png')
    (tmp_path / 'photos/damaged.jpg').write_bytes(b'no image')
    queries = ['photos/0/4.png', 'other.png']
    Image.open('photos/1/5.png').rotate(5).save('other.png')
    command = (ROOT / 'tools/neighbours.py', pretrained.parent)
    assert run_as_given(*command, *queries, '--among', 'photos', '--k', 3, '--out', 'near.png') == 0
    printed = capfd.readouterr().out
    files = sorted(Path('photos').rglob('*.png'))
    features = mixcl.embed(pretrained, [*files, *queries])
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    cosines = features[-2:] @ features[:-2].T
    cosines[0, files.index(Path(queries[0]))] = -2  # not itself
    for query, row in zip(queries, cosines, strict=True):
        nearest = [f'  {row[place]:.3f}  {files[place]}' for place in (-row).argsort()[:3]]
        assert '\n'.join([query, *nearest]) + '\n' in printed
    assert Image.open('near.png').size[0] > 300
    for wrong, message in (('nothere.png', 'no image nothere.png'), ('photos/damaged.jpg', 'can be read')):
        assert run_as_given(*command, wrong, '--among', 'photos') == 2
        assert message in capfd.readouterr().err
