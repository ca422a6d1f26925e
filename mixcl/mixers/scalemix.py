"""ScaleMix: a box of one view of an image in another view of it."""

from mixcl.mixers.cutmix import CutMix
from mixcl.registry import MIXERS


@MIXERS.register_module()
class ScaleMix(CutMix):
    """CutMix of two views of the same image ("On the Importance of Asymmetry for Siamese Representation Learning",
    2022), for streams mixed from two views: ``dict(mix=('view1', 'view2'))``.

    The pixels of the second view fill a box of the first, at the same place of the crop, which shows another place and
    scale of the image. A mixture counts as its image.

    Args:
        share: config of the distribution of lambda, the first view's share before a box is clipped. Default: uniform
            between 0 and 1.
        per_sample: whether every image has its own lambda and box; if not, the batch has one.
    """

    keeps_place = False  # the box shows a patch of another crop

    def __init__(self, share: dict | None = None, per_sample: bool = True) -> None:
        super().__init__('same', dict(type='Uniform') if share is None else share, per_sample)
