# Linear probes on stored features of images without augmentation, for many learning rates at once. The values are ours.
# On ImageNet-1K, two fits of 21 probes with 1,000 classes on 1.28 million features: minutes on a GPU, days on a CPU.
_base_ = '../../_base_/features.py'

probes = dict(
    rates=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    weight_decays=(0.0, 1e-4, 1e-3),
    epochs=100,
    batch_size=256,
    momentum=0.9,
    held_out=0.1,
    seed=0,
)
protocol = dict(
    name='linear_fast',
    version=1,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='backbone output, no head, standardised',
    trained_on='training images, not augmented',
    listed=('probe_top1', 'probe_held_out', 'probe_rate', 'probe_weight_decay'),
    **probes,
)
test_evaluator = dict(type='LinearProbeSweep', **probes)
