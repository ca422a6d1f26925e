"""What the tests of the hosts have each of two processes do; importable, as spawned processes need it."""

import hosts
import torch
from mmengine.model import MMDistributedDataParallel
from mmpretrain.structures import DataSample
from torch import Tensor

from mixcl.algorithms import ContrastiveLearner, StepKey

BATCH = 4
SEED, STEP, PROGRESS = 3, 11, 0.5
# Lambda 1/2 is exact in float32, in which targets are kept.
EVEN = dict(type='Mixup', share=dict(type='Uniform', low=0.5, high=0.5))

SYNCHRONISED = hosts.BACKBONES['resnet'] | dict(norm_cfg=dict(type='mixcl.SyncBatchNorm'))

WHOLE = {
    'SimCLR': hosts.simclr(),
    'SimCLR on a synchronised ResNet': hosts.simclr(backbone='resnet') | dict(backbone=SYNCHRONISED),
    'BSIM on SimCLR': hosts.simclr(EVEN),
    'SDMP on MoCo v3': hosts.moco_v3(EVEN),
    'BYOL': hosts.byol(),
    'BSIM on SimSiam': hosts.simsiam(EVEN),
    'DINO': hosts.dino(),
    'SDMP on DINO': hosts.dino(EVEN),
    'APS': hosts.aps(),
    'APS without momentum': hosts.aps(target=dict(type='StopGrad')),
    'MoCo v2 on a ResNet': hosts.moco_v2(backbone='resnet'),
    'BSIM on MoCo v1 on a ResNet': hosts.moco_v1(EVEN, 'resnet'),
}
"""Models whose two processes equal one that has the whole batch."""

LOCAL = {'MixCo on MoCo v2': hosts.moco_v2(EVEN)}
"""A model whose rows see the keys of their own process only."""

GRID = {
    f'{host} with {mixer}': function(hosts.MIXERS[mixer])
    for host, function in hosts.HOSTS.items()
    for mixer in hosts.MIXERS
}
"""Every host with every mixer. Shares that float32 rounds leave errors far above those of float64."""

FOUR = {
    'gathered keys': hosts.moco_v3(hosts.MIXERS['patchmix']),
    'keys with gradient': hosts.simclr(hosts.MIXERS['cutmix']),
    'a queue': hosts.moco_v1(hosts.MIXERS['resizemix']),
    'a queue behind a ResNet': hosts.moco_v2(backbone='resnet'),
    'negative cosine': hosts.byol(hosts.MIXERS['mixup']),
    'DINO': hosts.dino(hosts.MIXERS['region_swap']),
    'sampled patches': hosts.aps(),
}
"""One of each kind, for four processes."""

OWN_KEYS = {*LOCAL, *(name for name in GRID if name.startswith('moco_v2 '))}
"""Models whose mixtures see the keys of their own process only."""

EVERY = WHOLE | LOCAL | GRID | FOUR


def build(name: str) -> ContrastiveLearner:
    torch.manual_seed(0)
    learner = hosts.build(EVERY[name]).double()
    for parameter in learner.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    learner.target.copy_weights(learner.backbone, learner.neck)
    return learner


def crops(learner: ContrastiveLearner, rank: int) -> list[Tensor]:
    return hosts.crops(learner, BATCH, seed=rank)


def samples(learner: ContrastiveLearner, rank: int) -> list[DataSample] | None:
    return hosts.samples(learner, BATCH, seed=rank)


def everything(rank: int) -> dict[str, dict]:
    """What one process of the pair finds, by name."""
    return {name: step(name, rank) for name in WHOLE | LOCAL}


def grid(rank: int) -> dict[str, dict]:
    """The same for every host with every mixer."""
    return {name: step(name, rank) for name in GRID}


def four(rank: int) -> dict[str, dict]:
    """What one of four processes finds, by name."""
    return {name: step(name, rank) for name in FOUR}


def step(name: str, rank: int) -> dict[str, dict[str, Tensor]]:
    """Losses, averaged gradients and buffers of one training step."""
    learner = build(name)
    parallel = MMDistributedDataParallel(learner, broadcast_buffers=False)
    learner.begin_step(StepKey(SEED, STEP, rank), PROGRESS)
    losses = parallel(crops(learner, rank), samples(learner, rank), mode='loss')
    learner.parse_losses(losses)[0].backward()
    return dict(
        losses={key: value.detach() for key, value in losses.items() if 'loss' in key},
        gradients={key: p.grad for key, p in learner.named_parameters() if p.requires_grad},
        memory={key: value for key, value in learner.named_buffers() if key.startswith(('memory.', 'objective.'))},
    )
