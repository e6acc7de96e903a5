"""User studies, in which people see targets and give prompts; independent of HTTP."""
