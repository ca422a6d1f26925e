"""Composition of an evaluation's config from a recipe, a data set and a backbone."""
