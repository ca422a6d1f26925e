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
    return dict(
        type='LatentPredictHead', predictor=mlp(CHANNELS, *args, **settings), loss=dict(type='CosineSimilarityLoss')
    )


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
    # The paper's 2 - 2 cos per direction is mmpretrain's 2 * (-cos) and our scale 2 but for a constant of 4 in all.
    byol=dict(type='BYOL', neck=neck(**NO_LAST_NORM), head=predicting(**NO_LAST_NORM)),
    simsiam=dict(
        type='SimSiam',
        neck=neck(CHANNELS, num_layers=3, **NO_AFFINE),
        head=predicting(6, with_last_bn=False, with_last_bias=True),
    ),
)
ONE_GROUP = dict(target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999, groups=1))
CHANGES = dict(moco_v1=ONE_GROUP, moco_v2=ONE_GROUP, simclr=dict(joint=[('view1', 'view2')]))
"""mmpretrain shuffles on one process without effect. Its SimCLR encodes both views in one batch."""


def our_model(host: str, backbone: str = 'resnet', **changes) -> ContrastiveLearner:
    torch.manual_seed(0)
    model = hosts.build(hosts.HOSTS[host](None, backbone), **changes).double()
    # Biases and batch-norm weights start as constants; a test of agreement should not depend on that.
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    model.target.copy_weights(model.backbone, model.neck)
    return model


def their_model(host: str, ours: ContrastiveLearner) -> nn.Module:
    """mmpretrain's class with our online weights; parameters have one order in both."""
    # Tests that ran before in this process may have left mixcl as the default scope.
    with DefaultScope.overwrite_default_scope('mmpretrain'):
        theirs = MMPRETRAIN.build(dict(backbone=RESNET) | THEIRS[host]).double()
    copy_weights(ours.backbone, theirs.backbone)
    copy_weights(ours.neck, theirs.neck)
    if not isinstance(ours.predictor, nn.Identity):
        copy_weights(ours.predictor, theirs.head.predictor)
    for name in ('momentum_encoder', 'encoder_k', 'target_net'):
        if hasattr(theirs, name):
            copy_weights(nn.ModuleList([ours.target.backbone, ours.target.neck]), getattr(theirs, name).module)
    return theirs


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    target.load_state_dict(dict(zip(target.state_dict(), source.state_dict().values(), strict=True)))


def total(outputs: dict[str, Tensor]) -> Tensor:
    return sum(value for name, value in outputs.items() if 'loss' in name)


@pytest.mark.parametrize('host', THEIRS)
def test_losses_gradients_and_queues_are_those_of_mmpretrain(host: str) -> None:
    ours = our_model(host, 'vit' if host == 'moco_v3' else 'resnet', **CHANGES.get(host, {}))
    theirs = their_model(host, ours)
    for queue in ours.queues.values():
        theirs.queue.copy_(queue.vectors.T)
    trained = [p for p in ours.parameters() if p.requires_grad]
    others = [p for p in theirs.parameters() if p.requires_grad]
    assert len(trained) == len(others) > 10
    crops = hosts.crops(ours, BATCH)
    for _ in range(2 if ours.queues else 1):
        ours.begin_step(StepKey(seed=0, step=0, rank=0))
        our_loss, their_loss = total(ours(crops, mode='loss')), theirs(crops, mode='loss')['loss']
        assert our_loss.item() == pytest.approx(their_loss.item(), abs=1e-9)
        gradients = torch.autograd.grad(our_loss, trained), torch.autograd.grad(their_loss, others)
        torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-9)
    for queue in ours.queues.values():
        torch.testing.assert_close(queue.vectors.T, theirs.queue)
        assert queue.position == theirs.queue_ptr == 2 * BATCH


def test_dino_written_out() -> None:
    """mmpretrain has no DINO: the double loop over teacher views and student crops, view by view."""
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
