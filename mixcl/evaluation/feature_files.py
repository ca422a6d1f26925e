"""Features on the disk: written in pieces, continued after an interruption."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mixcl.errors import UserError
from mixcl.files import written_whole

FEATURES, NAMES, LABELS, UNREADABLE, META = 'features.npy', 'names.txt', 'labels.npy', 'unreadable.txt', 'meta.json'


class FeatureFiles:
    """A folder of features: ``features.npy``, ``names.txt``, ``labels.npy``, ``unreadable.txt``, ``meta.json``.

    Until they are complete the features lie in ``features.npy.part``, and the meta file says how many rows of it are
    done. Each file takes its final name once it is whole; ``features.npy`` comes last.

    Args:
        folder: made where it does not exist.
        identity: what decides the features, as JSON; a folder of another identity is not continued.
        names: one per image.
        labels: (N,) int64, or None.
        details: further entries for the meta file, which decide nothing.

    Attributes:
        done: how many rows are written, always a whole number of pieces.

    Raises:
        UserError: if the folder is a file, holds other files, or features of another identity.
    """

    def __init__(
        self,
        folder: str | Path,
        identity: dict[str, Any],
        names: Sequence[str],
        labels: np.ndarray | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.identity = json.loads(json.dumps(identity))
        self.names = names
        self.labels = labels
        self.details = details or {}
        self.done = 0
        self.unreadable: list[tuple[str, str]] = []
        if (self.folder / META).is_file():
            self._continue()
        elif self.folder.exists() and not self.folder.is_dir():
            raise UserError(f'--out {self.folder} is a file; give a new folder, or a name that ends in .npz')
        elif self.folder.is_dir() and any(self.folder.iterdir()):
            raise UserError(f'--out {self.folder} is a folder of other files; give a new or an empty one')
        else:
            self._begin()

    @property
    def complete(self) -> bool:
        """Whether all files have their final names."""
        return (self.folder / FEATURES).is_file()

    def append(self, rows: np.ndarray, unreadable: Sequence[tuple[str, str]] = ()) -> None:
        """Write the next piece; once this returns, an interruption does not lose it.

        Args:
            rows: (n, D) float32, in the order of the names.
            unreadable: (name, reason) of the images among them that could not be read.
        """
        part, shape = self._part, (len(self.names), rows.shape[1])
        # Mapped anew for every piece, so that what is written does not stay in this process's memory.
        mode = dict(mode='r+') if self.done else dict(mode='w+', dtype=np.float32, shape=shape)
        mapped = np.lib.format.open_memmap(part, **mode)
        mapped[self.done : self.done + len(rows)] = rows
        mapped.flush()
        self.done += len(rows)
        self.unreadable.extend(unreadable)
        self._write_meta()

    def finish(self) -> None:
        """Write the other files and give the features their name; may be repeated."""
        self._write_lines(NAMES, self.names)
        if self.labels is not None:
            with written_whole(self.folder / LABELS) as file:
                np.save(file, self.labels)
        if self.unreadable:
            self._write_lines(UNREADABLE, [f'{name} ({reason})' for name, reason in self.unreadable])
        if not self.complete:
            self._part.replace(self.folder / FEATURES)

    def pack(self, path: str | Path) -> None:
        """Put everything into one ``.npz`` file (features, names, labels, meta) and remove the folder."""
        arrays = dict(features=np.load(self.folder / FEATURES, mmap_mode='r'), names=np.array(self.names))
        if self.labels is not None:
            arrays['labels'] = self.labels
        with written_whole(path) as file:
            np.savez(file, **arrays, meta=np.array((self.folder / META).read_text()))
        shutil.rmtree(self.folder)

    @property
    def _part(self) -> Path:
        return self.folder / f'{FEATURES}.part'

    def _continue(self) -> None:
        try:
            stored = json.loads((self.folder / META).read_text())
            identity, self.done = stored['identity'], stored['done']
            self.unreadable = [(name, reason) for name, reason in stored['unreadable']]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f'--out {self.folder} has a {META} that is not of features; give another folder') from error
        check_same(self.identity, identity, self.folder)
        if not self.complete and self.done and not self._part.is_file():
            raise UserError(f'--out {self.folder} has lost its {self._part.name}; remove the folder to start again')

    def _begin(self) -> None:
        try:
            self._write_meta()
        except OSError as error:
            raise UserError(f'--out {self.folder} cannot be written ({error.strerror}); give another place') from error

    def _write_meta(self) -> None:
        meta = dict(
            identity=self.identity, **self.details, images=len(self.names), done=self.done, unreadable=self.unreadable
        )
        with written_whole(self.folder / META) as file:
            file.write(json.dumps(meta, indent=2).encode())

    def _write_lines(self, name: str, lines: Sequence[str]) -> None:
        with written_whole(self.folder / name) as file:
            # Names of files need not be valid text.
            file.writelines(f'{line}\n'.encode(errors='surrogateescape') for line in lines)


def check_same(identity: dict[str, Any], stored: dict[str, Any], place: str | Path) -> None:
    """Raise :class:`~mixcl.errors.UserError` unless the features at a place are the ones that are asked for."""
    for name, value in identity.items():
        if stored.get(name) != value:
            raise UserError(
                f'--out {place} holds features of another {name} ({_short(stored.get(name))}, now {_short(value)}); '
                'give another --out, or remove it to start again'
            )


def check_packed(path: str | Path, identity: dict[str, Any]) -> None:
    """The same for a ``.npz`` file that :meth:`FeatureFiles.pack` wrote."""
    try:
        with np.load(path) as arrays:
            stored = json.loads(str(arrays['meta']))['identity']
    except Exception as error:  # numpy raises whatever the contents lead to
        raise UserError(f'--out {path} exists and is no file of features; give another name') from error
    check_same(json.loads(json.dumps(identity)), stored, path)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f'{text[:57]}...'
