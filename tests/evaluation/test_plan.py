"""What a call of tools/evaluate.py will do, and what it refuses before anything starts."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import class_folders, imagenet_c
from evaluation.composed import composed
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.datasets.imagenet_robustness import imagenet_classes
from mixcl.errors import UserError
from mixcl.evaluation.plan import Evaluation, Request, configs_by_protocol, overrides_for, planned
from mixcl.evaluation.running import classifier_for, precision_of
from mixcl.evaluation.subject import Subject, read_subject
from mixcl.registry import MODELS
from mixcl.weights import sha256_of

CONFIGS = Path(__file__).parents[2] / 'configs'
PRETRAINING = str(CONFIGS / 'patchmix/vit-xs4_digits.py')
ARCH = dict(num_layers=1, embed_dims=24, feedforward_channels=24)
SMALL_BACKBONE = dict(type='ContrastiveViT', arch=dict(num_heads=6, **ARCH), img_size=224, patch_size=56)
RANDOM = Subject('random', None, {}, None, None)


def plan(*protocols: str, data: str = 'digits', subject: Subject = RANDOM, **settings: object) -> list[Evaluation]:
    return planned(Request(CONFIGS, protocols, data, **settings), subject)


def with_encoders(*encoders: str) -> Subject:
    """Of a file whose weights are not looked into."""
    return Subject('epoch_1.pth', 'ab', dict.fromkeys(encoders), None, None)


@pytest.mark.parametrize(
    ('asked', 'of_protocol', 'existing', 'expected'),
    [
        (None, 'target', ('online', 'target'), ['target']),
        (None, 'target', ('online',), ['online']),
        (None, 'online', ('online', 'target'), ['online']),
        ('online', 'target', ('online', 'target'), ['online']),
        ('all', 'target', ('online', 'target'), ['online', 'target']),
        ('all', 'target', ('online',), ['online']),
        ('target', 'online', (), ['online']),
    ],
)
def test_which_encoders(asked: str | None, of_protocol: str, existing: tuple[str, ...], expected: list[str]) -> None:
    assert with_encoders(*existing).encoders_for(asked, of_protocol) == expected


def test_an_encoder_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UserError, match=r'--encoder target: epoch_1\.pth has the encoder online only'):
        with_encoders('online').encoders_for('target', 'online')


def test_options_of_one_protocol_and_of_all() -> None:
    given = {'knn.test_cfg.labels': None, 'randomness.seed': 1, 'linear_fast.x': 2}
    assert overrides_for(given, 'knn') == {'randomness.seed': 1, 'test_cfg.labels': None}
    assert overrides_for(given, 'linear') == {'randomness.seed': 1}


def test_the_plan_follows_the_order_of_the_protocols_and_tells_configs_apart() -> None:
    evaluations = plan('linear', 'knn', overrides={'knn.randomness.seed': 3}, amp=True)
    linear, knn = evaluations
    assert (linear.protocol, knn.protocol) == ('linear', 'knn')
    assert linear.trains and not knn.trains
    assert (precision_of(linear), precision_of(knn)) == ('bf16', 'fp32')
    assert knn.cfg.randomness.seed == 3 != linear.cfg.randomness.seed
    (other,) = plan('knn')
    assert other.digest != knn.digest and other.name != knn.name
    assert plan('knn')[0].digest == other.digest


def test_the_backbone_of_another_config() -> None:
    subject = read_subject('random', str(CONFIGS / 'mixco/r18_tinyimagenet_mocov2.py'))
    (linear,) = plan('linear', subject=subject)
    assert linear.cfg.model.backbone.backbone.depth == 18 and linear.cfg.model.head.in_channels == 512
    with pytest.raises(UserError, match=r'has no model\.backbone'):
        read_subject('random', str(CONFIGS / '_base_/default_runtime.py'))


def residual_network(folder: Path) -> Subject:
    """Untrained, from a config whose name says nothing."""
    config = folder / 'mine.py'
    config.write_text("model = dict(backbone=dict(type='mmpretrain.ResNet', depth=18))\n")
    return read_subject('random', str(config))


def test_a_residual_network_trains_by_recipes_of_its_own(tmp_path: Path) -> None:
    subject = residual_network(tmp_path)
    evaluations = plan('linear', 'finetune', 'semi', subject=subject)
    assert [evaluation.path.stem for evaluation in evaluations] == ['moco', 'resnet', 'resnet']
    assert all(evaluation.cfg.model.head.in_channels == 512 for evaluation in evaluations)
    assert evaluations[1].cfg.model.backbone.depth == 18
    (few,) = plan('semi', subject=subject, recipe='1percent')
    assert few.path.stem == 'resnet' and few.cfg.protocol.share == 0.01


def test_a_recipe_is_for_the_protocols_that_have_it() -> None:
    asked = Request(CONFIGS, ('knn', 'semi'), 'digits', recipe='1percent')
    knn, semi = planned(asked, RANDOM)
    assert knn.path.stem == 'backbone' and semi.cfg.protocol.share == 0.01
    with pytest.raises(UserError, match=r'--recipe 2percent: knn, semi .* there are 10percent, 1percent'):
        planned(replace(asked, recipe='2percent'), RANDOM)
    of_my_own = dict(semi=str(CONFIGS / 'evaluation/recipes/semi/resnet.py'))
    with pytest.raises(UserError, match='--recipe 1percent: knn, semi on digits has no'):
        planned(replace(asked, own_configs=of_my_own), RANDOM)


def test_a_backbone_that_the_recipe_cannot_train_is_refused_by_the_plan(tmp_path: Path) -> None:
    of_vision_transformers = dict(finetune=str(CONFIGS / 'evaluation/recipes/finetune/small.py'))
    with pytest.raises(UserError, match=r'needs a backbone that tells the depth .* take a recipe without layer decay'):
        plan('knn', 'finetune', subject=residual_network(tmp_path), own_configs=of_vision_transformers)


def test_a_config_of_ones_own_takes_the_place_of_the_chosen_one(tmp_path: Path) -> None:
    own = tmp_path / 'own.py'
    own.write_text(f"_base_ = '{CONFIGS}/evaluation/recipes/knn/backbone.py'\nrandomness = dict(seed=11)\n")
    chosen = configs_by_protocol([str(own)])
    assert chosen == dict(knn=str(own))
    knn, linear = plan('knn', 'linear', own_configs=chosen)
    assert knn.path == own and knn.cfg.randomness.seed == 11
    assert linear.path == CONFIGS / 'evaluation/recipes/linear/patchmix.py'
    whole = tmp_path / 'whole.py'
    whole.write_text(knn.whole.pretty_text)
    (again,) = plan('knn', own_configs=configs_by_protocol([str(whole)]), data='fashionmnist')  # it brings its data
    assert again.digest == knn.digest
    with pytest.raises(UserError, match='two configs for the protocol knn'):
        configs_by_protocol([str(own), str(own)])
    with pytest.raises(UserError, match=r'has protocol\.name=None, which is no protocol'):
        configs_by_protocol([PRETRAINING])


@pytest.mark.parametrize(
    ('protocols', 'settings', 'message'),
    [
        (('knn',), dict(data='stl10'), 'there is no data set stl10'),
        (('knn',), dict(recipe='x'), '--recipe x: knn on digits has no such recipe .*; there are randomhead;'),
        (('robustness',), {}, '--data digits has none'),
        (('supervised',), dict(subject=with_encoders('online')), "give 'random' as the checkpoint"),
        (('knn',), dict(own_configs=dict(linear='x.py')), '--config is given for linear, but this call evaluates knn'),
        (('knn',), dict(overrides={'svm.x': 1}), '--cfg-options is given for svm'),
        (('knn',), dict(overrides={'test_cfgs.x': 1}), "the config has no 'test_cfgs'"),
        (('knn',), dict(roots=dict(voc07='x')), '--data-root is given for voc07, but this call evaluates digits'),
        (('knn',), dict(roots=dict(digits='x')), 'no data set of this config reads a folder'),
        (('svm',), dict(roots=dict(voc07='nowhere')), "data folder 'nowhere' .* does not exist"),
        (('robustness',), dict(data='imagenet-a', roots={'imagenet-a': str(CONFIGS)}), 'put finetune before robust'),
    ],
)
def test_what_cannot_work(protocols: tuple[str, ...], settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan(*protocols, **settings)


@pytest.fixture(scope='module')
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders as the archives have them; of ImageNet-1K the folders of the classes."""
    root = tmp_path_factory.mktemp('archives')
    for folder in (root / f'in1k/{split}/{wnid}' for split in ('train', 'val') for wnid in imagenet_classes()):
        folder.mkdir(parents=True)
    for letter in 'ar':
        class_folders(root / f'imagenet-{letter}', f'imagenet_{letter}')
    imagenet_c(root / 'imagenet-c', classes=1)
    return {name: str(root / name) for name in ('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c')}


