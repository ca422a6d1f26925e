# As r18_folder.py, and mixtures of two are pulled to both images' similarities, by share: no pass of the teacher more.
_base_ = './r18_folder.py'

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix')]),
    streams=dict(mix1=dict(mix='view1')),
    terms=[('view1', 'view1', 0.5), ('mix1', 'view1', 0.5)],
)
