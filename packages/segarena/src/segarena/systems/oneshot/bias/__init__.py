"""Analyses of bias: class negation, spurious supports, selection of training images."""
