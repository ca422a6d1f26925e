"""Features of images with several labels, for the tests of linear SVMs."""

import torch
from torch import Tensor


def several_labels(size: int, classes: int = 3, noise: float = 1.0, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return features (size, 6) with a direction per class, and labels (size, classes), some of them 0."""
    random = torch.Generator().manual_seed(seed)
    present = torch.where(torch.rand(size, classes, generator=random) < 0.35, 1, -1)
    directions = torch.randn(classes, 6, generator=torch.Generator().manual_seed(99))
    features = present.float() @ directions + noise * torch.randn(size, 6, generator=random)
    present[torch.rand(size, classes, generator=random) < 0.1] = 0
    return features, present.to(torch.int8)
