"""Fine-tuning on few labels: the whole encoder is trained, with a linear layer, on the labelled images of a draw."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad
from torch.utils.data import DataLoader

from mixcl.comparison.measures import TUNED, Answers, Labelled, possible
from mixcl.evaluation.features import class_labels, extract
from mixcl.evaluation.functional.few_labels import SHOTS, draw_labelled
from mixcl.randomness import generator, seed_global_generators, undisturbed_generators
from mixcl.weights import Encoder

DRAWS = 5
STEPS, BATCH = 200, 64
RATES = (1e-3, 3e-4, 3e-3)
"""Learning rates; the first where there are too few labels to choose."""


def few_finetuned(encoder: Encoder, loaders: Sequence[DataLoader], images: Labelled, seed: int = 0) -> Answers:
    """Fine-tune copies of an encoder on 1, 2, 5 and 20 labels per class, as far as the smallest class has them.

    The draws are the first five of ``few_labels``. The learning rate is that by which half of the labels of the first
    draw leads to the best accuracy on the other half.

    Args:
        encoder: gives one feature per image; it stays as it is.
        loaders: the images to learn from, and those to test on.
        images: their labels; the features are not used.
        seed: of the linear layer, batches and shifts.
    """
    learn, test = loaders
    shots = possible(SHOTS, images.labels)
    draws = [draw_labelled(images.labels, max(shots), 0, draw) for draw in range(DRAWS)]
    rate = _best_rate(encoder, *_read(learn, draws[0], encoder), seed)
    answers: dict[str, list[Tensor]] = {f'{TUNED}/{shot}': [] for shot in shots}
    for chosen in draws:
        inputs, labels = _read(learn, chosen, encoder)
        for shot in shots:
            network = _trained(encoder, inputs[:, :shot], labels[:, :shot], rate, seed)
            answers[f'{TUNED}/{shot}'].append(extract(network, test, ('online',))[0]['online'].argmax(dim=1))
    return {name: (torch.stack(rows) == images.truth).numpy() for name, rows in answers.items()}


def _read(loader: DataLoader, chosen: Tensor, encoder: Encoder) -> tuple[Tensor, Tensor]:
    """Return the normalised images (classes, shots, 3, h, w) of a draw, and their labels (classes, shots)."""
    batch = loader.collate_fn([loader.dataset[row] for row in chosen.flatten().tolist()])
    labels = class_labels(batch['data_samples'], loader).view(chosen.shape)
    return encoder.data_preprocessor(batch, False)['inputs'].unflatten(0, chosen.shape), labels


def _best_rate(encoder: Encoder, inputs: Tensor, labels: Tensor, seed: int) -> float:
    half = inputs.shape[1] // 2
    if not half:
        return RATES[0]

    def accuracy(rate: float) -> float:
        network = _trained(encoder, inputs[:, :half], labels[:, :half], rate, seed).eval()
        with torch.no_grad():
            found = network(inputs[:, half:].flatten(0, 1)).argmax(dim=1).cpu()
        return float((found == labels[:, half:].flatten()).float().mean())

    return max(RATES, key=accuracy)


class Classifier(nn.Module):
    """A copy of an encoder with a linear layer; to evaluations its logits are features."""

    def __init__(self, encoder: Encoder, classes: int, images: Tensor) -> None:
        super().__init__()
        self.encoder = copy.deepcopy(encoder).requires_grad_(True)
        self.data_preprocessor = self.encoder.data_preprocessor
        with torch.no_grad():
            width = self.encoder.eval()(images[:2]).shape[1]
        self.head = nn.Linear(width, classes).to(images.device)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.encoder(images))

    def extract_features(self, images: Tensor, encoder: str) -> Tensor:
        """Return the logits."""
        return self(images)


def _trained(encoder: Encoder, inputs: Tensor, labels: Tensor, rate: float, seed: int) -> Classifier:
    """Train by AdamW with warm-up and cosine; images are shifted by up to an eighth, as small images usually are."""
    images, labels, random = inputs.flatten(0, 1), labels.flatten(), generator(seed, 'fine-tuning')
    (height, width), (above, beside) = images.shape[2:], (side // 8 for side in images.shape[2:])
    larger = pad(images, [beside, beside, above, above], mode='replicate')
    crops = larger.unfold(2, height, 1).unfold(3, width, 1)  # (N, 3, y, x, h, w)
    with undisturbed_generators():
        seed_global_generators(seed, 'fine-tuning')
        network = Classifier(encoder, int(labels.max()) + 1, images).train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.05)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, rate, total_steps=STEPS, pct_start=0.1, cycle_momentum=False
        )
        for _ in range(STEPS):
            rows = torch.randperm(len(images), generator=random)[:BATCH]
            y, x = (torch.randint(2 * most + 1, (len(rows),), generator=random) for most in (above, beside))
            loss = cross_entropy(network(crops[rows, :, y, x]), labels[rows].to(images.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network
