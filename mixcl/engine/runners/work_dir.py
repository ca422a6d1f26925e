"""The folder of a run: named after its config, and not that of another run."""

from pathlib import Path

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.files import checksum_path


def default_work_dir(config_path: str | Path, suffix: str = '') -> str:
    """``work_dirs/<method>/<name of the config file>``; elsewhere than in configs/ the method is its folder's name."""
    return str(Path('work_dirs', config_name(config_path, parents=1) + suffix))


def config_name(path: str | Path, parents: int = 0) -> str:
    """The path of a config below ``configs/``, or elsewhere the file and so many of its parent folders; no ending."""
    parts = Path(path).resolve().with_suffix('').parts[1:]
    below = len(parts) - parts[::-1].index('configs') if 'configs' in parts else max(len(parts) - 1 - parents, 0)
    return '/'.join(parts[below:])


def checkpoints_in(work_dir: str | Path) -> list[Path]:
    """The checkpoints that a run has written into a work dir, by name."""
    return sorted(path for kind in ('epoch', 'iter', 'best') for path in Path(work_dir).glob(f'{kind}_*.pth'))


def check_unused(cfg: Config, overwrite: bool) -> None:
    """Refuse a work dir with the checkpoints of another run, unless they are to be removed.

    Raises:
        UserError: if they are to be kept, or the run starts from one that is to be removed.
    """
    found, source = checkpoints_in(cfg.work_dir), cfg.get('load_from')
    inside = bool(source) and '://' not in source and Path(source).resolve().parent == Path(cfg.work_dir).resolve()
    if overwrite and inside:
        raise UserError(
            f'--overwrite removes the checkpoints of {cfg.work_dir}, but the run starts from {source}: choose another '
            'folder for this one'
        )
    if found and not overwrite and not (cfg.get('resume') and (inside or not source)):
        raise UserError(
            f'{cfg.work_dir} holds {len(found)} checkpoint(s) of another run, such as {found[-1].name}: continue that '
            'run with --resume alone, choose another folder, or remove its checkpoints with --overwrite'
        )


def remove_checkpoints(work_dir: str | Path) -> None:
    """Remove what an earlier run would be resumed from; its logs, in folders of their own, stay."""
    for path in (*checkpoints_in(work_dir), Path(work_dir, 'last_checkpoint')):
        path.unlink(missing_ok=True)
        checksum_path(path).unlink(missing_ok=True)
