"""A recipe, a data set and a backbone become the config of an evaluation."""
