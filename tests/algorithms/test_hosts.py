"""Plain hosts equal mmpretrain's own classes on the same weights and images: losses, and what a step leaves behind."""

import hosts
import pytest
import torch
from mmengine.registry import DefaultScope
from mmpretrain.registry import MODELS as MMPRETRAIN
from torch import Tensor, nn
from torch.nn import functional

from mixcl.algorithms import ContrastiveLearner, StepKey
from mixcl.losses import Queue

BATCH = 6
BATCH_NORM = dict(type='BN1d')
"""mmpretrain's necks ask for SyncBN, which refuses CPU tensors."""


def our_model(host: str, backbone: str = 'resnet', **changes) -> ContrastiveLearner:
    torch.manual_seed(0)
    model = hosts.build(hosts.HOSTS[host](None, backbone), **changes).double()
    # Biases and batch-norm weights start as constants; a test of agreement should not depend on that.
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    model.target.copy_weights(model.backbone, model.neck)
    return model


def their_model(type_: str, ours: ContrastiveLearner, backbone: dict, neck: dict, head: dict, **rest) -> nn.Module:
    """mmpretrain's class with our online weights; parameters have one order in both."""
    # Tests that ran before in this process may have left mixcl as the default scope.
    with DefaultScope.overwrite_default_scope('mmpretrain'):
        config = dict(type=type_, backbone=MMPRETRAIN.build(backbone), neck=neck, head=head, **rest)
        theirs = MMPRETRAIN.build(config).double()
    copy_weights(ours.backbone, theirs.backbone)
    copy_weights(ours.neck, theirs.neck)
    if not isinstance(ours.predictor, nn.Identity):
        copy_weights(ours.predictor, theirs.head.predictor)
    for name in ('momentum_encoder', 'encoder_k', 'target_net'):
        if hasattr(theirs, name):
            copy_weights(nn.ModuleList([ours.target.backbone, ours.target.neck]), getattr(theirs, name).module)
    return theirs


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    values = list(source.state_dict().values())
    names = list(target.state_dict())
    target.load_state_dict(dict(zip(names, values, strict=True)))


def total(outputs: dict[str, Tensor]) -> Tensor:
    return sum(value for name, value in outputs.items() if 'loss' in name)


def agree(ours: ContrastiveLearner, theirs: nn.Module) -> None:
    """Losses and gradients of all online weights."""
    crops = hosts.crops(ours, BATCH)
    ours.begin_step(StepKey(seed=0, step=0, rank=0))
    our_loss, their_loss = total(ours(crops, mode='loss')), theirs(crops, mode='loss')['loss']
    assert our_loss.item() == pytest.approx(their_loss.item(), abs=1e-9)
    our_loss.backward()
    their_loss.backward()
    trained = [p for p in ours.parameters() if p.requires_grad]
    others = [p for p in theirs.parameters() if p.requires_grad]
    assert len(trained) == len(others) > 10
    for parameter, other in zip(trained, others, strict=True):
        torch.testing.assert_close(parameter.grad, other.grad, rtol=1e-6, atol=1e-9)


def nonlinear(in_channels: int, hid_channels: int = 24, **settings) -> dict:
    return dict(
        type='NonLinearNeck',
        in_channels=in_channels,
        hid_channels=hid_channels,
        out_channels=hosts.CHANNELS,
        norm_cfg=BATCH_NORM,
        with_avg_pool=False,
        **settings,
    )


def resnet() -> dict:
    return hosts.BACKBONES['resnet'] | dict(type='ResNet_CIFAR')


def their_neck(**settings) -> dict:
    return nonlinear(hosts.WIDTHS['resnet'], **settings) | dict(with_avg_pool=True)


def test_moco_v3_on_a_vision_transformer() -> None:
    ours = our_model('moco_v3', 'vit')
    plain = dict(with_last_bn_affine=False)
    settings = {name: value for name, value in hosts.BACKBONES['vit'].items() if name != 'type'}
    theirs = their_model(
        'MoCoV3',
        ours,
        dict(type='MoCoV3ViT', **settings),
        nonlinear(hosts.WIDTHS['vit'], num_layers=3, **plain),
        dict(
            type='MoCoV3Head',
            predictor=nonlinear(hosts.CHANNELS, **plain),
            loss=dict(type='CrossEntropyLoss', loss_weight=2 * 0.2),
            temperature=0.2,
        ),
    )
    agree(ours, theirs)


