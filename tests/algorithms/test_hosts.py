"""Plain hosts equal mmpretrain's own classes on the same weights and images: losses, and what a step leaves behind."""

import hosts
import pytest
import torch
from hosts import CHANNELS, WIDTHS
from mmengine.registry import DefaultScope
from mmpretrain.registry import MODELS as MMPRETRAIN
from torch import Tensor, nn

from mixcl.algorithms import ContrastiveLearner, StepKey

BATCH = 6


def mlp(in_channels: int, hid_channels: int = 24, **settings) -> dict:
    # mmpretrain's default, SyncBN, refuses CPU tensors.
    parts = dict(in_channels=in_channels, hid_channels=hid_channels, out_channels=CHANNELS, norm_cfg=dict(type='BN1d'))
    return dict(type='NonLinearNeck', **parts) | dict(with_avg_pool=False) | settings


SIZES = dict(in_channels=WIDTHS['resnet'], out_channels=CHANNELS)


def neck(*args: int, **settings) -> dict:
    return mlp(WIDTHS['resnet'], *args, with_avg_pool=True, **settings)


def contrastive(temperature: float) -> dict:
    return dict(type='ContrastiveHead', loss=dict(type='CrossEntropyLoss'), temperature=temperature)


def predicting(*args: int, **settings) -> dict:
    predictor = mlp(CHANNELS, *args, **settings)
    return dict(type='LatentPredictHead', predictor=predictor, loss=dict(type='CosineSimilarityLoss'))


NO_AFFINE = dict(with_last_bn_affine=False)
NO_LAST_NORM = dict(with_bias=True, with_last_bias=True, with_last_bn=False)
RESNET = hosts.BACKBONES['resnet'] | dict(type='ResNet_CIFAR')
QUEUE = dict(type='MoCo', queue_len=24, feat_dim=CHANNELS)

THEIRS = dict(
    moco_v1=QUEUE | dict(neck=dict(type='LinearNeck', **SIZES, gap_dim=2, norm_cfg=None), head=contrastive(0.07)),
    moco_v2=QUEUE | dict(neck=dict(type='MoCoV2Neck', **SIZES, hid_channels=24), head=contrastive(0.2)),
    moco_v3=dict(
        type='MoCoV3',
        backbone=hosts.BACKBONES['vit'] | dict(type='MoCoV3ViT'),
        neck=mlp(WIDTHS['vit'], num_layers=3, **NO_AFFINE),
        head=dict(
            type='MoCoV3Head',
            predictor=mlp(CHANNELS, **NO_AFFINE),
            loss=dict(type='CrossEntropyLoss', loss_weight=2 * 0.2),
            temperature=0.2,
        ),
    ),
    simclr=dict(type='SimCLR', neck=neck(with_bias=True), head=contrastive(0.5)),
    # The paper's 2 - 2 cos per direction equals mmpretrain's 2 * (-cos) and our scale 2 up to a constant of 4 in all.
    byol=dict(type='BYOL', neck=neck(**NO_LAST_NORM), head=predicting(**NO_LAST_NORM)),
    simsiam=dict(
        type='SimSiam',
        neck=neck(CHANNELS, num_layers=3, **NO_AFFINE),
        head=predicting(6, with_last_bn=False, with_last_bias=True),
    ),
    swav=dict(
        type='SwAV',
        neck=dict(type='SwAVNeck', **SIZES, hid_channels=24, norm_cfg=dict(type='BN1d')),
        head=dict(
            type='SwAVHead',
            loss=dict(type='SwAVLoss', feat_dim=CHANNELS, num_prototypes=20, num_crops=[2, hosts.LOCAL_CROPS]),
        ),
    ),
    barlow_twins=dict(
        type='BarlowTwins',
        neck=neck(with_last_bn=False),
        head=dict(
            type='LatentCrossCorrelationHead', in_channels=CHANNELS, loss=dict(type='CrossCorrelationLoss', lambd=0.1)
        ),
    ),
)
ONE_GROUP = dict(target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999, groups=1))
TWO_QUEUES = {f'queue{i}': dict(size=24, channels=CHANNELS, fed_by=f'view{i}') for i in (1, 2)}
CHANGES = dict(
    moco_v1=ONE_GROUP,
    moco_v2=ONE_GROUP,
    simclr=dict(joint=[('view1', 'view2')]),
    swav=dict(joint=[('view1', 'view2', 'local')], memory=TWO_QUEUES),
)
"""Changes that make our hosts compute as mmpretrain's do on one process: its shuffling has no effect there, and its
SimCLR and SwAV encode all crops of a size in one batch."""


def our_model(host: str, backbone: str = 'resnet', **changes) -> ContrastiveLearner:
    torch.manual_seed(0)
    model = hosts.build(hosts.HOSTS[host](None, backbone), **changes).double()
    # Biases and batch-norm weights start as constants; a test of agreement should not depend on that.
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    model.target.copy_weights(model.backbone, model.neck)
    return model


def their_model(host: str, ours: ContrastiveLearner) -> nn.Module:
    """Build mmpretrain's class with our online weights; both have their parameters in the same order."""
    # Tests that ran before in this process may have left mixcl as the default scope.
    with DefaultScope.overwrite_default_scope('mmpretrain'):
        theirs = MMPRETRAIN.build(dict(backbone=RESNET) | THEIRS[host]).double()
    copy_weights(ours.backbone, theirs.backbone)
    copy_weights(ours.neck, projector(theirs))
    if not isinstance(ours.predictor, nn.Identity):
        copy_weights(ours.predictor, theirs.head.predictor)
    if host == 'swav':
        copy_weights(ours.objective, theirs.head.loss_module)
    for name in ('momentum_encoder', 'encoder_k', 'target_net'):
        if hasattr(theirs, name):
            copy_weights(nn.ModuleList([ours.target.backbone, ours.target.neck]), getattr(theirs, name).module)
    return theirs


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    target.load_state_dict(dict(zip(target.state_dict(), source.state_dict().values(), strict=True)))


