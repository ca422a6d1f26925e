"""Images as bytes; the same photos as a folder, a list, tar files and a data set of Hugging Face."""

import io
import json
import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ('bee', 'ant', 'cat')


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def chunk(kind: bytes, data: bytes, error: int = 0) -> bytes:
    """Return a chunk of a PNG, with bits of its checksum flipped where ``error`` has ones."""
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data) ^ error)


def photo(seed: int, size: tuple[int, int] = (40, 32)) -> bytes:
    """Encode noise on one colour, which tells the classes apart."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 60, (size[1], size[0], 3)) + np.eye(3, dtype=int)[seed % 3] * 180
    return encoded(Image.fromarray(pixels.astype(np.uint8)), 'JPEG' if seed % 2 else 'PNG')


def photos(number: int) -> dict[str, bytes]:
    """Return photos by path ('ant/01.jpg'), sorted by path."""
    found = {f'{CLASSES[i % 3]}/{i:02d}.{"jpg" if i % 2 else "png"}': photo(i) for i in range(number)}
    return dict(sorted(found.items()))


def write_folder(root: Path, files: dict[str, bytes] | list[str]) -> Path:
    """Write files below a folder; of a list of names, all are one photo."""
    for name, content in (files if isinstance(files, dict) else dict.fromkeys(files, photo(0))).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, 'w') as shard:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            shard.addfile(member, io.BytesIO(content))
    return path


def write_shards(folder: Path, files: dict[str, bytes], per_shard: int = 5) -> str:
    """Write tar files with labels by turns in .cls and .json; return their pattern."""
    names = list(files)
    shards = [names[start : start + per_shard] for start in range(0, len(names), per_shard)]
    for number, members in enumerate(shards):
        content: dict[str, bytes] = {}
        for place, name in enumerate(members):
            key, label = name.rpartition('.')[0], name.partition('/')[0]
            content[name] = files[name]
            text = json.dumps(dict(label=label)) if place % 2 else label
            content[f'{key}.{("cls", "json")[place % 2]}'] = text.encode()
        write_tar(folder / f'shard-{number:03d}.tar', content)
    return str(folder / f'shard-{{000..{len(shards) - 1:03d}}}.tar')


def write_hugging_face(path: Path, files: dict[str, bytes]) -> Path:
    import datasets

    datasets.disable_progress_bars()
    kind = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(names=sorted(CLASSES)))
    rows = dict(
        image=[dict(bytes=content, path=None) for content in files.values()],
        label=[name.partition('/')[0] for name in files],
    )
    table = datasets.Dataset.from_dict(rows, features=kind)
    table.to_parquet(str(path)) if path.suffix == '.parquet' else table.save_to_disk(str(path))
    return path


def write_list(path: Path, files: dict[str, bytes]) -> Path:
    """Write a list of files in the folder 'photos' beside it."""
    lines = [f'photos/{name},{name.partition("/")[0]}' for name in files]
    path.write_text('\n'.join(['file,label', *lines]) + '\n')
    return path


def write_all(folder: Path, files: dict[str, bytes]) -> dict[str, str]:
    """Write every source of the same images; return them by kind, as --data takes them."""
    write_folder(folder / 'photos', files)
    return dict(
        folder=f'folder:{folder / "photos"}',
        list=f'list:{write_list(folder / "photos.csv", files)}',
        tar=f'tar:{write_shards(folder / "shards", files)}',
        hf=f'hf:{write_hugging_face(folder / "table", files)}',
        parquet=f'hf:{write_hugging_face(folder / "table.parquet", files)}',
    )
