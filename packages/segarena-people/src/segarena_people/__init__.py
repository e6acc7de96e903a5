"""Tables of prompts that people gave, and simulated users fitted to and compared with them."""