def robustness(subject: Subject, archives: dict[str, str], *before: str, **settings: object) -> list[Evaluation]:
    return plan(*before, 'robustness', data='in1k', subject=subject, roots=archives, **settings)


def test_robustness_tests_what_finetune_trains(archives: dict[str, str]) -> None:
    finetune, *others = robustness(RANDOM, archives, 'finetune')
    assert [other.data for other in others] == ['in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c']
    assert all(other.cfg.model == finetune.cfg.model for other in others)
    assert {other.cfg.protocol.classifier for other in others} == {finetune.name}
    assert {other.cfg.protocol.recipe for other in others} == {finetune.cfg.protocol.recipe} == {'patchmix'}
    row = dict(protocol=finetune.cfg.protocol, encoder='online', trained=PRETRAINING)
    assert classifier_for(others[0], RANDOM, [row]) == PRETRAINING
    for done in ([], [row | dict(trained='gone.pth')], [row | dict(encoder='target')]):
        with pytest.raises(UserError, match='needs the classifier that finetune trains'):
            classifier_for(others[0], RANDOM, done)


def test_robustness_is_that_of_the_encoder_that_finetune_takes(archives: dict[str, str], tmp_path: Path) -> None:
    """PatchMix fine-tunes the EMA encoder, and so the tests are of that one."""
    config = Config(
        dict(model=dict(type='ContrastiveLearner', backbone=SMALL_BACKBONE), config_name='patchmix/vit-s16_in1k')
    )
    state = MODELS.build(SMALL_BACKBONE).state_dict()
    weights = {f'{prefix}backbone.{name}': value for prefix in ('', 'target.') for name, value in state.items()}
    torch.save(dict(state_dict=weights, meta=dict(cfg=config.pretty_text, epoch=1)), tmp_path / 'epoch_1.pth')
    subject = read_subject(str(tmp_path / 'epoch_1.pth'))
    for asked, expected in ((None, ['target']), ('online', ['online']), ('all', ['online', 'target'])):
        evaluations = robustness(subject, archives, 'finetune', encoder=asked)
        assert [(each.protocol, each.encoder) for each in evaluations if each.data == 'in1k'] == [
            *(('finetune', encoder) for encoder in expected),
            *(('robustness', encoder) for encoder in expected),
        ]


