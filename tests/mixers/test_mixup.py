import pytest
import torch

from mixcl.mixers import Mixup, PairPlan


@pytest.mark.parametrize('per_sample', [True, False])
@pytest.mark.parametrize('pairing', ['flip', 'halves', 'derangement', 'permutation'])
def test_agrees_with_a_loop_over_pairs(pairing, per_sample):
    images = torch.randn(7, 3, 5, 9, generator=torch.Generator().manual_seed(0))
    mixer = Mixup(pairing, dict(type='Beta', alpha=0.5), per_sample)
    plan = mixer.plan(7, torch.Generator().manual_seed(3))
    mixed, composition = mixer.place(images, plan)
    assert len(mixed) == (3 if pairing == 'halves' else 7)
    for row, (owner, partner, share) in enumerate(zip(plan.owner, plan.partner, plan.share.tolist(), strict=True)):
        torch.testing.assert_close(mixed[row], share * images[owner] + (1 - share) * images[partner])
        assert composition.sources[row].tolist() == [owner, partner]
        assert composition.weights[row].tolist() == pytest.approx([share, 1 - share], abs=1e-6)


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_an_image_mixed_with_itself_stays_as_it_is(dtype):
    """Shares and products that are rounded to half precision would not add up."""
    images = torch.randn(64, 1, 4, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    itself = torch.arange(64)
    mixed, _ = Mixup().place(images, PairPlan(itself, itself, torch.linspace(0, 1, 64)))
    assert torch.equal(mixed, images)