def projector(theirs: nn.Module) -> nn.Module:
    """Return the projector of ``theirs``; SwAV's neck lists its batch normalisation twice."""
    return getattr(theirs.neck, 'projection_neck', theirs.neck)


def trained_in(*parts: nn.Module) -> list[nn.Parameter]:
    return [p for part in parts for p in part.parameters() if p.requires_grad]


def queues_of(theirs: nn.Module) -> Tensor | list[Tensor]:
    """Return the queues of ``theirs``, (24, CHANNELS) each, from the oldest key to the newest."""
    if hasattr(theirs, 'queue'):
        return [theirs.queue.T.roll(-int(theirs.queue_ptr), dims=0)]
    queues = getattr(theirs.head.loss_module, 'queue', None)
    return [] if queues is None else reversed_batches(queues)


def reversed_batches(queues: Tensor) -> Tensor:
    """Reverse the order of the batches in queues: SwAV has the newest batch first, ours the oldest."""
    return queues.unflatten(1, (-1, BATCH)).flip(1).flatten(1, 2)


def total(outputs: dict[str, Tensor]) -> Tensor:
    return sum(value for name, value in outputs.items() if 'loss' in name)


@pytest.mark.parametrize('host', THEIRS)
def test_losses_gradients_and_queues_are_those_of_mmpretrain(host: str) -> None:
    ours = our_model(host, 'vit' if host == 'moco_v3' else 'resnet', **CHANGES.get(host, {}))
    theirs = their_model(host, ours)
    own_queues = list(ours.table.queues.values())
    if host == 'swav':
        theirs.head.loss_module.queue = reversed_batches(torch.stack([queue.vectors for queue in own_queues]))
    elif own_queues:
        theirs.queue.copy_(own_queues[0].vectors.T)
    trained = trained_in(ours.backbone, ours.neck, ours.predictor, ours.objective)
    others = trained_in(theirs.backbone, projector(theirs), theirs.head)
    assert len(trained) == len(trained_in(ours)) and len(others) == len(trained_in(theirs))
    assert len(trained) == len(others) > 10
    crops = hosts.crops(ours, BATCH)
    for _ in range(2 if ours.table.queues else 1):
        ours.begin_step(StepKey(seed=0, step=0, rank=0))
        our_loss, their_loss = total(ours(crops, mode='loss')), theirs(crops, mode='loss')['loss']
        assert our_loss.item() == pytest.approx(their_loss.item(), abs=1e-9)
        gradients = torch.autograd.grad(our_loss, trained), torch.autograd.grad(their_loss, others)
        torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-9)
    for queue, other in zip(own_queues, queues_of(theirs), strict=True):
        assert queue.position == 2 * BATCH
        torch.testing.assert_close(queue.vectors.roll(-2 * BATCH, dims=0), other)


def test_dino_written_out() -> None:
    """mmpretrain has no DINO; the reference is a double loop over teacher views and student crops, view by view."""
    ours = our_model('dino', 'vit')
    ours.objective.warmup_epochs = 31
    ours.begin_step(StepKey(seed=0, step=0, rank=0), epoch=15)  # half of the warm-up: (.04 + .07) / 2
    ours.objective.centre.normal_()
    crops, centre = hosts.crops(ours, BATCH), ours.objective.centre.clone()
    student = [ours.neck(ours.backbone(crop)[-1]) for crop in crops]
    with torch.no_grad():
        teacher = [ours.target.neck(ours.target.backbone(crop)[-1]) for crop in crops[:2]]
    terms = [
        -(((t - centre) / 0.055).softmax(1) * (s / 0.1).log_softmax(1)).sum(1).mean()
        for i, t in enumerate(teacher)
        for j, s in enumerate(student)
        if i != j
    ]
    assert len(terms) == 6
    torch.testing.assert_close(total(ours(crops, mode='loss')), sum(terms) / len(terms))
    torch.testing.assert_close(ours.objective.centre, 0.9 * centre + 0.1 * torch.cat(teacher).mean(0, keepdim=True))


def test_mixed_barlow_twins_written_out() -> None:
    """The reference is the formula of its authors, with Barlow Twins' standard deviation."""
    mixer = dict(type='Mixup', pairing='permutation', share=dict(type='Uniform'), per_sample=False)
    config = hosts.barlow_twins(mixer) | dict(streams=dict(mix1=dict(mix=('view1', 'view2'))))
    ours = hosts.build(config).double()
    crops = hosts.crops(ours, BATCH)
    ours.begin_step(StepKey(seed=0, step=3, rank=0))
    found = ours(crops, mode='loss')
    composition = ours.build_streams(crops)[0]['mix1'].composition
    partner, share = composition.sources[:, 1], composition.weights[0, 0].double()
    images = [*crops, share * crops[0] + (1 - share) * crops[1][partner]]
    with torch.no_grad():
        projected = [ours.neck(ours.backbone(each)[-1]) for each in images]
    one, two, mixed = ((z - z.mean(0)) / (z.var(0, correction=0) + 1e-5).sqrt() for z in projected)
    for name, keys in (('view1', one), ('view2', two)):
        wanted = share * one.T @ keys + (1 - share) * two[partner].T @ keys
        expected = 0.3 * ((mixed.T @ keys - wanted) / BATCH).square().sum()
        torch.testing.assert_close(found[f'loss_mix1_{name}'], expected, rtol=1e-5, atol=1e-7)
