"""Client of challenge servers for participants; needs neither torch nor the server package.

address.py          URLs of challenges
tokens.py           stored access tokens
connection.py       requests with retries
server.py           methods of the HTTP interface
sample_cache.py     downloaded samples
sample_exchange.py  the turns about one sample, stored before they are sent
session.py          one dialogue
participation.py    the run of a folder, in challenge.json
dataset.py          the samples of a run, as a dataset for the engine
participate.py      evaluate a segmenter, open sessions, read scores
sample_download.py  samples and first prompts as files, for masks made by any program
submission.py       masks, run folders and programs for the server to evaluate
run_display.py      terminal output about a run
commands.py         the commands login, fetch and submit
"""
