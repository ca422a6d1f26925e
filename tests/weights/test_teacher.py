"""A frozen teacher: what it sees, what its rows cost by hand, and that it stays what it was."""

import json
from pathlib import Path

import hosts
import pytest
import timm
import torch
from timm.models import save_for_hf
from torch import Tensor
from torch.nn.functional import interpolate, normalize

from mixcl.algorithms import ContrastiveLearner
from mixcl.encoders.tokens import tokens_of
from mixcl.engine.hooks.banner import parameter_line
from mixcl.errors import UserError
from mixcl.randomness import StepKey
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.registry import MODELS, build
from mixcl.weights import checked_part
from mixcl.weights.teacher import Teacher

MEAN, STD = (100.0, 110.0, 120.0), (50.0, 60.0, 70.0)
OWN_MEAN, OWN_STD = (127.5, 120.0, 90.0), (64.0, 32.0, 100.0)
TEACHER = dict(
    type='Teacher',
    backbone=hosts.BACKBONES['vit'] | dict(img_size=12),
    size=12,
    mean=OWN_MEAN,
    std=OWN_STD,
)


def model(terms: list, **changes: object) -> ContrastiveLearner:
    config = hosts.distilled(hosts.MIXERS['mixup']) | dict(
        terms=terms,
        memory={},
        objective=dict(type='NegativeCosine'),
        target=TEACHER | dict(pretrained=hosts.teacher_file()),
        data_preprocessor=dict(type='mixcl.ViewPreprocessor', mean=MEAN, std=STD, to_rgb=True),
    )
    return hosts.build(config | changes).double()


def by_hand(images: Tensor) -> Tensor:
    """Return the teacher's features of images that are normalised for the student."""
    backbone = MODELS.build(TEACHER['backbone']).double()
    backbone.eval()  # returns nothing
    stored = torch.load(hosts.teacher_file())['state_dict']
    state = {name.removeprefix('backbone.'): value for name, value in stored.items()}
    grid = state['pos_embed'][:, 1:].reshape(1, 4, 4, -1).permute(0, 3, 1, 2)
    grid = interpolate(grid, size=(6, 6), mode='bicubic', align_corners=False).permute(0, 2, 3, 1).flatten(1, 2)
    backbone.load_state_dict(state | dict(pos_embed=torch.cat([state['pos_embed'][:, :1], grid], dim=1)))
    mean, std, own_mean, own_std = (torch.tensor(v).double()[:, None, None] for v in (MEAN, STD, OWN_MEAN, OWN_STD))
    pixels = images * std + mean
    seen = interpolate((pixels - own_mean) / own_std, (12, 12), mode='bilinear', antialias=True)
    with torch.no_grad():
        return backbone(seen)[-1]


@pytest.mark.parametrize('student', ['vit', 'resnet'])
def test_patches_are_pulled_to_the_teachers_on_the_students_grid(student: str) -> None:
    row = ('view1', 'view1', 1.0, dict(level='patch'))
    config = hosts.distilled(None, student)
    patches = dict(objective=dict(type='NegativeCosine'))
    learner = model([row], backbone=config['backbone'], neck=config['neck'], patches=patches, mixer=None, streams={})
    learner.eval().begin_step(StepKey(0, 0, 0))
    crops = hosts.crops(learner, 4)
    learner.check_batch([crop[0] for crop in crops], 4)
    seen = {}

    def note(module: torch.nn.Module, inputs: tuple, output: tuple) -> None:
        seen['tokens'] = output[-1][:, 1:].unflatten(1, (6, 6)).permute(0, 3, 1, 2)

    learner.target.backbone.register_forward_hook(note)
    loss = learner.loss(crops)['loss_view1_view1_patch']
    own = tokens_of(learner.backbone, crops[0])
    assert own.shape[1:3] == ((4, 4) if student == 'vit' else (1, 1))
    keys = interpolate(seen['tokens'], own.shape[1:3], mode='bilinear', antialias=True).permute(0, 2, 3, 1)
    asked = learner.neck(own.flatten(0, 2))
    expected = -(normalize(asked, dim=1) * normalize(keys.flatten(0, 2), dim=1)).sum(dim=1).mean()
    torch.testing.assert_close(loss, expected)


