"""The checkpoint from which an interrupted run continues."""

import logging
from pathlib import Path

from mmengine.logging import print_log

from mixcl.errors import UserError
from mixcl.weights.safe_loading import written_at
from mixcl.weights.whole_files import is_whole


def newest_checkpoint(work_dir: str | Path) -> str | None:
    """Find the checkpoint of a work dir that was written last, among those that are whole.

    The files themselves say when they were written: the folder may have been moved or copied. A damaged file is passed
    over, with a warning that names it.

    Returns:
        its path, or None, with a warning, if the folder has no checkpoint.

    Raises:
        UserError: if there are checkpoints, and all are damaged.
    """
    folder = Path(work_dir)
    candidates = _candidates(folder)
    if not candidates:
        message = f'--resume: there is no checkpoint in {folder}, the run starts from the beginning'
        print_log(message, level=logging.WARNING)
        return None
    for path in _last_first(candidates):
        if is_whole(path):
            return str(path)
        _warn(f'{path} is damaged')
    raise UserError(
        f'--resume: none of the {len(candidates)} checkpoint(s) in {folder} can be read; remove them, or choose '
        'another --work-dir, to start from the beginning'
    )


def _candidates(folder: Path) -> set[Path]:
    noted = folder / 'last_checkpoint'
    # Under a name of the user's own, only the last one is known.
    own = folder / Path(noted.read_text(errors='replace').strip()).name if noted.is_file() else folder
    return {path for path in (own, *folder.glob('epoch_*.pth'), *folder.glob('iter_*.pth')) if path.is_file()}


def _last_first(candidates: set[Path]) -> list[Path]:
    """Those that can be read, the one that was written last first."""
    times = {}
    for path in sorted(candidates):
        try:
            times[path] = written_at(path)
        except UserError as error:
            _warn(str(error))
    return sorted(times, key=times.__getitem__, reverse=True)


def _warn(problem: str) -> None:
    print_log(f'--resume: {problem}; the run continues from an older checkpoint', level=logging.WARNING)
