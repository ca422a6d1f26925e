# COCO's training images, as all recipes choose them. An unreadable image is named and replaced.
load_image = dict(type='mixcl.LoadImage')
coco_images = dict(
    type='mixcl.CocoDetection',
    data_root='data/coco/',
    ann_file='annotations/instances_train2017.json',
    data_prefix=dict(img='train2017/'),
    filter_cfg=dict(filter_empty_gt=True, min_size=32),
)