def test_losses_and_gradients_of_a_view_and_of_mixtures_by_hand() -> None:
    rows = [('view1', 'view1', 1.0), ('mix1', 'view1', 0.5), ('mix1', 'mix1', 0.25, dict(target='owner'))]
    learner = model(rows)
    crops = hosts.crops(learner, 4)
    learner.begin_step(StepKey(0, 0, 0))
    online, _ = learner.build_streams(crops)
    losses = learner.loss(crops)
    predictions = {}
    for name, stream in online.items():
        predictions[name] = learner.neck(learner.backbone(stream.images)[-1])
        predictions[name].retain_grad()
    view, mixture = (normalize(by_hand(online[name].images), dim=1) for name in ('view1', 'mix1'))
    composition = online['mix1'].composition
    expected = sum(
        share[:, None] * view[source]
        for share, source in zip(composition.weights.double().T, composition.sources.T, strict=True)
    )
    cosines = dict(
        loss_view1_view1=(predictions['view1'], view),
        loss_mix1_view1=(predictions['mix1'], expected),
        loss_mix1_mix1=(predictions['mix1'], mixture),
    )
    weights = dict(loss_view1_view1=1.0, loss_mix1_view1=0.5, loss_mix1_mix1=0.25)
    for name, (queries, keys) in cosines.items():
        by_rows = -(normalize(queries, dim=1) * keys).sum(dim=1).mean()
        torch.testing.assert_close(losses[name], weights[name] * by_rows, rtol=1e-5, atol=1e-6)
    # d(-cos)/dq = -(k - cos q/|q|) / |q|, averaged over the rows.
    gradients = []
    for name, (queries, keys) in cosines.items():
        length = queries.norm(dim=1, keepdim=True)
        cosine = (queries / length * keys).sum(dim=1, keepdim=True)
        gradients.append(-weights[name] / len(keys) * (keys - cosine * queries / length) / length)
    sum((each * grad.detach()).sum() for (each, _), grad in zip(cosines.values(), gradients, strict=True)).backward()
    wanted = {name: value.grad.clone() for name, value in learner.named_parameters() if value.grad is not None}
    learner.zero_grad()
    sum(value for name, value in losses.items() if 'loss' in name).backward()
    for name, value in learner.named_parameters():
        if name in wanted:
            torch.testing.assert_close(value.grad, wanted[name], rtol=1e-4, atol=1e-7)


def test_it_is_neither_trained_nor_stored_and_stays_bit_for_bit() -> None:
    learner = model([('view1', 'view1', 1.0), ('mix1', 'view1', 1.0)])
    before = {name: value.clone() for name, value in learner.target.backbone.state_dict().items()}
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.1, weight_decay=0.1)
    for step in range(3):
        learner.train()
        learner.begin_step(StepKey(0, step, 0))
        sum(value for name, value in learner.loss(hosts.crops(learner, 4)).items() if 'loss' in name).backward()
        optimizer.step()
        learner.end_step((step + 1) / 3, 1)
    after = learner.target.backbone.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before) and not learner.target.backbone.training
    assert [name for name in learner.state_dict() if name.startswith('target')] == ['target.digest']
    assert not [name for name, _ in learner.named_parameters() if name.startswith('target')]
    assert learner.passes_per_image() == (2, 1), 'mixtures take no pass of the teacher'
    assert next(learner.target.backbone.parameters()).dtype == torch.float64, 'it is cast, and moved, with the student'


def test_a_checkpoint_is_continued_with_the_same_teacher_alone(tmp_path: Path) -> None:
    terms = [('view1', 'view1', 1.0)]
    state = model(terms).state_dict()
    model(terms).load_state_dict(state)
    stored = torch.load(hosts.teacher_file())
    stored['state_dict']['backbone.cls_token'] += 1
    torch.save(stored, tmp_path / 'other.pth')
    other = model(terms, target=TEACHER | dict(pretrained=str(tmp_path / 'other.pth')))
    with pytest.raises(UserError, match='has other weights than the one that the checkpoint was trained with'):
        other.load_state_dict(state)


def test_statistics_of_the_file_and_of_timm_are_taken_unless_others_are_given(tmp_path: Path) -> None:
    backbone = hosts.BACKBONES['vit']
    target = Teacher(backbone, pretrained=hosts.teacher_file())
    target.copy_weights(torch.nn.Identity(), torch.nn.Identity())
    image = torch.rand(1, 3, 8, 8)
    mean, std = (torch.tensor(v)[:, None, None] for v in ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]))
    torch.testing.assert_close(target.images(image), (image - mean) / std, rtol=1e-5, atol=1e-5)
    name = 'vit_tiny_patch16_224.augreg_in21k'  # its statistics are .5
    of_timm = build(MODELS, dict(type='TimmBackbone', name=name, img_size=32))
    torch.save(of_timm.model.state_dict(), tmp_path / 'timm.pth')
    target = Teacher(dict(type='TimmBackbone', name=name, img_size=32), pretrained=str(tmp_path / 'timm.pth'))
    target.copy_weights(torch.nn.Identity(), torch.nn.Identity())
    torch.testing.assert_close(target.images(image), image / 127.5 - 1, rtol=1e-5, atol=1e-5)
    saved = timm_folder(tmp_path / 'saved')
    target = Teacher(dict(type='TimmBackbone', name='test_vit'), pretrained=str(saved))
    target.copy_weights(torch.nn.Identity(), torch.nn.Identity())
    torch.testing.assert_close(target.images(image), image / 51 - 1, rtol=1e-5, atol=1e-5)


