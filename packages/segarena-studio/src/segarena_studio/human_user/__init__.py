"""People in place of simulated users: runs with human users, their seats, and the messages of the pages."""
