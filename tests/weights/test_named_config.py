"""The config that a user names for a checkpoint may import what the one in the file may not."""

from pathlib import Path

import pytest
import torch
from evaluation.checkpoints import of_pretraining
from evaluation.composed import CONFIGS
from tools.in_process import run_as_given

from mixcl.errors import UserError
from mixcl.recipes.subject import read_subject
from mixcl.registry import MIXERS
from mixcl.visualization.pictured import read_pictured
from mixcl.visualization.report import write_report

MODULE = """
from mixcl.mixers import PatchMix
from mixcl.registry import MIXERS

MIXERS.register_module(name='MixerOfOnesOwn')(type('MixerOfOnesOwn', (PatchMix,), {}))
"""


def test_a_mixer_of_ones_own_is_built_where_its_config_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / 'module_of_ones_own.py').write_text(MODULE)
    config = tmp_path / 'own.py'
    config.write_text(
        f"_base_ = '{CONFIGS}/patchmix/vit-xs4_digits.py'\ncustom_imports = dict(imports=['module_of_ones_own'])\n"
        "model = dict(mixer=dict(type='MixerOfOnesOwn'))\n"
    )
    path = of_pretraining(tmp_path / 'epoch_1.pth')
    content = torch.load(path, weights_only=True)
    content['meta']['cfg'] = content['meta']['cfg'].replace("'PatchMix'", "'MixerOfOnesOwn'")
    torch.save(content, path)
    arguments = ('tools/visualize.py', 'mix', path, '--num-images', 4, '--out', tmp_path / 'mix.png')
    assert run_as_given(*arguments) == 2
    assert "model.mixer.type='MixerOfOnesOwn', " in (said := capfd.readouterr().err) and 'by --config FILE' in said
    assert 'MixerOfOnesOwn' not in MIXERS
    for wrong, problem in (([config, config], 'names 2 configs for 1 runs'), (['missing.py'], 'no config file')):
        with pytest.raises(UserError, match=problem):
            write_report([tmp_path], tmp_path / 'report.html', configs=wrong)
    assert run_as_given(*arguments, '--config', config) == 0 and (tmp_path / 'mix.png').is_file()
    assert read_pictured(str(path), str(config)).config.model.mixer.type == 'MixerOfOnesOwn'


def test_it_counts_in_the_place_of_the_one_in_the_file(tmp_path: Path) -> None:
    """The config in the file has another backbone, and a part that no file may name."""
    path = of_pretraining(tmp_path / 'epoch_1.pth')
    content = torch.load(path, weights_only=True)
    stored = content['meta']['cfg'].replace("type='ContrastiveViT'", "type='os.system'")
    torch.save({**content, 'meta': dict(cfg=stored)}, path)
    with pytest.raises(UserError, match=r"backbone\.type='os\.system'"):
        read_subject(str(path))
    subject = read_subject(str(path), 'patchmix/vit-xs4_digits')
    assert subject.backbone['type'] == 'ContrastiveViT' and subject.config_name == 'patchmix/vit-xs4_digits'
