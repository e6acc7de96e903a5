"""Messages between a participant and a challenge server; each is one frame.

    challenge_info.py        the description of a challenge that participants see
    sample_frames.py         a sample without its ground truth, under an opaque key
    turns.py                 a participant's answers to the prompts of the turn before
    replies.py               the next prompts of each dialogue, or that it has ended
    participant_dialogue.py  the participant's copy of a dialogue, built from turns and replies
    mask_encoding.py         masks as run lengths or bits
    coco_labels.py           labels of a video as COCO strings
    frames.py                the frames of the worker protocol, in memory and with limits

Prompts have the same format as for a worker (`segarena.serialization`, docs/workers.md). The input
may come from an untrusted sender: these modules only raise `InvalidInput`, and their memory use is
proportional to the size of the input.
"""
