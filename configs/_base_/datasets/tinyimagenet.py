# TinyImageNet, enlarged to 224 pixels (MixCo).
_base_ = '../pretraining.py'

images = dict(type='TinyImageNet', data_root='data/tiny-imagenet-200')

train_dataloader = dict(
    batch_size=64,  # per process: 128 on 2 GPUs
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
