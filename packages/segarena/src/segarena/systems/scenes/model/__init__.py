"""Model of a scene: regions, shared vertices and depth order, as exact polygons and as pixels."""
