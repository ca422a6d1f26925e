# As r18_folder_mixed.py, into ViT-T/16.
_base_ = './r18_folder_mixed.py'

model = dict(backbone=dict(_delete_=True, type='TimmBackbone', name='vit_tiny_patch16_224'))
