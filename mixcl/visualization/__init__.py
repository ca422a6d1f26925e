"""Figures."""

from mixcl.visualization.curves import draw_curves
from mixcl.visualization.mix_preview import mix_preview, mixed_streams
