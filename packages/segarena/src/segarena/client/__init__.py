"""What a participant of a challenge needs: small, and without torch or anything of a server.

address.py      where a challenge is
tokens.py       who is asking
connection.py   requests that survive lost connections
server.py       what can be asked of a server
samples.py      samples, fetched once
place.py        the turns about one sample, on disk before they are sent
session.py      one of its dialogues
begun.py        what a folder remembers of its run
dataset.py      a run's samples, as the engine takes them
taking_part.py  run, sessions, and where a run stands
fetching.py     samples and first prompts as files, for masks that any program makes
submitting.py   masks, run folders and programs that the server judges
showing.py      what is printed of a run at a challenge
commands.py     login, fetch, submit
"""
