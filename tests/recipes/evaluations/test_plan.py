"""What a call of tools/evaluate.py will do, and what it refuses before anything starts."""

from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import imagenet_archives
from evaluation.checkpoints import ARCH, TINY_VIT, of_classifier
from evaluation.composed import CONFIGS, composed
from mmengine.config import Config
from PIL import Image

from mixcl.errors import UserError
from mixcl.evaluation.running import classifier_for, precision_of
from mixcl.recipes.evaluations.plan import Evaluation, planned
from mixcl.recipes.subject import Subject, read_subject

PRETRAINING = str(CONFIGS / 'patchmix/vit-xs4_digits.py')
OF_LINEAR = [str(CONFIGS / 'evaluation/recipes/linear/moco.py')]
RANDOM = Subject()
MAE = CONFIGS / 'evaluation/recipes/finetune/mae.py'


def plan(*protocols: str, data: str = 'digits', subject: Subject = RANDOM, **settings: object) -> list[Evaluation]:
    return planned(protocols, data, subject, **settings)


def with_encoders(*encoders: str) -> Subject:
    """Return the subject of a file whose weights are not read."""
    return Subject('epoch_1.pth', 'ab', dict.fromkeys(encoders))


def test_which_encoders() -> None:
    both = ('online', 'target')
    for asked, of_protocol, existing, expected in (
        (None, 'target', both, ['target']),
        (None, 'target', ('online',), ['online']),
        ('online', 'target', both, ['online']),
        ('all', 'target', both, ['online', 'target']),
        ('target', 'online', (), ['online']),
    ):
        assert with_encoders(*existing).encoders_for(asked, of_protocol) == expected
    with pytest.raises(UserError, match=r'`encoder=target`: epoch_1\.pth has the encoder online only'):
        with_encoders('online').encoders_for('target', 'online')


def test_the_plan_follows_the_order_of_the_protocols_and_tells_configs_apart() -> None:
    options = {'randomness.seed': 1, 'knn.randomness.seed': 3}
    linear, knn = plan('linear', 'knn', overrides=options, amp=True)
    assert (linear.protocol, knn.protocol) == ('linear', 'knn')
    assert linear.trains and not knn.trains
    assert (precision_of(linear), precision_of(knn)) == ('bf16', 'fp32')
    assert (linear.cfg.randomness.seed, knn.cfg.randomness.seed) == (1, 3)
    (other,), (same,) = plan('knn'), plan('knn')
    assert other.digest == same.digest != knn.digest and other.name != knn.name


def test_other_images_or_labels_are_another_evaluation(tmp_path: Path) -> None:
    for label in 'ab':
        (tmp_path / label).mkdir()
        for number in range(3):
            Image.new('RGB', (8, 8)).save(tmp_path / label / f'{number}.png')
    (before,) = plan('knn', data=f'folder:{tmp_path}')
    assert before.cfg.protocol.images.startswith('3 to learn from, 3 to test on (')
    (tmp_path / 'a/2.png').rename(tmp_path / 'b/3.png')
    (after,) = plan('knn', data=f'folder:{tmp_path}')
    assert after.cfg.protocol.images != before.cfg.protocol.images


def test_a_residual_network_trains_by_recipes_of_its_own() -> None:
    subject = Subject(backbone=dict(type='mmpretrain.ResNet', depth=18))
    linear, few = plan('linear', 'semi', subject=subject, recipe='1percent')
    assert (linear.path.stem, few.path.stem, few.cfg.protocol.share) == ('moco', 'resnet', 0.01)
    assert linear.cfg.model.backbone.backbone.depth == 18 and linear.cfg.model.head.in_channels == 512
    of_vision_transformers = [str(CONFIGS / 'evaluation/recipes/finetune/small.py')]
    with pytest.raises(UserError, match=r'needs a backbone that tells the depth .* take a recipe without layer decay'):
        plan('finetune', subject=subject, own_configs=of_vision_transformers)


