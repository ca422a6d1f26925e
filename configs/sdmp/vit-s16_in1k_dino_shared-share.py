# SDMP on DINO with one share for the whole batch instead of one per image (Table 7: linear 74.5).
_base_ = './vit-s16_in1k_dino.py'

mixers = [dict(type=name, per_sample=False) for name in ('Mixup', 'CutMix', 'ResizeMix')]
model = dict(mixer=dict(mixers=mixers))
