"""Rules of evaluations, as data. One benchmark, one file."""
