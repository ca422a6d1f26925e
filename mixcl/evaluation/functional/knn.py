"""Weighted k-nearest-neighbour classification on frozen features, the protocol of PatchMix, DINO and iBOT.

A query is classified by its k nearest bank images under the cosine; each votes for its class with the weight
exp(cosine / temperature). Source: Wu et al., Unsupervised feature learning via non-parametric instance discrimination,
https://arxiv.org/abs/1805.01978, section 3.4.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_labelled_features
from mixcl.evaluation.functional.neighbour_search import nearest_neighbours

NEIGHBOURS = (10, 20, 100, 200)
TEMPERATURE = 0.07
VOTED_AT_ONCE = 1024
NEVER = 2**31


def vote(similarities: Tensor, labels: Tensor, num_classes: int, temperature: float = TEMPERATURE) -> Tensor:
    """Score the classes by the weights of the neighbours that belong to them.

    The weights are exp((cosine - largest cosine) / temperature): relative to the nearest neighbour, so that no
    temperature overflows. The order of the classes is that of the unscaled weights.

    Args:
        similarities: (Nq, k) cosines in [-1, 1].
        labels: (Nq, k) int64, the neighbours' classes, in [0, num_classes).
        num_classes: columns of the result.
        temperature: above 0; the smaller, the more the nearest neighbour decides.

    Returns:
        (Nq, num_classes), 0 for a class that no neighbour belongs to.
    """
    nearest = similarities.amax(dim=1, keepdim=True)
    weights = ((similarities - nearest) / temperature).exp()
    return weights.new_zeros(len(weights), num_classes).scatter_add_(1, labels, weights)


def check_vote(neighbours: Sequence[int], temperature: float) -> None:
    """Refuse settings of the vote that mean nothing.

    Raises:
        UserError: if there is no k, a k is below 1 or no integer, or the temperature is not above 0.
    """
    if (
        not isinstance(neighbours, Sequence)
        or not neighbours
        or any(not isinstance(k, int) or k < 1 for k in neighbours)
    ):
        raise UserError(f'kNN: neighbours must be one or more integers from 1, not {neighbours!r}')
    if not isinstance(temperature, (int, float)) or not temperature > 0:
        raise UserError(f'kNN: temperature must be above 0, not {temperature!r}')


def knn_hits(
    queries: Tensor,
    query_labels: Tensor,
    bank: Tensor,
    bank_labels: Tensor,
    neighbours: Sequence[int] = NEIGHBOURS,
    temperature: float = TEMPERATURE,
) -> dict[str, Tensor]:
    """Tell for every query whether its class is the best, or among the five best, for each k.

    Where scores tie, the class with the lower number comes first. A class without votes is never a hit.

    Args:
        queries: (Nq, D) features, any floating dtype; need not be normalised.
        query_labels: (Nq,) int64 classes.
        bank: (Nb, D) features.
        bank_labels: (Nb,) int64 classes.
        neighbours: values of k; one larger than the bank uses the whole bank.
        temperature: of the vote.

    Returns:
        ``knn{k}_top1`` and ``knn{k}_top5`` for each k, (Nq,) bool on the CPU.

    Raises:
        UserError: if a set is empty, not finite or not labelled, dimensions differ, or the settings mean nothing.
    """
    check_vote(neighbours, temperature)
    check_labelled_features('query', queries, query_labels)
    check_labelled_features('bank', bank, bank_labels)
    similarities, indices = nearest_neighbours(queries, bank, max(neighbours))
    # On the CPU the vote sums in one fixed order, and deterministic algorithms allow it.
    similarities, labels = similarities.cpu(), query_labels.cpu()
    neighbour_labels = bank_labels.cpu()[indices.cpu()]
    hits = {}
    for k in neighbours:
        ranks = _ranks(similarities[:, :k], neighbour_labels[:, :k], labels, temperature)
        hits.update({f'knn{k}_top{best}': ranks < best for best in (1, 5)})
    return hits


def knn_accuracy(
    queries: Tensor,
    query_labels: Tensor,
    bank: Tensor,
    bank_labels: Tensor,
    neighbours: Sequence[int] = NEIGHBOURS,
    temperature: float = TEMPERATURE,
) -> dict[str, float]:
    """Measure how well the nearest neighbours in the bank predict the classes of the queries.

    Args:
        queries: see :func:`knn_hits` for this and the others.
        query_labels: ditto.
        bank: ditto.
        bank_labels: ditto.
        neighbours: ditto.
        temperature: ditto.

    Returns:
        ``knn{k}_top1`` and ``knn{k}_top5`` for each k, in percent.

    Raises:
        UserError: as :func:`knn_hits`.
    """
    hits = knn_hits(queries, query_labels, bank, bank_labels, neighbours, temperature)
    return {name: 100 * hit.double().mean().item() for name, hit in hits.items()}


def _ranks(similarities: Tensor, neighbour_labels: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Place (from 0) of each query's class among the scores, in blocks because scores have a column per class."""
    num_classes = int(max(neighbour_labels.max(), labels.max())) + 1
    blocks = zip(*(part.split(VOTED_AT_ONCE) for part in (similarities, neighbour_labels, labels)), strict=True)
    return torch.cat([_rank(vote(near, votes, num_classes, temperature), own) for near, votes, own in blocks])


def _rank(scores: Tensor, labels: Tensor) -> Tensor:
    labels = labels.unsqueeze(1)
    own = scores.gather(1, labels)
    ahead = (scores > own) | ((scores == own) & (torch.arange(scores.shape[1]) < labels))
    return ahead.sum(dim=1).where(own.squeeze(1) > 0, NEVER)
