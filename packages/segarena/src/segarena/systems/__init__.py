"""The five published systems. Each is a plug-in package that happens to be built in; none imports another."""
