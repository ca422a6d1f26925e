"""Exact nearest neighbours by cosine similarity, in bounded memory.

A matrix product in fp32 rounds differently for blocks of different shapes, so that two copies of an image may not tie.
Therefore fp32 only finds candidates, a few more than asked for; float64 then decides their order. Where fp32 cannot
tell the candidates from the rest, as among features that have nearly collapsed, float64 searches. The answer is the
same whatever the block sizes, the number of processes and the device.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_features, check_same_dimensions

SPARE_CANDIDATES = 16
# Cosines are compared on a grid of 2**-20 (1e-6) while searching, which absorbs the rounding of fp32 products.
GRID = 2.0**20
REFINED_VALUES = 2**21
# Cosines on the grid are off by half a cell, and through fp32 by up to 1.3 more (measured with up to 8,192 dimensions);
# so are those that they are compared with.
UNSURE = 6 / GRID


@dataclass(frozen=True)
class _Precision:
    """How candidates are compared: by products of unit vectors times ``scale``, rounded so that copies tie."""

    dtype: torch.dtype
    scale: float
    rounded: Callable[[Tensor], Tensor]


# Scaling by a power of two is exact, so the products come out in units of the grid.
FAST = _Precision(torch.float32, GRID, Tensor.round_)
EXACT = _Precision(torch.float64, 1.0, Tensor.float)


@torch.no_grad()
def nearest_neighbours(
    queries: Tensor, bank: Tensor, k: int, query_chunk: int = 1024, bank_chunk: int = 32768
) -> tuple[Tensor, Tensor]:
    """Find the k rows of the bank with the largest cosine to each query, ties going to the lowest index.

    Exhaustive; cosines are those in float64, rounded to float32. Beyond the features it needs about ``16 * query_chunk
    * bank_chunk`` bytes, a normalised copy of the queries, and ``24 * (k + 16)`` bytes per query. The bank may lie on
    another device than the queries: it is visited block by block on the device of the queries.

    Args:
        queries: (Nq, D) features, any floating dtype; need not be normalised. A zero vector has cosine 0 to all.
        bank: (Nb, D) features, likewise.
        k: neighbours per query, at least 1; clipped to Nb.
        query_chunk: queries compared at once; changes memory and speed, never the result.
        bank_chunk: bank rows compared at once; likewise.

    Returns:
        similarities (Nq, min(k, Nb)) float32 in [-1, 1], descending, and indices (Nq, min(k, Nb)) int64 into the bank,
        both on the bank's device.

    Raises:
        UserError: if k is below 1, a set is empty or not finite, or the dimensions differ.
    """
    if k < 1:
        raise UserError(f'the number of neighbours must be at least 1, not {k}')
    check_features('query', queries)
    check_features('bank', bank)
    check_same_dimensions('query', queries, 'bank', bank)
    k, count = min(k, len(bank)), min(k + SPARE_CANDIDATES, len(bank))
    chunks = (query_chunk, bank_chunk)
    similarities, indices = _refine(queries, bank, _candidates(queries, bank, count, *chunks, FAST))
    unsure = (similarities[:, k - 1] - similarities[:, -1] <= UNSURE) & (count < len(bank))
    if unsure.any():
        again = queries[unsure.to(queries.device)]
        similarities[unsure], indices[unsure] = _refine(again, bank, _candidates(again, bank, count, *chunks, EXACT))
    return similarities[:, :k], indices[:, :k]


def _candidates(
    queries: Tensor, bank: Tensor, count: int, query_chunk: int, bank_chunk: int, precision: _Precision
) -> Tensor:
    """Indices (Nq, count) of the largest cosines in this precision, the lowest where they tie; on the bank's device."""
    device, dtype = queries.device, precision.dtype
    queries = F.normalize(queries.to(dtype), dim=1) * precision.scale
    best = [_nothing_yet(rows) for rows in queries.split(query_chunk)]
    # One buffer for all products: fresh memory of this size would cost as much time as half the product.
    products = queries.new_empty(min(query_chunk, len(queries)), min(bank_chunk, len(bank)))
    with torch.autocast(device.type, enabled=False):
        for start in range(0, len(bank), bank_chunk):
            block = F.normalize(bank[start : start + bank_chunk].to(device, dtype), dim=1)
            for number, rows in enumerate(queries.split(query_chunk)):
                found = torch.mm(rows, block.T, out=products[: len(rows), : len(block)])
                best[number] = _merge(best[number], precision.rounded(found), start, count)
    return torch.cat([indices for _, indices in best]).to(bank.device)


