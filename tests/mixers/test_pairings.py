import torch

from mixcl.mixers.pairings import derangement, flip, halves, permutation, same


def test_flip_reverses_the_batch():
    owner, partner = flip(5)
    assert owner.tolist() == [0, 1, 2, 3, 4] and partner.tolist() == [4, 3, 2, 1, 0]


def test_same_pairs_images_with_themselves():
    assert [part.tolist() for part in same(3)] == [[0, 1, 2], [0, 1, 2]]


def test_halves_leave_out_the_last_of_an_odd_batch():
    assert [part.tolist() for part in halves(6)] == [[0, 1, 2], [3, 4, 5]]
    assert [part.tolist() for part in halves(5)] == [[0, 1], [2, 3]]
    assert [part.tolist() for part in halves(1)] == [[], []]


def test_derangement_is_one_circle_and_every_circle_is_as_likely():
    """So no image is its own partner. Four images have 3! = 6 circles."""
    rng, counts = torch.Generator().manual_seed(0), {}
    for n in [*range(2, 10), *[4] * 3000]:
        owner, partner = (part.tolist() for part in derangement(n, rng))
        circle = [0]
        for _ in range(n):
            circle.append(partner[circle[-1]])
        assert owner == sorted(circle[1:]) == list(range(n)) and circle[-1] == 0
        if n == 4:
            counts[tuple(partner)] = counts.get(tuple(partner), 0) + 1
    assert len(counts) == 6 and all(abs(count - 500) < 100 for count in counts.values())


def test_permutation_may_fix_images_and_is_one_to_one():
    rng, fixed = torch.Generator().manual_seed(0), []
    for _ in range(200):
        owner, partner = permutation(5, rng)
        assert sorted(partner.tolist()) == list(range(5))
        fixed.append(int((owner == partner).sum()))
    assert 0.7 < sum(fixed) / 200 < 1.3, 'a random permutation has one fixed point on average'
