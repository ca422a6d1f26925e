"""tools/verify_data.py, and a whole run, on files with every kind of fault."""

import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from engine.tiny_runs import run_config, trained
from PIL import Image
from tools.command import error_lines, run

from mixcl.datasets.transforms.decoding import decode
from mixcl.datasets.unreadable import UnreadableImage

TOOL = 'tools/verify_data.py'


def noise(seed: int, mode: str = 'RGB') -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (20, 24, 3), dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


def encoded(image: Image.Image, kind: str = 'JPEG') -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def bomb() -> bytes:
    """A PNG of 60,000 x 60,000 pixels in a few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))

    header = struct.pack('>IIBBBBB', 60_000, 60_000, 8, 0, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(b'\0')) + chunk(b'IEND', b'')


FAULTS = {
    'empty.jpg': (b'', 'empty'),
    'huge.png': (bomb(), 'too large'),
    'text.jpg': (b'<html>404 not found</html>', 'no image'),
    'truncated.jpg': (encoded(noise(1))[:-200], 'truncated'),
    'truncated.png': (encoded(noise(1), 'PNG')[:-200], 'truncated'),
}
ODD = {
    '16_bit.png': (encoded(Image.new('I;16', (6, 4), 0x8000), 'PNG'), '16-bit'),
    'cmyk.jpg': (encoded(noise(2, 'CMYK')), 'CMYK'),
    'grey.jpg': (encoded(noise(3, 'L')), 'grey'),
    'one.png': (encoded(Image.new('RGB', (1, 1), (9, 9, 9)), 'PNG'), 'tiny'),
    'palette.png': (encoded(noise(4, 'P'), 'PNG'), 'palette'),
    'transparent.png': (encoded(noise(5, 'RGBA'), 'PNG'), 'transparent'),
}


def write_folder(folder: Path, good: int, names: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(good):
        (folder / f'good{number:03}.jpg').write_bytes(encoded(noise(number)))
    for name in names:
        (folder / name).write_bytes((FAULTS | ODD)[name][0])
    return folder


@pytest.mark.parametrize('name', FAULTS)
def test_faults_have_a_kind(name: str) -> None:
    content, kind = FAULTS[name]
    if not content:
        pytest.skip('an empty file is refused when it is read, not when it is decoded')
    with pytest.raises(UnreadableImage) as caught:
        decode(content, name)
    assert caught.value.kind == kind


@pytest.mark.parametrize('name', ODD)
def test_odd_images_are_converted_and_say_so(name: str) -> None:
    content, kind = ODD[name]
    pixels, conversion = decode(content, name)
    assert (pixels.dtype, pixels.shape[2], conversion) == (np.uint8, 3, kind)


def test_16_bit_colour_is_noticed() -> None:
    import cv2

    colour = np.full((4, 6, 3), 0x8000, dtype=np.uint16)
    pixels, conversion = decode(cv2.imencode('.png', colour)[1].tobytes(), 'a.png')
    assert conversion == '16-bit' and abs(int(pixels[0, 0, 0]) - 128) <= 1


def test_an_ordinary_image_is_not_converted() -> None:
    assert decode(encoded(noise(1)), 'a.jpg')[1] is None


def test_a_folder_with_every_fault(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / 'images', 40, [*FAULTS, *ODD])
    result = run(TOOL, folder, '--out', tmp_path / 'bad.txt', '--workers', 2)
    assert result.returncode == 1, result.stderr
    listed = [line.split('\t') for line in (tmp_path / 'bad.txt').read_text().splitlines()]
    assert [(Path(path).name, kind) for path, kind, _ in listed] == [(name, kind) for name, (_, kind) in FAULTS.items()]
    assert '46 of 51 images can be read' in result.stdout and '2 truncated: NOT readable' in result.stdout
    assert '1 CMYK: readable' in result.stdout


def test_pipes_are_not_waited_for_and_names_need_not_be_unicode(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / 'images', 2, [])
    os.mkfifo(folder / 'pipe.jpg')
    name = b'\xff\xfe.jpg'
    (Path(os.fsdecode(os.fsencode(folder) + b'/' + name))).write_bytes(b'no image')
    result = run(TOOL, folder, '--out', tmp_path / 'bad.txt', '--workers', 1, timeout=60)
    assert result.returncode == 1, result.stderr
    listed = (tmp_path / 'bad.txt').read_bytes()
    assert b'pipe.jpg\tno image\ta device or a pipe, not a file' in listed and name in listed


def test_a_sound_folder_and_a_config(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / 'images', 3, [])
    result = run(TOOL, 'configs/patchmix/vit-s16_folder.py', '--data-root', folder, '--out', tmp_path / 'bad.txt')
    assert result.returncode == 0, result.stderr
    assert '3 of 3 images can be read' in result.stdout
    assert not (tmp_path / 'bad.txt').exists()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['/nowhere/at/all'], 'neither a folder nor a config'),
        (['configs/patchmix/vit-s16_folder.py', '--data-root', '/nowhere'], 'does not exist'),
        (['configs', '--workers', 0], '--workers must be at least 1'),
        (['configs', '--out', '/nowhere/bad.txt'], '--out /nowhere/bad.txt cannot be written'),
        (['configs', '--out', 'docs'], '--out docs cannot be written'),
    ],
)
def test_mistakes(arguments: list, message: str) -> None:
    result = run(TOOL, *arguments)
    assert result.returncode == 2
    assert message in error_lines(result.stderr)[0]


def run_on_folder(folder: Path, work_dir: Path, workers: int) -> tuple[list[float], float, str]:
    """Losses of an epoch on the images of a folder, the unreadable files counted, and the log."""
    crop = dict(type='mmpretrain.RandomResizedCrop', scale=8, backend='pillow')
    pipeline = [
        dict(type='LoadImage'),
        dict(type='KeyedMultiView', num_views=[2], transforms=[[crop]]),
        dict(type='mmpretrain.PackInputs'),
    ]
    cfg = run_config(work_dir, train_cfg__max_epochs=1)
    cfg.train_dataloader.update(dict(batch_size=50, num_workers=workers, persistent_workers=workers > 0))
    cfg.train_dataloader.dataset.dataset = dict(type='ImageFolder', data_root=str(folder), pipeline=pipeline)
    runner = trained(cfg)
    hub = runner.message_hub
    (log,) = work_dir.glob('*/*.log')
    losses = hub.get_scalar('train/loss').data[0].tolist()
    return losses, hub.get_scalar('train/unreadable_images').current(), log.read_text()


def test_five_odd_files_in_500_are_counted_and_the_order_is_the_same_twice(tmp_path: Path) -> None:
    odd = ['empty.jpg', 'truncated.jpg', 'text.jpg', 'cmyk.jpg', 'one.png']
    folder = write_folder(tmp_path / 'images', 495, odd)
    (losses, count, log), (again, count_again, _) = (run_on_folder(folder, tmp_path / str(n), n) for n in (0, 2))
    assert losses == again and len(losses) == 10
    assert torch.isfinite(torch.tensor(losses)).all()
    assert count == count_again == 3
    for name in odd[:3]:
        assert log.count(f'images/{name} (') == 1
    assert 'met 3 unreadable image(s), named above: 1 empty, 1 no image, 1 truncated' in log
    assert 'converted images as it loaded them: 1 CMYK, 1 tiny' in log
