# A stream for each mixer, for the strip of docs/mixers.md.
_base_ = '../../configs/mocov3/vit-s16_folder.py'

kinds = dict(
    mixup=dict(type='Mixup'), cutmix=dict(type='CutMix'), resizemix=dict(type='ResizeMix'),
    regionswap=dict(type='RegionSwap'), patchmix=dict(type='PatchMix'), mixmask=dict(type='MixMask'),
    stitch=dict(type='Stitch'),
)  # fmt: skip
model = dict(
    streams=dict(
        {name: dict(mix='view1', mixer=mixer) for name, mixer in kinds.items()},
        scalemix=dict(mix=('view1', 'view2'), mixer=dict(type='ScaleMix')),
    ),
)
views = dict(view1=dict(crop=(0.9, 1.0), steps=[]), view2=dict(crop=(0.1, 0.3), steps=[]))
