"""The session object used by the scripts of DAVIS participants."""
