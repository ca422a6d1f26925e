"""Baselines, by hand on ten pictures, and the measure over several numbers of labels."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from mixcl.comparison.measures import (
    Labelled,
    Reduced,
    few_labels,
    histogram,
    knn,
    linear_fast,
    measured,
    principal_components,
    raw,
    twins,
    values,
)
from mixcl.comparison.rows import heading
from mixcl.errors import UserError

TEN = torch.randint(0, 256, (10, 3, 64), generator=torch.Generator().manual_seed(0)).float()
IMAGES = Labelled(TEN, torch.arange(10) % 2, TEN.flip(0), (torch.arange(10) % 2).flip(0))


def test_a_histogram_counts_pixels_in_64_colours() -> None:
    found = histogram(IMAGES)
    expected = np.zeros((10, 64))
    for image, counts in zip(TEN.numpy(), expected, strict=True):
        for red, green, blue in image.T:
            counts[int(red // 64) * 16 + int(green // 64) * 4 + int(blue // 64)] += 1 / 64
    np.testing.assert_allclose(found.bank.numpy() ** 2, expected, atol=1e-6)
    assert histogram(IMAGES.mapped(lambda rows: rows[:, :1].expand(-1, 3, -1))) is None, 'grey pictures have no colours'


def test_pixels_lie_between_minus_one_and_one_and_components_are_of_the_training_images() -> None:
    np.testing.assert_allclose(raw(IMAGES).bank.numpy(), TEN.flatten(1).numpy() / 127.5 - 1, atol=1e-6)
    flat = raw(IMAGES).bank.double().numpy()
    centred = flat - flat.mean(axis=0)
    found = principal_components(IMAGES).bank.numpy()
    np.testing.assert_allclose(found @ found.T, centred @ centred.T, atol=1e-3)


def test_large_images_are_reduced_to_the_mean_of_their_pixels() -> None:
    image = torch.rand(1, 3, 64, 96)
    expected = image.reshape(3, 32, 2, 32, 3).mean(dim=(2, 4)).flatten()
    torch.testing.assert_close(Reduced()(image)[0], expected)
    assert Reduced()(torch.rand(1, 3, 8, 8)).shape == (1, 192)


def test_few_labels_are_as_many_as_the_smallest_class_has_and_count_alike() -> None:
    answers = few_labels(raw(IMAGES))
    assert [*answers] == ['few_labels/1', 'few_labels/2', 'few_labels/5']
    expected = np.mean([rows.mean() for rows in answers.values()])
    assert values(answers, 'few_labels').mean() == expected
    assert values(answers, 'few_labels/5').mean() == 1, 'the test images are those that were learnt'
    assert values(answers, 'knn').shape == (0, 0) and knn(raw(IMAGES))['knn'].all()


def test_twins_are_looked_for_in_both_directions() -> None:
    rows, noise = torch.nn.functional.normalize(
        torch.randn(2, 10, 4, generator=torch.Generator().manual_seed(1)), dim=2
    )
    hidden = rows + noise
    order = torch.randperm(10, generator=torch.Generator().manual_seed(2))
    images = Labelled(rows, torch.arange(10), hidden[order], order)
    cosines = rows @ torch.nn.functional.normalize(hidden, dim=1).T  # (things in the bank, things among the queries)
    expected = [[int(cosines[:, thing].argmax()) == thing for thing in range(10)]]
    expected += [[int(cosines[thing].argmax()) == thing for thing in range(10)]]
    found = twins(images)['twins']
    assert found.tolist() == expected and 0 < found.mean() < 1
    with pytest.raises(UserError, match='one picture of each thing'):
        twins(images._replace(truth=torch.arange(10) % 3))


def test_a_measure_on_another_data_set_has_its_name() -> None:
    answers = measured(raw(IMAGES), ['few_labels@folder:a/b', 'knn'])
    assert [*answers] == [*(f'few_labels@folder:a/b/{shot}' for shot in (1, 2, 5)), 'knn']
    assert values(answers, 'few_labels@folder:a/b').shape == (40, 10)
    assert heading('few_labels@folder:a/b/1') == '1 label' and heading('twins@emoji_twins') == 'twins, emoji_twins'


def test_measures_of_pixels_are_those_of_scikit_learn() -> None:
    digits = load_digits()
    pictures = torch.from_numpy(digits.data).float()[:, None] * 255 / 16
    labels = torch.from_numpy(digits.target)
    images = raw(Labelled(pictures[:1437], labels[:1437], pictures[1437:], labels[1437:]))
    bank, queries = (normalize(rows.numpy()) for rows in (images.bank, images.queries))
    # Cosine similarity ranks as Euclidean distance does on the sphere; our votes are weighted, so a few may differ.
    vote = KNeighborsClassifier(10).fit(bank, images.labels)
    assert values(knn(images), 'knn').mean() == pytest.approx(vote.score(queries, images.truth), abs=4 / 360)
    assert 0.85 < values(linear_fast(images), 'linear_fast').mean() < 1
