"""Terms between patches: against loops over rows and cells, against formulas written out, and against lightly."""

import dataclasses

import hosts
import pytest
import torch
from backbones.small_models import MODELS_AND_WIDTHS
from losses.test_swav import waves
from torch import Tensor
from torch.nn import functional

from mixcl.algorithms import ContrastiveLearner, StepKey, StreamRecipe
from mixcl.algorithms.masking import BlockMasks
from mixcl.algorithms.patches import PatchLevel
from mixcl.algorithms.terms import Term
from mixcl.encoders.stream import RowsOf, Stream
from mixcl.encoders.tokens import tokens_of
from mixcl.errors import UserError
from mixcl.losses import DINODistillation, NegativeCosine
from mixcl.registry import MIXERS

BATCH = 6
SIDE, PATCH = 24, 6
CELLS = (SIDE // PATCH) ** 2
KEEPING_PLACE = dict(
    patchmix=dict(patch_size=4), cutmix=dict(per_sample=True), region_swap=dict(cell=4, cells=(1, 2, 3))
)
"""Mixers that keep patches in place, with parts that are no multiples of the backbone's patches."""
HALVES = dict(pairing='halves')
MASK = dict(mask=dict(share=(0.3, 0.6), probability=0.7))
STEP = StepKey(seed=0, step=3, rank=0)


def chosen(recipe: StreamRecipe, crops: list[Tensor], terms: list[Term], tokens: int | None = None, rank: int = 0):
    """Return the streams of a step as the online encoder sees them, its query patches and its key patches."""
    whole = recipe.build(crops, {name for term in terms for name in (term.query, term.key)}, StepKey(0, 1, rank))
    online = recipe.hidden(whole, PATCH, StepKey(0, 1, rank))
    level = PatchLevel(terms, NegativeCosine(), tokens)
    return online, *level.choose(online, whole, grid_of, torch.Generator().manual_seed(2))


def grid_of(stream: Stream) -> tuple[int, int]:
    return stream.grid(PATCH)


def patches(stream: str) -> RowsOf:
    return RowsOf(stream, 'patch')


# ----- what a patch finds -----


@pytest.mark.parametrize(('name', 'other'), [*((name, {}) for name in KEEPING_PLACE), ('cutmix', HALVES)])
@pytest.mark.parametrize('tokens', [None, 5])
def test_a_patch_of_a_mixture_finds_what_its_pixels_show(name: str, other: dict, tokens: int | None) -> None:
    """Every pixel of the images shows the number of its source, so that shares can be counted in pixels."""
    mixer = MIXERS.build(hosts.MIXERS[name] | KEEPING_PLACE[name] | other)
    assert mixer.keeps_place
    recipe = StreamRecipe(dict(view1=1), dict(mix1=dict(mix='view1')), mixer)
    crop = torch.arange(BATCH)[:, None, None, None].expand(-1, 3, SIDE, SIDE).float()
    term = Term('mix1', 'view1', 1.0, level='patch')
    streams, asking, found = chosen(recipe, [crop], [term], tokens, rank=2)
    own, keys = asking[patches('mix1')], found[patches('view1')]
    assert len(own.cells) == len(streams['mix1'].images) * (tokens or CELLS)
    assert len(keys.cells) == BATCH * (tokens or CELLS)
    target = term.soft_target(own.composition, keys.composition, 0).dense(len(keys.cells))
    expected = torch.zeros_like(target)
    for row, asks in enumerate(own.cells.tolist()):
        y, x = asks % CELLS // (SIDE // PATCH) * PATCH, asks % CELLS % (SIDE // PATCH) * PATCH
        shown = streams['mix1'].images[asks // CELLS, 0, y : y + PATCH, x : x + PATCH].flatten().round().long()
        for column, key in enumerate(keys.cells.tolist()):
            if key % CELLS == asks % CELLS:
                expected[row, column] = (shown == key // CELLS).float().mean()
    torch.testing.assert_close(target, expected)
    assert tokens or (expected.max(dim=1).values < 1).any(), 'no patch lies across a border'


def test_masked_patches_of_a_view_ask_and_find_themselves() -> None:
    recipe = StreamRecipe(dict(view1=1, view2=1), dict(view1=MASK), None)
    crops = [torch.randn(BATCH, 3, SIDE, SIDE) for _ in range(2)]
    term = Term('view1', 'view1', 1.0, level='patch')
    streams, asking, found = chosen(recipe, crops, [term])
    mask, (own,), (keys,) = streams['view1'].mask.flatten(1), asking.values(), found.values()
    assert 0 < mask.any(dim=1).sum() < BATCH
    assert own.cells.tolist() == mask.flatten().nonzero()[:, 0].tolist()
    target = term.soft_target(own.composition, keys.composition, 0)
    assert torch.equal(target.dense(len(mask.nonzero())), torch.eye(len(mask.nonzero())))
    losses = torch.rand(len(mask.nonzero()))
    table = torch.zeros(mask.shape).masked_scatter(mask, losses)
    by_image = [row[row > 0].mean() if row.any() else torch.tensor(0.0) for row in table]
    torch.testing.assert_close((losses * own.share).sum(), torch.stack(by_image).mean())

    _, few, _ = chosen(recipe, crops, [term], tokens=2)
    counts = few[patches('view1')].cells.div(CELLS, rounding_mode='floor').bincount(minlength=BATCH)
    assert counts.tolist() == [min(2, int(row.sum())) for row in mask]


# ----- masks -----


def test_block_masks_have_the_share_of_the_paper() -> None:
    masks = BlockMasks()(4000, (14, 14), torch.Generator().manual_seed(0))
    share = masks.flatten(1).float().mean(dim=1)
    masked = share[share > 0]
    assert len(masked) / 4000 == pytest.approx(0.5, abs=0.03)
    assert share.max() <= 0.5 and masked.mean() == pytest.approx(0.3, abs=0.03)


# ----- losses -----


def learner(**changes) -> ContrastiveLearner:
    torch.manual_seed(0)
    model = hosts.build(hosts.ibot(), **changes).double()
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    model.target.copy_weights(model.backbone, model.neck)
    model.target.backbone.requires_grad_(False)
    return model


def test_ibot_written_out() -> None:
    """The reference is a double loop over teacher views and student crops; a view meets itself in its masked tokens."""
    ours = learner()
    ours.begin_step(STEP, epoch=15)
    for objective in (ours.objective, ours.patches.objective):
        objective.warmup_epochs = 31
        objective.begin_step(15)  # half of the warm-up: (.04 + .07) / 2
        objective.centre.normal_()
    crops, centres = hosts.crops(ours, BATCH), (ours.objective.centre.clone(), ours.patches.objective.centre.clone())
    masks = [stream.mask for name, stream in ours.build_streams(crops)[0].items() if 'view' in name]
    student = [ours.backbone(crop, mask=mask, out_type='raw')[-1] for crop, mask in zip(crops, masks, strict=False)]
    student += [ours.backbone(crop, out_type='raw')[-1] for crop in crops[2:]]
    with torch.no_grad():
        teacher = [ours.target.neck(every_token(ours.target.backbone, crop)) for crop in crops[:2]]
    student = [ours.neck(tokens.flatten(0, 1)) for tokens in student]
    student = [(s / 0.1).log_softmax(1).unflatten(0, (BATCH, -1)) for s in student]
    teacher = [t.unflatten(0, (BATCH, -1)) for t in teacher]
    of_class, of_patches = [], []
    for i, t in enumerate(teacher):
        for j, s in enumerate(student):
            if i == j:
                every = -(((t[:, 1:] - centres[1]) / 0.055).softmax(2) * s[:, 1:]).sum(2)
                mask = masks[i].flatten(1)
                of_patches.append(((every * mask).sum(1) / mask.sum(1).clamp_min(1)).mean())
            else:
                of_class.append(-(((t[:, 0] - centres[0]) / 0.055).softmax(1) * s[:, 0]).sum(1).mean())
    expected = sum(of_class) / len(of_class) + sum(of_patches) / len(of_patches)
    losses = ours(crops, mode='loss')
    torch.testing.assert_close(sum(value for name, value in losses.items() if 'loss' in name), expected)
    seen = torch.cat([t[:, 1:][mask.flatten(1)] for t, mask in zip(teacher, masks, strict=True)])
    torch.testing.assert_close(ours.patches.objective.centre, 0.9 * centres[1] + 0.1 * seen.mean(dim=0, keepdim=True))


def every_token(backbone: torch.nn.Module, crop: Tensor) -> Tensor:
    return backbone(crop, out_type='raw')[-1].flatten(0, 1)


def test_a_patch_term_of_patchmix_written_out() -> None:
    """Queries are drawn places of each mixture, keys the same places of all views; the positive is the view shown."""
    config = hosts.moco_v3(hosts.MIXERS['patchmix'])
    config['terms'] = [*config['terms'], ('mix2', 'view2', 0.7, dict(level='patch', temperature=0.3))]
    torch.manual_seed(0)
    ours = hosts.build(config, swap_views=0.0, patches=dict(tokens=3)).double().eval()
    ours.begin_step(STEP)
    crops = hosts.crops(ours, BATCH)
    streams, whole = ours.build_streams(crops)
    asking, _ = ours.rows(streams, whole)
    places = asking[patches('mix2')].cells[:3]
    owner = streams['mix2'].composition.sources.take_along_dim(
        streams['mix2'].composition.shown.flatten(1)[:, places].long(), dim=1
    )  # (BATCH, 3), the image whose patch is shown
    queries = ours.backbone(streams['mix2'].images, out_type='raw')[-1][:, 1:][:, places]
    queries = functional.normalize(ours.predictor(ours.neck(queries.flatten(0, 1))), dim=1)
    keys = ours.target.backbone(crops[1], out_type='raw')[-1][:, 1:][:, places]
    keys = functional.normalize(ours.target.neck(keys.flatten(0, 1)), dim=1)
    logits = queries @ keys.T / 0.3
    labels = (owner * 3 + torch.arange(3)).flatten()
    expected = 0.7 * 2 * 0.3 * functional.cross_entropy(logits, labels)
    torch.testing.assert_close(ours(crops, mode='loss')['loss_mix2_view2_patch'], expected)


@pytest.mark.parametrize('name', ['vit', 'dinov3', 'convnext', 'swin', 'resnet', 'own'])
def test_cells_of_any_backbone_ask_and_find(name: str) -> None:
    """Queries are drawn cells of each mixture, keys the same cells of all views, by shares counted in pixels."""
    config, width = MODELS_AND_WIDTHS[name]
    host = hosts.moco_v3(hosts.MIXERS['cutmix'])
    host |= dict(backbone=config, neck=host['neck'] | dict(in_channels=width), swap_views=0.0)
    host['terms'] = [*host['terms'], ('mix2', 'view2', 0.7, dict(level='patch', temperature=0.3))]
    torch.manual_seed(0)
    ours = hosts.build(host, patches=dict(tokens=2)).double().eval()
    side = 96 if name in ('resnet', 'convnext') else 32
    crops = [torch.randn(BATCH, 3, side, side, dtype=torch.float64) for _ in range(2)]
    ours.check_batch([crop[0] for crop in crops], BATCH)
    ours.begin_step(STEP)
    streams, whole = ours.build_streams(crops)
    asking, finding = ours.rows(streams, whole)
    own, keys = asking[patches('mix2')], finding[patches('view2')]
    assert len(own.cells) == 2 * BATCH
    queries = tokens_of(ours.backbone, streams['mix2'].images).flatten(0, 2)[own.cells]
    assert queries.shape == (2 * BATCH, width)
    queries = functional.normalize(ours.predictor(ours.neck(queries)), dim=1)
    found = tokens_of(ours.target.backbone, crops[1])
    found = functional.normalize(ours.target.neck(found.flatten(0, 2)[keys.cells]), dim=1)
    rows, columns = ours.grids[side, side]
    shown = streams['mix2'].composition.shown.double()  # 1 where the second image of a mixture is
    area = functional.adaptive_avg_pool2d(shown[:, None], (rows, columns)).flatten()[own.cells]
    second = streams['mix2'].composition.sources[:, 1].repeat_interleave(2)
    first = streams['mix2'].composition.sources[:, 0].repeat_interleave(2)
    places = torch.arange(2).repeat(BATCH)
    logs = (queries @ found.T / 0.3).log_softmax(dim=1)
    picked = [logs.gather(1, (image * 2 + places)[:, None])[:, 0] for image in (first, second)]
    expected = -0.7 * 2 * 0.3 * ((1 - area) * picked[0] + area * picked[1]).mean()
    torch.testing.assert_close(ours(crops, mode='loss')['loss_mix2_view2_patch'], expected)


@pytest.mark.parametrize('warmed', [False, True])
def test_values_are_those_of_lightly(warmed: bool) -> None:
    """Two values of lightly 1.6.0 (``IBOTPatchLoss``) on 4 outputs of 5 masked tokens; the centre moves in between."""
    expected = LIGHTLY[warmed]
    recipe = StreamRecipe(dict(view1=1, view2=1), dict(view1=MASK), None)
    objective = DINODistillation(4, centred_by=('view1',), teacher_temperature=0.05).double()
    term = Term('view1', 'view1', 1.0, level='patch')
    level = PatchLevel([term], objective, None)
    whole = recipe.build([torch.zeros(3, 3, 12, 12)] * 2, {'view1'}, STEP)
    masks = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0]]).view(3, 2, 2).bool()
    online = dict(view1=dataclasses.replace(whole['view1'], mask=masks))
    (own,), (keys,) = (chosen.values() for chosen in level.choose(online, whole, grid_of, torch.Generator()))
    if warmed:
        objective.observe(dict(view1=waves(5, 2)))
    target = term.soft_target(own.composition, keys.composition, 0)
    rows = objective(objective.prepare_query(waves(5, 0)), objective.prepare_key(waves(5, 1)), target)
    assert (rows * own.share).sum().item() == pytest.approx(expected, abs=1e-7)


