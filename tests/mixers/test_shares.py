import pytest
import torch
from scipy import stats

from mixcl.mixers.shares import Beta, Uniform


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ('share', 'expected'),
    [*((Beta(alpha), stats.beta(alpha, alpha)) for alpha in (0.2, 1.0, 2.0)), (Uniform(0.9), stats.uniform(0.9, 0.1))],
)
def test_shares_follow_their_distribution(share, expected):
    drawn = share.sample(4000, seeded())
    assert drawn.dtype == torch.float32 and drawn.shape == (4000,)
    assert stats.kstest(drawn.double().numpy(), expected.cdf).pvalue > 0.01


def test_folding_changes_nothing_but_the_side():
    plain, folded = Beta(0.5).sample(100, seeded(4)), Beta(0.5, folded=True).sample(100, seeded(4))
    torch.testing.assert_close(folded, torch.where(plain < 0.5, 1 - plain, plain))
