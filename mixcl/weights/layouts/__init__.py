"""How libraries name the weights of the same network: one table per library, read in both directions."""

from mixcl.weights.layouts.naming import LAYOUTS, Naming, from_layout, layout_of, to_layout, translated, without_wrapper
