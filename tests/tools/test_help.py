"""``--help`` of every command answers before anything is imported that takes seconds."""

import subprocess
import sys

from tools.command import ENVIRONMENT, ROOT

# Those that are left out are started by others.
COMMANDS = [
    path
    for path in sorted((ROOT / 'tools').rglob('*.py'))
    if "'__main__'" in path.read_text() and path.name not in ('torchrun.py', 'plain_step.py', 'mixcl_step.py')
]

ASK_ALL = """
import runpy, sys
for command in sys.argv[1:]:
    sys.path[0] = command.rpartition('/')[0]
    sys.argv = [command, '--help']
    try:
        runpy.run_path(command, run_name='__main__')
    except SystemExit as end:
        assert end.code == 0, command
    assert not {'torch', 'mmpretrain', 'mmdet', 'timm', 'sklearn'} & set(sys.modules), command
"""


def test_help_waits_for_no_import_of_torch() -> None:
    arguments = [sys.executable, '-c', ASK_ALL, *map(str, COMMANDS), str(ROOT / 'mixcl/doctor.py')]
    result = subprocess.run(arguments, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert result.returncode == 0 and result.stderr == '', result.stderr[-3000:]
    assert result.stdout.count('usage: ') == len(COMMANDS) + 1 > 20
