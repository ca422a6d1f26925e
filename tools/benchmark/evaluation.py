"""Cost of evaluation: features, nearest neighbours, probes.

``python tools/benchmark/evaluation.py forward CONFIG`` compares mixcl's extraction of features, from the loader's
uint8 batch to features on the CPU, with the bare backbone on normalised images on its device.

``python tools/benchmark/evaluation.py knn`` searches at the size of ImageNet-1K: 50,000 queries against 1,281,167
features of 384 dimensions, unit vectors around 1,000 centres, so that neighbours mean something. Then mixcl and
scikit-learn's brute force search a part, and their answers are compared.

``python tools/benchmark/evaluation.py probe`` trains linear probes of several rates at once, and one after the other.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import resource
import time
from functools import partial
from itertools import product

import torch
import torch.nn.functional as F
from mmengine.registry import DefaultScope
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn
from turns import common_options, keep_rows, median_seconds

from mixcl.errors import reported_to_user
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
COMPARED = 2_000, 100_000
"""Number of queries and of features that scikit-learn searches, too."""


def clustered_features(rows: int, dimensions: int, name: str) -> Tensor:
    """Draw (rows, dimensions) float32 unit vectors around centres that all sets share; the name decides the draw."""
    centres = F.normalize(torch.randn(CENTRES, dimensions, generator=generator('centres')), dim=1)
    random = generator(name)
    features = torch.empty(rows, dimensions)
    for part in features.split(ROWS_AT_ONCE):
        # In place and in parts: the peak memory before the search must be that of the features.
        part.normal_(std=SPREAD, generator=random)
        part += centres[torch.randint(CENTRES, (len(part),), generator=random)]
        F.normalize(part, dim=1, out=part)
    return features


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
            seconds = median_seconds(calls, args.repeats)
        share = seconds['bare'] / seconds['mixcl']
        rate = args.batch_size / seconds['mixcl']
        print(f'{precision}: {rate:.3g} images per second, {share:.2f} of the bare backbone, batch {args.batch_size}')
        rows.append(dict(precision=precision, batch=args.batch_size, rate=rate, share=share))
    keep_rows(rows, args.out)


def one_by_one(features: Tensor, labels: Tensor, settings: ProbeSettings) -> None:
    """Train linear probes as written by hand: a layer and an optimiser for every rate."""
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
    seconds = median_seconds({'at once': together, 'one by one': apart}, args.repeats)
    speed = seconds['one by one'] / seconds['at once']
    print(f'{len(settings.grid)} probes, an epoch: {seconds["at once"]:.2f} s at once, {speed:.2f} times one by one')


def peak_memory() -> float:
    """Return the peak memory of this process in GiB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def knn(args: argparse.Namespace) -> None:
    bank = clustered_features(args.bank, args.dimensions, 'bank')
    queries = clustered_features(args.queries, args.dimensions, 'queries')
    print(f'{args.queries} queries against {args.bank} features of {args.dimensions} dimensions', flush=True)
    before, start = peak_memory(), time.perf_counter()
    nearest_neighbours(queries, bank, args.neighbours)
    seconds, memory = time.perf_counter() - start, peak_memory() - before
    verdict = 'ok' if memory <= MEMORY_BOUND else f'above {MEMORY_BOUND:g}'
    speed = 2e-9 * len(queries) * bank.numel() / seconds
    print(f'all: {seconds:.1f} s ({speed:.0f} GFLOP/s), peak {memory:.2f} GiB beyond the features, {verdict}')
    some, part = queries[: COMPARED[0]], bank[: COMPARED[1]]
    # Euclidean distance, which ranks unit vectors as the cosine does, is its fastest exact search.
    other = NearestNeighbors(n_neighbors=args.neighbours, algorithm='brute').fit(part.numpy())
    calls = {
        'mixcl': lambda: nearest_neighbours(some, part, args.neighbours)[1].numpy(),
        'scikit-learn': lambda: other.kneighbors(some.numpy(), return_distance=False),
    }
    found = [[set(row) for row in call()] for call in calls.values()]
    shared = sum(len(ours & theirs) for ours, theirs in zip(*found, strict=True)) / len(some) / args.neighbours
    seconds_of = ', '.join(f'{name} {value:.2f} s' for name, value in median_seconds(calls, 1).items())
    print(f'{len(some)} queries against {len(part)}: {seconds_of}; {shared:.4%} of the neighbours are the same')


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='What evaluation costs.')
    parts, common = parser.add_subparsers(required=True), common_options()
    part = parts.add_parser('forward', help='features, against the bare backbone', parents=[common])
    part.set_defaults(measure=forward)
    part.add_argument('config')
    part.add_argument('--batch-size', type=int, default=64)
    part.add_argument('--image-size', type=int, default=224)
    part = parts.add_parser('probe', help='linear probes, at once and one by one', parents=[common])
    part.set_defaults(measure=probe)
    part.add_argument('--images', type=int, default=50_000)
    part.add_argument('--dimensions', type=int, default=384)
    part.add_argument('--classes', type=int, default=100)
    part = parts.add_parser('knn', help='nearest neighbours, against scikit-learn', parents=[common])
    part.set_defaults(measure=knn)
    part.add_argument('--bank', type=int, default=1_281_167, help='features searched in')
    part.add_argument('--queries', type=int, default=50_000, help='features searched for')
    part.add_argument('--dimensions', type=int, default=384)
    part.add_argument('--neighbours', type=int, default=200)
    return parser.parse_args()


if __name__ == '__main__':
    with reported_to_user():
        arguments = parse_arguments()
        arguments.measure(arguments)
