"""How libraries name the weights of the same network: one table per library, read in both directions."""

from mixcl.weights.layouts.naming import LAYOUTS, layout_of, translated, without_wrapper
