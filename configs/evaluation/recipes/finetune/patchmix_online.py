# PatchMix's fine-tuning of a backbone without a momentum encoder.
_base_ = './patchmix.py'

protocol = dict(encoder='online')
variants = []
