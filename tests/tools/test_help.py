"""``--help`` of every command answers before anything is imported that takes seconds."""

import re
import shlex
import subprocess
import sys

from tools.command import ENVIRONMENT, ROOT

from mixcl.console import COMMANDS, parsed

# Users do not start torchrun.py; benchmarks are for those who have time.
SCRIPTS = [
    path
    for path in sorted((ROOT / 'tools').rglob('*.py'))
    if "'__main__'" in path.read_text() and path.name != 'torchrun.py' and path.parent.name != 'benchmark'
]

ASK_ALL = """
import runpy, sys
from mixcl.console import COMMANDS, run
for script in [*COMMANDS, *sys.argv[1:]]:
    sys.path[0] = script.rpartition('/')[0]
    sys.argv = [script, '--help']
    try:
        run(script) if script in COMMANDS else runpy.run_path(script, run_name='__main__')
    except SystemExit as end:
        assert end.code == 0, script
    assert not {'torch', 'mmpretrain', 'mmdet', 'timm', 'sklearn'} & set(sys.modules), script
"""


def test_help_of_pretrain_has_its_defaults_and_examples_that_can_be_called() -> None:
    words = [sys.executable, '-m', 'mixcl', 'pretrain', '--help']
    text = subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True).stdout
    options = dict(re.findall(r'^  (--[\w-]+)(.*\n(?: {10,}.*\n)*)', text, re.MULTILINE))
    for name in ('method', 'model', 'epochs', 'batch-size', 'lr', 'seed', 'image-size', 'num-workers', 'max-time'):
        assert 'default' in options[f'--{name}'], name
    examples = re.findall(r'^  mixcl pretrain (.+)$', text, re.MULTILINE)
    assert len(examples) == 2
    for words in examples:
        parsed('pretrain', shlex.split(words, comments=True))


def test_help_waits_for_no_import_of_torch() -> None:
    arguments = [sys.executable, '-c', ASK_ALL, *map(str, SCRIPTS)]
    result = subprocess.run(arguments, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert result.returncode == 0 and result.stderr == '', result.stderr[-3000:]
    assert result.stdout.count('usage: ') == len(COMMANDS) + len(SCRIPTS) > 20
