"""Participants' submissions that the server evaluates: masks, run folders and programs, all of them untrusted."""
