"""Everything here needs mmdet and mmcv's compiled operators, which ``make det`` brings; without them it is left out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mixcl.errors import UserError

try:
    import mixcl.detection  # noqa: F401
    from tools.examples.shapes import write_shapes

    REASON = ''
except UserError as error:
    REASON = str(error)


class LeftOutModule(pytest.File):
    """Stands for a test module that cannot be imported."""

    def collect(self) -> Iterator[pytest.Item]:
        yield LeftOut.from_parent(self, name='all')


class LeftOut(pytest.Item):
    def runtest(self) -> None:
        pytest.skip(REASON)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.File | None:
    return LeftOutModule.from_parent(parent, path=module_path) if REASON else None


@pytest.fixture(scope='session')
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six images in COCO's format, for reading alone: three steps of two images are a pass over them."""
    return write_shapes(tmp_path_factory.mktemp('shapes'), 6)
