"""Analyses of bias: class and background, selection by salience."""
