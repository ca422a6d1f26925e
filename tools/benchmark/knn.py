"""Nearest neighbours at the size of ImageNet-1K: time, peak memory, and the same subset by other libraries.

``python tools/benchmark/knn.py`` prints a table: 50,000 queries against 1,281,167 features of 384 dimensions. The
features are seeded, unit vectors around 1,000 centres, so that neighbours mean something. A subset is then searched
by mixcl, by scikit-learn's brute force (Euclidean distance of unit vectors, its fastest exact way) and, where it is
installed, by faiss, and their answers are compared.
"""

import argparse
import importlib.util
import resource
import time
from collections.abc import Callable


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Nearest neighbours at the size of ImageNet-1K.')
    parser.add_argument('--bank', type=int, default=1_281_167, metavar='N', help='features searched in')
    parser.add_argument('--queries', type=int, default=50_000, metavar='N', help='features searched for')
    parser.add_argument('--dimensions', type=int, default=384, metavar='D')
    parser.add_argument('--neighbours', type=int, default=200, metavar='K')
    parser.add_argument('--subset-bank', type=int, default=100_000, metavar='N', help='for the comparison')
    parser.add_argument('--subset-queries', type=int, default=2_000, metavar='N', help='for the comparison')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import torch
import torch.nn.functional as F
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from mixcl.evaluation.functional.knn import nearest_neighbours
from mixcl.randomness import generator

CENTRES = 1000
SPREAD = 0.08  # a neighbour of the same centre has a cosine of about 0.3 at 384 dimensions, another image 0
MEMORY_BOUND = 4.0  # GiB beyond the features
ROWS_AT_ONCE = 16384

Search = Callable[[Tensor, Tensor, int], Tensor]
"""(queries, bank, k) to indices (Nq, k)."""


def clustered_features(rows: int, dimensions: int, name: str) -> Tensor:
    """(rows, dimensions) float32 unit vectors around centres that all sets share, a function of the name."""
    centres = F.normalize(torch.randn(CENTRES, dimensions, generator=generator('centres')), dim=1)
    random = generator(name)
    features = torch.empty(rows, dimensions)
    for part in features.split(ROWS_AT_ONCE):
        # In place and in parts: the peak memory before the search must be that of the features.
        part.normal_(std=SPREAD, generator=random)
        part += centres[torch.randint(CENTRES, (len(part),), generator=random)]
        F.normalize(part, dim=1, out=part)
    return features


def by_mixcl(queries: Tensor, bank: Tensor, k: int) -> Tensor:
    return nearest_neighbours(queries, bank, k)[1]


def by_scikit_learn(queries: Tensor, bank: Tensor, k: int) -> Tensor:
    search = NearestNeighbors(n_neighbors=k, algorithm='brute').fit(bank.numpy())
    return torch.from_numpy(search.kneighbors(queries.numpy(), return_distance=False))


def by_faiss(queries: Tensor, bank: Tensor, k: int) -> Tensor:
    import faiss

    index = faiss.IndexFlatIP(bank.shape[1])
    index.add(bank.numpy())
    return torch.from_numpy(index.search(queries.numpy(), k)[1])


def timed(search: Search, queries: Tensor, bank: Tensor, k: int) -> tuple[Tensor, float]:
    """The indices found, and the seconds it took."""
    start = time.perf_counter()
    indices = search(queries, bank, k)
    return indices, time.perf_counter() - start


def peak_memory() -> float:
    """Most memory that this process ever held, in GiB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def same_neighbours(found: Tensor, expected: Tensor) -> float:
    """Share of the neighbours that two searches have in common, whatever their order, in percent."""
    pairs = zip(found.tolist(), expected.tolist(), strict=True)
    return 100 * sum(len({*row} & {*other}) for row, other in pairs) / expected.numel()


def measure_whole(queries: Tensor, bank: Tensor, k: int) -> None:
    before = peak_memory()
    _, seconds = timed(by_mixcl, queries, bank, k)
    memory = peak_memory() - before
    verdict = 'ok' if memory <= MEMORY_BOUND else f'above {MEMORY_BOUND:g}'
    speed = 2e-9 * len(queries) * bank.numel() / seconds
    print(
        f'all: {seconds:.1f} s ({speed:.0f} GFLOP/s), peak {memory:.2f} GiB beyond the features, {verdict}', flush=True
    )


def compare(queries: Tensor, bank: Tensor, k: int) -> None:
    print(f'subset, {len(queries)} queries against {len(bank)}; neighbours that scikit-learn finds too:')
    searches: dict[str, Search] = {'scikit-learn': by_scikit_learn, 'mixcl': by_mixcl}
    if importlib.util.find_spec('faiss'):
        searches['faiss'] = by_faiss
    results = {name: timed(search, queries, bank, k) for name, search in searches.items()}
    for name, (indices, seconds) in results.items():
        print(f'{name:>14} {seconds:8.2f} s {same_neighbours(indices, results["scikit-learn"][0]):9.4f} %')


def main(args: argparse.Namespace) -> None:
    bank = clustered_features(args.bank, args.dimensions, 'bank')
    queries = clustered_features(args.queries, args.dimensions, 'queries')
    print(
        f'{args.queries} queries against {args.bank} features of {args.dimensions} dimensions '
        f'({(bank.nbytes + queries.nbytes) / 2**30:.2f} GiB), k {args.neighbours}, {torch.get_num_threads()} thread(s)',
        flush=True,
    )
    measure_whole(queries, bank, args.neighbours)
    compare(queries[: args.subset_queries], bank[: args.subset_bank], args.neighbours)


if __name__ == '__main__':
    main(arguments)
