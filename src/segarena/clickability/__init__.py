"""Where people click: clicks tables, click maps, and the network that predicts them."""