def timm_folder(folder: Path) -> Path:
    statistics = dict(mean=(0.2,) * 3, std=(0.2,) * 3)
    save_for_hf(timm.create_model('test_vit', img_size=96), folder, model_config=dict(pretrained_cfg=statistics),
                model_args=dict(img_size=96), safe_serialization=True)  # fmt: skip
    return folder


def test_a_folder_of_timm_says_the_backbone_of_a_teacher_as_data(tmp_path: Path) -> None:
    """Its size is that of the images that it is given."""
    folder = timm_folder(tmp_path / 'saved')
    cfg = prepared_to_train('mixcl::distillation/r18_folder.py', Options(data='digits', teacher=str(folder)))
    target = cfg.model.target
    assert (target.backbone.type, target.backbone.name) == ('TimmBackbone', 'test_vit')
    assert target.size == target.backbone.img_size != 96
    content = json.loads((folder / 'config.json').read_text())
    content['model_args'] = dict(norm_layer='os.system')
    (folder / 'config.json').write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"norm_layer='os\.system', which is no class that any file may name"):
        prepared_to_train('mixcl::distillation/r18_folder.py', Options(data='digits', teacher=str(folder)))


def test_a_teacher_of_colours_in_another_order_is_refused(tmp_path: Path) -> None:
    stored = torch.load(hosts.teacher_file())
    model_of_file = f'model = dict(backbone={hosts.BACKBONES["vit"]!r})'
    for to_rgb in (True, False):
        config = f'{model_of_file}\ndata_preprocessor = dict(mean=[1, 2, 3], std=[4, 5, 6], to_rgb={to_rgb})'
        torch.save(stored | dict(meta=dict(cfg=config)), tmp_path / 'file.pth')
        target = Teacher(hosts.BACKBONES['vit'], pretrained=str(tmp_path / 'file.pth'))
        if to_rgb:
            target.copy_weights(torch.nn.Identity(), torch.nn.Identity())
            expected = (torch.tensor([1.0, 0, 0]) - torch.tensor([1.0, 2, 3])) / torch.tensor([4.0, 5, 6])
            pixel = torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1)
            torch.testing.assert_close(target.images(pixel).flatten(), expected)
        else:
            with pytest.raises(UserError, match='takes colours in BGR order'):
                target.copy_weights(torch.nn.Identity(), torch.nn.Identity())


def test_a_recipe_gives_it_the_size_of_the_views_and_keeps_what_is_said_of_it(tmp_path: Path) -> None:
    timm = build(MODELS, dict(type='TimmBackbone', name='vit_tiny_patch16_224', img_size=32))
    backbone = "dict(type='TimmBackbone', name='vit_tiny_patch16_224', img_size=32)"
    config = f"model = dict(type='ContrastiveLearner', backbone={backbone})"
    state = {f'backbone.{name}': value for name, value in timm.state_dict().items()}
    torch.save(dict(state_dict=state, meta=dict(cfg=config)), tmp_path / 'run.pth')
    options = {'model.target.mean': [1, 2, 3], 'model.target.encoder': 'online'}
    cfg = prepared_to_train(
        'distillation/r18_digits_mixed', Options(teacher=str(tmp_path / 'run.pth'), cfg_options=options)
    )
    target = cfg.model.target
    assert (target.mean, target.encoder, target.size, target.backbone.img_size) == ([1, 2, 3], 'online', 16, 16)
    learner = build(MODELS, cfg.model)
    learner.init_weights()
    assert 'the teacher of 5.' in parameter_line(learner, torch.optim.SGD(learner.parameters(), lr=0.1))
    checked = checked_part(cfg.model.to_dict(), MODELS, 'run.pth', 'model')
    assert 'pretrained' not in checked['target'] and not build(MODELS, checked).target.loaded, 'to be looked at'


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(target=dict(type='Teacher', pretrained='x.pth')), 'give the config of its backbone and its weights'),
        (dict(neck=dict(type='PlainHead', in_channels=16, out_channels=12)), 'from model.target follows 16'),
    ],
)
def test_what_does_not_fit_is_told(changes: dict, message: str) -> None:
    with pytest.raises(UserError) as refused:
        model(changes.pop('terms', [('view1', 'view1', 1.0)]), **changes)
    assert message in str(refused.value)
