# ImageNet-1K at 224 pixels.
_base_ = '../pretraining.py'

images = dict(type='ImageNet1K', data_root='data/imagenet')

train_dataloader = dict(
    batch_size=128,  # per process: 1024 on 8 GPUs
    dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train')),
)
# KeyedDataset for the evaluation too, so that an unreadable image does not end it.
val_dataloader = dict(
    dataset=dict(type='KeyedDataset', dataset=dict(**images, split='val', pipeline=_base_.evaluation_pipeline))
)
val_cfg = dict(
    bank_dataloader=dict(
        dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train', pipeline=_base_.evaluation_pipeline))
    )
)
test_dataloader = val_dataloader
test_cfg = val_cfg
