import pytest
import torch
from scipy import stats

from mixcl.mixers.shares import Beta, Uniform


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize('alpha', [0.2, 1.0, 2.0])
def test_beta_follows_its_distribution(alpha):
    drawn = Beta(alpha).sample(4000, seeded())
    assert drawn.dtype == torch.float32 and drawn.shape == (4000,)
    assert stats.kstest(drawn.double().numpy(), stats.beta(alpha, alpha).cdf).pvalue > 0.01


def test_folding_changes_nothing_but_the_side():
    plain, folded = Beta(0.5).sample(100, seeded(4)), Beta(0.5, folded=True).sample(100, seeded(4))
    torch.testing.assert_close(folded, torch.where(plain < 0.5, 1 - plain, plain))


def test_uniform_follows_its_distribution():
    drawn = Uniform(0.9, 1.0).sample(4000, seeded())
    assert stats.kstest(drawn.double().numpy(), stats.uniform(0.9, 0.1).cdf).pvalue > 0.01
    assert torch.equal(Uniform(0.3, 0.3).sample(3), torch.full((3,), 0.3))
