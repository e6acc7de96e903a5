"""A scene: regions, shared vertices, depth order; in exact polygons and in pixels."""
