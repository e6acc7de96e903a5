"""The command line: commands parse options and call the library."""