def test_files_that_do_not_say_which_backbone_is_meant(tmp_path: Path) -> None:
    torch.save({'weight': torch.zeros(2)}, tmp_path / 'bare.pth')
    for checkpoint, config, message in (
        ('random', str(CONFIGS / '_base_/default_runtime.py'), r'has no model\.backbone; .* recipes: `recipe_config`'),
        (str(tmp_path / 'bare.pth'), None, 'by `config=FILE`'),
        (str(tmp_path / 'missing.pth'), None, 'there is no checkpoint file'),
    ):
        with pytest.raises(UserError, match=message):
            read_subject(checkpoint, config)


def test_a_recipe_is_for_the_protocols_that_have_it() -> None:
    with pytest.raises(UserError, match=r'`recipe=2percent`: knn, semi .* there are 10percent, 1percent'):
        plan('knn', 'semi', recipe='2percent')
    of_my_own = [str(CONFIGS / 'evaluation/recipes/semi/resnet.py')]
    with pytest.raises(UserError, match='`recipe=1percent`: semi on digits has no'):
        plan('semi', recipe='1percent', own_configs=of_my_own)


def test_a_config_of_ones_own_takes_the_place_of_the_chosen_one(tmp_path: Path) -> None:
    own = tmp_path / 'own.py'
    own.write_text(f"_base_ = '{CONFIGS}/evaluation/recipes/knn/backbone.py'\nrandomness = dict(seed=11)\n")
    knn, linear = plan('knn', 'linear', own_configs=[str(own)])
    assert knn.path == own and knn.cfg.randomness.seed == 11
    assert linear.path == CONFIGS / 'evaluation/recipes/linear/patchmix.py'
    whole = tmp_path / 'whole.py'
    whole.write_text(knn.facts.pretty_text)
    (again,) = plan('knn', own_configs=[str(whole)], data='fashionmnist')  # it brings its data
    assert again.digest == knn.digest
    for paths, name in (([str(own), str(own)], "'knn'"), ([PRETRAINING], 'None')):
        with pytest.raises(UserError, match=rf'has protocol\.name={name}; give one for each'):
            plan('knn', own_configs=paths)


def test_what_cannot_work_is_refused() -> None:
    for protocol, settings, message in (
        ('supervised', dict(subject=with_encoders('online')), "give 'random' as the checkpoint"),
        ('knn', dict(own_configs=OF_LINEAR), 'is given for linear, which this call does not evaluate'),
        ('knn', dict(overrides={'svm.x': 1}), 'is given for svm'),
        ('knn', dict(roots=dict(voc07='x')), 'is given for voc07'),
        ('knn', dict(overrides={'test_cfgs.x': 1}), "there is no fact and no section 'test_cfgs'"),
        ('knn', dict(overrides={'schedule.epochs': 1}), 'has no schedule, since it trains nothing; put the protocol'),
        ('knn', dict(roots=dict(digits='x')), 'no data set of this config reads a folder'),
        ('svm', dict(roots=dict(voc07='nowhere')), "data folder 'nowhere' .* does not exist"),
        ('robustness', dict(data='imagenet-a', roots={'imagenet-a': str(CONFIGS)}), 'put finetune before robust'),
    ):
        with pytest.raises(UserError, match=message):
            plan(protocol, **settings)


def test_the_number_of_processes_does_not_make_another_evaluation() -> None:
    (one,), (four,) = plan('linear'), plan('linear', processes=4)
    assert one.name == four.name
    assert (one.cfg.train_dataloader.batch_size, four.cfg.train_dataloader.batch_size) == (128, 32)


@pytest.fixture(scope='module')
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return imagenet_archives(tmp_path_factory.mktemp('archives'), images=False)


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
    # another fine-tuning is another result
    short = robustness(RANDOM, archives, 'finetune', overrides={'finetune.schedule.epochs': 1})
    assert not {evaluation.digest for evaluation in short} & {evaluation.digest for evaluation in (finetune, *others)}


