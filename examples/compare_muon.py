# Is Muon better than AdamW for small vision transformers? PatchMix and MoCo v3 on digits, at equal steps:
#     mixcl compare examples/compare_muon.py --out work_dirs/muon
# About two and a half hours of a core. Rates and decays are AdamW's; half and twice the rate are Muon's chance.
_MUON = {'optimizer.type': 'Muon'}

data = 'digits'
runs = dict(
    adamw=dict(config='patchmix/vit-xs4_digits'),
    muon=dict(config='patchmix/vit-xs4_digits', options=_MUON),
    muon_half=dict(config='patchmix/vit-xs4_digits', options=_MUON | {'optimizer.lr': 4e-3}),
    muon_twice=dict(config='patchmix/vit-xs4_digits', options=_MUON | {'optimizer.lr': 1.6e-2}),
    mocov3=dict(config='mocov3/vit-xs4_digits'),
    mocov3_muon=dict(config='mocov3/vit-xs4_digits', options=_MUON),
)
pairs = [('muon', 'adamw'), ('muon_half', 'adamw'), ('muon_twice', 'adamw'), ('mocov3_muon', 'mocov3')]
