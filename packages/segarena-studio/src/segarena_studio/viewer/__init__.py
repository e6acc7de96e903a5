"""Looking: samples with their targets, and what runs answered round by round. No HTTP.

shelf.py      what was named on the command line, opened: collections of samples, each with the runs about it
table.py      one row per dialogue or sample; filtered and sorted by any column of the records
asking.py     what is asked of a table
samples.py    the samples looked at last
planes.py     pictures as planes: the photograph, slices along three axes, frames
layers.py     target, unscored pixels and answers in one plane, as run lengths
places.py     all that is told of one place before pictures of it come
again.py      a dialogue held again, for rounds of which no mask was kept
thumbs.py     small pictures for lists
"""