def test_deits_recipe_starts_from_the_encoder_of_the_linear_probe(
    archives: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('mixcl.recipes.evaluations.plan.channels_of', lambda *given: None)
    for host, expected in (('dino', 'target'), ('mocov3', 'online')):
        config = Config(dict(config_name=f'sdmp/vit-s16_in1k_{host}'))
        subject = Subject('x.pth', 'ab', dict.fromkeys(('online', 'target')), TINY_VIT, config)
        (found,) = plan('finetune', data='in1k', subject=subject, roots=dict(in1k=archives['in1k']))
        # the config says so, too, for running it by itself
        assert (found.cfg.protocol.recipe, found.encoder, found.cfg.protocol.encoder) == ('deit', expected, expected)


def test_robustness_is_that_of_the_encoder_and_recipe_that_finetune_takes(
    archives: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PatchMix fine-tunes the EMA encoder, so that one is tested."""
    monkeypatch.setattr('mixcl.recipes.evaluations.plan.channels_of', lambda *given: None)
    config = Config(dict(config_name='patchmix/vit-s16_in1k'))
    subject = Subject('x.pth', 'ab', dict.fromkeys(('online', 'target')), TINY_VIT, config)
    for asked, recipe, expected in ((None, None, ['target']), ('all', 'sdmp', ['online', 'target'])):
        evaluations = robustness(subject, archives, 'finetune', encoder=asked, recipe=recipe)
        found = [(each.protocol, each.encoder) for each in evaluations if each.data == 'in1k']
        assert found == [(name, encoder) for name in ('finetune', 'robustness') for encoder in expected]
        assert {each.cfg.protocol.recipe for each in evaluations} == {'deit' if recipe else 'patchmix'}


def classifier(folder: Path, heads: int = 6, classes: int = 1000, stored: bool = True) -> str:
    """Save a checkpoint of an untrained classifier, as fine-tuning writes it, or its weights alone."""
    backbone = TINY_VIT | dict(arch=ARCH | dict(num_heads=heads))
    cfg = composed('finetune', 'in1k', backbone=backbone, overrides={'model.head.num_classes': classes})
    return str(of_classifier(folder / 'best.pth', cfg, stored=stored))


def test_robustness_tests_the_classifier_that_is_given(archives: dict[str, str], tmp_path: Path) -> None:
    path = classifier(tmp_path, heads=12)
    evaluations = robustness(read_subject(path), archives)
    assert [evaluation.cfg.model.backbone.arch.num_heads for evaluation in evaluations] == [12] * 4
    assert classifier_for(evaluations[0], read_subject(path), []) == path
    config = tmp_path / 'own.py'
    config.write_text(f"default_scope = 'mixcl'\nmodel = dict(backbone={TINY_VIT!r})\n")
    with pytest.raises(UserError, match=r'6 attention heads.* 12|12 attention heads.* 6'):
        robustness(read_subject(path, str(config)), archives)
    for evaluation in robustness(read_subject(classifier(tmp_path, stored=False), str(config)), archives):
        assert evaluation.cfg.model.backbone.arch.num_heads == 6 and evaluation.cfg.model.head.in_channels == 24
    message = r'robustness/any_in1k_classifier tests classifiers of 1000 classes, but .*best\.pth has 100'
    for stored, given in ((True, None), (False, str(config))):
        with pytest.raises(UserError, match=message):
            robustness(read_subject(classifier(tmp_path, classes=100, stored=stored), given), archives)


def test_folders_that_do_not_fit_are_told_before_anything_starts(archives: dict[str, str], tmp_path: Path) -> None:
    """Every data set checks itself; this test checks that all are asked."""
    subject = read_subject(classifier(tmp_path))
    with pytest.raises(UserError, match=r'ImageNetC: .* is missing; expected under'):
        robustness(subject, archives | {'imagenet-c': archives['imagenet-r']})
    for protocol, data, message in (
        ('svm', 'voc07', r'no ImageSets/Main/test\.txt in'),
        ('semi', 'in1k', r'10percent\.txt cannot be read'),
        ('knn', 'tinyimagenet', 'val/images is missing'),
    ):
        with pytest.raises(UserError, match=message):
            plan(protocol, data=data, roots={data: archives['in1k']})


def test_backbones_that_a_checkpoint_names_must_exist_and_build(tmp_path: Path) -> None:
    path = tmp_path / 'foreign.pth'
    for backbone, message in (
        ("type='MoCoV3ViT'", r"the config in .*foreign.pth has backbone.type='MoCoV3ViT', .* by `config=FILE`"),
        ("type='mmpretrain.VisionTransformer', arch='none'", r'mmpretrain.VisionTransformer cannot be built'),
    ):
        meta = dict(cfg=f'model = dict(backbone=dict({backbone}))\n')
        torch.save(dict(state_dict={'backbone.x': torch.zeros(1)}, meta=meta), path)
        with pytest.raises(UserError, match=message):
            plan('knn', subject=read_subject(str(path)))


def test_what_a_checkpoint_brings_stays_data() -> None:
    """mmengine fills in variables at two braces when it reads the written file, whatever is around them."""
    backbone, braces = read_subject('random', PRETRAINING).backbone, '{{$HOME:x}}'
    for stored in (
        dict(data_preprocessor=dict(mean=[braces]), config_name=7),
        dict(data_preprocessor=dict(std={braces: 1})),
        dict(config_name=f'patchmix/{braces}_digits'),
    ):
        with pytest.raises(UserError, match=r'two braces in a value|data\.(mean|std)=.* must be'):
            plan('knn', subject=Subject('foreign.pth', backbone=backbone, config=Config(stored)))


def test_what_an_override_decides_follows_or_is_noted() -> None:
    options = {'knn.test_evaluator.neighbours': [1], 'linear.schedule.epochs': 10}
    subject = Subject(backbone=dict(type='mmpretrain.ResNet', depth=18))
    knn, linear = plan('knn', 'linear', overrides=options, subject=subject)
    assert knn.cfg.protocol.neighbours == [1] and knn.cfg.protocol.temperature == 0.07
    assert [linear.cfg.param_scheduler[-1].milestones, linear.cfg.train_cfg.max_epochs] == [[6, 8], 10]
    (shortest,) = plan('linear', overrides={'schedule.epochs': 1}, subject=subject)
    assert shortest.cfg.param_scheduler[-1].milestones == [1, 1]  # no milestone before the first step
    for epochs, ends in ((1, [5, 100]), (50, [5, 50])):
        (tuned,) = plan('finetune', overrides={'schedule.epochs': epochs}, own_configs=[str(MAE)])
        assert [one.end for one in tuned.cfg.param_scheduler] == ends
    (semi,) = plan('semi', overrides={'data.share': 0.5})
    assert semi.cfg.protocol.share == 0.5


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('bacth = 3', "bacth is read by nothing; did you mean 'batch'"),
        ('schedule = None', 'schedule, optimizer and batch belong together'),
        ("views = 'bilinaer'", "views='bilinaer' is no view of the data set; did you mean 'bilinear'"),
        ("protocol = 'linear'", 'give one for each of'),
        ('model = dict(head=None)', 'model.head=None must be a dict'),
        ('repeats = 0', 'repeats=0 must be a whole number of at least 1'),
        ("statistics = 'x'", "statistics='x' must be 'pretraining' or 'data' or 'own'"),
        ('optim_wrapper = dict(optimizer=dict(lr=1))', 'set optimizer .its lr is for 256 images'),
    ],
)
def test_slips_in_a_recipe_are_told(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / 'own.py').write_text(f"_base_ = 'mixcl::evaluation/recipes/linear/moco.py'\n{text}\n")
    with pytest.raises(UserError, match=message):
        plan('linear', own_configs=[str(tmp_path / 'own.py')])


def test_milestones_follow_the_epochs_unless_they_are_said() -> None:
    subject = Subject(backbone=dict(type='mmpretrain.ResNet', depth=18))
    for said, expected in (({'schedule.warmup': 0}, [6, 8]), ({'schedule.milestones': [3, 5]}, [3, 5])):
        (linear,) = plan('linear', overrides={'schedule.epochs': 10, **said}, subject=subject)
        assert linear.cfg.param_scheduler[-1].milestones == expected


def test_a_recipe_of_ones_own_keeps_its_numbers(tmp_path: Path) -> None:
    """The numbers that it inherits have variants for digits."""
    path = tmp_path / 'own.py'
    base = CONFIGS / 'evaluation/recipes/linear/patchmix.py'
    path.write_text(f"_base_ = '{base}'\noptimizer = dict(lr=0.5)\nschedule = dict(epochs=7)\n")
    (plan,) = planned(['linear'], 'digits', Subject(), own_configs=[str(path)])
    found = plan.cfg.optim_wrapper.optimizer.lr, plan.cfg.train_cfg.max_epochs, plan.cfg.train_dataloader.batch_size
    assert found == (2.0, 7, 1024)
