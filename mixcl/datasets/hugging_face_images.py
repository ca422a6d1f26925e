"""Images in data sets of Hugging Face."""

import glob
import os
import re
from functools import partial
from typing import Any

from mixcl.datasets.own_images import OwnImage, OwnImages, given_parts
from mixcl.errors import UserError
from mixcl.registry import DATASETS

LABELS = ('label', 'labels', 'fine_label', 'class', 'target', 'category')
"""What a column of labels may be called where none has the type of one."""


@DATASETS.register_module()
class HuggingFaceImages(OwnImages):
    """The images of a folder that ``save_to_disk`` of Hugging Face's ``datasets`` wrote, or of Parquet files.

    Needs the package ``datasets``; nothing is downloaded. Parquet files are converted into its cache, once. The split
    is given by a split train and one called validation or test; of Parquet files, by how their names begin.

    Args:
        source: the folder that was saved; a Parquet file, or a folder of such files.
        image, label: names of the columns; by default the only ones of the types ``Image`` and ``ClassLabel``, or a
            column of labels that is called one of :data:`LABELS`.
        **kwargs: of OwnImages.

    Raises:
        UserError: if the package is missing, or the data or a column.
    """

    def __init__(self, source: str, image: str | None = None, label: str | None = None, **kwargs: Any) -> None:
        self.image, self.label = image, label
        self.tables: dict[str, Any] = {}
        super().__init__(source, **kwargs)

    @property
    def folder(self) -> str:
        """The source itself."""
        return self.source

    def images(self) -> list[OwnImage]:
        """One per row, split by split."""
        found = self._read()
        parts = given_parts(found)
        images = []
        for split, table in found.items():
            labels = self._labels(table)
            for row in range(len(table)):
                name = f'{split}/{row:08d}'
                label = labels[row] if labels else None
                images.append(
                    OwnImage(name, label, parts[split], dict(img_path=f'{self.source}/{name}', split=split, row=row))
                )
        if not images:
            raise UserError(f'{self.source} has no rows; give another data set')
        return images

    def get_data_info(self, idx: int) -> dict:
        """The annotation, with a function ``read_bytes`` that reads the image."""
        info = super().get_data_info(idx)
        return {**info, 'read_bytes': partial(_read_cell, self.tables[info.pop('split')], info.pop('row'))}

    def _read(self) -> dict[str, Any]:
        """The tables by split; of their images without decoding in ``tables``."""
        try:
            import datasets
        except ImportError as error:
            raise UserError("--data hf: needs the package datasets: pip install 'mixcl[datasets]'") from error
        datasets.disable_progress_bars()
        try:
            files = sorted(glob.glob(f'{glob.escape(self.source)}/**/*.parquet', recursive=True))
            files = [self.source] if os.path.isfile(self.source) else files
            found = _of_parquet(files) if files else datasets.load_from_disk(self.source)
            found = dict(found) if isinstance(found, dict) else {'train': found}
            for split, table in found.items():
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
        return found

    def _column(self, table: Any, kind: str) -> str | None:
        named = getattr(self, kind)
        wanted = dict(image='Image', label='ClassLabel')[kind]
        kinds = {name: type(feature).__name__ for name, feature in table.features.items()}
        found = [name for name in kinds if named == name or (named is None and kinds[name] == wanted)]
        if kind == 'label' and not found and named is None:
            return next((name for name in LABELS if name in kinds), None)
        if len(found) != 1:
            raise UserError(
                f'{self.source} has {len(found) or "no"} column(s) {named or f"of the type {wanted}"} among '
                f'{", ".join(kinds)}: name one, as in --data hf:PATH,{kind}=COLUMN'
            )
        return found[0]

    def _labels(self, table: Any) -> list[str | None] | None:
        column = self._column(table, 'label')
        if column is None:
            return None
        names = getattr(table.features[column], 'names', None)
        self.class_names = tuple(names or ())
        values = table.with_format(None)[column][:]
        if names:  # -1 stands for none
            return [names[value] if value is not None and value >= 0 else None for value in values]
        return [None if value is None else str(value) for value in values]


def _of_parquet(files: list[str]) -> dict[str, Any]:
    from datasets import load_dataset

    words = [re.split('[^a-z]', os.path.basename(file))[0] for file in files]
    given = any(given_parts(words).values())
    groups: dict[str, list[str]] = {}
    for file, word in zip(files, words, strict=True):
        groups.setdefault(word if given else 'train', []).append(file)
    return {split: load_dataset('parquet', data_files=group, split='train') for split, group in groups.items()}


def _read_cell(table: Any, row: int) -> bytes:
    (cell,) = table[row].values()
    if not cell or cell['bytes'] is not None or not cell['path']:
        return (cell or {}).get('bytes') or b''
    with open(cell['path'], 'rb') as file:
        return file.read()
