"""Classification of frozen features from a few labelled images of each class, over many draws of these images.

With all labels, small data sets are too easy to tell encoders apart; with few labels they are not. Draws are the same
for every encoder, so that two encoders are compared draw by draw.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_finite
from mixcl.evaluation.functional.linear_probe import mean_and_deviation
from mixcl.randomness import generator
from mixcl.terminal import progress

SHOTS = (1, 2, 5, 20)
DRAWS = 40
MEASURES = ('means', 'logistic')


def draw_labelled(labels: Tensor, count: int, seed: int, draw: int) -> Tensor:
    """Choose images of every class at random.

    Args:
        labels: (N,) int64 classes; each that occurs has at least ``count`` images.
        count: number of images of each class.
        seed, draw: determine the choice, together with the labels.

    Returns:
        (classes, count) int64 indices of the images. The first k columns are the choice for the count k.
    """
    rows = []
    for number in labels.unique().tolist():
        members = (labels == number).nonzero().squeeze(1)
        order = torch.randperm(len(members), generator=generator(seed, 'few labels', draw, number))
        rows.append(members[order[:count]])
    return torch.stack(rows)


def few_label_answers(
    bank: Tensor, bank_labels: Tensor, queries: Tensor, shots: Sequence[int] = SHOTS, draws: int = DRAWS, seed: int = 0
) -> dict[tuple[int, str], Tensor]:
    """Classify queries from k labelled images of each class, for several k and many draws of the labelled images.

    ``means`` predicts the class whose mean has the largest cosine to the query, all features L2-normalised.
    ``logistic`` is scikit-learn's logistic regression with C = 1 on features that are L2-normalised and then
    standardised over the whole bank (without labels). A draw depends on the bank's labels and the seed alone.

    Args:
        bank, queries: (Nb, D) training and (Nq, D) test features, any floating dtype and device.
        bank_labels: (Nb,) int64 classes, each with at least ``max(shots)`` images.
        shots: values of k, 1 or more.
        draws: number of draws, 1 or more.
        seed: of the draws.

    Returns:
        predicted classes (draws, Nq) int64 by (k, measure), on the CPU.

    Raises:
        UserError: if a set is not finite, or a class has too few images.
    """
    check_finite(bank=bank, query=queries)
    bank_labels = bank_labels.cpu()
    _check_counts(bank_labels, max(shots))
    train, test = (normalize(features.cpu().double(), dim=1) for features in (bank, queries))
    mean, deviation = mean_and_deviation(train)
    train, test = (train - mean) / deviation, (test - mean) / deviation
    bank_directions, query_directions = normalize(bank.cpu().float(), dim=1), normalize(queries.cpu().float(), dim=1)
    answers: dict[tuple[int, str], list[Tensor]] = {(shot, measure): [] for shot in shots for measure in MEASURES}
    for draw in progress(range(draws), 'draws of few labels', draws, 'draws'):
        chosen = draw_labelled(bank_labels, max(shots), seed, draw)
        for shot in shots:
            rows = chosen[:, :shot].flatten()
            means = normalize(bank_directions[chosen[:, :shot]].mean(dim=1), dim=1)
            answers[shot, 'means'].append(bank_labels[chosen[:, 0]][(query_directions @ means.T).argmax(dim=1)])
            answers[shot, 'logistic'].append(_regression(train[rows], bank_labels[rows], test))
    return {name: torch.stack(parts) for name, parts in answers.items()}


def _check_counts(labels: Tensor, needed: int) -> None:
    classes, counts = labels.unique(return_counts=True)
    fewest = int(counts.argmin())
    if len(classes) < 2 or counts[fewest] < needed:
        raise UserError(
            f'few labels: two or more classes need {needed} images each, but of {len(classes)} class(es) class '
            f'{int(classes[fewest])} has {int(counts[fewest])}: ask for fewer, by `cfg_options` '
            'few_labels.test_evaluator.shots=[1,2]'
        )


def _regression(train: Tensor, labels: Tensor, test: Tensor) -> Tensor:
    from sklearn.linear_model import LogisticRegression  # importing scikit-learn takes seconds

    fitted = LogisticRegression(C=1.0, max_iter=1000).fit(train.numpy(), labels.numpy())
    return torch.from_numpy(fitted.predict(test.numpy()))
