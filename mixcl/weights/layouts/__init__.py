"""Names of the same network's weights in several libraries: one table per library, read in both directions."""

from mixcl.weights.layouts.naming import LAYOUTS, layout_of, translated, without_wrapper
