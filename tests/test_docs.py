"""Code and commands in the documentation work as printed."""

import copy
import re
import runpy
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from unittest.mock import patch

import hosts
import pages
import pytest
import tiny
import torch
from evaluation.composed import composed
from mmengine.config import Config
from mmengine.registry import DefaultScope
from pages import PAGES, ROOT, blocks
from PIL import Image
from tools.command import run
from torch import nn
from torch.nn import functional

from mixcl.algorithms import StepKey
from mixcl.composition import Composition
from mixcl.losses import CrossCorrelation, InfoNCE
from mixcl.mixers import CutMix, Mixup, PatchMix
from mixcl.recipes.prepared import prepared
from mixcl.registry import DATASETS, LOSSES, MIXERS
from mixcl.shipped import find_config

BY_NAME = pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def the_block(page: str, first_words: str) -> str:
    (block,) = (block for block in blocks(ROOT / page, 'python') if block.text.startswith(first_words))
    return block.text


@pytest.fixture(autouse=True)
def registries():
    """Forget what the pages register."""
    with ExitStack() as patches:
        for registry in (MIXERS, LOSSES, DATASETS):
            registry.import_from_location()  # what is first imported in a test would be forgotten, too
            patches.enter_context(patch.dict(registry.module_dict))
        yield


def test_the_example_mixer_says_what_it_did():
    exec(the_block('docs/your_own_mixer.md', '# my_mixers.py'), {})
    images = torch.arange(5.0)[:, None, None, None].expand(5, 3, 8, 16)
    mixed, composition = MIXERS.build(dict(type='Stripes'))(images)
    own_pixels = (mixed == images).float().mean((1, 2, 3))
    torch.testing.assert_close(own_pixels, composition.weights[:, 0])
    counted = Composition(composition.sources, composition.weights)  # no reach given: counted from the rows
    torch.testing.assert_close(composition.target(composition).dense(5), counted.target(counted).dense(5))


def test_the_example_mixer_of_pairs_shows_what_it_says():
    names = {}
    exec(the_block('docs/your_own_mixer.md', '# my_pairs.py'), names)
    exec(the_block('docs/your_own_mixer.md', '# disagreement.py'), names)
    disagreement = names['disagreement']
    assert disagreement(names['Cut']()) < 1e-6 and disagreement(CutMix()) < 1e-6
    assert round(disagreement(PatchMix(patch_size=4)), 2) == 0.01
    assert disagreement(Mixup()) > 0.1  # none of its pixels is that of an image


def test_the_example_loss_of_sure_rows_is_smaller():
    names = {}
    exec(the_block('docs/your_own_mixer.md', '# my_losses.py'), names)
    views = Composition.identity(4)
    queries = functional.normalize(torch.randn(4, 8), dim=1)
    plain, same, focal = (
        loss(queries, queries, views.target(views))
        for loss in (InfoNCE(0.5), names['Focal'](0, temperature=0.5), names['Focal'](2, temperature=0.5))
    )
    torch.testing.assert_close(plain, same)
    torch.testing.assert_close(focal, plain * (1 - (-plain).exp()) ** 2)


def test_the_example_loss_of_statistics_is_that_of_barlow_twins():
    names = {}
    exec(the_block('docs/your_own_mixer.md', '# my_statistics.py'), names)
    views = Composition.identity(6)
    raw = torch.randn(6, 4), torch.randn(6, 4)
    found = [
        loss(loss.prepare_query(raw[0]), loss.prepare_key(raw[1]), views.target(views))
        for loss in (names['Twins'](), CrossCorrelation())
    ]
    torch.testing.assert_close(*found)


def test_the_example_files_train_for_an_epoch(tmp_path):
    mixer = the_block('docs/your_own_mixer.md', '# my_mixers.py')
    config = the_block('docs/your_own_mixer.md', '# my_config.py')
    (tmp_path / 'my_mixers.py').write_text(mixer)
    (tmp_path / 'my_config.py').write_text(config)
    options = ('schedule.epochs=1', 'data.images.indices=256', 'batch=128', 'data.workers=0',
               'default_hooks.logger.interval=1')  # fmt: skip
    arguments = (tmp_path / 'my_config.py', '--work-dir', tmp_path / 'run', '--no-validate', '--cfg-options', *options)
    result = run('tools/train.py', *arguments)
    assert result.returncode == 0, result.stderr[-3000:]
    (log,) = (path.read_text() for path in tmp_path.glob('run/*/*.log'))
    assert re.search(r'Epoch\(train\) \[1\]\[2/2\].* loss_mix2_mix1: \d', log)
    assert (tmp_path / 'run/epoch_1.pth').exists()


def test_the_loop_beside_lightlys_trains():
    names = {}
    exec(the_block('docs/coming_from/lightly.md', 'import torch'), names)
    assert names['step'] == 1 and torch.isfinite(names['loss'])
    assert all(parameter.grad is not None for parameter in names['learner'].backbone.parameters())


