"""Tables, figures and pictures that reports of runs over volumes add."""
