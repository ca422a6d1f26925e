"""ScaleMix beside a loop over images, and what a mixture counts as."""

import torch

from mixcl.composition import Composition
from mixcl.mixers import ScaleMix
from mixcl.mixers.pair import place_views


def test_a_box_of_the_second_view_lies_at_its_place_in_the_first() -> None:
    first, second = torch.rand(4, 3, 12, 10), torch.rand(4, 3, 12, 10)
    mixer, sizes = ScaleMix(), []
    for seed in range(60):
        random = torch.Generator().manual_seed(seed)
        plan = mixer.plan(4, random)
        mixed, made = place_views(mixer, [first, second], plan, random)
        for row, share in enumerate(plan.share.tolist()):
            inside = made.shown[row]
            expected = first[row].clone()
            expected[:, inside] = second[row][:, inside]
            assert torch.equal(mixed[row], expected)
            rows, columns = inside.any(1).sum().item(), inside.any(0).sum().item()
            assert inside.sum() == rows * columns, 'a box'
            sides = int(12 * (1 - share) ** 0.5), int(10 * (1 - share) ** 0.5)
            assert rows <= sides[0] and columns <= sides[1]
            sizes.append(1 - inside.float().mean().item())
        assert made.sources.tolist() == [[row, row] for row in range(4)]
        views = Composition.identity(4)
        assert torch.equal(made.target(views).dense(4), torch.eye(4))
        assert torch.equal(views.target(made).dense(4), torch.eye(4))
    assert 0.5 < sum(sizes) / len(sizes) < 0.8, 'half, and more where boxes are clipped'
