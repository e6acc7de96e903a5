"""Commands of `segarena click-data`."""
