"""Measures of features and predictions: tensors in, numbers out."""
