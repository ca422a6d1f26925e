"""A random crop that says where it was taken."""

import mmcv
from mmpretrain.datasets import RandomResizedCrop

from mixcl.errors import UserError
from mixcl.registry import TRANSFORMS


@TRANSFORMS.register_module()
class RecordedResizedCrop(RandomResizedCrop):
    """mmpretrain's ``RandomResizedCrop``, same arguments and draws, that leaves its box in the results.

    Raises:
        UserError: if the image was flipped before, since the box would then lie in a mirrored image.
    """

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by a crop; add ``crop_box``, (top, left, height, width) in pixels of the incoming image."""
        if 'flip' in results:
            raise UserError('RecordedResizedCrop stands after RandomFlip in a view; crop first, then flip')
        top, left, height, width = self.rand_crop_params(results['img'])
        image = mmcv.imresize(
            results['img'][top : top + height, left : left + width],
            tuple(self.scale[::-1]),
            interpolation=self.interpolation,
            backend=self.backend,
        )
        return {**results, 'img': image, 'img_shape': image.shape, 'crop_box': (top, left, height, width)}
