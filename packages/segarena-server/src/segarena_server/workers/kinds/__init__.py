"""The kinds of jobs of the server, one per module; `segarena_server.extensions.job_kinds` lists them."""