def test_robustness_has_no_recipes_but_that_of_the_fine_tuning(archives: dict[str, str]) -> None:
    config = Config(dict(model=dict(backbone=SMALL_BACKBONE), config_name='mocov3/vit-s16_in1k'))
    subject = replace(RANDOM, config=config)
    finetune, *others = robustness(subject, archives, 'finetune', recipe='sdmp')
    assert finetune.path.stem == 'deit' and {other.path.stem for other in others} == {'classifier'}
    assert {other.cfg.protocol.recipe for other in others} == {'deit'}


def test_another_fine_tuning_is_another_result_of_robustness(archives: dict[str, str]) -> None:
    short = robustness(RANDOM, archives, 'finetune', overrides={'finetune.train_cfg.max_epochs': 1})
    whole = robustness(RANDOM, archives, 'finetune')
    assert not {evaluation.digest for evaluation in short} & {evaluation.digest for evaluation in whole}


def classifier(folder: Path, heads: int = 6, classes: int = 1000, stored: bool = True) -> Path:
    """Checkpoint of an untrained classifier, as fine-tuning writes it, or its weights alone."""
    backbone = SMALL_BACKBONE | dict(arch=dict(num_heads=heads, **ARCH))
    cfg = composed('finetune', 'in1k', backbone=backbone, overrides={'model.head.num_classes': classes})
    with DefaultScope.overwrite_default_scope('mixcl'):
        model = MODELS.build(dict(cfg.model, data_preprocessor=cfg.data_preprocessor))
    meta = dict(cfg=cfg.pretty_text, epoch=1) if stored else {}
    torch.save(dict(state_dict=model.state_dict(), meta=meta), folder / 'best.pth')
    return folder / 'best.pth'


