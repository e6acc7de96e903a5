"""Site sections of other packages, with their jobs and waiting work; and the plug-ins that pages may name."""
