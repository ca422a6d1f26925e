"""What the log says on how to repeat a run: the source code, the command, the seed."""

import shlex
import subprocess
import sys
from pathlib import Path

import mixcl


def how_to_repeat(seed: int) -> str:
    """Return the lines of the log, which the report shows."""
    program, *words = sys.argv
    start = 'mixcl' if Path(program).name in ('mixcl', '__main__.py') else f'python {shlex.quote(program)}'
    source = source_state(Path(__file__).parents[3]) or f'# mixcl {mixcl.__version__}'
    return f'how to repeat this run:\n  {source}\n  {start} {shlex.join(words)}  # seed {seed}'


def source_state(folder: Path) -> str:
    """Return the command for the commit of the source code, and which files differ; '' outside a git repository."""
    if not Path(folder, '.git').exists():  # mixcl may be installed inside another repository
        return ''
    try:
        commit, changed = (
            subprocess.run(
                ['git', '-C', str(folder), *command.split()], capture_output=True, text=True, timeout=20, check=True
            ).stdout
            for command in ('rev-parse HEAD', 'status --porcelain -- .')
        )
    except (OSError, subprocess.SubprocessError):
        return ''
    files = ', '.join(line[3:] for line in changed.splitlines())
    return f'git checkout {commit.strip()}' + (f'  # and changes of {files}' if files else '')
