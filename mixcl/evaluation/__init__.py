"""Evaluation of pretrained backbones: features, metrics, results, and the run of a protocol."""