LIGHTLY = {False: 0.865698838913, True: 1.053865931529}


def test_a_step_in_which_nothing_is_masked_has_no_loss_of_patches_and_keeps_the_centre() -> None:
    never = dict(mask=dict(share=(0.3, 0.6), probability=0.0))
    ours = learner(streams=dict(view1=never, view2=never))
    ours.begin_step(STEP)
    losses = ours(hosts.crops(ours, BATCH), mode='loss')
    assert losses['loss_view1_view1_patch'] == 0 and not ours.patches.objective.centre.any()
    sum(value for name, value in losses.items() if 'loss' in name).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in ours.parameters() if p.requires_grad)


# ----- refusals -----

PATCH_ROW = dict(level='patch')
PATCHMIX, MIX2 = hosts.moco_v3(hosts.MIXERS['patchmix']) | dict(patches=dict(tokens=4)), ('mix2', 'view2')
NCE = dict(type='InfoNCE')
OF_PATCHMIX = {
    'of a Mixup mixture move or blend': dict(mixer=dict(type='Mixup')),
    'of a ResizeMix mixture move': dict(mixer=dict(type='ResizeMix')),
    'of a Choice mixture move': dict(mixer=hosts.MIXERS['choice']),
    'mix2 has keep': dict(streams=hosts.MIXED | dict(mix2=dict(mix='view2', keep=0.5))),
    'set tokens, the number': dict(patches=dict()),
    'tokens must be a whole number of at least 1': dict(patches=dict(tokens=0)),
    'model.patches is missing': dict(patches=None),
    'ShuffledEMA does not give': dict(target=dict(type='ShuffledEMA', groups=2)),
    'has to see the whole view2': dict(
        target=dict(type='Shared'), streams=hosts.MIXED | dict(view2=dict(keep=0.5)), swap_views=0.0,
        terms=[('view2', 'view1', 1.0)],
    ),
    "patches={'token': 3} is not understood": dict(patches=dict(token=3)),
    'patches=5 is not understood': dict(patches=5),
    'rows between patches take no negatives': dict(patches=dict(objective=NCE | dict(negatives=['view1']), tokens=2)),
}  # fmt: skip
"""Changes of PatchMix with a row between patches."""
OF_IBOT = {
    'has to see the whole view1': dict(target=dict(type='StopGrad')),
    "has mask='x'": dict(streams=dict(view1=dict(mask='x'))),
    'has share=0.3': dict(streams=dict(view1=dict(mask=dict(share=0.3)))),
    'InfoNCE gathers the keys of all processes': dict(patches=dict(objective=NCE, tokens=2)),
    'view1 has a mask, but ContrastiveViT has no mask token': dict(backbone=hosts.BACKBONES['vit']),
    'view2 has a mask, but no row': dict(terms=[('view1', 'view2', 1.0)], patches=None),
    'has keep and mask': dict(streams=dict(view1=MASK | dict(keep=0.5))),
    'has share=(0.6, 0.3)': dict(streams=dict(view1=dict(mask=dict(share=(0.6, 0.3))))),
}
OPTIONS = {
    "level must be image or patch, not 'token'": dict(level='token'),
    "level must be image or patch, not ['patch']": dict(level=['patch']),
    "rows between patches always have target='overlap'; leave out target='owner'": dict(level='patch', target='owner'),
}
"""Options that a row cannot have."""
MASKED_BYOL = dict(backbone=hosts.BACKBONES['vit'] | dict(mask_token=True), streams=dict(view1=MASK), patches={})
REFUSED = {
    'within one view; mix2 shows view2, pull it to view2': (PATCHMIX, ('mix2', 'view1')),
    'places correspond within one view': (PATCHMIX, ('mix2', 'mix2')),
    'every patch would be compared with itself; mask some': (PATCHMIX, ('view1', 'view1')),
    'one crop, but local has 2': (hosts.ibot(), ('local', 'local')),
    'the heads normalise over them': (hosts.byol() | MASKED_BYOL, ('view1', 'view1')),
    "no row of model.terms has level='patch'": (PATCHMIX, ()),
    **{message: (PATCHMIX | changes, MIX2) for message, changes in OF_PATCHMIX.items()},
    **{message: (hosts.ibot() | changes, ()) for message, changes in OF_IBOT.items()},
    **{message: (PATCHMIX | dict(terms=[(*MIX2, 1.0, options)]), ()) for message, options in OPTIONS.items()},
}


@pytest.mark.parametrize('message', REFUSED)
def test_what_cannot_be_compared_is_refused(message: str) -> None:
    config, row = REFUSED[message]
    terms = [*config['terms'], (*row, 0.5, PATCH_ROW)] if row else config['terms']
    with pytest.raises(UserError) as refused:
        hosts.build(config | dict(terms=terms))
    assert message in str(refused.value)


def test_patches_are_centred_by_what_is_found() -> None:
    row = ('mix2', 'view2', 0.5, PATCH_ROW)
    model = hosts.build(hosts.dino(hosts.MIXERS['cutmix']), patches=dict(), terms=[('view1', 'view2', 1.0), row])
    assert (model.objective.centred_by, model.patches.objective.centred_by) == (('view1', 'view2'), ('view2',))
