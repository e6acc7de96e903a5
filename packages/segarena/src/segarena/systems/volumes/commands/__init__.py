"""The command `segarena data prepare`."""
