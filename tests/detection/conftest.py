"""Everything here needs mmdet and mmcv's compiled operators, which ``make det`` installs."""

from pathlib import Path

import pytest

from mixcl.errors import UserError

try:
    import mixcl.detection  # noqa: F401

    REASON = None
except UserError as error:
    REASON = str(error)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if REASON and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=REASON))
