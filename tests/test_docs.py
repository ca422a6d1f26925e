"""What the documentation shows must work as printed."""

import re
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from tools.command import run

from mixcl.composition import Composition
from mixcl.registry import MIXERS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md'))]


def code_blocks(page: str, first_word: str) -> list[str]:
    blocks = re.findall(r'```python\n(.*?)```', (ROOT / page).read_text(), re.DOTALL)
    return [block for block in blocks if block.startswith(first_word)]


def test_the_example_mixer_says_what_it_did(monkeypatch):
    MIXERS.import_from_location()  # or what is imported meanwhile would be forgotten
    monkeypatch.setattr(MIXERS, '_module_dict', dict(MIXERS.module_dict))
    exec(*code_blocks('docs/your_own_mixer.md', '# my_mixers.py'), {})
    images = torch.arange(5.0)[:, None, None, None].expand(5, 3, 8, 16)
    mixed, composition = MIXERS.build(dict(type='Stripes'))(images)
    own_pixels = (mixed == images).float().mean((1, 2, 3))
    torch.testing.assert_close(own_pixels, composition.weights[:, 0])
    counted = Composition(composition.sources, composition.weights)  # no reach: counted from the rows
    torch.testing.assert_close(composition.target(composition).dense(5), counted.target(counted).dense(5))


def test_the_example_files_train_for_an_epoch(tmp_path):
    (mixer,) = code_blocks('docs/your_own_mixer.md', '# my_mixers.py')
    (config,) = code_blocks('docs/your_own_mixer.md', '# my_config.py')
    assert len(mixer.splitlines()) <= 60
    assert "_base_ = 'configs/" in config
    (tmp_path / 'my_mixers.py').write_text(mixer)
    (tmp_path / 'my_config.py').write_text(config.replace("'configs/", f"'{ROOT}/configs/"))
    options = ('train_cfg.max_epochs=1', 'train_dataloader.dataset.dataset.indices=256',
               'train_dataloader.num_workers=0', 'default_hooks.logger.interval=1')  # fmt: skip
    arguments = (tmp_path / 'my_config.py', '--work-dir', tmp_path / 'run', '--no-validate', '--cfg-options', *options)
    result = run('tools/train.py', *arguments)
    assert result.returncode == 0, result.stderr[-3000:]
    (log,) = (path.read_text() for path in tmp_path.glob('run/*/*.log'))
    assert 'Epoch(train) [1][2/2]' in log
    for term in ('loss_view1_view2', 'loss_mix2_view1', 'loss_mix2_mix1'):
        values = [float(value) for value in re.findall(rf'{term}: ([\d.naninf]+)', log)]
        assert len(values) == 2 and all(0 < value < 20 for value in values)
    assert (tmp_path / 'run/epoch_1.pth').exists()


def test_the_library_example_of_the_readme_runs():
    (example,) = code_blocks('README.md', 'import torch')
    names = {}
    exec(example, names)
    assert names['mixed'].shape == (8, 3, 224, 224)
    assert names['composition'].sources[0].tolist() == [0, 1, 2]


def test_the_config_of_the_readme_is_that_of_the_file():
    (example,) = code_blocks('README.md', 'model = dict(')
    names = {}
    exec(example, names)
    model = Config.fromfile(ROOT / 'configs/_base_/methods/patchmix.py').model
    assert all(model[key] == value for key, value in names['model'].items())


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    text = page.read_text()
    named = re.findall(r'(?:configs|tools|docs|mixcl|tests)/[\w./-]+\.(?:py|sh|md|svg)', text)
    named += [f'configs/patchmix/{name}' for name in re.findall(r'`(vit-[\w-]+\.py)`', text)]
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    links = re.findall(r'\]\(([^)#:]+)\)', page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
