"""Protocols with data of their own from the command line: VOC 2007, and ImageNet-A, -R and -C."""

import json
from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import class_folders, imagenet_archives, voc07
from evaluation.checkpoints import TINY_VIT, of_classifier
from evaluation.composed import composed, written
from mmengine.config import Config
from tools.in_process import run_as_given, run_here

from mixcl.datasets.imagenet_robustness import imagenet_classes
from mixcl.registry import MODELS
from mixcl.weights import read_pretrained


def answered(data: str, root: Path, biases: dict[int, float], work_dir: Path) -> dict[str, float]:
    """Return metrics of a classifier whose biases decide the class, whatever the image."""
    cfg = composed('robustness', 'imagenet-a', backbone=TINY_VIT)
    checkpoint = of_classifier(work_dir / 'classifier.pth', cfg, biases, stored=False)
    config, out = written(work_dir, 'robustness', data, backbone=TINY_VIT), work_dir / 'metrics.json'
    arguments = ('tools/test.py', config, checkpoint, '--data-root', root, '--work-dir', work_dir, '--out', out)
    assert run_here(*arguments, options=('test_dataloader.num_workers=0', 'test_dataloader.batch_size=32')) == 0
    return json.loads(out.read_text())


def test_only_the_classes_of_the_data_set_may_be_answered(tmp_path: Path) -> None:
    root = class_folders(tmp_path / 'data', 'imagenet_a')
    known = [imagenet_classes().index(wnid) for wnid in imagenet_classes('imagenet_a')]
    foreign = min(set(range(1000)) - set(known))
    # Without the mask, the answer would always be a class that the data set lacks.
    found = answered('imagenet-a', root, {foreign: 9.0, known[3]: 2.0}, tmp_path)
    assert found == pytest.approx(dict(top1=0.5, top5=2.5))


def evaluated(work_dir: Path, checkpoint: Path, data: str, archives: list[str], *arguments: str) -> list[dict]:
    places = ('--data', data, '--data-root', *archives, '--work-dir', work_dir)
    assert run_as_given('tools/evaluate.py', checkpoint, *places, *arguments) == 0
    return json.loads((work_dir / 'results.json').read_text())


@pytest.mark.long
def test_fine_tuning_then_robustness(tmp_path: Path) -> None:
    archives = [f'{name}={root}' for name, root in imagenet_archives(tmp_path, images=True).items()]
    config = dict(model=dict(type='ContrastiveLearner', backbone=TINY_VIT), config_name='dino/vit-s16_in1k')
    torch.manual_seed(0)
    state = {f'backbone.{name}': value for name, value in MODELS.build(TINY_VIT).state_dict().items()}
    pretrained = tmp_path / 'epoch_1.pth'
    torch.save(dict(state_dict=state, meta=dict(cfg=Config(config).pretty_text, epoch=1)), pretrained)
    tiny = ('schedule.epochs=2', 'optimizer.lr=3.2', 'batch=8',
             'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0',
            'train_dataloader.dataset.dataset.indices=8', 'val_dataloader.dataset.dataset.indices=4')  # fmt: skip
    loader = ('test_dataloader.num_workers=0', 'test_dataloader.batch_size=50')
    of_robustness = [f'robustness.{option}' for option in loader]
    both = tmp_path / 'both'
    rows = evaluated(
        both, pretrained, 'in1k', archives, '--protocols', 'finetune', 'robustness', '--cfg-options',
        *(f'finetune.{option}' for option in tiny), *of_robustness,
    )  # fmt: skip
    finetune, *robustness = rows
    assert finetune['config']['path'] == 'configs/evaluation/recipes/finetune/deit.py'
    assert [row['data'] for row in robustness] == ['in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c']
    expected = [{'accuracy/top1', 'accuracy/top5'}, {'top1', 'top5'}, {'top1', 'top5'}]
    assert [set(row['metrics']) for row in robustness[:3]] == expected
    assert len(robustness[3]['metrics']) == 17 and robustness[3]['metrics']['mce'] > 0
    trained = Path(finetune['trained'])
    assert trained.name == 'epoch_2.pth' and read_pretrained(trained).backbone['arch']['num_heads'] == 6
    heads = [Config.fromfile(path).model.backbone.arch.num_heads for path in both.glob('robustness_*.py')]
    assert heads == [6] * 4

    (alone,) = evaluated(
        tmp_path / 'alone', trained, 'imagenet-a', [archives[1]],
        '--protocols', 'robustness', '--cfg-options', *of_robustness,
    )  # fmt: skip
    assert alone['metrics'] == robustness[1]['metrics']
    # The same as an ordinary test, as on clusters.
    (path,) = both.glob('robustness_imagenet-r_*.py')
    arguments = ('--work-dir', tmp_path / 'test', '--out', tmp_path / 'metrics.json')
    assert run_here('tools/test.py', path, trained, *arguments) == 0
    assert json.loads((tmp_path / 'metrics.json').read_text()) == robustness[2]['metrics']


VOC07 = (
    'test_dataloader.num_workers=0', 'test_cfg.bank_dataloader.num_workers=0', 'test_dataloader.batch_size=7',
    'test_evaluator.0.jobs=1', 'test_evaluator.0.costs=[1.0,0.01]',
)  # fmt: skip


def on_voc07(folder: Path, work_dir: Path, *protocols: str) -> dict[str, dict]:
    """Evaluate an untrained ResNet-18 by one command; return metrics by protocol."""
    config = work_dir / 'r18.py'
    work_dir.mkdir()
    config.write_text("default_scope = 'mixcl'\nmodel = dict(backbone=dict(type='mmpretrain.ResNet', depth=18))\n")
    options = (f'{protocol}.{option}' for protocol in protocols for option in VOC07)
    words = [
        *('tools/evaluate.py', 'random', '--config', config, '--data', 'voc07', '--data-root', folder),
        *('--protocols', *protocols, '--work-dir', work_dir, '--cfg-options', 'randomness.seed=1', *options),
        *(['lowshot.test_evaluator.0.shots=[1]'] if 'lowshot' in protocols else []),
    ]
    assert run_as_given(*words) == 0
    rows = json.loads((work_dir / 'results.json').read_text())
    assert all(row['data'] == 'voc07' and '2x2' in row['protocol']['feature'] for row in rows)
    return {row['protocol']['name']: row['metrics'] for row in rows}


@pytest.mark.long
def test_one_command_for_both_and_difficult_objects_count_for_nothing(tmp_path: Path) -> None:
    folder = voc07(tmp_path, 40)
    found = on_voc07(folder, tmp_path / 'as_flagged', 'svm', 'lowshot')
    assert set(found['svm']) == {'svm_map'}
    # A class is in 16 of the 36 images that count; a blind ranking reaches that share.
    assert all(35 < value < 100 for value in found['svm'].values())
    assert set(found['lowshot']) == {'lowshot1_map', 'lowshot1_map_std'}
    assert 35 < found['lowshot']['lowshot1_map'] < 100
    for path in (folder / 'Annotations').iterdir():
        path.write_text(path.read_text().replace('<difficult>1<', '<difficult>0<'))
    # A class is now in 20 of 40 images, where it was in 16 of the 36 that counted.
    assert on_voc07(folder, tmp_path / 'all_easy', 'svm')['svm'] != found['svm']
