# SDMP on MoCo v3 with one share for the whole batch instead of one per image (Table 7: linear 72.3).
_base_ = './vit-s16_in1k_mocov3.py'

mixers = [dict(type=name, per_sample=False) for name in ('Mixup', 'CutMix', 'ResizeMix')]
model = dict(mixer=dict(mixers=mixers))
