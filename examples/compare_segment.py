# Do terms between patches teach single patches more? PatchMix with and without them, by segmentation of drawn shapes:
#     python tools/examples/shapes.py data/masked_shapes --images 600 --masks
#     mixcl compare examples/compare_segment.py --out work_dirs/segment
# The stored results count as done; without that line it takes an hour and a half of a core. Shapes are grey and have
# their class's stripes, so that no pixel tells a class. Rates and terms are the digits', of one choice.
_SMALL = {
    'model.backbone.patch_size': 8,
    'model.neck': dict(hidden_channels=512, out_channels=128),
    'optimizer.lr': 4e-3,
}

results = 'compare_segment.json.xz'
data = 'folder:data/masked_shapes/images'
image_size = 64
equal = 'epochs'
epochs = 60  # of 9 steps
batch_size = 64
runs = dict(
    patchmix=dict(config='patchmix/vit-xs4_digits', options=_SMALL),
    patches=dict(config='patchmix/vit-xs4_digits_patches', options=_SMALL),
)
evaluated = 'folder:data/masked_shapes'
named = 'segment'
measures = [named]
baselines = ['random']
