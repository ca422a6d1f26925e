"""A data set whose samples are functions of ``(seed, epoch, index)``."""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from mmengine.dataset import BaseDataset, ConcatDataset
from mmengine.logging import print_log
from torch.utils.data import Dataset

from mixcl.datasets.transforms.device_views import DeviceViews, device_steps
from mixcl.datasets.transforms.photo_cache import PhotoCache
from mixcl.datasets.unreadable import ImageNote, NoReadableImage, UnreadableImage
from mixcl.errors import UserError
from mixcl.randomness import generator, seed_global_generators
from mixcl.registry import DATASETS

MAX_ATTEMPTS = 20
VIEWS = ('device', 'pillow')
CARRIED = ('conversion', 'photometry')
"""Results of our steps that PackInputs, which knows images and annotations only, would drop."""


class SampleKey(NamedTuple):
    """The key that all random draws of one sample depend on."""

    seed: int
    epoch: int
    index: int  # type: ignore[assignment]  # a method of tuples


@DATASETS.register_module()
class KeyedDataset(Dataset):
    """A data set that runs another's pipeline, with all global generators seeded from the sample's key.

    The pipeline's results hold the key as ``sample_key``, for :class:`KeyedMultiView`. An image is replaced by another
    one if it raises :class:`UnreadableImage`, or if the pipeline returns None (a crop without an object). Which images
    are tried is a function of the key. The packed ``data_samples`` has a meta field ``sample_key`` and, unless empty,
    ``unreadable`` (the files that were replaced) and ``converted``: lists of :class:`ImageNote` for
    ``UnreadableImagesHook``.

    Args:
        dataset: a data set of mmpretrain's or mmengine's kind, a concatenation of them, or its config.
        views: what makes the views of a ``KeyedMultiView``, or a classifier's only view. 'pillow': the pipeline as
            written. 'device': the pipeline crops, and :class:`ViewPreprocessor` or :class:`ClassifierViewPreprocessor`
            does colours, blurs and flips on the whole batch, by the ``photometry`` that is packed with it. A key gives
            the same views either way, up to rounding.
        cache: ``folder`` and ``gigabytes`` of a :class:`PhotoCache`, for ``views='device'``.

    Raises:
        UserError: if the data set cannot be loaded or is empty, for other ``views``, or if ``cache`` does not fit them.
    """

    def __init__(self, dataset: dict | BaseDataset, views: str = 'pillow', cache: dict | None = None) -> None:
        if views not in VIEWS:
            raise UserError(f'KeyedDataset: views={views!r} is none of {", ".join(VIEWS)}')
        # Lazily, so that full_init can report what went wrong while loading.
        lazily = {'lazy_init': True}
        self.dataset = DATASETS.build(dataset, default_args=lazily) if isinstance(dataset, dict) else dataset
        if not all(isinstance(part, BaseDataset) for part in self.parts):
            raise UserError(
                f'KeyedDataset was given a {type(self.dataset).__name__}, which has no pipeline of its own: '
                'give it a data set derived from mmengine.dataset.BaseDataset'
            )
        self.views = views
        pipelines = [part.pipeline.transforms for part in self.parts]
        self.pipelines = list(map(device_steps, pipelines)) if views == 'device' else pipelines
        made = [step for steps in self.pipelines for step in steps if isinstance(step, DeviceViews)]
        for step in made if cache else ():
            step.copies = PhotoCache(step.crops, **(cache or {})) if step.crops else None
        self.copies = made[0].copies if made else None
        if cache and self.copies is None:
            raise UserError("`cache` needs views='device' and a pipeline of LoadImage and crops by Pillow")
        if names := sorted({name for step in made for view in step.views for name in view.remaining}):
            print_log(f'the device cannot do these steps of the views, nor what precedes them: {", ".join(names)}')
        self.full_init()

    def full_init(self) -> None:
        """Load the annotations unless they are loaded; errors of other libraries become one sentence."""
        name, folder = type(self.dataset).__name__, self.parts[0].data_root
        try:
            self.dataset.full_init()
        except UserError:
            raise
        except (AssertionError, OSError, RuntimeError, ValueError) as error:
            # mmengine raises ValueError for an empty list of images, too.
            raise UserError(
                f'the data set {name} has no images or could not be loaded from {folder!r}: '
                f'{" ".join(str(error).split())}; check the folder (`data_root`)'
            ) from error

    @property
    def metainfo(self) -> dict:
        """The wrapped data set's metainfo, for example the class names."""
        return self.dataset.metainfo

    @property
    def parts(self) -> Sequence[BaseDataset]:
        """The data sets of a concatenation, or the single wrapped one."""
        return self.dataset.datasets if isinstance(self.dataset, ConcatDataset) else [self.dataset]

    def __len__(self) -> int:
        return len(self.dataset)

    def get_data_info(self, key: SampleKey | int) -> dict:
        """Return the annotation of the image that a key names."""
        return self.dataset.get_data_info(key.index if isinstance(key, SampleKey) else key)

    def __getitem__(self, key: SampleKey | int) -> dict:
        """Return the packed sample of a key; an integer stands for ``SampleKey(0, 0, integer)``.

        Raises:
            NoReadableImage: a UserError, if none of the images tried could be read.
        """
        key = key if isinstance(key, SampleKey) else SampleKey(0, 0, int(key))
        failures: list[ImageNote] = []
        for index in self._candidates(key):
            try:
                packed = self._sample(key, index)
            except UnreadableImage as error:
                failures.append(error.note)
                continue
            if packed is None:
                continue
            converted = [packed.pop('conversion')] if 'conversion' in packed else []
            notes = dict(sample_key=key, unreadable=failures, converted=converted)
            if 'data_samples' in packed:
                packed['data_samples'].set_metainfo({name: value for name, value in notes.items() if value})
            return packed
        folder = self.parts[0].data_root
        if not failures:
            raise NoReadableImage(
                f'the pipeline drops each of {MAX_ATTEMPTS} images tried in {folder}; '
                'check the annotations, or transforms that drop objects'
            )
        first = failures[0]
        raise NoReadableImage(
            f'none of {len(failures)} images tried in {folder or os.path.dirname(first.path)} could be read; the '
            f'first: {first}; check the files or give another folder'
        )

    def _candidates(self, key: SampleKey) -> Iterator[int]:
        """Yield the image itself, then distinct others."""
        yield key.index
        others = torch.randperm(len(self), generator=generator(*key, 'substitute'))[:MAX_ATTEMPTS].tolist()
        yield from [index for index in others if index != key.index][: MAX_ATTEMPTS - 1]

    def _sample(self, key: SampleKey, index: int) -> dict | None:
        """Run the pipeline, and keep the results that packing would lose."""
        seed_global_generators(*key, 'sample')
        part = bisect_right(self.dataset.cumulative_sizes, index) if len(self.parts) > 1 else 0
        results = {**self.dataset.get_data_info(index), 'sample_key': key}
        kept: dict = {}
        for step in self.pipelines[part]:
            results = step(results)
            if results is None:
                return None
            kept |= {name: results[name] for name in CARRIED if name in results}
        return {**results, **kept}
