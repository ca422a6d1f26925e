"""The scope of the data sets' tests."""

import pytest
from mmengine.registry import DefaultScope


@pytest.fixture(autouse=True)
def mixcl_scope():
    """Resolve type names to mixcl's classes, as in a run."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        yield
