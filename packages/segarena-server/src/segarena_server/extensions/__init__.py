"""Extensions by entry points: site sections, interfaces, and limits on plug-ins named on pages."""
