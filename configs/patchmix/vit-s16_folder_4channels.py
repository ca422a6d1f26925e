# PatchMix, ViT-S/16 on 16-bit images of four channels, such as red, green, blue and infrared: --data-root DIR.
_base_ = './vit-s16_folder.py'

model = dict(backbone=dict(in_channels=4))
data = dict(
    images=dict(extensions=('.npy', '.tif', '.tiff')),
    read=[dict(type='LoadChannels', channels=4, limits=(0, 10000))],  # the values that become 0 and 255
    # on the scale of 0 to 255, in the file's order of channels; measure them on your images
    mean=[127.5] * 4,
    std=[63.75] * 4,
)
# Hue, saturation and gray need colours; brightness, contrast, blur and flips suit any channels.
light = dict(steps=['jitter_light', 'blur_half', 'flip'])
views = dict(view1=light, view2=light)
