"""Importers of people's published prompts, one module per format; see `segarena_people.import_format`."""
