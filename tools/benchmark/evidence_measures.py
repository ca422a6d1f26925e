"""Measures of evidence.py: which images are classified correctly by frozen features, and after fine-tuning."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from mmengine.config import Config
from mmengine.model import BaseModel
from mmengine.runner import Runner
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from sklearn.preprocessing import FunctionTransformer
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from mixcl.evaluation.features import evaluating, extract
from mixcl.evaluation.functional import paired_difference
from mixcl.evaluation.functional.few_labels import SHOTS, draw_labelled, few_label_answers
from mixcl.evaluation.functional.knn import nearest_neighbours
from mixcl.evaluation.functional.linear_probe import ProbeSettings, choose_probe, train_probes
from mixcl.evaluation.untrained import untrained
from mixcl.randomness import generator, seed_global_generators
from mixcl.registry import DATASETS, MODELS, build
from mixcl.weights import Encoder

FINE_TUNED_DRAWS = 5
FINE_TUNING_STEPS, FINE_TUNING_BATCH = 200, 64
MAPPED = 5000
"""Number of images that a baseline is fitted to; Isomap's memory grows with its square."""

Right = dict[str, np.ndarray]
"""Whether each test image was classified correctly in each draw of labels, by measure: (draws, images) bool."""


class Labelled(NamedTuple):
    """Training images (N, ...) or their features, their labels (N,), and the same for the test images."""

    bank: Tensor
    labels: Tensor
    queries: Tensor
    truth: Tensor


def measured(
    model: BaseModel | None, baseline: str | None, cfg: Config, settings: Mapping[str, float], probe: Mapping[str, Any]
) -> dict[str, Right]:
    """Measure the features of each encoder, and return the results by encoder; a baseline's is called 'features'.

    Args:
        model: the pretrained model, None for a baseline.
        baseline: name of the baseline, None for a pretrained model.
        cfg: config of the run, with the images to learn from and to test on, and the seed.
        settings: settings of the run; with a ``fine_tuning_rate`` encoders are also fine-tuned on few labels.
        probe: settings of the linear probe.
    """
    loaders = [
        Runner.build_dataloader(dict(part, dataset=build(DATASETS, part.dataset)), seed=0)
        for part in (cfg.val_cfg.bank_dataloader, cfg.val_dataloader)
    ]

    def features(encoders: BaseModel) -> dict[str, Labelled]:
        names = ('online',) if baseline else encoders.encoder_names
        (bank, labels), (queries, truth) = [extract(encoders, loader, names) for loader in loaders]
        return {name: Labelled(bank[name], labels, queries[name], truth) for name in names}

    flat = Encoder(dict(type='torch.nn.Flatten'), data_preprocessor=build(MODELS, cfg.data_preprocessor))
    pixels = features(flat)['online']
    if baseline in BASELINES:
        fitted = BASELINES[baseline](**settings).fit(pixels.bank[:MAPPED].numpy())
        bank, queries = (torch.from_numpy(fitted.transform(rows.numpy())) for rows in (pixels.bank, pixels.queries))
        return dict(features=_frozen(pixels._replace(bank=bank, queries=queries), probe))
    model = model or untrained(cfg, cfg.randomness.seed)
    rate = settings.get('fine_tuning_rate')
    found: dict[str, Right] = {}
    for name, images in features(model).items():
        tuned = _fine_tuned(model, cfg, name, pixels, rate) if rate else {}
        frozen = _frozen(images, probe) if baseline != 'scratch' else {}
        found['features' if baseline else name] = tuned | frozen
    return found


BASELINES: dict[str, Callable[..., Any]] = dict(
    pixels=FunctionTransformer,
    pca=lambda components: PCA(components, random_state=0),
    isomap=lambda neighbours, components=20: Isomap(n_neighbors=neighbours, n_components=components),
)
"""Maps fitted to pixels of training images, without labels."""


def _frozen(images: Labelled, probe: Mapping[str, Any]) -> Right:
    """Measure frozen features: few labels, the nearest of all labelled images, the linear probe."""
    bank, labels, queries, truth = images
    answers = {f'few{shot}_{name}': rows for (shot, name), rows in few_label_answers(bank, labels, queries).items()}
    answers['nearest'] = labels[nearest_neighbours(queries, bank, 1)[1]].T
    settings, classes = ProbeSettings(**probe), int(labels.max()) + 1
    best, _ = choose_probe(bank, labels, classes, settings)
    probes = train_probes(bank, labels, classes, settings)
    answers['linear'] = probes.logits(probes.inputs(queries)).argmax(dim=2)[:, best][None]
    return {name: (rows == truth).numpy() for name, rows in answers.items()}


def _fine_tuned(model: BaseModel, cfg: Config, encoder: str, pixels: Labelled, rate: float) -> Right:
    """Train a copy of an encoder, and a linear layer on it, on the labelled images of some of the draws."""
    seed = cfg.randomness.seed
    size = round((pixels.bank.shape[1] / 3) ** 0.5)
    images, queries = (values.unflatten(1, (3, size, size)) for values in (pixels.bank, pixels.queries))
    answers: dict[str, list[Tensor]] = {f'few{shot}_tuned': [] for shot in SHOTS}
    for draw in range(FINE_TUNED_DRAWS):
        chosen = draw_labelled(pixels.labels, max(SHOTS), 0, draw)
        for shot in SHOTS:
            rows = chosen[:, :shot].flatten()
            fresh = untrained(cfg, seed)  # the model of a run has hooks, so it cannot be copied
            fresh.load_state_dict(model.state_dict())
            seed_global_generators(seed, 'fine-tuning')
            network = _Classifier(fresh, encoder, int(pixels.labels.max()) + 1, images)
            _train(network, images[rows], pixels.labels[rows], rate, seed)
            with evaluating(network):
                parts = [network(part).argmax(dim=1) for part in queries.split(1024)]
            answers[f'few{shot}_tuned'].append(torch.cat(parts))
    return {name: (torch.stack(rows) == pixels.truth).numpy() for name, rows in answers.items()}


class _Classifier(nn.Module):
    def __init__(self, model: BaseModel, encoder: str, classes: int, images: Tensor) -> None:
        super().__init__()
        self.model, self.encoder = model.requires_grad_(True), encoder
        with evaluating(model):
            width = model.extract_features(images[:2], encoder=encoder).shape[1]
        self.head = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.model.extract_features(images, encoder=self.encoder))


def _train(network: nn.Module, images: Tensor, labels: Tensor, rate: float, seed: int) -> None:
    """Train by AdamW with warm-up and cosine; images are shifted by up to an eighth, as small images usually are."""
    random = generator(seed, 'fine-tuning')
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=FINE_TUNING_STEPS, pct_start=0.1, cycle_momentum=False
    )
    size, border = images.shape[-1], images.shape[-1] // 8
    crops = pad(images, [border] * 4, mode='replicate').unfold(2, size, 1).unfold(3, size, 1)  # (N, 3, y, x, h, w)
    network.train()
    for _ in range(FINE_TUNING_STEPS):
        rows = torch.randperm(len(images), generator=random)[:FINE_TUNING_BATCH]
        y, x = torch.randint(2 * border + 1, (2, len(rows)), generator=random)
        loss = cross_entropy(network(crops[rows, :, y, x]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def packed(right: Right) -> dict[str, list]:
    """Pack each measure."""
    return {name: paired_difference.packed(rows) for name, rows in right.items()}


def unpacked(stored: Mapping[str, list]) -> Right:
    """Restore what :func:`packed` stored."""
    return {name: paired_difference.unpacked(rows) for name, rows in stored.items()}
