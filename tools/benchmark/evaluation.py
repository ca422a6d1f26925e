"""What evaluation costs: features, nearest neighbours, probes.

``python tools/benchmark/evaluation.py forward CONFIG`` compares mixcl's extraction of features, from the loader's
uint8 batch to features on the CPU, with the bare backbone on normalised images on its device.

``python tools/benchmark/evaluation.py knn`` searches at the size of ImageNet-1K: 50,000 queries against 1,281,167
features of 384 dimensions, seeded unit vectors around 1,000 centres, so that neighbours mean something. A subset is
then searched by mixcl and by scikit-learn's brute force (Euclidean distance of unit vectors, its fastest exact way),
and their answers are compared.

``python tools/benchmark/evaluation.py probe`` trains linear probes of several rates at once, and one after the other.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path

from mixcl.command_line import OverrideAction
from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='What evaluation costs.')
    parts = parser.add_subparsers(required=True, dest='part')
    part = parts.add_parser('forward', help='features, against the bare backbone')
    part.add_argument('config')
    part.add_argument('--batch-size', type=int, default=64)
    part.add_argument('--image-size', type=int, default=224)
    part.add_argument('--out', type=Path, metavar='FILE', help='write the rows to this .json file, too')
    part.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar='NAME=VALUE')
    part = parts.add_parser('probe', help='linear probes, at once and one by one')
    part.add_argument('--images', type=int, default=50_000, metavar='N')
    part.add_argument('--dimensions', type=int, default=384, metavar='D')
    part.add_argument('--classes', type=int, default=100, metavar='C')
    for part in parts.choices.values():
        part.add_argument('--repeats', type=int, default=5)
        part.add_argument('--device', choices=['cpu', 'cuda'], help='cuda by default, where there is one')
    part = parts.add_parser('knn', help='nearest neighbours, against other libraries')
    part.add_argument('--bank', type=int, default=1_281_167, metavar='N', help='features searched in')
    part.add_argument('--queries', type=int, default=50_000, metavar='N', help='features searched for')
    part.add_argument('--dimensions', type=int, default=384, metavar='D')
    part.add_argument('--neighbours', type=int, default=200, metavar='K')
    part.add_argument('--subset-bank', type=int, default=100_000, metavar='N', help='for the comparison')
    part.add_argument('--subset-queries', type=int, default=2_000, metavar='N', help='for the comparison')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


import torch
import torch.nn.functional as F
from mmengine.registry import DefaultScope
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

from mixcl.evaluation.features import encode, evaluating
from mixcl.evaluation.functional.knn import nearest_neighbours
from mixcl.evaluation.functional.linear_probe import ProbeSettings, train_probes
from mixcl.experiments.prepared import prepared
from mixcl.randomness import generator
from mixcl.registry import MODELS

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
    results = {name: timed(search, queries, bank, k) for name, search in searches.items()}
    for name, (indices, seconds) in results.items():
        print(f'{name:>14} {seconds:8.2f} s {same_neighbours(indices, results["scikit-learn"][0]):9.4f} %')


def interleaved(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each call; they take turns, so that other load on the machine affects all."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if number:  # the first warms up
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def forward(args: argparse.Namespace) -> None:
    cfg = prepared(args.config, cfg_options=args.cfg_options)
    with DefaultScope.overwrite_default_scope('mixcl'):
        settings = dict(backbone=cfg.model.backbone, data_preprocessor=cfg.data_preprocessor)
        model = MODELS.build(dict(type='FrozenEncoder', **settings)).to(args.device)
    images = torch.randint(256, (args.batch_size, 3, args.image_size, args.image_size), dtype=torch.uint8)
    batch = dict(inputs=images, data_samples=[])
    normalised = model.data_preprocessor(batch, False)['inputs']
    calls = dict(mixcl=partial(encode, model, batch, ['online']), bare=partial(model.backbone, normalised))
    rows = []
    for precision in ('fp32', 'bf16'):
        with evaluating(model), torch.autocast(args.device, torch.bfloat16, enabled=precision == 'bf16'):
            seconds = interleaved(calls, args.repeats)
        share = seconds['bare'] / seconds['mixcl']
        rate = args.batch_size / seconds['mixcl']
        print(f'{precision}: {rate:.3g} images per second, {share:.2f} of the bare backbone, batch {args.batch_size}')
        rows.append(dict(precision=precision, batch=args.batch_size, rate=rate, share=share))
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1))


def one_by_one(features: Tensor, labels: Tensor, settings: ProbeSettings) -> None:
    """Linear probes as one writes them by hand: a layer, an optimiser and a pass over the features for every rate."""
    for rate, decay in settings.grid:
        layer = nn.Linear(features.shape[1], int(labels.max()) + 1).to(features.device)
        optimizer = torch.optim.SGD(layer.parameters(), lr=rate, momentum=0.9, weight_decay=decay)
        for _, batch in product(range(settings.epochs), torch.randperm(len(labels)).split(settings.batch_size)):
            optimizer.zero_grad()
            F.cross_entropy(layer(features[batch]), labels[batch]).backward()
            optimizer.step()


def probe(args: argparse.Namespace) -> None:
    features = clustered_features(args.images, args.dimensions, 'bank').to(args.device)
    labels = torch.randint(args.classes, (args.images,), generator=generator('labels')).to(args.device)
    settings = ProbeSettings(epochs=1)
    together = partial(train_probes, features, labels, args.classes, settings, args.device)
    apart = partial(one_by_one, features, labels, settings)
    seconds = interleaved({'at once': together, 'one by one': apart}, args.repeats)
    speed = seconds['one by one'] / seconds['at once']
    print(f'{len(settings.grid)} probes, an epoch: {seconds["at once"]:.2f} s at once, {speed:.2f} times one by one')


def knn(args: argparse.Namespace) -> None:
    bank = clustered_features(args.bank, args.dimensions, 'bank')
    queries = clustered_features(args.queries, args.dimensions, 'queries')
    print(
        f'{args.queries} queries against {args.bank} features of {args.dimensions} dimensions '
        f'({(bank.nbytes + queries.nbytes) / 2**30:.2f} GiB), k {args.neighbours}, {torch.get_num_threads()} thread(s)',
        flush=True,
    )
    measure_whole(queries, bank, args.neighbours)
    compare(queries[: args.subset_queries], bank[: args.subset_bank], args.neighbours)


def main(args: argparse.Namespace) -> None:
    if 'device' in args:
        args.device = args.device or ('cuda' if torch.cuda.is_available() else 'cpu')
    dict(forward=forward, knn=knn, probe=probe)[args.part](args)


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
