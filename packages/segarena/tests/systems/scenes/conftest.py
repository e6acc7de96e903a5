import pytest

from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.model.scene import SceneSet


@pytest.fixture(scope="session")
def demo_set():
    """Two generated scenes, each as the exact and the confused annotator drew it."""
    scenes = demo_scenes(images=2)
    return SceneSet(scenes=tuple(one.drawings[place].scene for one in scenes for place in (0, 4)))
