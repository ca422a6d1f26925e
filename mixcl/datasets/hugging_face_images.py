"""Images in data sets of Hugging Face."""

import glob
import os
from functools import partial
from typing import Any

from mixcl.datasets.own_images import Images, OwnImages, parts_by_name, split_word
from mixcl.datasets.transforms.decoding import MAX_BYTES
from mixcl.errors import UserError
from mixcl.files import read_regular
from mixcl.registry import DATASETS

COLUMNS = dict(image=('image', 'img'), label=('label', 'labels', 'fine_label', 'class', 'target', 'category'))
"""Usual column names; where none is found, the only column of the type ``Image`` or ``ClassLabel`` is taken."""


@DATASETS.register_module()
class HuggingFaceImages(OwnImages):
    """The images of a folder written by ``save_to_disk`` of Hugging Face's ``datasets``, or of Parquet files.

    Needs the package ``datasets``; nothing is downloaded. Parquet files are converted into its cache, once. The split
    is given by a part called train and one called validation or test; for Parquet files, their names must begin so.

    Args:
        source: the saved folder, a Parquet file, or a folder of Parquet files.
        **kwargs: same as OwnImages's.

    Raises:
        UserError: if the package, the data or a column is missing.
    """

    @property
    def folder(self) -> str:
        return self.source

    def images(self) -> Images:
        """Return one image per row, split by split."""
        tables = self._read()
        part_of_split = parts_by_name(tables)
        names = [f'{split}/{row:08d}' for split, table in tables.items() for row in range(len(table))]
        if not names:
            raise UserError(f'{self.source} has no rows; give another data set')
        labels = [label for table in tables.values() for label in self._labels(table)]
        if {*labels} - {None, *self.class_names}:  # not all splits name their classes
            self.class_names = ()
        return Images(names, labels, [part_of_split[name.rpartition('/')[0]] for name in names], [])

    def reading(self, name: str, *place: int) -> dict[str, Any]:
        """Return a name for messages, and a function ``read_bytes`` that reads the image."""
        split, _, row = name.rpartition('/')
        table = self.tables[split]
        files = [dict(stored_in=file['filename']) for file in table.cache_files[:1]]
        return dict(img_path=f'{self.source}/{name}', read_bytes=partial(_read_cell, table, int(row)), **dict(*files))

    def _read(self) -> dict[str, Any]:
        """Return the tables by split, and keep their undecoded images in ``tables``."""
        try:
            import datasets
        except ImportError as error:
            raise UserError("`data=hf:` needs the package datasets: pip install 'mixcl[datasets]'") from error
        datasets.disable_progress_bars()
        try:
            files = sorted(glob.glob(f'{glob.escape(self.source)}/**/*.parquet', recursive=True))
            files = [self.source] if os.path.isfile(self.source) else files
            tables = _of_parquet(files) if files else datasets.load_from_disk(self.source)
            tables = dict(tables) if isinstance(tables, dict) else {'train': tables}
            self.tables = {}
            for split, table in tables.items():
                name = self._column(table, 'image')
                cells = table.cast_column(name, datasets.Image(decode=False)).select_columns([name])
                self.tables[split] = cells.with_format(None)
        except UserError:
            raise
        except Exception as error:  # readers of tables raise almost anything
            raise UserError(
                f'{self.source} cannot be read as a data set of Hugging Face ({" ".join(str(error).split())[:200]}): '
                'give a folder that save_to_disk wrote, or Parquet files'
            ) from error
        return tables

    def _column(self, table: Any, kind: str) -> str | None:
        kinds = {name: type(feature).__name__ for name, feature in table.features.items()}
        typed = [name for name in kinds if kinds[name] == dict(image='Image', label='ClassLabel')[kind]]
        columns = [name for name in COLUMNS[kind] if name in (typed or kinds)] or typed
        if len(columns) == 1 or (columns and columns[0] in COLUMNS[kind]):
            return columns[0]
        if kind == 'label' and not columns:
            return None
        raise UserError(
            f'{self.source} has {len(columns) or "no"} columns of {kind}s among {", ".join(kinds)}: call one {kind}, '
            "by rename_column of Hugging Face's datasets"
        )

    def _labels(self, table: Any) -> list[str | None]:
        column = self._column(table, 'label') if self.labelled else None
        if column is None:
            return [None] * len(table)
        names = getattr(table.features[column], 'names', None)
        values = table.with_format(None)[column][:]
        if any(isinstance(value, list | dict) for value in values):  # several labels count as none
            return [None] * len(table)
        self.class_names = tuple(dict.fromkeys((*self.class_names, *(names or ()))))
        if names:  # -1 means no label
            return [names[value] if value is not None and value >= 0 else None for value in values]
        return [None if value is None else str(value) for value in values]


def _of_parquet(files: list[str]) -> dict[str, Any]:
    from datasets import load_dataset

    words = list(map(split_word, files))
    given = any(parts_by_name(words).values())
    groups: dict[str, list[str]] = {}
    for file, word in zip(files, words, strict=True):
        groups.setdefault(word if given else 'train', []).append(file)
    return {split: load_dataset('parquet', data_files=group, split='train') for split, group in groups.items()}


def _read_cell(table: Any, row: int) -> bytes:
    (cell,) = table[row].values()
    if not cell or cell['bytes'] is not None or not cell['path']:
        return (cell or {}).get('bytes') or b''
    return read_regular(cell['path'], MAX_BYTES)
