"""Images that a list names."""

import csv
import os

from mixcl.datasets.folder import is_image
from mixcl.datasets.own_images import OwnImage, OwnImages
from mixcl.errors import UserError, printable
from mixcl.registry import DATASETS

COLUMNS = dict(
    path=('path', 'file', 'filename', 'file_name', 'filepath', 'image', 'image_path', 'img_path', 'img', 'name'),
    label=('label', 'class', 'target', 'category', 'gt_label'),
)
"""How a first line may name the columns."""


@DATASETS.register_module()
class ListedImages(OwnImages):
    """The images that a list names, in its order, with a label each if it has them.

    ``.csv``: a path and a label per line, separated by commas, semicolons or tabs; or with the names of the columns
    (:data:`COLUMNS`) in the first line, in any order. ``.txt``: a path per line, and a label behind it where the line
    does not end as the name of an image does. Empty lines are passed over, and so are repeated ones.

    Args:
        source: the list, in UTF-8.
        data_root: what paths are relative to; by default the list's folder.
        **kwargs: of OwnImages.

    Raises:
        UserError: if the list cannot be read, names no images, or names one with two labels; for missing files.
    """

    def check_layout(self) -> None:
        """Refuse a list that cannot be read, or that names files which do not exist."""
        images = self.images()
        missing = [image.name for image in images if not os.path.isfile(image.info['img_path'])]
        if missing:
            raise UserError(
                f'{len(missing)} of the {len(images)} files that {self.source} lists do not exist, the first: '
                f'{printable(missing[0])}, looked for in {self.data_root or "."}; correct the list, or say by '
                '--data-root which folder its paths are relative to'
            )

    def load_data_list(self) -> list[dict]:
        """The images of the split, once all files are seen to exist."""
        self.check_layout()
        return super().load_data_list()

    def images(self) -> list[OwnImage]:
        """One per path."""
        rows: dict[str, str] = {}
        for path, label in self._rows():
            if rows.setdefault(path, label) != label:
                raise UserError(
                    f'{self.source} names {printable(path)} twice, with the labels {rows[path]!r} and {label!r}; '
                    'correct the list'
                )
        if not rows:
            raise UserError(f'the list {self.source} names no images; see docs/your_images.md for what it may hold')
        places = {path: os.path.join(self.data_root, os.path.expanduser(path)) for path in rows}
        return [OwnImage(path, label or None, '', dict(img_path=places[path])) for path, label in rows.items()]

    def _rows(self) -> list[list[str]]:
        """Path and label of every line, '' for what it does not have."""
        try:
            with open(self.source, encoding='utf-8-sig', newline='') as file:
                text = file.read()
            lines = [line for line in text.splitlines() if line.strip()]
            if not self.source.lower().endswith('.csv'):
                return [_path_and_label(line.strip()) for line in lines]
            mark = max(',;\t', key=lines[0].count) if lines else ','
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise UserError(
                f'the list {self.source} cannot be read ({" ".join(str(error).split())}): give a text file in UTF-8'
            ) from error
        places: list[int | None] = [0, 1]
        if rows and not any(is_image(cell) for cell in rows[0]):
            names = [cell.lower() for cell in rows.pop(0)]
            places = [next((names.index(name) for name in known if name in names), None) for known in COLUMNS.values()]
        if places[0] is None:
            raise UserError(
                f'the first line of {self.source} names no column of paths: call one of them path (and another label)'
            )
        return [
            ['' if place is None or place >= len(row) else row[place] for place in places] for row in rows if any(row)
        ]


def _path_and_label(line: str) -> list[str]:
    path, *label = [line] if is_image(line) else line.rsplit(maxsplit=1)
    return [path.rstrip(), ''.join(label)]
