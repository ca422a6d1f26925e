"""Statistics of features without a classifier: spread, uniformity, effective rank, alignment of classes.

All are scalars on the device of the features, so that computing them during training does not wait for the GPU.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS_AT_ONCE = 2048


@torch.no_grad()
def feature_std(features: Tensor) -> Tensor:
    """Compute the spread of L2-normalised features (R, C) over a batch, times sqrt(C): about 1 if even, 0 if collapsed.

    As in SimSiam (2021), Sec. 4.1, but before the head, whose batch normalisation would hide a collapse.
    """
    directions = F.normalize(features.float(), dim=1)
    return directions.std(dim=0, unbiased=False).mean() * features.shape[1] ** 0.5


@torch.no_grad()
def uniformity(features: Tensor) -> Tensor:
    """Compute the log of the mean Gaussian potential of all pairs of features, ``log E exp(-2 |f(x) - f(y)|^2)``.

    The features (N, D) are compared as unit vectors. Lower is better: 0 if all point the same way, about -4 if they are
    spread over a sphere of many dimensions. Source: Wang and Isola, Understanding contrastive representation learning
    through alignment and uniformity on the hypersphere, https://arxiv.org/abs/2005.10242, section 4.1.2.
    """
    blocks = _directions(features).split(ROWS_AT_ONCE)
    total = features.new_zeros((), dtype=torch.float64)
    for number, rows in enumerate(blocks):
        total += _potential(rows, rows).triu(1).sum(dtype=torch.float64)
        for others in blocks[number + 1 :]:
            total += _potential(rows, others).sum(dtype=torch.float64)
    return (total / (len(features) * (len(features) - 1) / 2)).log()


@torch.no_grad()
def effective_rank(features: Tensor) -> Tensor:
    """Compute how many dimensions the features (N, D) use: the exponential of the entropy of their singular values.

    It is ``exp(-sum_k p_k log p_k)`` with the singular values p of the matrix, scaled to sum 1. The features are
    neither centred nor scaled. The rank is 1 if all point the same way, min(N, D) if all directions have equal weight,
    NaN if one is not finite. Source: Roy and Vetterli, The effective rank, EUSIPCO 2007; for pretrained encoders
    Garrido et al., RankMe, https://arxiv.org/abs/2210.02885, section 3.1.
    """
    rows = features if features.shape[0] >= features.shape[1] else features.T
    products = features.new_zeros(rows.shape[1], rows.shape[1], dtype=torch.float64)
    for part in rows.split(ROWS_AT_ONCE):
        products += part.double().T @ part.double()
    # The solver refuses values that are not finite, and logging must not end the training.
    finite = products.isfinite().all()
    values = torch.linalg.eigvalsh(products.where(finite, 0.0)).clamp_min(0).sqrt()
    shares = values / values.sum().clamp_min(torch.finfo(values.dtype).tiny)
    return torch.special.entr(shares).sum().exp().where(finite, torch.nan)


@torch.no_grad()
def class_alignment(features: Tensor, labels: Tensor) -> Tensor:
    """Compute the mean squared distance between the directions of two images of one class, over all such pairs.

    Features are (N, D), labels (N,) int64 classes. 0 is best, 4 is worst, NaN if no class has two images. There is no
    loop over pairs: n unit vectors with the sum S have the mean squared distance ``2 (n^2 - |S|^2) / (n (n - 1))``.
    """
    counts = labels.bincount().double()
    sums = features.new_zeros(len(counts), features.shape[1], dtype=torch.float64)
    sums.index_add_(0, labels, _directions(features).double())
    pairs = (counts * (counts - 1)).sum()
    return (2 * (counts.square() - sums.square().sum(dim=1)).sum() / pairs).where(pairs > 0, torch.nan)


@torch.no_grad()
def lidar(features: Tensor, shrinkage: float = 1e-4) -> Tensor:
    """Compute the effective rank of what tells n images apart, given q views of each; features are (n, q, C), q > 1.

    It is the exponential of the entropy of the eigenvalues, scaled to sum 1, of ``W^-1/2 B W^-1/2``: B is the
    covariance of the images' means, W that of the views about them plus ``shrinkage`` on the diagonal. It is at most
    min(n - 1, C); NaN if a feature is not finite. Source: Thilak et al., LiDAR: Sensing linear probing performance in
    joint embedding SSL architectures, https://arxiv.org/abs/2312.04000, section 4.
    """
    rows = features.double()
    finite = rows.isfinite().all()
    rows = rows.where(finite, 0.0)
    means = rows.mean(dim=1)
    between, within = means - means.mean(dim=0), (rows - means[:, None]).flatten(0, 1)
    values, directions = torch.linalg.eigh(within.T @ within / len(within))
    whitened = between @ directions * (values.clamp_min(0) + shrinkage).rsqrt()
    spread = torch.linalg.svdvals(whitened).square()
    shares = spread / spread.sum().clamp_min(torch.finfo(spread.dtype).tiny)
    return torch.special.entr(shares).sum().exp().where(finite, torch.nan)


def _directions(features: Tensor) -> Tensor:
    return F.normalize(features if features.dtype == torch.float64 else features.float(), dim=1)


def _potential(rows: Tensor, others: Tensor) -> Tensor:
    """Compute ``exp(-2 |x - y|^2)`` (R, S) of unit vectors, whose squared distance is 2 - 2 cos."""
    with torch.autocast(rows.device.type, enabled=False):
        return (rows @ others.T).sub_(1).mul_(4).exp_()
