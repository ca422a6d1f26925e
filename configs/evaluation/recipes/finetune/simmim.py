# SimMIM's fine-tuning of ViT-B/16: MAE's with 1.25e-3 per 512 images, 20 epochs of warm-up and clipped gradients.
_base_ = './mae.py'

protocol = dict(recipe='simmim')
model = dict(head=dict(init_cfg=dict(std=0.02)))
optimizer = dict(lr=6.25e-4, clip=5.0)
schedule = dict(warmup=20, start_factor=2e-4, eta_min_ratio=2e-4, begin=20)
batch = 2048
