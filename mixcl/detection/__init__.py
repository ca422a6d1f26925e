"""The mmdet side of transfer: detection and instance segmentation with a pretrained backbone.

A config imports this package by ``custom_imports``, which registers its parts for configs of mixcl and of mmdet. If
something is missing, the import says which command installs it. Nothing else in mixcl imports mmdet or mmcv's compiled
operators.
"""

import mixcl.detection.requirements  # first: it says what is missing

# isort: split
from pycocotools import coco, cocoeval

from mixcl.detection.datasets import CocoDetection, KeyedAspectRatioBatchSampler, VOCDetection
from mixcl.detection.detector_layer_decay import DetectorLayerDecayConstructor
from mixcl.detection.feature_pyramid import SimpleFeaturePyramid
from mixcl.detection.heads import FullPrecisionRPNHead, PretrainedSharedHeadHook
from mixcl.detection.precise_batch_norm import PreciseBatchNormHook
from mixcl.detection.vit import DetectionViT

# Progress printed by pycocotools would break the live line; mmdet's metrics log the results.
vars(coco)['print'] = vars(cocoeval)['print'] = lambda *_, **__: None
