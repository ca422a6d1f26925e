"""Combinations that make no sense are refused in one sentence, when the model is built or before the first batch."""

import hosts
import pytest
import torch

from mixcl.errors import UserError

MIXUP = dict(type='Mixup')
OWN = dict(mix='view1', mixer=MIXUP)
PATCHMIX = dict(type='PatchMix', num_mix=3, patch_size=2)
QUEUE = dict(size=24, channels=12, fed_by='view2')
NCE = dict(type='InfoNCE')
HARD = dict(type='HardMix', mixed_with_query=0)
HEAD = dict(type='MLPHead', in_channels=12, hidden_channels=8, out_channels=12)
TEACHER = dict(type='DINODistillation', num_prototypes=12)
SWIN = dict(type='TimmBackbone', name='swin_tiny_patch4_window7_224', arguments=dict(depths=(1, 1, 1, 1)))


def row(**options: object) -> dict:
    return dict(terms=[('view1', 'view2', 1.0, options)])


TERMS = [
    (hosts.moco_v3(MIXUP), dict(terms=[('view1', 'view3', 1.0)]), "stream 'view3'; known .* view1, view2, mix1, mix2"),
    (hosts.moco_v3(), dict(terms=[('view1', 'view2')]), 'is not a row of the table of terms'),
    (hosts.moco_v3(), dict(terms='view1'), r"terms\[0\]='v' is not a row of the table of terms"),
    (hosts.moco_v3(), dict(terms=[]), 'terms is empty'),
    (hosts.moco_v3(), dict(terms=[('view1', 'view2', -1.0)]), r'terms\[0\] has weight -1.0; it must be above 0'),
    (hosts.moco_v3(), dict(terms=[('view1', 'view2', 1.0), ('view1', 'view2', 2.0)]), 'repeats the pair'),
    (hosts.moco_v3(), row(target='mixed'), "target must be one of overlap, owner, even, not 'mixed'"),
    (hosts.barlow_twins(), row(to='mixture'), "to='mixture', which is for mixed streams .* here view1 is compared"),
    (hosts.barlow_twins(MIXUP), row(to='image'), "to must be 'keys' or 'mixture', not 'image'"),
    (
        hosts.barlow_twins(MIXUP),
        dict(terms=[('mix1', 'view2', 1.0, dict(to='mixture', target='even'))]),
        "whose keys are the owners'; leave out target='even'",
    ),
    (
        hosts.barlow_twins(MIXUP),
        dict(views=dict(view1=2, view2=1), terms=[('mix1', 'view2', 1.0, dict(to='mixture'))]),
        'of views with one crop, .* here mix1 is compared by CrossCorrelation',
    ),
    (hosts.byol(MIXUP), dict(terms=[('mix1', 'view2', 1.0, dict(to='mixture'))]), 'compared by NegativeCosine; leave'),
    (hosts.byol(), row(temperature=0.2), "unknown option 'temperature'; NegativeCosine knows target, negatives"),
    (hosts.moco_v2(), row(negatives=[]), r"terms\[0\]: InfoNCE: among='itself' needs negatives such as a queue"),
    (hosts.moco_v2(), row(negatives='queue'), "name 'q', but there are own, queue, view1, view2"),
    (hosts.moco_v2(), row(negatives=['queu']), "name 'queu', but there are own, queue, view1, view2"),
    (hosts.byol(), row(negatives=['own']), r'terms\[0\]: NegativeCosine takes no negatives'),
]
OBJECTIVES = [
    (hosts.moco_v3(), dict(objective=NCE | dict(temperature=-1)), 'InfoNCE: temperature must be a number from 0.0001'),
    (hosts.moco_v3(), dict(objective=NCE | dict(smoothing=1.0)), 'at least 0 and below 1, not 1.0'),
    (hosts.moco_v3(), dict(objective=NCE | dict(among='all')), "one of batch, positives, itself, not 'all'"),
    (hosts.moco_v3(), dict(objective=NCE | dict(negatives='queue')), "name 'q', but there are own, view1"),
    (hosts.moco_v3(), dict(objective=dict(type='LogMixture', smoothing=0.1)), 'LogMixture has no label smoothing'),
    (hosts.barlow_twins(), dict(objective=dict(type='CrossCorrelation', off_diagonal=-1)), 'off_diagonal must be a'),
    (hosts.byol(), dict(objective=dict(type='NegativeCosine', scale=0)), 'scale must be a finite number above 0'),
    (hosts.moco_v3(), row(negatives=[HARD | dict(hardest=0)]), 'hardest=0, .* leave nothing to mix'),
    (hosts.dino(), dict(objective=TEACHER | dict(num_prototypes=10)), 'objective.num_prototypes=10'),
    (hosts.dino(), dict(objective=TEACHER | dict(centred_by=['view7'])), "names an unknown stream 'view7'"),
    (hosts.dino(), dict(objective=TEACHER | dict(centred_by=())), 'DINODistillation: centred_by must name'),
    (hosts.dino(), dict(objective=TEACHER | dict(student_temperature=0)), 'student_temperature must be a number from'),
    (hosts.dino(), dict(objective=TEACHER | dict(warmup_epochs=-1)), 'warmup_epochs must be .* at least 0, not -1'),
]
STREAMS = [
    (hosts.moco_v3(MIXUP), dict(streams=dict(mix1=dict(mix='view9'))), r"mix1=.*'view9'.*view1, view2"),
    (hosts.moco_v3(MIXUP), dict(mixer=None), 'mixer is missing'),
    (hosts.moco_v3(MIXUP), dict(streams=dict(mix1=OWN, mix2=OWN)), 'mixer has nothing to mix'),
    (hosts.moco_v3(MIXUP), dict(streams=dict(mix1=dict(mix=('view1', 'view1')))), 'is not understood; a mixed stream'),
    (hosts.moco_v3(MIXUP), dict(streams=dict(mix1=dict(OWN, mixer='Mixup'))), "mixer='Mixup' must be a dict"),
    (hosts.moco_v3(MIXUP), dict(streams=dict(view1=dict(mixer=MIXUP))), 'is not understood; a mixed stream'),
    (hosts.moco_v3(PATCHMIX), dict(streams=dict(mix1=dict(mix=('view1', 'view2')))), 'mixes two views, but PatchMix'),
    (hosts.moco_v3(MIXUP | dict(pairing='same')), {}, 'mix1 pairs each image with itself'),
    (
        hosts.dino(MIXUP),
        dict(streams=dict(mix1=dict(mix=('view1', 'local')))),
        'mixes view1 and local, which have different numbers of crops',
    ),
    (hosts.moco_v3(), dict(mixer=dict(type='CutMix')), 'mixer has nothing to mix'),
    (hosts.moco_v3(), dict(swap_views=1.5), 'swap_views must be a number between 0 and 1, not 1.5'),
    (hosts.dino(), dict(swap_views=0.5, views=dict(view1=1, view2=2, local=2)), 'no two with equal numbers of crops'),
    (hosts.dino(), dict(views=dict(view1=1, view2=1, local=0)), 'a number of crops of at least 1'),
    (hosts.moco_v3(), dict(streams=dict(view1=dict(keep=0))), r'view1 has keep=0, but .* lies in \(0, 1\]'),
    (hosts.moco_v3(), dict(streams=dict(mix1=dict(keep=0.5))), "mix1={'keep': 0.5} is not understood; a mixed stream"),
    (hosts.moco_v1(), dict(streams=dict(view2=dict(keep=0.5))), 'view2 has keep=0.5, .* keep out, or set it for view1'),
    (hosts.dropping(hosts.moco_v3()), dict(backbone=SWIN), 'but TimmBackbone cannot drop patches; .* a plain vision'),
    (hosts.dropping(hosts.aps()), {}, 'PatchSamplingLearner samples the patches of its views itself'),
    (hosts.moco_v2(MIXUP), dict(joint=[('view1', 'mix2')]), "model.joint names an unknown stream 'mix2'"),
    (hosts.moco_v2(MIXUP), dict(joint=[('view1', 'mix1'), ('view2', 'view1')]), "model.joint names 'view1' twice"),
]
PARTS = [
    (hosts.moco_v2(), dict(memory=dict(queue=QUEUE | dict(channels=8))), 'neck.out_channels=12, .*queue.channels=8'),
    (hosts.moco_v2(), dict(memory=dict(queue=QUEUE | dict(fed_by='view9'))), "fed_by names an unknown .*'view9'"),
    (hosts.moco_v2(), dict(memory=dict(view1=QUEUE, queue=QUEUE)), "names a queue 'view1', .* name of a stream"),
    (hosts.moco_v2(), dict(memory=dict(queue=QUEUE | dict(size=0))), 'queue of view2: size must be a whole number'),
    (hosts.moco_v2(), dict(target=dict(type='ShuffledEMA', groups=0)), 'groups must be a whole number of at least 1'),
    (hosts.byol(), dict(predictor=HEAD | dict(out_channels=10)), 'model.predictor.out_channels=10'),
    (hosts.byol(), dict(target=dict(type='EMA', momentum=1.1)), 'momentum must be a number between 0 and 1, not 1.1'),
    (hosts.aps(), dict(views=dict(view1=1, view2=2)), 'two views of one crop each'),
    (hosts.aps(), dict(swap_views=0.5), r'swap_views=0\.5'),
    (hosts.aps(), dict(target=dict(type='ShuffledEMA')), 'ShuffledEMA cannot drop patches.*use EMA or StopGrad'),
]


