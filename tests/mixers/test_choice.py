import pytest
import torch

from mixcl.mixers import Choice, CutMix, Mixup, PatchMix, ResizeMix

THREE = [dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]


def chosen(choice: Choice, steps: int = 1200) -> dict[type, float]:
    rng = torch.Generator().manual_seed(0)
    drawn = [type(choice.plan(4, rng).mixer) for _ in range(steps)]
    return {mixer: drawn.count(mixer) / steps for mixer in set(drawn)}


def test_probabilities_are_kept_and_equal_by_default():
    assert chosen(Choice(THREE)) == pytest.approx({Mixup: 1 / 3, CutMix: 1 / 3, ResizeMix: 1 / 3}, abs=0.06)
    assert chosen(Choice(THREE, [0.1, 0.0, 0.9])) == pytest.approx({Mixup: 0.1, ResizeMix: 0.9}, abs=0.04)


def test_one_mixer_acts_for_all_views_of_a_step():
    images, choice = torch.randn(4, 3, 16, 16), Choice([dict(type='Mixup'), dict(type='PatchMix', patch_size=4)])
    for seed in range(10):
        plan = choice.plan(4, torch.Generator().manual_seed(seed))
        for view in range(3):
            mixed, made = choice.place(images, plan, torch.Generator().manual_seed(view))
            same, other = plan.mixer.place(images, plan.plan, torch.Generator().manual_seed(view))
            assert torch.equal(mixed, same) and torch.equal(made.sources, other.sources)
            assert made.sources.shape[1] == (3 if isinstance(plan.mixer, PatchMix) else 2)
