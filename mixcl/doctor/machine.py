"""Devices, memory and disk."""

import shutil
from pathlib import Path

import torch

from mixcl.doctor.findings import FAULT, NOTE, OK, Finding
from mixcl.environment import hardware

LITTLE_SHARED_MEMORY = 2**30
LITTLE_DISK = 5 * 2**30


def check_machine() -> list[Finding]:
    """Compute on every device, and look at memory and disk."""
    found = hardware()
    processor = Finding(OK, 'processor', f'{found["cpu_cores"]} cores, {found["memory_gib"]} GiB of memory')
    return [processor, *_devices(), *_shared_memory(), _disk()]


def _devices() -> list[Finding]:
    if not torch.cuda.is_available():
        reason = (
            f'torch was built for CUDA {torch.version.cuda} but sees no GPU; on a machine that has one, check the '
            'driver with nvidia-smi'
            if torch.version.cuda
            else 'torch was built for CPUs only'
        )
        return [Finding(NOTE, 'GPU', f'none: {reason}; small runs and --smoke work without')]
    return [_device(index) for index in range(torch.cuda.device_count())]


def _device(index: int) -> Finding:
    subject, name = f'GPU {index}', torch.cuda.get_device_name(index)
    try:
        free, total = torch.cuda.mem_get_info(index)
        ones = torch.ones(64, 64, device=f'cuda:{index}')
        right = bool(((ones @ ones) == 64).all())
    except RuntimeError as error:
        return Finding(FAULT, subject, f'{name} cannot compute: {" ".join(str(error).split())[:160]}')
    if not right:
        return Finding(FAULT, subject, f'{name} computes a wrong product of two matrices')
    precision = 'bfloat16' if torch.cuda.is_bf16_supported() else 'no bfloat16: use AmpOptimWrapper instead of --amp'
    return Finding(OK, subject, f'{name}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free, {precision}')


def _shared_memory() -> list[Finding]:
    folder = Path('/dev/shm')
    if not folder.is_dir():
        return []
    total = shutil.disk_usage(folder).total
    sentence = f'{total / 2**30:.1f} GiB'
    if total < LITTLE_SHARED_MEMORY:
        sentence += '; data workers pass images through it and may die with a bus error: docker run --shm-size=16g'
    return [Finding(OK if total >= LITTLE_SHARED_MEMORY else NOTE, 'shared memory', sentence)]


def _disk() -> Finding:
    free = shutil.disk_usage('.').free
    sentence = f'{free / 2**30:.1f} GiB free here, where work_dirs/ will lie'
    return Finding(OK if free >= LITTLE_DISK else NOTE, 'disk', sentence)
