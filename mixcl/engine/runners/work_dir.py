"""Checkpoints in the work dir of a run, which must be of no other run."""

from collections.abc import Mapping
from pathlib import Path

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.files import checksum_path
from mixcl.recipes.paths import kind_of, walk


def checkpoints_in(work_dir: str | Path) -> list[Path]:
    """Return the checkpoints that a run has written into a work dir, sorted by name."""
    return sorted(path for kind in ('epoch', 'iter', 'best') for path in Path(work_dir).glob(f'{kind}_*.pth'))


def check_unused(cfg: Config, overwrite: bool) -> None:
    """Refuse a work dir with the checkpoints of another run, unless they are to be removed.

    Raises:
        UserError: if they are to be kept, or the run starts from one of those to be removed.
    """
    checkpoints, source, folder = checkpoints_in(cfg.work_dir), cfg.get('load_from'), Path(cfg.work_dir).resolve()
    nodes = [node for _, node in walk(cfg.to_dict()) if isinstance(node, Mapping)]
    kinds = ('PretrainedBackboneHook', 'Pretrained')
    taken = [source, *(node.get('checkpoint') for node in nodes if kind_of(node) in kinds)]
    inside = [file for file in taken if file and folder in _places(file)]
    continued = cfg.get('resume') and (not source or source in inside)
    if checkpoints and overwrite and (inside or continued):
        raise UserError(
            f'`overwrite` removes the checkpoints of {cfg.work_dir}, but the run starts from '
            f'{[*inside, *checkpoints][0]}: choose another folder for this one'
        )
    if checkpoints and not overwrite and not continued:
        raise UserError(
            f'{cfg.work_dir} holds {len(checkpoints)} checkpoint(s) of another run, such as {checkpoints[-1].name}: '
            'continue that run with `resume` alone, choose another folder, or remove its checkpoints with `overwrite`'
        )


def _places(file: str) -> tuple[Path, Path]:
    """Return the paths of a file or folder and of its parent, resolved."""
    path = Path(file).expanduser()
    return path.resolve(), path.parent.resolve()


def remove_checkpoints(work_dir: str | Path) -> None:
    """Remove the files from which an earlier run would resume; its logs, in folders of their own, stay."""
    for path in (*checkpoints_in(work_dir), Path(work_dir, 'last_checkpoint')):
        path.unlink(missing_ok=True)
        checksum_path(path).unlink(missing_ok=True)
