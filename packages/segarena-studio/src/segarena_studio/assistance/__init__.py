"""A segmenter that helps people draw: it answers their clicks, boxes and scribbles, in a process of its own.

`asking.py` what travels; `answering.py` what the process does; `assistant.py` the serving process's end of it;
`assistants.py` all that are offered. No HTTP in here.
"""
