"""Figures."""

import mixcl.quiet_imports
from mixcl.visualization.attention_figure import attention_figure
from mixcl.visualization.curves import curves_figure
from mixcl.visualization.figure_list import drawn
from mixcl.visualization.key_figure import key_figure
from mixcl.visualization.map_figure import map_figure
from mixcl.visualization.mix_preview import mixed_streams, mixture_figure
from mixcl.visualization.neighbour_figure import neighbour_figure
from mixcl.visualization.pictured import Pictured, read_pictured
from mixcl.visualization.similarity_figure import similarity_figure
from mixcl.visualization.view_figure import view_figure
