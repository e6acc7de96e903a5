"""The contents of the viewers in a page."""

import json
import re

_CONTENT = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


def viewer_contents(html):
    """Return the content of each viewer in a page, in order."""
    return [json.loads(text) for text in _CONTENT.findall(html)]
