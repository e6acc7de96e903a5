"""The studio: people in the browser, who draw scenes, give prompts, sit in the place of the simulated user, and look.

It is a room of the server (`room.py`) and starts alone with `segarena studio FOLDER` (`alone.py`). `pages/` has the
routes; `drawing/`, `assisting/`, `collecting/`, `seating/` and `looking/` know no HTTP; `static/` is what browsers run.
"""
