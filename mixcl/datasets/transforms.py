"""Transforms that mmcv and mmpretrain lack. All images are uint8 arrays (height, width, 3) in BGR order."""

import io
import warnings

import cv2
import mmcv
import numpy as np
from mmcv.transforms import BaseTransform, LoadImageFromFile
from mmengine import fileio
from mmpretrain.datasets import MultiView
from PIL import Image, ImageOps

from mixcl.datasets.unreadable import UnreadableImage
from mixcl.randomness import seed_global_generators
from mixcl.registry import TRANSFORMS


def ignore_colour_warning() -> None:
    """Silence what mmcv says at every call of ColorJitter's saturation, whatever its arguments are."""
    warnings.filterwarnings('ignore', message=r"Only use 'alpha' for pillow backend\.$")


ignore_colour_warning()


@TRANSFORMS.register_module()
class KeyedMultiView(MultiView):
    """Several views of an image; the draws of view v are a function of the sample's key and v.

    Takes mmpretrain's arguments ``transforms`` (one pipeline per kind of view) and ``num_views`` (how many of each).
    Without a ``sample_key`` in the results (outside :class:`KeyedDataset`) the views draw from the global generators
    as they are.
    """

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by the list of its views."""
        return {**results, 'img': [view['img'] for view in self.run_views(results)]}

    def run_views(self, results: dict) -> list[dict]:
        """What the pipeline of each view returns."""
        key = results.get('sample_key')
        views = []
        for view, pipeline in enumerate(self.transforms):
            if key is not None:
                seed_global_generators(*key, 'view', view)
            # A deep copy of everything, as in the base class, would cost more than some of the transforms.
            views.append(pipeline({**results, 'img': results['img'].copy()}))
        return views


@TRANSFORMS.register_module()
class LoadImage(LoadImageFromFile):
    """Read a file of any common format, depth and colour model as an 8-bit BGR image, turned upright by its EXIF tag.

    OpenCV decodes; what it cannot, Pillow tries. Animations give their first frame, transparency is dropped. Results
    that hold an ``img`` already (data sets in memory) pass unchanged.

    Args:
        backend_args: mmengine's file backend; by default the local file system.

    Raises:
        UnreadableImage: if the file cannot be opened or decoded.
    """

    def __init__(self, backend_args: dict | None = None) -> None:
        super().__init__(color_type='color', imdecode_backend='cv2', backend_args=backend_args)

    def transform(self, results: dict) -> dict:
        """Add ``img``, ``img_shape`` and ``ori_shape``, the latter two as (height, width)."""
        if 'img' in results:
            return results
        image = self._read(results['img_path'])
        return {**results, 'img': image, 'img_shape': image.shape[:2], 'ori_shape': image.shape[:2]}

    def _read(self, path: str) -> np.ndarray:
        try:
            content = fileio.get(path, backend_args=self.backend_args)
        except OSError as error:
            raise UnreadableImage(path, error.strerror or type(error).__name__) from error
        if not content:
            raise UnreadableImage(path, 'the file is empty')
        image = _decode_with_opencv(content)
        return _decode_with_pillow(content, path) if image is None else image


def _decode_with_opencv(content: bytes) -> np.ndarray | None:
    try:
        return mmcv.imfrombytes(content, flag='color', backend='cv2')
    except cv2.error:
        return None


def _decode_with_pillow(content: bytes, path: str) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(content)) as image:
            upright = ImageOps.exif_transpose(image).convert('RGB')
    except Exception as error:  # On damaged files Pillow's decoders raise almost anything.
        raise UnreadableImage(path, _reason(error)) from error
    return np.ascontiguousarray(np.asarray(upright)[..., ::-1])


def _reason(error: Exception) -> str:
    if isinstance(error, Image.UnidentifiedImageError):
        return 'not an image'
    return f'{type(error).__name__}: {error}'


@TRANSFORMS.register_module()
class RGBToBGR(BaseTransform):
    """Turn an RGB array in memory (CIFAR) to BGR, the order of all pipelines and of the data preprocessors."""

    def transform(self, results: dict) -> dict:
        """Reverse the last axis of ``img``."""
        return {**results, 'img': np.ascontiguousarray(results['img'][..., ::-1])}
