"""Assistance by segmenters: they answer annotators' clicks, boxes and scribbles in processes of their own. No HTTP.

prompt_messages.py     prompts as JSON and as segmenters take them
segmenter_process.py   the process that runs a segmenter
assistant.py           the serving process's side: queues and processes of one segmenter
assistants.py          all segmenters on offer
"""
