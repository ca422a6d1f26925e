"""tools/verify_data.py, and a whole run, on files with every kind of fault."""

import os
from pathlib import Path

import numpy as np
import pytest
from own_sources import encoded, write_tar
from PIL import Image
from tools.in_process import refusal, run_here

TOOL = 'tools/verify_data.py'


def noise(seed: int, mode: str = 'RGB', kind: str = 'JPEG', size: tuple[int, int] = (20, 24)) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    return encoded(Image.fromarray(pixels).convert(mode), kind)


FAULTS = {
    'empty.jpg': (b'', 'empty'),
    'text.jpg': (b'<html>404 not found</html>', 'no image'),
    'truncated.jpg': (noise(1)[:-200], 'truncated'),
}
ODD = {'cmyk.jpg': noise(2, 'CMYK'), 'grey.jpg': noise(3, 'L'), 'one.png': noise(4, kind='PNG', size=(1, 1))}


def write_folder(folder: Path, good: int, names: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(good):
        (folder / f'good{number:03}.jpg').write_bytes(noise(number))
    for name in names:
        (folder / name).write_bytes(ODD[name] if name in ODD else FAULTS[name][0])
    return folder


def test_a_folder_with_every_fault(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    folder = write_folder(tmp_path / 'images', 40, [*FAULTS, *ODD])
    (folder / os.fsdecode(b'\xff\n\t.jpg')).write_bytes(b'no image')
    assert run_here(TOOL, folder, '--out', tmp_path / 'bad.txt', '--num-workers', 2) == 1
    rows = [line.split('\t') for line in (tmp_path / 'bad.txt').read_text().splitlines()]
    faults = {os.path.basename(path): kind for path, kind, _ in rows}
    assert faults == {name: kind for name, (_, kind) in FAULTS.items()} | {r'\udcff\n\t.jpg': 'no image'}
    printed = capfd.readouterr().out
    assert '43 of 47 images can be read' in printed and '1 truncated: NOT readable' in printed
    for row in rows:
        (folder / os.path.basename(row[0])).unlink(missing_ok=True)
    (folder / os.fsdecode(b'\xff\n\t.jpg')).unlink()
    assert run_here(TOOL, folder, '--out', tmp_path / 'bad.txt', '--num-workers', 2) == 0
    assert not (tmp_path / 'bad.txt').exists()
    assert '1 four channels: readable' in printed and '1 grey: readable' in printed and '1 tiny: readable' in printed


def test_a_source_whose_images_lie_within_another_file(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    write_tar(tmp_path / 'a.tar', {'good.jpg': noise(0), 'truncated.jpg': FAULTS['truncated.jpg'][0]})
    assert run_here(TOOL, f'tar:{tmp_path}/a.tar', '--out', tmp_path / 'bad.txt', '--num-workers', 1) == 1
    assert '1 of 2 images can be read' in capfd.readouterr().out
    assert 'a.tar/truncated.jpg' in (tmp_path / 'bad.txt').read_text()


def test_arrays_of_a_config_with_channels(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    (tmp_path / 'images').mkdir()
    for name, channels in (('good', 4), ('other', 3)):
        np.save(tmp_path / 'images' / name, np.zeros((8, 8, channels), np.uint16))
    (tmp_path / 'images/text.npy').write_bytes(b'no array')
    (tmp_path / 'images/good.npy').rename(tmp_path / 'images/good.NPY')
    config = 'patchmix/vit-s16_folder_4channels'
    arguments = (config, '--data-root', tmp_path / 'images', '--out', tmp_path / 'bad.txt', '--num-workers', 1)
    assert run_here(TOOL, *arguments) == 1
    assert '1 of 3 images can be read' in capfd.readouterr().out
    rows = dict(line.split('\t')[:2] for line in (tmp_path / 'bad.txt').read_text().splitlines())
    kinds = {os.path.basename(path): kind for path, kind in rows.items()}
    assert kinds == {'other.npy': 'not as the config says', 'text.npy': 'no image'}


def test_mistakes(capfd: pytest.CaptureFixture) -> None:
    assert 'neither a folder nor a config' in refusal(capfd, TOOL, '/nowhere/at/all')
    assert '--data-root is for configs and lists' in refusal(capfd, TOOL, 'configs', '--data-root', 'x')
    assert '--out docs is a folder' in refusal(capfd, TOOL, 'configs', '--out', 'docs')
