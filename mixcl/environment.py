"""What a run ran on: versions, machine, state of the source code, data."""

import hashlib
import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from mmengine.dataset import BaseDataset
from torch.utils.data import Dataset

FILES_MEASURED = 10_000
"""Sizes of so many files, evenly spread, are added up; on network disks asking for a million takes minutes."""


def environment() -> dict[str, Any]:
    """Everything about the machine and the software, as plain values."""
    return dict(
        time=datetime.now(timezone.utc).isoformat(timespec='seconds'),
        command=sys.argv,
        python=sys.version.split()[0],
        platform=platform.platform(),
        hardware=hardware(),
        source=source_state(),
        packages=installed_packages(),
    )


def hardware() -> dict[str, Any]:
    """Processors, memory and accelerators."""
    devices = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return dict(
        cpu_cores=len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count(),
        memory_gib=round(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30, 1),
        cuda=torch.version.cuda,
        cudnn=torch.backends.cudnn.version(),
        devices=[dict(name=device.name, memory_gib=round(device.total_memory / 2**30, 1)) for device in devices],
    )


def installed_packages() -> dict[str, str]:
    """Versions of all installed distributions, by name."""
    found = {str(package.metadata['Name']): package.version for package in metadata.distributions()}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def source_state(folder: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    """The commit of the source code and the files that differ from it; empty outside of a git repository."""
    commit = _git(folder, 'rev-parse', 'HEAD')
    changed = _git(folder, 'status', '--porcelain', '--', '.')
    if commit is None or changed is None:
        return {}
    return dict(commit=commit, branch=_git(folder, 'rev-parse', '--abbrev-ref', 'HEAD'), changed=changed.splitlines())


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ['git', '-C', str(folder), *arguments], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.rstrip()


def fingerprint(dataset: Dataset) -> dict[str, Any]:
    """What tells one state of a data set from another.

    Returns:
        The number of samples; for data sets of files also the added sizes of up to 10,000 of them, evenly spread, how
        many these were, and a digest of the first and the last path, relative to the data set's root.
    """
    wrapped = getattr(dataset, 'dataset', dataset)
    found: dict[str, Any] = dict(type=type(wrapped).__name__, samples=len(dataset))
    if not isinstance(wrapped, BaseDataset) or not len(dataset) or 'img_path' not in wrapped.get_data_info(0):
        return found
    indices = range(0, len(dataset), -(-len(dataset) // FILES_MEASURED))
    sizes = [_size(wrapped.get_data_info(index)['img_path']) for index in indices]
    ends = [os.path.relpath(wrapped.get_data_info(index)['img_path'], wrapped.data_root or '.') for index in (0, -1)]
    digest = hashlib.sha256('\n'.join(ends).encode()).hexdigest()[:16]
    return found | dict(bytes=sum(sizes), files_measured=len(sizes), first_and_last_path=digest)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # missing, or on a remote file system
        return 0
