"""Importers of published prompts of people: one module for each format; see `segarena_people.import_format`."""
