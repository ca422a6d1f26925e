"""tools/verify_data.py, and a whole run, on files with every kind of fault."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from engine.tiny_runs import run_config, trained
from PIL import Image
from tools.in_process import run_here

TOOL = 'tools/verify_data.py'


def encoded(seed: int, mode: str = 'RGB', kind: str = 'JPEG', size: tuple[int, int] = (20, 24)) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(stream, kind)
    return stream.getvalue()


FAULTS = {
    'empty.jpg': (b'', 'empty'),
    'text.jpg': (b'<html>404 not found</html>', 'no image'),
    'truncated.jpg': (encoded(1)[:-200], 'truncated'),
}
ODD = {'cmyk.jpg': encoded(2, 'CMYK'), 'grey.jpg': encoded(3, 'L'), 'one.png': encoded(4, kind='PNG', size=(1, 1))}


def write_folder(folder: Path, good: int, names: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(good):
        (folder / f'good{number:03}.jpg').write_bytes(encoded(number))
    for name in names:
        (folder / name).write_bytes(ODD[name] if name in ODD else FAULTS[name][0])
    return folder


def test_a_folder_with_every_fault(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    folder = write_folder(tmp_path / 'images', 40, [*FAULTS, *ODD])
    os.mkfifo(folder / 'pipe.jpg')  # not waited for
    (Path(os.fsdecode(os.fsencode(folder) + b'/\xff\xfe.jpg'))).write_bytes(b'no image')
    assert run_here(TOOL, folder, '--out', tmp_path / 'bad.txt', '--workers', 2) == 1
    listed = (tmp_path / 'bad.txt').read_bytes()
    rows = [line.split(b'\t') for line in listed.splitlines()]
    faults = {os.fsdecode(os.path.basename(path)): kind.decode() for path, kind, _ in rows}
    assert faults == {name: kind for name, (_, kind) in FAULTS.items()} | {
        'pipe.jpg': 'no image',
        os.fsdecode(b'\xff\xfe.jpg'): 'no image',
    }
    printed = capfd.readouterr().out
    assert '43 of 48 images can be read' in printed and '1 truncated: NOT readable' in printed
    assert '1 four channels: readable' in printed and '1 grey: readable' in printed and '1 tiny: readable' in printed


def test_a_sound_folder_by_its_config(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    folder = write_folder(tmp_path / 'images', 3, [])
    config = 'configs/patchmix/vit-s16_folder.py'
    assert run_here(TOOL, config, '--data-root', folder, '--out', tmp_path / 'bad.txt', '--workers', 1) == 0
    assert '3 of 3 images can be read' in capfd.readouterr().out
    assert not (tmp_path / 'bad.txt').exists()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['/nowhere/at/all'], 'neither a folder nor a config'),
        (['configs', '--workers', 0], '--workers must be at least 1'),
        (['configs', '--out', 'README.md/bad.txt'], 'results cannot be written to README.md'),
        (['configs', '--out', 'docs'], '--out docs is a folder: give the name of a file'),
    ],
)
def test_mistakes(arguments: list, message: str, capfd: pytest.CaptureFixture) -> None:
    assert run_here(TOOL, *arguments) == 2
    assert message in capfd.readouterr().err


def run_on_folder(folder: Path, work_dir: Path, workers: int) -> tuple[list[float], float, str]:
    """Losses of an epoch on the images of a folder, the unreadable files counted, and the log."""
    crop = dict(type='mmpretrain.RandomResizedCrop', scale=8, backend='pillow')
    pipeline = [
        dict(type='LoadImage'),
        dict(type='KeyedMultiView', num_views=[2], transforms=[[crop]]),
        dict(type='mmpretrain.PackInputs'),
    ]
    cfg = run_config(work_dir, train_cfg__max_epochs=1)
    cfg.train_dataloader.update(dict(batch_size=20, num_workers=workers, persistent_workers=workers > 0))
    cfg.train_dataloader.dataset.dataset = dict(type='ImageFolder', data_root=str(folder), pipeline=pipeline)
    runner = trained(cfg)
    hub = runner.message_hub
    (log,) = work_dir.glob('*/*.log')
    losses = hub.get_scalar('train/loss').data[0].tolist()
    return losses, hub.get_scalar('train/unreadable_images').current(), log.read_text()


def test_five_odd_files_in_100_are_counted_and_the_order_is_the_same_twice(tmp_path: Path) -> None:
    odd = ['empty.jpg', 'truncated.jpg', 'text.jpg', 'cmyk.jpg', 'one.png']
    folder = write_folder(tmp_path / 'images', 95, odd)
    (losses, count, log), (again, count_again, _) = (run_on_folder(folder, tmp_path / str(n), n) for n in (0, 2))
    assert losses == again and len(losses) == 5
    assert torch.isfinite(torch.tensor(losses)).all()
    assert count == count_again == 3
    for name in odd[:3]:
        assert log.count(f'images/{name} (') == 1
    assert 'met 3 unreadable image(s), named above: 1 empty, 1 no image, 1 truncated' in log
    assert 'converted images as it loaded them: 1 four channels, 1 tiny' in log


def test_the_list_lies_where_results_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not beside the sources, from where one calls it."""
    folder, tool = write_folder(tmp_path / 'images', 1, ['text.jpg']), Path(TOOL).resolve()
    (tmp_path / 'sources').mkdir()
    monkeypatch.chdir(tmp_path / 'sources')
    assert run_here(tool, folder, '--workers', 1) == 1
    assert os.listdir() == ['work_dirs'] and os.listdir('work_dirs') == ['unreadable_images.txt']
