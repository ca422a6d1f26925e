# Is Muon better than AdamW for small vision transformers? PatchMix on digits, at equal steps, once:
#     mixcl compare examples/compare_muon.py --out work_dirs/muon
# Twenty minutes of a core. The first rate is AdamW's, chosen for it; half and twice that are Muon's chance.
_MUON = {'optimizer.type': 'Muon'}

data = 'digits'
epochs = 35  # of 22 steps, half of the quick start's
seeds = 1
runs = dict(
    adamw=dict(config='patchmix/vit-xs4_digits'),
    muon=dict(config='patchmix/vit-xs4_digits', options=_MUON),
    muon_half=dict(config='patchmix/vit-xs4_digits', options=_MUON | {'optimizer.lr': 4e-3}),
    muon_twice=dict(config='patchmix/vit-xs4_digits', options=_MUON | {'optimizer.lr': 1.6e-2}),
)
