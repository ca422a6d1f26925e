"""How much of what view 2 keeps is also kept in view 1: patch sampling on random crops of 32 pixels.

``python tools/benchmark/patch_overlap.py`` prints a table. Overlap is the share of a view that both kept sets show,
ratio times the mean covered share of a kept patch; the paper's formula for it is s1 * s2 / (power + 2).
"""

import argparse


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Overlap of sampled patches on random crops.')
    parser.add_argument('--images', type=int, default=4000, help='number of pairs of crops')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import numpy as np
from mmengine.registry import DefaultScope

from mixcl.datasets import SampledPatchPair, SampleKey
from mixcl.datasets.transforms.sampled_patches import ViewGeometry, overlap_ratios

RATIO = 0.25
POWER = 3.0
CROP = dict(type='RecordedResizedCrop', scale=32, crop_ratio_range=(0.15, 1.0), backend='pillow')


def sampler(power: float, flip_probability: float, flip_aware: bool) -> SampledPatchPair:
    """Patch sampling as on CIFAR: 16x16 patches of 2 pixels."""
    view = [CROP, dict(type='RandomFlip', prob=flip_probability)]
    with DefaultScope.overwrite_default_scope('mixcl'):
        return SampledPatchPair([view, view], patch_size=2, ratio=RATIO, power=power, flip_aware=flip_aware)


def mean_covered_share(transform: SampledPatchPair, num_images: int) -> float:
    """The share of a kept patch of view 2 that the chunk of view 1 covers, on average over images and chunks."""
    blank = np.zeros((32, 32, 3), dtype=np.uint8)
    shares = []
    for index in range(num_images):
        sample = dict(img=blank, sample_key=SampleKey(0, 0, index))
        first, second = transform(sample)['tokens'].numpy()
        # The same key gives the same crops and flips again.
        views = [ViewGeometry._make((*view['crop_box'], view['flip'])) for view in transform.run_views(sample)]
        shares.append(np.take_along_axis(overlap_ratios(first, views[0], views[1], (16, 16)), second, axis=-1).mean())
    return float(np.mean(shares))


def main(args: argparse.Namespace) -> None:
    num_images = args.images
    print(f'{num_images} pairs of crops of scale (.15, 1), 4 chunks each, ratio {RATIO}')
    print(f'{"sampling":>12} {"flips":>6} {"flip-aware":>11} {"covered share":>14} {"overlap":>8} {"formula":>8}')
    for power, flip_probability, flip_aware in [
        (0.0, 0.0, True),
        (0.0, 0.5, True),
        (POWER, 0.0, True),
        (POWER, 0.5, True),
        (POWER, 0.5, False),
    ]:
        share = mean_covered_share(sampler(power, flip_probability, flip_aware), num_images)
        name = f'power {power:g}' if power else 'uniform'
        flips = 'on' if flip_probability else 'off'
        aware = 'yes' if flip_aware else 'no'
        formula = RATIO**2 / (power + 2)
        print(f'{name:>12} {flips:>6} {aware:>11} {share:14.4f} {RATIO * share:8.4f} {formula:8.4f}')


if __name__ == '__main__':
    main(arguments)
