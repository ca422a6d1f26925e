"""Data sets, transforms and samplers that mmpretrain lacks; all samples are functions of a key."""

import mixcl.quiet_imports
from mixcl.datasets.digits import Digits
from mixcl.datasets.fashion_mnist import FashionMNIST
from mixcl.datasets.folder import FolderImages, ImageFolder
from mixcl.datasets.hugging_face_images import HuggingFaceImages
from mixcl.datasets.image_list import ListedImages
from mixcl.datasets.imagenet import ImageNet1K, ImageNet100, TinyImageNet
from mixcl.datasets.imagenet_robustness import ImageNetA, ImageNetC, ImageNetR
from mixcl.datasets.keyed_dataset import KeyedDataset, SampleKey
from mixcl.datasets.labelled_subset import LabelledSubset
from mixcl.datasets.masked_images import MaskedFolder, VOC12Segmentation
from mixcl.datasets.samplers import KeyedSampler
from mixcl.datasets.synthetic import SyntheticImages
from mixcl.datasets.tar_images import TarImages
from mixcl.datasets.transforms import (
    ColourNoise,
    KeyedMultiView,
    LoadImage,
    LoadMask,
    MaskedCrop,
    RandomErasing,
    RecordedResizedCrop,
    RGBToBGR,
    SampledPatchPair,
)
from mixcl.datasets.view_preprocessor import ClassifierViewPreprocessor, ViewPreprocessor
from mixcl.datasets.voc07 import VOC07
