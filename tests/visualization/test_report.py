"""The report shows everything or names what is missing, runs nothing that names contain, and needs no script."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from engine.tiny_runs import run_config, trained
from mmengine.config import Config
from own_sources import photo, write_folder
from tools.in_process import refusal, run_as_given
from tools.once import once

from mixcl.visualization.report import write_report
from mixcl.visualization.report.facts import health
from mixcl.visualization.report.run_record import RunRecord

CLASSES = ('<script>alert(1)<script>&"', '<img src=x onerror=alert(2)>', "'; alert(3); '<b>")
VALUE = '</script><script>alert(4)</script>'
HEADINGS = ['What was trained', 'Warnings', 'Table of terms', 'Curves', 'Config', 'Environment', 'How to reproduce']
OF_MODELS = ['Mixtures', 'Neighbours', 'Attention', 'Similarity', 'Map', 'LiDAR']


class Page(HTMLParser):
    """Elements of a page with their attributes, and its texts, each with the name of its element."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(path.read_text(encoding='utf-8'))

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.elements[-1][0] if self.elements else '', data))

    def of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag and text.strip()]


def train(folder: Path) -> None:
    cfg = run_config(folder, train_cfg__max_epochs=1)
    cfg.note = VALUE
    trained(cfg)


@pytest.fixture(scope='module')
def run() -> Path:
    return once('reported', train)


@pytest.fixture(scope='module')
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {f'{CLASSES[number % 3]}/{number}.png': photo(number, (24, 24)) for number in range(18)}
    return write_folder(tmp_path_factory.mktemp('photos'), files)


