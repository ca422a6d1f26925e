"""Tests that need mmdet and mmcv's compiled operators, which ``make det`` installs; without them, they are skipped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from evaluation.archive_layouts import voc_image, voc_list

from mixcl.errors import UserError

try:
    import mixcl.detection  # noqa: F401
    from tools.examples.shapes import write_shapes

    REASON = ''
except UserError as error:
    REASON = str(error)


class LeftOutModule(pytest.File):
    """A stand-in for a test module that cannot be imported."""

    def collect(self) -> Iterator[pytest.Item]:
        yield LeftOut.from_parent(self, name='all')


class LeftOut(pytest.Item):
    def runtest(self) -> None:
        pytest.skip(REASON)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.File | None:
    return LeftOutModule.from_parent(parent, path=module_path) if REASON else None


@pytest.fixture(autouse=True)
def own_visualizer() -> Iterator[None]:
    """Forget mmdet's visualizer: later runs of a process take the first one, whose folder a passed test removes."""
    from mmdet.visualization import DetLocalVisualizer

    yield
    DetLocalVisualizer._instance_dict.clear()


@pytest.fixture(scope='session')
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write six images in COCO's format, for reading only: three steps of two images are a pass over them."""
    return write_shapes(tmp_path_factory.mktemp('shapes'), 6)


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    """Write VOC2007 and VOC2012 with four images each, all in trainval and test."""
    folder = tmp_path / 'voc'
    for year in (2007, 2012):
        names = [f'{year}{number:02}' for number in range(4)]
        for name in names:
            voc_image(folder / f'VOC{year}', name, dict(car=[1], person=[0, 0]), size=64)
        for split in ('trainval', 'test'):
            voc_list(folder / f'VOC{year}', split, names)
    return folder
