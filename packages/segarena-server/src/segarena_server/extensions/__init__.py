"""Extensions by entry points: site sections, interfaces, and limits on the plug-ins that pages may name."""
