"""Comparison of methods on the same images: runs of several seeds, measures, verdicts, and a page."""
