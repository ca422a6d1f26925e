"""Settings of ImageNet-C (corrupted images), and AlexNet's errors on them."""

ALEXNET_ERRORS = dict(
    gaussian_noise=0.886428,
    shot_noise=0.894468,
    impulse_noise=0.922640,
    defocus_blur=0.819880,
    glass_blur=0.826268,
    motion_blur=0.785948,
    zoom_blur=0.798360,
    snow=0.866816,
    frost=0.826572,
    fog=0.819324,
    brightness=0.564592,
    contrast=0.853204,
    elastic_transform=0.646056,
    pixelate=0.717840,
    jpeg_compression=0.606500,
)
"""AlexNet's error on each of the 15 corruptions of ImageNet-C, averaged over the severities.

Some public scripts list the same errors beside the corruptions in another order.
"""
CORRUPTIONS = tuple(ALEXNET_ERRORS)
SEVERITIES = (1, 2, 3, 4, 5)
