"""Few labels agree with scikit-learn on the same draws, and draws do not depend on the features."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.few_labels import draw_labelled
from mixcl.evaluation.metrics.feature_metrics import FewLabels


def clouds(rows: int, seed: int, classes: int = 4) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (rows,), generator=random)
    centres = torch.randn(classes, 12, generator=torch.Generator().manual_seed(9))
    return 3 + 0.7 * centres[labels] + torch.randn(rows, 12, generator=random), labels


BANK, QUERIES = clouds(120, 0), clouds(70, 1)


@pytest.mark.parametrize('shot', [1, 3, 7])
def test_accuracies_are_those_of_scikit_learn_on_the_same_images(shot: int) -> None:
    found = FewLabels((3, 7, 1), draws=5, seed=2).compute(*BANK, *QUERIES)
    (bank, labels), (queries, truth) = [
        (features.double().numpy(), known.numpy()) for features, known in (BANK, QUERIES)
    ]
    prepare = make_pipeline(Normalizer(), StandardScaler()).fit(bank)
    expected: dict[str, list[float]] = dict(means=[], logistic=[])
    for draw in range(5):
        rows = draw_labelled(BANK[1], 7, 2, draw)[:, :shot].flatten().numpy()
        regression = LogisticRegression(C=1.0, max_iter=1000).fit(prepare.transform(bank[rows]), labels[rows])
        unit = bank[rows] / np.linalg.norm(bank[rows], axis=1, keepdims=True)
        means = np.stack([unit[labels[rows] == number].mean(axis=0) for number in range(4)])
        cosines = queries @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
        expected['logistic'].append(100 * regression.score(prepare.transform(queries), truth))
        expected['means'].append(100 * np.mean(cosines.argmax(axis=1) == truth))
    for measure, accuracies in expected.items():
        name = f'few{shot}_{measure}'
        assert [found[f'{name}_draw{draw}'] for draw in range(5)] == pytest.approx(accuracies), measure
        assert found[name] == pytest.approx(np.mean(accuracies))
        assert found[f'{name}_std'] == pytest.approx(np.std(accuracies, ddof=1))
        assert len(set(accuracies)) > 1


def test_draws_take_as_many_of_every_class_and_differ() -> None:
    labels = BANK[1]
    draws = [draw_labelled(labels, 6, seed, number) for seed in (0, 1) for number in (0, 1)]
    for rows in draws:
        assert torch.equal(labels[rows], torch.arange(4)[:, None].expand(4, 6))
        assert len(rows.unique()) == 24
    assert len({tuple(rows.flatten().tolist()) for rows in draws}) == 4
    assert torch.equal(draws[0], draw_labelled(labels, 6, 0, 0))
    assert torch.equal(draws[0][:, :2], draw_labelled(labels, 2, 0, 0)), 'fewer labels are some of the more'


def test_a_constant_dimension_and_a_single_draw() -> None:
    (bank, labels), (queries, truth) = BANK, QUERIES
    constant = [torch.cat([torch.nn.functional.normalize(part, dim=1), torch.zeros(len(part), 1)], 1)
                for part in (bank, queries)]  # fmt: skip
    found = FewLabels((2,), draws=1).compute(constant[0], labels, constant[1], truth)
    plain = FewLabels((2,), draws=1).compute(bank, labels, queries, truth)
    assert found == pytest.approx(plain) and found['few2_logistic_std'] == 0


def test_too_few_images_are_refused() -> None:
    features, labels = BANK
    kept = (labels != 2) | (torch.arange(len(labels)) < 12)
    count = int((labels[kept] == 2).sum())
    with pytest.raises(
        UserError, match=rf'need {count + 1} images each, but of 4 class\(es\) class 2 has {count}: ask'
    ):
        FewLabels((1, count + 1)).compute(features[kept], labels[kept], *QUERIES)
    with pytest.raises(UserError, match=r'1 class\(es\)'):
        FewLabels((1,)).compute(features, torch.zeros_like(labels), *QUERIES)
