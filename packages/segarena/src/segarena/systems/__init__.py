"""The five published systems. Each is a plug-in package shipped with segarena; none imports another."""