def _nothing_yet(rows: Tensor) -> tuple[Tensor, Tensor]:
    return rows.new_empty(len(rows), 0, dtype=torch.float32), rows.new_empty(len(rows), 0, dtype=torch.int64)


def _merge(best: tuple[Tensor, Tensor], similarities: Tensor, start: int, count: int) -> tuple[Tensor, Tensor]:
    """Fold one block of the bank, which begins at index ``start``, into the best so far."""
    if best[0].shape[1] < count:
        columns = _largest(similarities, count)
        found = similarities.gather(1, columns)
    else:
        found, columns = _better(similarities, best[0][:, -1:], count)
    values = torch.cat([best[0], found], dim=1)
    indices = torch.cat([best[1], columns + start], dim=1)
    # Indices ascend within equal values, in the best so far and in what was found, so a stable sort keeps the lowest.
    order = values.argsort(dim=1, descending=True, stable=True)[:, :count]
    return values.gather(1, order), indices.gather(1, order)


def _better(similarities: Tensor, worst: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Values and ascending column indices of what exceeds ``worst`` (R, 1), at most ``count`` per row.

    Few do once some blocks were seen, and a comparison is much cheaper than ``topk``. What equals the worst of the
    best so far loses to it, for its index is higher. Rows are filled up with minus infinity.
    """
    better = similarities > worst
    rows, columns = _sparse_nonzero(better)
    counts = rows.bincount(minlength=len(similarities))
    crowded = counts > count
    if crowded.any():
        kept = _largest(similarities[crowded], count)
        better[crowded] = torch.zeros_like(better[crowded]).scatter_(1, kept, True)
        rows, columns = _sparse_nonzero(better)
        counts = counts.clamp_max(count)
    places = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[rows]
    values = similarities.new_full((len(similarities), int(counts.max())), -torch.inf)
    values[rows, places] = similarities[rows, columns]
    return values, torch.zeros_like(values, dtype=torch.int64).index_put_((rows, places), columns)


def _sparse_nonzero(mask: Tensor) -> tuple[Tensor, Tensor]:
    """What ``mask.nonzero(as_tuple=True)`` gives for a matrix, in a tenth of its time where few are set.

    It looks at eight values at once, as one integer.
    """
    if mask.numel() % 8:
        return mask.nonzero(as_tuple=True)
    values = mask.flatten()
    words = values.view(torch.int64).nonzero().squeeze(1)
    found, bytes_ = values.view(-1, 8)[words].nonzero(as_tuple=True)
    places = words[found] * 8 + bytes_
    return places // mask.shape[1], places % mask.shape[1]


def _largest(values: Tensor, count: int) -> Tensor:
    """Ascending column indices of the ``count`` largest values of each row, the lowest where values tie."""
    if count >= values.shape[1]:
        return torch.arange(values.shape[1], device=values.device).expand_as(values)
    top = values.topk(count + 1, dim=1)
    indices = top.indices[:, :count]
    # topk breaks ties as it likes, which matters only where the first value left out equals the last one kept.
    tied = top.values[:, count] == top.values[:, count - 1]
    if tied.any():
        indices[tied] = values[tied].argsort(dim=1, descending=True, stable=True)[:, :count]
    return indices.sort(dim=1).values


def _refine(queries: Tensor, bank: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """The candidates by float64 cosines rounded to float32, in descending order, and these; on the bank's device."""
    queries = queries.to(bank.device)
    candidates = candidates.sort(dim=1).values
    rows = max(1, REFINED_VALUES // (candidates.shape[1] * bank.shape[1]))
    # Filled in place: small results that stay between large temporaries would fragment the heap by gigabytes.
    similarities = torch.empty(candidates.shape, device=bank.device)
    for part, near, result in zip(*(t.split(rows) for t in (queries, candidates, similarities)), strict=True):
        result.copy_(_exact_cosines(part, near, bank))
    similarities, order = similarities.sort(dim=1, descending=True, stable=True)
    return similarities, candidates.gather(1, order)


def _exact_cosines(queries: Tensor, candidates: Tensor, bank: Tensor) -> Tensor:
    neighbours = F.normalize(bank[candidates].double(), dim=2)
    cosines = neighbours @ F.normalize(queries.double(), dim=1).unsqueeze(2)
    return cosines.squeeze(2).clamp_(-1, 1)
