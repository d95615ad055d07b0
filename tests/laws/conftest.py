"""What the laws share: the benches of the shapes and of the crash suite."""

from tests.crash.conftest import proven
from tests.shapes.conftest import bench

__all__ = ["bench", "proven"]