def test_the_config_beside_solo_learns_is_its_base():
    names = {}
    exec(the_block('docs/coming_from/solo-learn.md', '# my_config.py'), names)
    model = Config.fromfile(find_config(names['_base_'])).model
    assert dict(names['model']['objective'], gather=False) == model.objective
    assert all(model[key] == value for key, value in names['model'].items() if key != 'objective')


def test_the_data_set_of_ones_own_gives_views(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path('my_images.py').write_text(the_block('docs/your_images.md', '# my_images.py'))
    Path('my_config.py').write_text(the_block('docs/your_images.md', '# my_config.py'))
    Image.new('RGB', (300, 240)).save('one.png')
    Path('images.txt').write_text('one.png\n')
    with DefaultScope.overwrite_default_scope('mixcl'):
        data = DATASETS.build(prepared('my_config.py').train_dataloader.dataset)
        assert len(data) == 1 and len(data[0]['inputs']) == 2


def test_the_config_of_the_readme_is_that_of_the_file():
    names = {}
    exec(the_block('README.md', 'model = dict('), names)
    model = Config.fromfile(ROOT / 'configs/_base_/methods/patchmix.py').model
    assert all(model[key] == value for key, value in names['model'].items())


METHOD_PAGES = sorted((ROOT / 'docs/methods').glob('*.md'))


@pytest.mark.parametrize('page', METHOD_PAGES, ids=lambda page: page.stem)
def test_the_tables_of_terms_are_those_of_the_configs(page):
    """Tables are blocks below the name of a config, and rows that begin with one."""
    text = page.read_text()
    shown = re.findall(r'`(configs/[\w/-]+\.py)`[^`]*:\n\n```python\n(model = .*?)```', text, re.DOTALL)
    row = r'^\| `(configs/[\w/-]+\.py)` \| `(.+?)` \| `(.+?)` \| `(.+?)` \|$'
    rows = re.findall(row, text, re.MULTILINE)
    shown += [(name, f'model = dict(target={a}, objective={b}, terms={c})') for name, a, b, c in rows]
    for name, block in shown:
        names = {}
        exec(block, names)
        config = Config.fromfile(ROOT / name)
        assert not {key for key, value in names['model'].items() if config.model[key] != value}, name
        views = names.get('views', {})
        assert all({**config.views[key], **view} == config.views[key] for key, view in views.items()), name
    assert len(shown) - len(rows) == text.count('\nmodel = dict(')
    assert len(shown) >= 1


def test_patchmix_by_hand_is_the_table_of_terms_beside_it(monkeypatch):
    """Both use the groups of patches that the mixer drew."""
    by_hand, table = dict(), dict()
    exec(the_block('docs/concepts.md', '# PatchMix by hand'), by_hand)
    exec(the_block('docs/concepts.md', 'model = dict('), table)
    changes = {key: table['model'][key] for key in ('target', 'objective', 'streams', 'terms')}
    learner = tiny.build(**changes, mixer=dict(table['model']['mixer'], patch_size=2)).double()
    view1, view2 = (torch.rand(7, 3, 8, 8, dtype=torch.float64) for _ in range(2))
    by_hand['PATCH'] = 2
    assert by_hand['random_groups'](view1).unique(return_counts=True)[1].tolist() == [6, 5, 5]
    groups = []
    place = PatchMix.place

    def recorded(*arguments):
        mixed, composition = place(*arguments)
        groups.append(composition.shown[0])
        return mixed, composition

    monkeypatch.setattr(PatchMix, 'place', recorded)
    losses = learner([view1, view2], mode='loss')

    def online(images):
        return learner.predictor(learner.neck(learner.backbone(images)[-1]))

    def target(images):
        return learner.target.neck(learner.target.backbone(images)[-1])

    drawn = iter(groups)
    by_hand['random_groups'] = lambda images: next(drawn)
    expected = by_hand['patchmix_loss'](view1, view2, online, target)
    torch.testing.assert_close(sum(value for name, value in losses.items() if 'loss' in name), expected)


class LastOutput(nn.Module):
    def forward(self, outputs):
        return outputs[-1]


def test_patchmix_in_full_trains_as_the_engine_does(monkeypatch):
    """Losses, gradients and average of two steps agree, from the same weights and with the same permutations."""
    names = {}
    exec(the_block('docs/methods/patchmix.md', '# PatchMix in full'), names)
    model = Config.fromfile(ROOT / 'configs/patchmix/vit-s16_in1k.py').model.to_dict()
    model['backbone'] |= hosts.BACKBONES['vit'] | dict(drop_path_rate=0.0)
    model['neck'] |= dict(hidden_channels=24, out_channels=12)
    model['predictor'] |= dict(hidden_channels=24)
    learner = hosts.build(model).double()
    names['PATCH'] = 2
    backbone = nn.Sequential(copy.deepcopy(learner.backbone), LastOutput())
    by_hand = names['PatchMix'](backbone, 16, 24, 12).double()
    for head, same in (by_hand.encoder[1], learner.neck), (by_hand.predictor, learner.predictor):
        head.load_state_dict(dict(zip(head.state_dict(), same.state_dict().values(), strict=True)))
    by_hand.momentum_encoder.load_state_dict(by_hand.encoder.state_dict())
    engine = nn.ModuleList([learner.backbone, learner.neck, learner.predictor])
    plain = nn.ModuleList([by_hand.encoder, by_hand.predictor])
    drawn, randperm = [], torch.randperm
    for step in (1, 2):
        views = hosts.crops(learner, 7, seed=step)
        learner.begin_step(StepKey(seed=0, step=step, rank=0))
        monkeypatch.setattr(torch, 'randperm', lambda *size, **draw: drawn.append(randperm(*size, **draw)) or drawn[-1])
        named = learner(views, mode='loss')
        losses = torch.stack([named[f'loss_{query}_{key}'] for query, key, _ in model['terms']])
        monkeypatch.setattr(torch, 'randperm', lambda size: drawn.pop(0))
        expected = torch.stack(by_hand(*views))
        torch.testing.assert_close(losses, expected, rtol=0, atol=1e-6)
        losses.sum().backward()
        expected.sum().backward()
        for parameter, same in zip(engine.parameters(), plain.parameters(), strict=True):
            # The class token starts nearly at 0, which layer norm amplifies: rounding shows.
            torch.testing.assert_close(parameter.grad, same.grad, rtol=1e-5, atol=1e-5)
        for module in (engine, plain):
            torch.optim.SGD(module.parameters(), lr=0.01).step()
            module.zero_grad()
        learner.end_step(progress=step / 3, epochs=1)
        by_hand.follow(step / 3)
    for parameter, same in zip(learner.target.parameters(), by_hand.momentum_encoder.parameters(), strict=True):
        torch.testing.assert_close(parameter, same, rtol=0, atol=1e-6)


def test_the_worked_example_of_the_concepts():
    """Its numbers and the picture's are those counted by hand: each mixture has halves of two of four images."""
    names = {}
    exec(the_block('docs/concepts.md', 'import torch'), names)
    to_views = [[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5], [0.5, 0, 0, 0.5]]
    to_mixtures = [[0.5, 0.25, 0, 0.25], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25], [0.25, 0, 0.25, 0.5]]
    assert names['to_views'].tolist() == to_views and names['to_mixtures'].tolist() == to_mixtures
    assert names['shared'].item() == 0.5
    picture = runpy.run_path(str(ROOT / 'docs/pictures/target.py'))
    drawn = [float(text.get_text()) for axis in picture['draw'](picture['photos']()).axes for text in axis.texts]
    assert drawn == [*chain(*to_views, *to_mixtures)]


