"""Weighted k-nearest-neighbour classification on frozen features, the protocol of PatchMix, DINO and iBOT.

A query is classified by the k bank images with the largest cosine; each votes for its class with the weight
exp(cosine / temperature). Source: Wu et al., Unsupervised feature learning via non-parametric instance discrimination,
https://arxiv.org/abs/1805.01978, section 3.4.
"""

from collections.abc import Sequence
from itertools import count

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mixcl.evaluation.functional.feature_checks import check_finite
from mixcl.terminal import progress

NEIGHBOURS = (10, 20, 100, 200)
TEMPERATURE = 0.07
QUERIES_AT_ONCE, BANK_AT_ONCE = 1024, 32768
"""Numbers of queries and bank rows in a block of cosines, 128 MiB."""
NEVER = 2**31


@torch.no_grad()
def nearest_neighbours(queries: Tensor, bank: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Find the k rows of the bank with the largest cosine to each query; ties come in any order.

    The search is exhaustive, block by block. Beyond the features it needs about 0.5 GiB, a copy of the queries, and 24
    bytes per query and neighbour.

    Args:
        queries: (Nq, D) finite features of any norm and floating dtype, on the device that computes.
        bank: (Nb, D), the same, on any device.
        k: neighbours per query; clipped to Nb.

    Returns:
        cosines (Nq, k) float32, descending, and indices (Nq, k) int64 into the bank.
    """
    queries = normalize(queries.float(), dim=1)
    cosines = queries.new_empty(len(queries), 0)
    indices = torch.empty(len(queries), 0, dtype=torch.int64, device=queries.device)
    blocks = bank.split(BANK_AT_ONCE)
    for start, rows in zip(count(0, BANK_AT_ONCE), progress(blocks, 'nearest neighbours', len(blocks), 'blocks')):
        rows = normalize(rows.to(queries.device).float(), dim=1)
        with torch.autocast(queries.device.type, enabled=False):
            best = [(part @ rows.T).topk(min(k, len(rows))) for part in queries.split(QUERIES_AT_ONCE)]
        candidates = torch.cat([indices, torch.cat([part.indices for part in best]) + start], dim=1)
        cosines = torch.cat([cosines, torch.cat([part.values for part in best])], dim=1)
        cosines, places = cosines.topk(min(k, cosines.shape[1]))
        indices = candidates.gather(1, places)
    return cosines, indices


def vote(cosines: Tensor, labels: Tensor, num_classes: int, temperature: float = TEMPERATURE) -> Tensor:
    """Score the classes by the weights of the neighbours that belong to them.

    Weights are relative to that of the nearest neighbour, so that no temperature (above 0) overflows.

    Args:
        cosines: (Nq, k) in [-1, 1].
        labels: (Nq, k) int64, the neighbours' classes, in [0, num_classes).

    Returns:
        (Nq, num_classes), 0 for a class that no neighbour belongs to.
    """
    weights = ((cosines - cosines.amax(dim=1, keepdim=True)) / temperature).exp()
    return weights.new_zeros(len(weights), num_classes).scatter_add_(1, labels, weights)


def knn_accuracy(
    queries: Tensor,
    query_labels: Tensor,
    bank: Tensor,
    bank_labels: Tensor,
    neighbours: Sequence[int] = NEIGHBOURS,
    temperature: float = TEMPERATURE,
) -> dict[str, float]:
    """Measure how well the nearest neighbours in the bank predict the classes of the queries.

    If scores tie, the class with the lower number comes first. A class without votes is never a hit.

    Args:
        queries, bank: (Nq, D) and (Nb, D) features.
        query_labels, bank_labels: (Nq,) and (Nb,) int64 classes.
        neighbours: values of k, each 1 or more; one larger than the bank becomes the number of images in it.
        temperature: of the vote, above 0.

    Returns:
        ``knn{k}_top1`` and ``knn{k}_top5`` for each k, in percent.

    Raises:
        UserError: if a set is not finite.
    """
    check_finite(query=queries, bank=bank)
    # On the CPU the vote sums in one fixed order, which PyTorch's deterministic mode allows.
    cosines, indices = (found.cpu() for found in nearest_neighbours(queries, bank, max(neighbours)))
    votes, labels = bank_labels.cpu()[indices], query_labels.cpu()
    num_classes = int(max(votes.max(), labels.max())) + 1
    accuracies: dict[str, float] = {}
    for k in dict.fromkeys(min(k, len(bank)) for k in neighbours):
        parts = zip(*(part.split(QUERIES_AT_ONCE) for part in (cosines, votes, labels)), strict=True)
        ranks = torch.cat(
            [_ranks(vote(near[:, :k], classes[:, :k], num_classes, temperature), own) for near, classes, own in parts]
        )
        accuracies |= {f'knn{k}_top{best}': 100 * (ranks < best).double().mean().item() for best in (1, 5)}
    return accuracies


def _ranks(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the rank (B,), from 0, of each query's class (B,) among the scores (B, C)."""
    labels = labels.unsqueeze(1)
    own = scores.gather(1, labels)
    ahead = (scores > own) | ((scores == own) & (torch.arange(scores.shape[1]) < labels))
    return ahead.sum(dim=1).where(own.squeeze(1) > 0, NEVER)
