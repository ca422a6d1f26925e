# SDMP on DINO, ViT-S/16 on ImageNet-100: batch 512 (4 x 128), 300 epochs (Table 11: linear 83.2).
_base_ = './vit-s16_in1k_dino.py'

images = dict(type='ImageNet100', data_root='data/imagenet', class_list='imagenet100.txt')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=dict(dataset=images))
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=dict(dataset=images)))
optim_wrapper = dict(optimizer=dict(lr=1e-3))  # 5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
