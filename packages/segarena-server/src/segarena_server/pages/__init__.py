"""What people see in a browser: plain pages, whole without scripts."""
