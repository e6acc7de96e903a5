"""Tables of prompts that people gave, and simulated users that are fitted to these prompts and compared with them."""
