"""Analyses of bias: class negation, spurious supports and the selection of training images."""
