# PatchMix, ViT-S/16 on 16-bit images of four channels, such as red, green, blue and infrared: --data-root DIR.
_base_ = './vit-s16_folder.py'

model = dict(backbone=dict(in_channels=4))
load = dict(type='LoadChannels', channels=4, limits=(0, 10000))  # the values that become 0 and 255
# Mean and std on the scale of 0 to 255, in the file's order of channels; measure them on your images.
data_preprocessor = dict(mean=[127.5] * 4, std=[63.75] * 4, to_rgb=False)
# Hue, saturation and gray need colours; brightness, contrast, blur and flips suit any channels.
jitter = dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, backend='pillow')
steps = [dict(type='RandomApply', prob=0.8, transforms=jitter), dict(_base_.blur_half), dict(_base_.flip)]
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[_base_.crop, *steps]])
train_dataloader = dict(
    dataset=dict(dataset=dict(extensions=('.npy', '.tif', '.tiff'), pipeline=[load, views, _base_.pack]))
)