@pytest.fixture(scope='module')
def written(run: Path, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([run], tmp_path_factory.mktemp('page') / 'report.html', f'folder:{photos}')


def test_everything_of_a_run_is_on_one_page_that_needs_no_other(written: Path, run: Path) -> None:
    page = Page(written)
    assert page.of('h2') == page.of('a') == [*HEADINGS[:4], *OF_MODELS, *HEADINGS[4:], 'How to load', 'Left out']
    assert page.of('li')[-1].startswith('Evaluation: nothing has been evaluated') and written.stat().st_size < 5e6
    addresses = [value for _, found in page.elements for key, value in found.items() if key in ('src', 'href')]
    assert addresses and all(address.startswith(('data:image/', '#s')) for address in addresses)
    assert len([address for address in addresses if address.startswith('data:image/png')]) == 4
    texts = '\n'.join(text for _, text in page.texts)
    assert '  # seed 7' in texts and torch.__version__ in page.of('td')
    assert 'each mixture of view2 is pulled to view1 of the images that it is made of' in texts
    assert f'mixcl.load_backbone({str(run)!r})' in texts and 'could not be shown' not in texts


def test_nothing_from_a_name_or_a_value_runs(written: Path) -> None:
    page = Page(written)
    assert not [tag for tag, found in page.elements if tag == 'script' or any(key.startswith('on') for key in found)]
    assert any(VALUE in text for text in page.of('pre'))


def start(folder: Path, name: str, *steps: int, warning: str = '') -> None:
    """Write what a start leaves, without a checkpoint."""
    lines = [dict(loss=1.0, loss_view1_view2=float('nan'), epoch=step, step=step, time=60.0) for step in steps]
    (folder / name / 'vis_data').mkdir(parents=True)
    (folder / name / 'vis_data/scalars.json').write_text('\n'.join(map(json.dumps, lines)) + '\n')
    cfg = run_config(folder, train_cfg__max_epochs=9)
    (folder / name / 'vis_data/config.py').write_text(Config(cfg.to_dict() | dict(model=cfg.model)).pretty_text)
    said = f'2026/01/01 00:00:00 - mmengine - WARNING - {warning}\n' if warning else ''
    begins = f"2026/01/01 00:00:00 - mmengine - INFO - how to repeat this run:\n  mixcl train 'a b' {name}\n"
    (folder / name / f'{name}.log').write_text(begins + said)


def test_a_resumed_run_is_one_and_what_is_missing_is_told(tmp_path: Path) -> None:
    start(tmp_path / 'run', '1', 1, 2, warning='step 9: of another run')
    start(tmp_path / 'run', '2', 1, 2, 3, warning='step 2: the features lie in 1 dimensions')
    start(tmp_path / 'run', '3', 3, 4)
    (tmp_path / 'run/4/vis_data').mkdir(parents=True)
    (tmp_path / 'run/4/vis_data/config.py').write_text('model = None')  # left by a test, or a start that was refused
    assert [folder.name for folder in RunRecord(tmp_path / 'run', '').starts] == ['2', '3']
    page = Page(write_report([tmp_path / 'run'], tmp_path / 'report.html'))
    assert page.of('h2') == page.of('a') == [*HEADINGS[:5], HEADINGS[6], 'Left out']
    assert page.of('li')[0] == 'step 2: the features lie in 1 dimensions'
    assert {'4 epochs of 9: it has not finished', '4.0 minutes, 2 start(s)'} <= set(page.of('td'))
    assert any(text.startswith("mixcl train 'a b' 2") for text in page.of('pre'))
    *_, told, system = page.of('li')
    assert system == 'Environment: the log does not say the environment'
    assert told.startswith(f'{", ".join([*OF_MODELS, "How to load"])}: ') and 'holds no checkpoint of a run' in told


def test_no_warning_is_no_good_news_of_a_run_that_nobody_watched(tmp_path: Path) -> None:
    start(tmp_path, '1', 1)
    path, said = tmp_path / '1/vis_data/config.py', []
    text = path.read_text()
    for changed in (text, text.replace("type='HealthHook'", "type='HealthHook', grace=0"), 'default_hooks = dict()'):
        path.write_text(changed)
        said.append(health(RunRecord(tmp_path, ''))[0].content)
    assert said[0].endswith('those about the representation begin after 1000 steps, and this run has 1.')
    assert said[1] == 'No step gave a warning: the run looked healthy.'
    assert said[2].endswith('but HealthHook, which watches the representation, was not active.')


def test_the_config_of_a_checkpoint_without_its_log(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / 'epoch_1.pth', tmp_path)
    assert RunRecord(tmp_path, '').config.model == RunRecord(run, '').config.model


def test_results_stand_beside_the_papers_numbers(tmp_path: Path) -> None:
    start(tmp_path, '1', 1)
    path = tmp_path / '1/vis_data/config.py'
    path.write_text(path.read_text() + "\nconfig_name = 'patchmix/vit-s16_in1k'\n")
    row = dict(
        checkpoint=dict(path='a.pth', sha256='0', config_name='patchmix/vit-s16_in1k', epoch=300), encoder='target',
        data='in1k', protocol=dict(name='knn'), config=dict(path='knn.py', sha256='1'), overrides={}, precision='fp32',
        paper=[dict(method='PatchMix', metric='top1', value=73.3, source='PatchMix, Table 2')], seed=0,
        metrics=dict(knn20_top1=71.5), best={},
    )  # fmt: skip
    (tmp_path / 'results.json').write_text(json.dumps([row]))
    page = Page(write_report([tmp_path], tmp_path / 'report.html'))
    cells = page.of('td')
    assert '71.50' in cells and '73.3 (PatchMix, Table 2)' in cells and 'PatchMix, Table 2' in cells
    assert page.of('h2')[3] == 'Evaluation'
    assert any(text.startswith('From its file to this run') for text in page.of('summary'))


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    run, other = tmp_path / 'run', tmp_path / 'other'
    start(run, '1', 1)
    start(other, '1', 1, 2)
    for _ in range(2):
        assert run_as_given('tools/report.py', run, other) == 0
    page = Page(run / 'report.html')
    assert [found['href'] for tag, found in page.elements if tag == 'a'][-2:] == ['.', '../other'], (
        'not the page itself'
    )
    assert page.of('h1') == ['run and other'] and page.of('h3')[:2] == ['run', 'other']
    assert any(text.startswith('From run to other: ') for text in page.of('summary'))
    for words, problem in {
        (tmp_path,): 'is not the folder of a run',
        (run, '--out', 'a.pdf'): 'must end in .html',
    }.items():
        assert problem in refusal(capfd, 'tools/report.py', *words, options=None)
