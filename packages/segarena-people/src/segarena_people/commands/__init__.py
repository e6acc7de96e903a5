"""`segarena people`: what people gave, on the command line."""
