"""An example package of a third party: plug-ins, a page for the report of its benchmark, a command."""
