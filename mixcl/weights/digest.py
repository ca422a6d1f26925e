"""What tells one file from another."""

import hashlib
from pathlib import Path

BLOCK = 2**20


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file's content, as 64 hexadecimal digits; read in blocks of 1 MiB."""
    digest = hashlib.sha256()
    with open(path, 'rb') as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
