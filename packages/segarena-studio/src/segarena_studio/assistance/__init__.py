"""Assistance by segmenters, which answer annotators' prompts in separate processes; independent of HTTP.

prompt_messages.py     prompts as JSON, and their conversion for segmenters
segmenter_process.py   the process that runs one segmenter
assistant.py           queues and processes of one segmenter, in the serving process
assistants.py          all available segmenters
"""
