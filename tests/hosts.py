"""The host frameworks as tables of terms, on networks small enough for tests.

Every host is a function of a mixer (None for the plain host) and the name of a backbone. Images are 8x8 pixels, local
crops 4x4.
"""

import functools
import tempfile
from pathlib import Path

import torch
from mmpretrain.structures import DataSample
from torch import Tensor

from mixcl.algorithms import ContrastiveLearner, PatchSamplingLearner
from mixcl.randomness import undisturbed_generators
from mixcl.registry import MODELS

BACKBONES = dict(
    vit=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=16, num_layers=2, num_heads=2, feedforward_channels=32),
        img_size=8,
        patch_size=2,
    ),
    # A residual branch that starts at zero would leave its weights without gradient.
    resnet=dict(type='mmpretrain.ResNet_CIFAR', depth=18, stem_channels=8, base_channels=8, zero_init_residual=False),
)
WIDTHS = dict(vit=16, resnet=64)
CHANNELS = 12
"""Width of projections and number of DINO's prototypes."""

LOCAL_CROPS = 2
MIXED = dict(mix1=dict(mix='view1'), mix2=dict(mix='view2'))
SECOND = dict(view1='view2', view2='view1', more_local='local')
"""The view that a view is mixed with where two are."""

EMA = dict(type='EMA', momentum=0.99)


def _symmetric(mixer: dict | None, weight: float) -> list[tuple]:
    queries = ('mix1', 'mix2') if mixer else ('view1', 'view2')
    return [(queries[0], 'view2', weight), (queries[1], 'view1', weight)]


def _mlp(**settings) -> dict:
    return dict(type='MLPHead', hidden_channels=24, out_channels=CHANNELS) | settings


def _model(
    backbone: str, neck: dict, mixer: dict | None, streams: dict = MIXED, predictor: dict | None = None, **parts
) -> dict:
    model = dict(
        type='ContrastiveLearner',
        backbone=BACKBONES[backbone],
        neck=dict(in_channels=WIDTHS[backbone], **neck),
        **parts,
    )
    if predictor is not None:
        model['predictor'] = dict(in_channels=CHANNELS, **predictor)
    return model if mixer is None else model | dict(mixer=mixer, streams=_of_views(mixer, streams))


def _of_views(mixer: dict, streams: dict) -> dict:
    """Return the streams mixed from two views each, for a mixer that needs them."""
    if mixer['type'] != 'ScaleMix':
        return streams
    return {name: dict(mix=(settings['mix'], SECOND[settings['mix']])) for name, settings in streams.items()}


def _queued(backbone: str, neck: dict, mixer: dict | None, temperature: float, **parts) -> dict:
    return _model(
        backbone,
        dict(type='PlainHead', out_channels=CHANNELS, **neck),
        mixer,
        dict(mix1=MIXED['mix1']),
        target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999, groups=2),
        objective=dict(type='InfoNCE', temperature=temperature, among='itself', gather=False, negatives=['queue']),
        memory=dict(queue=dict(size=24, channels=CHANNELS, fed_by='view2')),
        **parts,
    )


