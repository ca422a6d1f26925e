"""Images that a list names."""

import csv
import io
import os
from collections.abc import Iterator
from itertools import chain
from typing import Any

from mixcl.datasets.folder import is_image
from mixcl.datasets.own_images import Images, OwnImages
from mixcl.errors import UserError, printable
from mixcl.files import open_regular
from mixcl.registry import DATASETS

COLUMNS = dict(
    path=('path', 'file', 'filename', 'file_name', 'filepath', 'image', 'image_path', 'img_path', 'img', 'name'),
    label=('label', 'class', 'target', 'category', 'gt_label'),
)
"""Names that a first line may give the columns."""


@DATASETS.register_module()
class ListedImages(OwnImages):
    """The images that a list names, in its order, with their labels if it has any.

    ``.csv``: a path and a label per line, separated by commas, semicolons or tabs. If the first line names the columns
    (:data:`COLUMNS`), they may have any order. ``.txt``: a path per line, followed by a label unless the line ends
    like an image name. Empty and repeated lines are skipped.

    Args:
        source: the list, in UTF-8.
        data_root: folder that paths are relative to; by default the list's.
        **kwargs: same as OwnImages's.

    Raises:
        UserError: if the list cannot be read, names no images, gives an image two labels, or names missing files.
    """

    def images(self) -> Images:
        """Return one image per file, named by its first spelling; check that all exist."""
        files: dict[str, str] = {}
        labels: dict[str, str] = {}
        for path, label in self._rows():
            file = os.path.abspath(self.reading(path)['img_path'])
            name = files.setdefault(file, path)
            if labels.setdefault(name, label) != label and self.labelled:
                raise UserError(
                    f'{self.source} names {printable(path)} twice, with the labels {labels[name]!r} and {label!r}; '
                    'correct the list'
                )
        if not labels:
            raise UserError(f'the list {self.source} names no images; see docs/your_images.md for what it may hold')
        if missing := [name for name in labels if not os.path.isfile(self.reading(name)['img_path'])]:
            raise UserError(
                f'{len(missing)} of the {len(files)} files that {self.source} lists do not exist, or are no files, the '
                f'first: {printable(missing[0])}, looked for in {self.data_root or "."}; correct the list, or say by '
                '`data_root` which folder its paths are relative to'
            )
        return Images(list(labels), [label or None for label in labels.values()], [''] * len(labels), [])

    def reading(self, name: str, *place: int) -> dict[str, Any]:
        """Return the path, relative to the folder unless absolute."""
        return super().reading(os.path.expanduser(name))

    def _rows(self) -> Iterator[tuple[str, str]]:
        """Yield the path and label of every line, '' for a missing one."""
        try:
            # Lines end as csv and Python's files define: names may hold what str.splitlines takes for line ends.
            with open_regular(self.source) as file, io.TextIOWrapper(file, 'utf-8-sig', newline='') as lines:
                filled = (line for line in lines if line.strip())
                csv_file = self.source.lower().endswith('.csv')
                yield from self._cells(filled) if csv_file else (path_and_label(line.strip()) for line in filled)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise UserError(
                f'the list {self.source} cannot be read ({" ".join(str(error).split())}): give a text file in UTF-8'
            ) from error

    def _cells(self, lines: Iterator[str]) -> Iterator[tuple[str, str]]:
        first = next(lines, '')
        mark = max(',;\t', key=first.count)
        rows: Iterator[list[str]] = csv.reader(
            chain([first], lines), delimiter=mark, skipinitialspace=True, strict=True
        )
        head = next(rows, [])
        names = [cell.strip().lower() for cell in head]
        if any(map(is_image, names)):  # the first line names no columns
            names, rows = ['path', 'label'][: len(head)], chain([head], rows)
        path, label = (
            next((names.index(name) for name in options if name in names), len(names)) for options in COLUMNS.values()
        )
        if path == len(names) > 0:
            raise UserError(
                f'the first line of {self.source} names no column of paths: call one of them path (and another label)'
            )
        for row in rows:
            if len(row) != len(head):
                raise UserError(
                    f'{self.source}: {printable(mark.join(row)[:100])} is {len(row)} cells, but the first line has '
                    f'{len(head)}: put {mark!r} between the cells of every line, and quote cells that hold one'
                )
            cells = [*map(str.strip, row), '']
            if any(cells):
                yield cells[path], cells[label]


def path_and_label(line: str) -> tuple[str, str]:
    """Split a line into path and label; a line that ends like an image name has no label."""
    path, *label = [line] if is_image(line) else line.rsplit(maxsplit=1)
    return path.rstrip(), ''.join(label)