@pytest.mark.parametrize('heads', [6, 12])
def test_robustness_tests_the_classifier_that_is_given(archives: dict[str, str], tmp_path: Path, heads: int) -> None:
    subject = read_subject(str(classifier(tmp_path, heads)))
    evaluations = robustness(subject, archives)
    assert [evaluation.cfg.model.backbone.arch.num_heads for evaluation in evaluations] == [heads] * 4
    assert classifier_for(evaluations[0], subject, []) == str(tmp_path / 'best.pth')


def test_robustness_of_a_classifier_without_a_config(archives: dict[str, str], tmp_path: Path) -> None:
    path = classifier(tmp_path, stored=False)
    config = tmp_path / 'own.py'
    config.write_text(
        "default_scope = 'mixcl'\n"
        f"model = dict(backbone=dict(type='ContrastiveViT', arch=dict(num_heads=6, **{ARCH!r}), patch_size=56))\n"
    )
    subject = read_subject(str(path), str(config))
    for evaluation in robustness(subject, archives):
        assert evaluation.cfg.model.backbone.arch.num_heads == 6 and evaluation.cfg.model.head.in_channels == 24
        assert classifier_for(evaluation, subject, []) == str(path)


def test_classifiers_that_robustness_cannot_test(archives: dict[str, str], tmp_path: Path) -> None:
    message = r'robustness/any_in1k_classifier tests classifiers of 1000 classes, but .*best\.pth tells 100 apart'
    other_heads = tmp_path / 'other_heads.py'
    backbone = SMALL_BACKBONE | dict(arch=dict(num_heads=12, **ARCH))
    other_heads.write_text(f"default_scope = 'mixcl'\nmodel = dict(backbone={backbone!r})\n")
    other_heads = str(other_heads)
    for stored, config in ((True, None), (False, other_heads)):
        path = classifier(tmp_path, classes=100, stored=stored)
        with pytest.raises(UserError, match=message):
            robustness(read_subject(str(path), config), archives)
    with pytest.raises(UserError, match=r'6 attention heads.* 12|12 attention heads.* 6'):
        robustness(read_subject(str(classifier(tmp_path)), other_heads), archives)
    wider = str(CONFIGS / 'mocov3/vit-s16_in1k.py')
    with pytest.raises(UserError, match='does not fit the backbone of the config'):
        robustness(read_subject(str(classifier(tmp_path, stored=False)), wider), archives)


