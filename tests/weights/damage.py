"""Damaged files, for tests."""

from pathlib import Path


def checksum(path: Path) -> Path:
    return path.with_name(path.name + '.sha256')


def damaged(content: bytes, how: str) -> bytes:
    middle = len(content) // 2
    return dict(
        truncated=content[:middle],
        empty=b'',
        zeros_at_the_end=content[:middle] + bytes(len(content) - middle),
        zeros_in_the_middle=content[: middle - 200] + bytes(400) + content[middle + 200 :],
    )[how]
