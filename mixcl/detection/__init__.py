"""The mmdet side of transfer: detection and instance segmentation with a pretrained backbone.

Importing it registers the parts for mixcl's and mmdet's configs alike (``custom_imports``), or says which command
installs what is missing. Nothing else in mixcl imports mmdet or the compiled operators of mmcv.
"""

import mixcl.detection.requirements
from mixcl.detection.batches import KeyedAspectRatioBatchSampler
from mixcl.detection.datasets import CocoDetection, VOCDetection
from mixcl.detection.feature_pyramid import SimpleFeaturePyramid
from mixcl.detection.layer_decay import DetectorLayerDecayConstructor
from mixcl.detection.precise_batch_norm import PreciseBatchNormHook
from mixcl.detection.rpn_head import FullPrecisionRPNHead
from mixcl.detection.shared_head import PretrainedSharedHeadHook
from mixcl.detection.vit import DetectionViT
