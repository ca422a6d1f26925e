"""Fixtures of the data sets' tests."""

from pathlib import Path

import numpy as np
import pytest
from mmengine.registry import DefaultScope
from PIL import Image


@pytest.fixture(autouse=True)
def mixcl_scope():
    """Resolve type names to mixcl's classes, as in a run."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        yield


@pytest.fixture
def write_images():
    """Return a function that writes small noise images as PNG files and returns their paths."""

    def write(folder: Path, names: list[str]) -> list[str]:
        random = np.random.default_rng(0)
        for name in names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 256, (12, 16, 3), dtype=np.uint8)).save(path, format='PNG')
        return [str(folder / name) for name in names]

    return write
