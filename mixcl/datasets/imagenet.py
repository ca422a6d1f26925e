"""ImageNet-1K as mmpretrain reads it, and a look at its folders before anything expensive starts."""

import os
from pathlib import Path

from mmpretrain.datasets import ImageNet

from mixcl.datasets.imagenet_robustness import imagenet_classes
from mixcl.errors import UserError
from mixcl.registry import DATASETS


@DATASETS.register_module()
class ImageNet1K(ImageNet):
    """``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, or images listed with labels in ``meta/<split>.txt``.

    Arguments are those of mmpretrain's ``ImageNet``.
    """

    def check_layout(self) -> None:
        """Refuse a folder without the split or, where no list names the images, of other classes.

        No images are looked for; addresses (``s3://...``) are left to the loading.

        Raises:
            UserError: what is missing.
        """
        if '://' in self.img_prefix:
            return
        folder = Path(self.img_prefix)
        if not folder.is_dir():
            raise UserError(
                f'ImageNet1K: {folder} is missing; expected under {self.data_root}: train/<wnid>/*.JPEG and '
                'val/<wnid>/*.JPEG; give the right folder with --data-root'
            )
        # Hidden ones too, which the loading takes for classes.
        found = {entry.name for entry in os.scandir(folder) if entry.is_dir()}
        if self.ann_file or found == set(imagenet_classes()):
            return
        strange = sorted(found - set(imagenet_classes()))
        what = f'one called {strange[0]}' if strange else 'no other'
        raise UserError(
            f"ImageNet1K: {folder} must hold a folder for each of ImageNet-1K's 1000 WordNet ids, but it holds "
            f'{len(found) - len(strange)} of them and {what}; sort its images into these folders (or list them with '
            f'their labels in meta/{folder.name}.txt), or give the right folder with --data-root'
        )
