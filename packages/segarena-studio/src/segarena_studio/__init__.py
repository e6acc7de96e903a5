"""Studio: annotation, user studies, a human in place of the simulated user, and a viewer, in the browser.

It is a section of the server's site (`site_section.py`), or runs alone with `segarena studio
FOLDER` (`standalone.py`). `pages/` has the routes; `annotation/`, `assistance/`, `studies/`,
`human_user/` and `viewer/` know no HTTP; `static/` runs in browsers.
"""