@BY_NAME
def test_every_file_that_a_page_names_exists(page):
    text = page.read_text()
    if page.name == 'CHANGELOG.md':  # it names files that are gone, too
        return
    named = re.findall(r'(?:configs|tools|docs|mixcl|tests)/[\w./-]+\.(?:py|sh|md|svg|png)', text)
    named += [f'configs/patchmix/{name}' for name in re.findall(r'`(vit-[\w-]+\.py)`', text)]
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


@BY_NAME
def test_links_within_the_repository_lead_somewhere(page):
    for link in pages.links(page):
        path, _, anchor = link.partition('#')
        target = (page.parent / path) if path else page
        if ':' not in path:
            assert target.exists(), link
            assert not anchor or anchor in pages.anchors(target), link


@BY_NAME
def test_commands_are_as_the_tools_read_them(page):
    """The data need not be there. A block that our parsers cannot read says what it needs."""
    files = {block.file for block in blocks(page, 'python')}
    for block in blocks(page, 'sh', 'bash', 'console'):
        for words in pages.commands(block.text) if not block.needs else []:
            pages.check_command(words, files)
    command = r'(\$ |python |mixcl |tools/|make |pip )'
    unnamed = [block.text for block in blocks(page, '') if re.match(command, block.text)]
    assert not unnamed, 'blocks of commands begin with ```sh'


@BY_NAME
def test_blocks_of_python_can_be_read(page, tmp_path, monkeypatch):
    """Their imports exist, their config keys are known, and bases are found from any folder.

    Pages that run as a whole have tests of their own.
    """
    files = {block.file for block in blocks(page, 'python')}
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, 'python', 'py'):
        pages.check_python(block.text, files) if not block.needs else compile(block.text, str(page), 'exec')
        assert "'configs/" not in block.text
        if re.search(r"^_base_ = .*'mixcl::", block.text, re.MULTILINE) and 'imports=' not in block.text:
            Path('block.py').write_text(block.text)
            composed('finetune', 'block.py') if 'evaluated = ' in block.text else prepared('block.py')


@pytest.mark.long
def test_the_site_is_built_without_a_warning(tmp_path, capfd):
    build = pytest.importorskip('sphinx.cmd.build', reason='needs sphinx: pip install -e ".[docs]"').main
    words = ['--fail-on-warning', '--quiet', '-c', ROOT / 'docs', '-d', tmp_path / 'doctrees', ROOT, tmp_path / 'site']
    assert build([*map(str, words)]) == 0, capfd.readouterr().err
    front = (tmp_path / 'site/index.html').read_text()
    assert 'docs/start.html' in front
    assert 'mixcl.mixers.PatchMix' in (tmp_path / 'site/docs/api/mixers.html').read_text()
