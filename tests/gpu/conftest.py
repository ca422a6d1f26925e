"""The device of the GPU tests; ``--device cpu`` tries them without a GPU."""

import os

import pytest
import torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--device', choices=['cpu', 'cuda'], default='cuda', help='where the tests of tests/gpu compute')


@pytest.fixture
def device(request: pytest.FixtureRequest) -> str:
    """Set exact arithmetic and return the device; skip the test if there is no GPU."""
    chosen = request.config.getoption('--device', 'cuda')
    if chosen == 'cuda' and not torch.cuda.is_available():
        pytest.skip('needs a GPU')
    os.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'  # otherwise its matrix products differ from run to run
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return chosen
