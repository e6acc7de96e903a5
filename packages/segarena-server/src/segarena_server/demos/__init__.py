"""Demo content of a server: challenges with runs, and the site on which `segarena serve --demo` shows them."""