@pytest.mark.parametrize(('host', 'temperature'), [('moco_v1', 0.07), ('moco_v2', 0.2)])
def test_moco_with_a_queue(host: str, temperature: float) -> None:
    """mmpretrain shuffles on one process without effect; one group of ours is the same."""
    ours = our_model(host, target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999, groups=1))
    kinds = dict(
        moco_v1=dict(type='LinearNeck', gap_dim=2, norm_cfg=None), moco_v2=dict(type='MoCoV2Neck', hid_channels=24)
    )
    neck = dict(in_channels=hosts.WIDTHS['resnet'], out_channels=hosts.CHANNELS, **kinds[host])
    theirs = their_model(
        'MoCo',
        ours,
        resnet(),
        neck,
        dict(type='ContrastiveHead', loss=dict(type='CrossEntropyLoss'), temperature=temperature),
        queue_len=24,
        feat_dim=hosts.CHANNELS,
    )
    queue: Queue = ours.memory['queue']
    theirs.queue.copy_(queue.vectors.T)
    for _ in range(2):
        for parameter in [*ours.parameters(), *theirs.parameters()]:
            parameter.grad = None
        agree(ours, theirs)
    torch.testing.assert_close(queue.vectors.T, theirs.queue)
    assert queue.position == theirs.queue_ptr == 2 * BATCH


def test_simclr() -> None:
    """mmpretrain encodes both views in one batch, so that they share batch statistics: joint here."""
    ours = our_model('simclr', joint=[('view1', 'view2')])
    theirs = their_model(
        'SimCLR',
        ours,
        resnet(),
        their_neck(with_bias=True),
        dict(type='ContrastiveHead', loss=dict(type='CrossEntropyLoss'), temperature=0.5),
    )
    agree(ours, theirs)


def test_byol() -> None:
    """The paper's 2 - 2 cos per direction is mmpretrain's 2 * (-cos) and our scale 2 but for a constant of 4 in all."""
    ours = our_model('byol')
    head = dict(with_bias=True, with_last_bias=True, with_last_bn=False)
    theirs = their_model(
        'BYOL',
        ours,
        resnet(),
        their_neck(**head),
        dict(
            type='LatentPredictHead',
            predictor=nonlinear(hosts.CHANNELS, **head),
            loss=dict(type='CosineSimilarityLoss'),
        ),
    )
    agree(ours, theirs)


def test_simsiam() -> None:
    ours = our_model('simsiam')
    theirs = their_model(
        'SimSiam',
        ours,
        resnet(),
        their_neck(hid_channels=hosts.CHANNELS, num_layers=3, with_last_bn_affine=False),
        dict(
            type='LatentPredictHead',
            predictor=nonlinear(hosts.CHANNELS, 6, with_last_bn=False, with_last_bias=True),
            loss=dict(type='CosineSimilarityLoss'),
        ),
    )
    agree(ours, theirs)


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
    loss = total(ours(crops, mode='loss'))
    torch.testing.assert_close(loss, sum(terms) / len(terms))
    torch.testing.assert_close(ours.objective.centre, 0.9 * centre + 0.1 * torch.cat(teacher).mean(0, keepdim=True))


def test_a_step_on_one_process_splits_the_key_statistics_into_groups() -> None:
    """With two groups, the keys are those of two half batches, in an order that the step decides."""
    ours = our_model('moco_v2')
    ours.begin_step(StepKey(seed=0, step=4, rank=0))
    images = hosts.crops(ours, BATCH)[1]
    before = ours.memory['queue'].vectors.clone()
    ours(hosts.crops(ours, BATCH), mode='loss')
    keys = ours.memory['queue'].vectors[:BATCH]
    assert not torch.equal(keys, before[:BATCH])

    @torch.no_grad()
    def keys_of(rows: list[int]) -> Tensor:
        return functional.normalize(ours.target.neck(ours.target.backbone(images[rows])[-1]), dim=1)

    halves = [(0, *rest) for rest in torch.combinations(torch.arange(1, BATCH), 2).tolist()]
    others = [[row for row in range(BATCH) if row not in half] for half in halves]
    found = [
        torch.allclose(keys_of(list(half)), keys[list(half)]) and torch.allclose(keys_of(other), keys[other])
        for half, other in zip(halves, others, strict=True)
    ]
    assert sum(found) == 1
    assert halves[found.index(True)] not in ((0, 1, 2), (0, 2, 4)), 'the halves must mix the batch'
