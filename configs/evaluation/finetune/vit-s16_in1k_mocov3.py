# MoCo v3, ViT-S/16 on ImageNet-1K, fine-tuned as DeiT trains, 150 epochs (PatchMix, Table 2: 81.4).
_base_ = './vit-s16_in1k_sdmp.py'

train_cfg = dict(max_epochs=150)
protocol = dict(recipe='mocov3')  # numbers of DeiT's 100 epochs do not stand beside it
