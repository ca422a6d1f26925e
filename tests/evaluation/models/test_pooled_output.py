"""The neck that takes maps and vectors."""

import torch

from mixcl.evaluation.models import PooledOutput


def test_maps_are_averaged_and_vectors_pass() -> None:
    maps, vectors = torch.arange(24.0).reshape(2, 3, 2, 2), torch.randn(2, 5)
    pooled, passed = PooledOutput()((maps, vectors))
    assert pooled.tolist() == [[1.5, 5.5, 9.5], [13.5, 17.5, 21.5]]
    assert passed is vectors
