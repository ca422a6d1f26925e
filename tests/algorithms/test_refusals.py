"""Combinations that make no sense are refused when the model is built or before the first batch, with a sentence."""

import hosts
import pytest
import torch
from mmengine.config import Config

from mixcl.configuration import check_config
from mixcl.errors import UserError

MIXUP = dict(type='Mixup')
QUEUE = dict(size=24, channels=12, fed_by='view2')
NCE = dict(type='InfoNCE')


@pytest.mark.parametrize(
    ('config', 'changes', 'message'),
    [
        (hosts.moco_v3(), dict(objective=NCE | dict(among='itself')), r"terms\[0\]: InfoNCE: among='itself' needs neg"),
        (hosts.moco_v3(), dict(objective=NCE | dict(among='positives')), "among='positives' needs negatives"),
        (
            hosts.moco_v3(),
            dict(objective=NCE | dict(type='LogMixture', smoothing=0.1)),
            'LogMixture has no label smoothing',
        ),
        (
            hosts.moco_v3(),
            dict(objective=dict(type='LogMixture'), terms=[('view1', 'view2', 1.0, dict(smoothing=0.1))]),
            r'terms\[0\]: LogMixture has no label smoothing',
        ),
        (
            hosts.moco_v2(),
            dict(terms=[('view1', 'view2', 1.0, dict(negatives=[]))]),
            "among='itself' needs negatives such as a queue",
        ),
        (
            hosts.moco_v2(),
            dict(terms=[('view1', 'view2', 1.0, dict(negatives='queue'))]),
            r"negatives must be a list such as \['own'\], not 'queue'",
        ),
        (
            hosts.moco_v2(),
            dict(terms=[('view1', 'view2', 1.0, dict(negatives=['queu']))]),
            "name 'queu', but there are own, queue, view1, view2",
        ),
        (
            hosts.byol(),
            dict(terms=[('view1', 'view2', 1.0, dict(negatives=['own']))]),
            r'terms\[0\]: NegativeCosine takes no negatives',
        ),
        (
            hosts.dino(),
            dict(terms=[('local', 'view1', 1.0, dict(negatives=['own']))]),
            'DINODistillation takes no negatives',
        ),
        (
            hosts.byol(),
            dict(terms=[('view1', 'view2', 1.0, dict(temperature=0.2))]),
            "unknown option 'temperature'; NegativeCosine knows target, negatives",
        ),
        (
            hosts.moco_v2(),
            dict(memory=dict(queue=QUEUE | dict(channels=8))),
            r'different lengths: model.neck.out_channels=12, .*model.memory.queue.channels=8',
        ),
        (hosts.moco_v2(), dict(memory=dict(queue=QUEUE | dict(fed_by='view9'))), "fed_by names an unknown .*'view9'"),
        (hosts.moco_v2(), dict(memory=dict(queue=dict(size=24, channels=12))), 'must give size, channels and fed_by'),
        (hosts.moco_v2(), dict(memory=dict(view1=QUEUE, queue=QUEUE)), "names a queue 'view1', .* name of a stream"),
        (
            hosts.byol(),
            dict(predictor=dict(type='MLPHead', in_channels=12, hidden_channels=8, out_channels=10)),
            'model.neck.out_channels=12, model.predictor.out_channels=10',
        ),
        (
            hosts.byol(),
            dict(predictor=dict(type='MLPHead', in_channels=9, hidden_channels=8, out_channels=12)),
            'model.predictor.in_channels=9',
        ),
        (
            hosts.dino(),
            dict(objective=dict(type='DINODistillation', num_prototypes=10)),
            'model.neck.out_channels=12, .*model.objective.num_prototypes=10',
        ),
        (
            hosts.dino(),
            dict(objective=dict(type='DINODistillation', num_prototypes=12, centred_by=['view7'])),
            "model.objective names an unknown stream 'view7'",
        ),
        (hosts.moco_v2(MIXUP), dict(joint=[('view1', 'mix2')]), "model.joint names an unknown stream 'mix2'"),
        (
            hosts.moco_v2(MIXUP),
            dict(joint=[('view1', 'mix1'), ('view2', 'view1')]),
            "model.joint names 'view1' twice",
        ),
        (hosts.moco_v2(MIXUP), dict(joint=('view1', 'mix1')), 'must list groups of streams'),
        (
            hosts.dino(),
            dict(swap_views=0.5, views=dict(view1=1, view2=2, local=2)),
            'no two with equal numbers of crops',
        ),
        (hosts.moco_v3(backbone='resnet'), dict(type='PatchSamplingLearner'), 'ResNet_CIFAR cannot drop patches'),
        (hosts.moco_v2(), dict(type='PatchSamplingLearner'), 'ShuffledEMA cannot drop patches'),
        (hosts.moco_v3(), dict(swap_views=1.5), 'must be a probability, not 1.5'),
        (hosts.dino(), dict(views=dict(view1=1, view2=1, local=0)), 'a number of crops of at least 1'),
    ],
)
def test_when_the_model_is_built(config: dict, changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        hosts.build(config, **changes)


def test_in_the_config() -> None:
    """An objective that takes no negatives has no such argument."""
    model = hosts.byol() | dict(objective=dict(type='NegativeCosine', negatives=['own']))
    with pytest.raises(UserError, match=r"model.objective has an unknown key 'negatives' for mixcl.NegativeCosine"):
        check_config(Config(dict(default_scope='mixcl', model=model)))


@pytest.mark.parametrize(
    ('host', 'batch', 'message'),
    [
        ('moco_v2', 26, r'model.memory.queue.size=24 is less than the 26 keys of one step'),
        ('moco_v2', 7, 'batch of 7 images cannot be encoded in groups=2 equal parts'),
        ('moco_v2', 2, 'of at least two; set model.target.groups'),
    ],
)
def test_before_the_first_batch(host: str, batch: int, message: str) -> None:
    model = hosts.build(hosts.HOSTS[host]())
    with pytest.raises(UserError, match=message):
        model.check_batch([crop[0] for crop in hosts.crops(model, 1)], batch)


@pytest.mark.parametrize('host', hosts.HOSTS)
def test_batches_that_fit_pass(host: str) -> None:
    model = hosts.build(hosts.HOSTS[host](MIXUP))
    model.check_batch([crop[0] for crop in hosts.crops(model, 1)], 8)


def test_a_neck_for_another_backbone() -> None:
    model = hosts.build(hosts.moco_v3(), neck=hosts.moco_v3(backbone='resnet')['neck'])
    with pytest.raises(UserError, match=r'features of 16 channels, but model.neck.in_channels=32'):
        model([torch.randn(4, 3, 8, 8)] * 2, mode='loss')


def test_a_backbone_that_gives_a_vector_per_token() -> None:
    backbone = hosts.BACKBONES['vit'] | dict(type='mmpretrain.VisionTransformer', out_type='raw')
    model = hosts.build(hosts.moco_v3(), backbone=backbone)
    with pytest.raises(UserError, match=r'VisionTransformer gives one vector for every token, .* \(8, 17, 16\)'):
        model([torch.randn(4, 3, 8, 8)] * 2, mode='loss')
