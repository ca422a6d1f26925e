"""A base of hooks that record a run for a test."""

from mmengine.hooks import Hook


class WatchingHook(Hook):
    """A hook whose record begins anew when a run continues."""

    def state_dict(self) -> dict:
        return {}

    def load_state_dict(self, state: dict) -> None:
        pass
