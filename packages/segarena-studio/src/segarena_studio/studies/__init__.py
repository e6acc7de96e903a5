"""User studies: people see targets and give prompts. No HTTP."""
