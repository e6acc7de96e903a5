"""`segarena people`: commands for collections of people's prompts."""
