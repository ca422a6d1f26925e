"""Damaged files, for tests."""

from pathlib import Path


def checksum(path: Path) -> Path:
    return path.with_name(path.name + '.sha256')


def damaged(content: bytes, how: str) -> bytes:
    middle = len(content) // 2
    return content[: middle - 200] + bytes(400) + content[middle + 200 :] if 'zeros' in how else content[:middle]
