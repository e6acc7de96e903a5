"""Studio for the browser: annotation, user studies, people in place of simulated users, and a viewer.

The studio is a section of the server's site (`site_section.py`), or runs alone with `segarena
studio FOLDER` (`standalone.py`). `pages/` contains the routes; `annotation/`, `assistance/`,
`studies/`, `human_user/` and `viewer/` are independent of HTTP; `static/` contains the scripts and
styles for browsers.
"""