@pytest.mark.parametrize(('config', 'changes', 'message'), [*TERMS, *OBJECTIVES, *STREAMS, *PARTS])
def test_when_the_model_is_built(config: dict, changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        hosts.build(config, **changes)


@pytest.mark.parametrize(
    ('config', 'size', 'batch', 'processes', 'message'),
    [
        (hosts.moco_v2(), 8, 26, 1, 'queue of view2 holds size=24 keys, fewer than the 26 keys of one step'),
        (hosts.moco_v2(), 8, 7, 1, 'batch of 7 images cannot be encoded in groups=2 equal parts'),
        (hosts.moco_v3(), 9, 8, 1, r'patches of 2x2 of model.backbone'),
        (hosts.moco_v3(), 16, 8, 1, r'img_size is \(8, 8\); make them agree'),
        (hosts.moco_v3(PATCHMIX), 8, 2, 1, 'from the 2 images'),
        (hosts.moco_v3(OWN['mixer']) | dict(streams=dict(mix1=OWN, mix2=dict(mix='view2'))), 8, 1, 1, 'batches of 1'),
        (hosts.moco_v3() | dict(views=dict(view1=1, view2=2)), 8, 8, 1, 'delivers 2 views per image'),
    ],
)
def test_before_the_first_batch(config: dict, size: int, batch: int, processes: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        hosts.build(config).check_batch([torch.zeros(3, size, size)] * 2, batch, processes)


TOKENS = hosts.BACKBONES['vit'] | dict(type='mmpretrain.VisionTransformer', out_type='raw')


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(neck=hosts.moco_v3(backbone='resnet')['neck']), 'features of 16 channels, but model.neck.in_channels=64'),
        (dict(backbone=TOKENS), r'VisionTransformer gives one vector for every token, .* \(8, 17, 16\)'),
    ],
)
def test_a_backbone_of_another_kind(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        hosts.build(hosts.moco_v3(), **changes)([torch.randn(4, 3, 8, 8)] * 2, mode='loss')
