"""Old files go only when the new ones are there."""

from collections.abc import Collection
from typing import Any

from mmengine.fileio import BaseStorageBackend


class LateRemoval:
    """A storage of mmengine's that notes what it is told to remove, and does so when asked to.

    Args:
        storage: does everything else.
    """

    def __init__(self, storage: BaseStorageBackend) -> None:
        self.storage = storage
        self.noted: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.storage, name)

    def remove(self, path: str) -> None:
        """Note a file."""
        self.noted.append(path)

    def remove_noted(self, keep: Collection[str | None]) -> None:
        """Remove the noted files, but for those that were written again in the meantime."""
        for path in self.noted:
            if path not in keep and self.storage.isfile(path):
                self.storage.remove(path)
        self.noted.clear()
