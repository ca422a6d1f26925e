# What MoCo's protocol changes in mmdet's C4 detectors: pytorch-style ResNet, synchronised batch norm, nothing frozen,
# one more norm after the fourth stage, which is the head. (mmdet's own detectors start from Caffe weights.)
norm = dict(type='SyncBN', requires_grad=True)
rgb_statistics = dict(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], bgr_to_rgb=True)
c4_backbone = dict(frozen_stages=-1, norm_cfg=norm, norm_eval=False, style='pytorch', init_cfg=None)
# For bfloat16 (--amp), which mmcv's operators do not support; the functions are the same.
c4_rpn_head = dict(type='mixcl.FullPrecisionRPNHead')
c4_roi_head = dict(
    shared_head=dict(type='ResLayerExtraNorm', norm_cfg=norm, norm_eval=False, style='pytorch', init_cfg=None),
    bbox_roi_extractor=dict(roi_layer=dict(use_torchvision=True)),
)
