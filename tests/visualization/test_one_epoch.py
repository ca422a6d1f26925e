"""A run of one epoch has a point for each curve, and no line."""

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageColor

from mixcl.visualization.canvas import PALETTE
from mixcl.visualization.curves import curves_figure


def is_seen(png: bytes) -> bool:
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert('RGB'))
    return bool((pixels == ImageColor.getrgb(PALETTE[0])).all(axis=-1).any())


def test_it_is_seen_in_the_picture(tmp_path: Path) -> None:
    (tmp_path / '1/vis_data').mkdir(parents=True)
    line = dict(loss=1.0, lr=0.1, epoch=1, step=1, time=1.0)
    (tmp_path / '1/vis_data/scalars.json').write_text(json.dumps(line) + '\n')
    file = io.BytesIO()
    curves_figure([tmp_path]).savefig(file, format='png')
    assert is_seen(file.getvalue())
