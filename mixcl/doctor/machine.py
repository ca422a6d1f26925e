"""Devices, memory, disk, and the compiled operators of detection."""

import shutil
from pathlib import Path

import torch

from mixcl.collect_env import cpu_cores, memory_gib
from mixcl.doctor import FAULT, NOTE, OK, Finding

LITTLE_SHARED_MEMORY = 2**30
LITTLE_DISK = 5 * 2**30


def check_machine() -> list[Finding]:
    """Compute on every device, and look at memory and disk."""
    processor = Finding(OK, 'processor', f'{cpu_cores()} cores, {memory_gib()} GiB of memory')
    devices = [_device(index) for index in range(torch.cuda.device_count())]
    return [processor, *(devices or [_no_device()]), *_shared_memory(), _disk()]


def check_detection() -> Finding:
    """Call the operators that detection needs; pretraining needs none."""
    try:
        from mixcl.detection.requirements import check_requirements

        check_requirements()
    except Exception as error:  # packages that do not fit each other fail in any way
        return Finding(NOTE, 'detection', f'not usable: {" ".join(str(error).split())}; pretraining works without')
    return Finding(OK, 'detection', "mmdet is installed, and mmcv's nms and roi_align give the right results")


def _no_device() -> Finding:
    reason = 'torch was built for CPUs only'
    if torch.version.cuda:
        reason = f'torch was built for CUDA {torch.version.cuda} but sees none; check the driver with nvidia-smi'
    return Finding(NOTE, 'GPU', f'none: {reason}; small runs and --smoke work without')


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
    if total >= LITTLE_SHARED_MEMORY:
        return [Finding(OK, 'shared memory', sentence)]
    advice = 'data workers pass images through it and may die with a bus error: docker run --shm-size=16g'
    return [Finding(NOTE, 'shared memory', f'{sentence}; {advice}')]


def _disk() -> Finding:
    free = shutil.disk_usage('.').free
    sentence = f'{free / 2**30:.1f} GiB free here, where work_dirs/ will lie'
    return Finding(OK if free >= LITTLE_DISK else NOTE, 'disk', sentence)