def moco_v1(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure MoCo v1; with a mixer, BSIM with one mixed query."""
    return _queued(backbone, {}, mixer, 0.07, terms=[('mix1' if mixer else 'view1', 'view2', 1.0)])


def moco_v2(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure MoCo v2; with a mixer, MixCo: mixtures share a forward pass with the views and see the batch's keys."""
    terms, parts = [('view1', 'view2', 1.0)], {}
    if mixer:
        terms.append(('mix1', 'view2', 1.0, dict(temperature=0.05, among='batch')))
        parts = dict(joint=[('view1', 'mix1')])
    return _queued(backbone, dict(hidden_channels=24), mixer, 0.2, terms=terms, **parts)


def moco_v3(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure MoCo v3; with a mixer, SDMP with three terms."""
    sdmp = [('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)]
    return _model(
        backbone,
        _mlp(num_layers=3),
        mixer,
        predictor=_mlp(),
        target=EMA,
        objective=dict(type='InfoNCE', temperature=0.2, temperature_scale=2),
        terms=sdmp if mixer else _symmetric(mixer, 1.0),
        swap_views=0.5 if mixer else 0.0,
    )


def simclr(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure SimCLR; with a mixer, BSIM.

    Its denominator then has the other view's keys and the same view's other mixtures.
    """
    objective = dict(type='InfoNCE', temperature=0.5, negatives=['own'])
    parts = dict(target=dict(type='Shared'), objective=objective, terms=_symmetric(mixer, 0.5))
    return _model(backbone, _mlp(last_affine=True, bias=True), mixer, **parts)


def byol(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure BYOL; with a mixer, BSIM."""
    head, objective = _mlp(last_norm=False, bias=True, last_bias=True), dict(type='NegativeCosine', scale=2.0)
    parts = dict(target=EMA, objective=objective, terms=_symmetric(mixer, 1.0))
    return _model(backbone, head, mixer, predictor=head, **parts)


def simsiam(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure SimSiam; with a mixer, BSIM."""
    objective = dict(type='NegativeCosine', scale=1.0)
    parts = dict(target=dict(type='StopGrad'), objective=objective, terms=_symmetric(mixer, 0.5))
    predictor = _mlp(hidden_channels=6, last_norm=False, last_bias=True)
    return _model(backbone, _mlp(hidden_channels=CHANNELS, num_layers=3), mixer, predictor=predictor, **parts)


def dino(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure DINO; with a mixer, SDMP with half of the local crops mixed.

    Pairs (teacher view, other student crop) count alike.
    """
    views = dict(view1=1, view2=1, local=LOCAL_CROPS)
    pairs = 2 + 2 * LOCAL_CROPS
    terms = _symmetric(None, 1 / pairs) + [('local', key, LOCAL_CROPS / pairs) for key in ('view1', 'view2')]
    parts = {}
    if mixer:
        views['more_local'] = LOCAL_CROPS
        terms += [('local_mix', key, 0.5) for key in ('view1', 'view2', 'mix1', 'mix2')]
        parts = dict(joint=[('local', 'local_mix')])
    return _model(
        backbone,
        dict(type='DINOHead', out_channels=CHANNELS, hidden_channels=24, bottleneck_channels=8),
        mixer,
        dict(local_mix=dict(mix='more_local')) | MIXED,
        target=dict(type='EMA', momentum=0.996),
        objective=dict(type='DINODistillation', num_prototypes=CHANNELS),
        views=views,
        terms=terms,
        **parts,
    )


def ibot(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure iBOT: :func:`dino` with views masked in blocks and terms between patches, also of mixtures."""
    model = dino(mixer, backbone)
    blocks = dict(mask=dict(share=(0.3, 0.6), probability=0.7))
    rows = [(view, view, 0.5, dict(level='patch')) for view in ('view1', 'view2')]
    if mixer and mixer['type'] in ('PatchMix', 'CutMix', 'RegionSwap', 'MixMask'):
        rows.append(('mix1', 'view1', 0.5, dict(level='patch')))
    return model | dict(
        backbone=BACKBONES[backbone] | dict(mask_token=True),
        streams=model.get('streams', {}) | dict(view1=blocks, view2=blocks),
        patches=dict(objective=dict(type='DINODistillation', num_prototypes=CHANNELS)),
        terms=[*model['terms'], *rows],
    )


def swav(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure SwAV; with a mixer, BSIM and a mixture's code.

    Pairs (code of a view, other crop) count alike; one of the codes is assigned together with a queue.
    """
    pairs = 2 + 2 * LOCAL_CROPS
    terms = _symmetric(mixer, 1 / pairs) + [('local', key, LOCAL_CROPS / pairs) for key in ('view1', 'view2')]
    return _model(
        backbone,
        _mlp(last_norm=False, bias=True, last_bias=True),
        mixer,
        target=dict(type='StopGrad'),
        objective=dict(type='SwAV', channels=CHANNELS, num_prototypes=20, queue_from=0),
        memory=dict(queue=dict(size=24, channels=CHANNELS, fed_by='view2')),
        views=dict(view1=1, view2=1, local=LOCAL_CROPS),
        terms=[*terms, ('mix2', 'mix1', 0.5)] if mixer else terms,
    )


def barlow_twins(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure Barlow Twins; with a mixer, mixed Barlow Twins, whose mixtures are of one view unless they need two."""
    terms = [('view1', 'view2', 1.0)]
    if mixer:
        terms += [('mix1', key, 0.3, dict(to='mixture')) for key in ('view1', 'view2')]
    return _model(
        backbone,
        _mlp(last_norm=False),
        mixer,
        dict(mix1=MIXED['mix1']),
        target=dict(type='Shared'),
        objective=dict(type='CrossCorrelation', off_diagonal=0.1),
        terms=terms,
    )


@functools.cache
def teacher_file() -> str:
    """Write the weights of a teacher, the same in every process, and return the file."""
    with undisturbed_generators():
        torch.manual_seed(5)
        model = MODELS.build(BACKBONES['vit'])
        model.init_weights()
    path = Path(tempfile.mkdtemp(), 'teacher.pth')
    torch.save({'state_dict': {f'backbone.{name}': value for name, value in model.state_dict().items()}}, path)
    return str(path)


def distilled(mixer: dict | None = None, backbone: str = 'vit') -> dict:
    """Configure distillation from a ViT; with a mixer, mixtures are pulled to both images and to their own features."""
    mixed = [('mix1', 'view1', 0.5), ('mix1', 'mix1', 0.5, dict(target='owner'))]
    return _model(
        backbone,
        dict(type='MLPHead', hidden_channels=24, last_norm=False, bias=True, last_bias=True),
        mixer,
        dict(mix1=MIXED['mix1']),
        target=dict(type='Teacher', backbone=BACKBONES['vit'], pretrained=teacher_file()),
        objective=dict(type='Similarity'),
        memory=dict(queue=dict(size=24, fed_by='view1')),
        views=dict(view1=1, view2=1) if mixer and mixer['type'] == 'ScaleMix' else dict(view1=1),
        terms=[('view1', 'view1', 1.0), *(mixed if mixer else [])],
    )


def aps(**parts: object) -> dict:
    """Configure APS, whose encoders see some of the patches (:func:`samples`)."""
    model = moco_v3() | dict(type='PatchSamplingLearner', objective=dict(type='InfoNCE', temperature=0.1))
    return model | parts


def dropping(config: dict, keep: float = 0.5) -> dict:
    """Return the config with a share of the patches kept where streams pass the online encoder as queries."""
    streams = dict(config.get('streams', {}))
    for query in sorted({query for query, *_ in config['terms']}):
        streams[query] = streams.get(query, {}) | dict(keep=keep)
    return config | dict(streams=streams)


HOSTS = {
    host.__name__: host
    for host in (moco_v1, moco_v2, moco_v3, simclr, byol, simsiam, dino, ibot, swav, distilled, barlow_twins)
}

MIXERS = dict(
    patchmix=dict(type='PatchMix', num_mix=3, patch_size=2),
    mixup=dict(type='Mixup', pairing='halves', share=dict(type='Uniform')),
    cutmix=dict(type='CutMix', pairing='derangement', per_sample=False),
    resizemix=dict(type='ResizeMix'),
    original_resizemix=dict(type='OriginalResizeMix', pairing='permutation'),
    region_swap=dict(type='RegionSwap', cell=2, cells=(1, 2)),
    mixmask=dict(type='MixMask'),
    scalemix=dict(type='ScaleMix'),
    stitch=dict(type='Stitch'),
    choice=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
)
"""Every mixer, with the pairing of a paper that uses it."""

SHIFTS = dict(
    moco_v3=set(),
    simclr={'neck.fc0.bias'},
    byol={'neck.fc0.bias', 'neck.fc1.bias', 'predictor.fc0.bias'},
    simsiam=set(),
    barlow_twins=set(),
    swav={'neck.fc0.bias'},
    distilled={'neck.fc0.bias'},
)
"""Biases that a batch normalisation cancels, by host whose projector starts with a linear layer and batch norm."""


def without_gradient(host: str, backbone: str) -> set[str]:
    """Return parameters that shift all rows alike right before a batch norm: the loss does not depend on them."""
    before_neck = {'backbone.ln1.bias'} if host in SHIFTS and backbone == 'vit' else set()
    return SHIFTS.get(host, set()) | before_neck


def build(config: dict, **changes) -> ContrastiveLearner:
    model = MODELS.build(config | changes)
    model.init_weights()
    return model


def samples(model: ContrastiveLearner, batch: int, seed: int = 0) -> list[DataSample] | None:
    """Return what a loader would give beside the crops: 5 of 16 patches of both views, for a model that samples."""
    if not isinstance(model, PatchSamplingLearner):
        return None
    random = torch.rand(batch, 2, 16, generator=torch.Generator().manual_seed(seed))
    return [DataSample(tokens=tokens[:, :5]) for tokens in random.argsort(dim=2)]


def crops(model: ContrastiveLearner, batch: int, seed: int = 0) -> list[Tensor]:
    """Return the crops that a loader would give, in float64."""
    random = torch.Generator().manual_seed(seed)
    sizes = [4 if 'local' in name else 8 for name, count in model.recipe.views.items() for _ in range(count)]
    return [torch.randn(batch, 3, size, size, generator=random, dtype=torch.float64) for size in sizes]
