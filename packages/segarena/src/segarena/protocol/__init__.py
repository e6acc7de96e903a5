"""What travels between a participant and a challenge, each one frame: samples, turns and replies.

    samples.py   a sample without its truth, under a key that tells nothing of its name
    turns.py     what a participant answers to the prompts of the turn before
    replies.py   the next prompts of each dialogue, or that it is over
    masks.py     masks as run lengths or bits
    frames.py    the frames of the workers' protocol, in memory and with limits

Prompts look as they do for a worker (`segarena.serialization`, docs/workers.md). What is read here may come from a stranger:
it raises `InvalidInput` and nothing else, and takes memory in proportion to what came.
"""
