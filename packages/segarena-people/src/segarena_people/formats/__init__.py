"""What people gave, as it was published: one module for each format; see `segarena_people.import_format`."""
