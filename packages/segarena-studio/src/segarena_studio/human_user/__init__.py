"""A person in place of the simulated user: runs that ask people, seats, and messages of their pages."""
