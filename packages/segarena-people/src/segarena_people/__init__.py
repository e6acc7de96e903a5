"""What people gave: tables of their prompts."""
