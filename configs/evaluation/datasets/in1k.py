# ImageNet-1K: a folder per class under train/ and val/.
_base_ = '../_base_/views_224.py'

images = dict(type='ImageNet1K', data_root='data/imagenet')
splits = dict(train=dict(split='train'), test=dict(split='val'))
num_classes = 1000
files = True  # images are files, which may be unreadable
label_lists = True  # SimCLR's 1percent.txt and 10percent.txt beside the folders, for semi
processes = 8
backbone = dict(  # ViT-S/16
    type='ContrastiveViT',
    arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
    img_size=224,
    patch_size=16,
)
