# Is Muon better than AdamW for small vision transformers? PatchMix on digits, at equal steps:
#     mixcl compare examples/compare_muon.py --out work_dirs/muon
# The stored results count as done; without that line it takes three quarters of an hour of a core. The first rate is
# AdamW's, of longer runs. Half and twice that have one seed; when twice was best for Muon, it was asked of AdamW, and
# got the other seeds.
_MUON = {'optimizer.type': 'Muon'}

results = 'compare_muon.json.xz'
data = 'digits'
equal = 'epochs'
epochs = 35  # of 22 steps, half of the quick start's
seeds = 3
runs = dict(
    adamw=dict(config='patchmix/vit-xs4_digits'),
    muon=dict(config='patchmix/vit-xs4_digits', options=_MUON, seeds=1),
    adamw_twice=dict(config='patchmix/vit-xs4_digits', options={'optimizer.lr': 1.6e-2}, seeds=1),
    muon_half=dict(config='patchmix/vit-xs4_digits', options=_MUON | {'optimizer.lr': 4e-3}, seeds=1),
    muon_twice=dict(config='patchmix/vit-xs4_digits', options=_MUON | {'optimizer.lr': 1.6e-2}),
)
pairs = [('muon_twice', 'adamw'), ('muon', 'adamw')]
