# Your own images at 224 pixels: any format, nested folders, no labels.
_base_ = '../pretraining.py'

train_dataloader = dict(
    batch_size=128,  # on one process
    dataset=dict(type='KeyedDataset', dataset=dict(type='ImageFolder', data_root='data/folder')),
)

# Without labels there is nothing to measure kNN accuracy against.
val_dataloader = None
val_cfg = None
val_evaluator = None
test_dataloader = None
test_cfg = None
test_evaluator = None