def test_folders_that_do_not_fit_are_told_before_anything_starts(archives: dict[str, str], tmp_path: Path) -> None:
    subject = read_subject(str(classifier(tmp_path)))
    for name, message in (('imagenet-a', 'of its 200 classes'), ('imagenet-c', 'folders are missing')):
        with pytest.raises(UserError, match=message):
            robustness(subject, archives | {name: archives['imagenet-r']})
    for protocol, data, message in (
        ('svm', 'voc07', r'no ImageSets/Main/test\.txt in'),
        ('semi', 'in1k', r'10percent\.txt cannot be read'),
        ('knn', 'in100', r'imagenet100\.txt is missing'),
        ('knn', 'tinyimagenet', 'val/images is missing'),
    ):
        with pytest.raises(UserError, match=message):
            plan(protocol, data=data, roots={data: archives['in1k']})
    for split in ('train', 'val'):
        (tmp_path / 'other' / split).mkdir(parents=True)
    for protocol in ('knn', 'linear', 'finetune'):
        with pytest.raises(UserError, match=r'(train|val) is missing; expected under .*val/<wnid>'):
            plan(protocol, data='in1k', roots=dict(in1k=str(tmp_path)))
        with pytest.raises(UserError, match="each of ImageNet-1K's 1000 WordNet ids, but it holds 0"):
            plan(protocol, data='in1k', roots=dict(in1k=str(tmp_path / 'other')))


def test_the_number_of_processes_does_not_make_another_evaluation() -> None:
    (one,), (four,) = plan('linear'), plan('linear', processes=4)
    assert one.name == four.name
    assert (one.cfg.train_dataloader.batch_size, four.cfg.train_dataloader.batch_size) == (128, 32)


def test_a_recipe_beside_configs_of_ones_own_is_refused() -> None:
    own = dict(knn=str(CONFIGS / 'evaluation/recipes/knn/backbone.py'))
    with pytest.raises(UserError, match='--recipe x: knn on digits has no such recipe'):
        plan('knn', own_configs=own, recipe='x')


def test_an_option_for_a_part_that_a_protocol_lacks_is_refused() -> None:
    with pytest.raises(UserError, match=r'--cfg-options train_cfg.max_epochs: .* has no train_cfg; put the protocol'):
        plan('linear', 'knn', overrides={'train_cfg.max_epochs': 1})


def test_a_checkpoint_of_an_unknown_backbone_is_refused(tmp_path: Path) -> None:
    config = "model = dict(backbone=dict(type='MoCoV3ViT'))\n"
    torch.save(dict(state_dict={'backbone.x': torch.zeros(1)}, meta=dict(cfg=config)), tmp_path / 'foreign.pth')
    with pytest.raises(UserError, match=r"foreign.pth names a backbone of type 'MoCoV3ViT', .* --backbone-config"):
        read_subject(str(tmp_path / 'foreign.pth'))


def test_what_is_no_plain_value_in_a_checkpoints_config_is_refused(tmp_path: Path) -> None:
    config = "model = dict(backbone=dict(type='mmpretrain.ResNet', depth=18, x=dict(y={1, 2})))\n"
    torch.save(dict(state_dict={'backbone.x': torch.zeros(1)}, meta=dict(cfg=config)), tmp_path / 'odd.pth')
    with pytest.raises(UserError, match=r'odd\.pth has x\.y=\{1, 2\}, which is no plain value'):
        read_subject(str(tmp_path / 'odd.pth'))


def test_a_backbone_of_settings_that_do_not_exist_is_refused(tmp_path: Path) -> None:
    config = "model = dict(backbone=dict(type='mmpretrain.VisionTransformer', arch='none'))\n"
    torch.save(dict(state_dict={'backbone.x': torch.zeros(1)}, meta=dict(cfg=config)), tmp_path / 'odd.pth')
    with pytest.raises(UserError, match=r'the backbone mmpretrain.VisionTransformer cannot be built'):
        plan('knn', subject=read_subject(str(tmp_path / 'odd.pth')))


def test_a_checkpoint_is_read_from_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save({'x': torch.zeros(1)}, tmp_path / 'copy.pth')
    monkeypatch.setattr('mixcl.weights.checkpoint.downloaded', lambda address: tmp_path / 'copy.pth')
    assert read_subject('https://example.org/bare.pth', PRETRAINING).sha256 == sha256_of(tmp_path / 'copy.pth')
