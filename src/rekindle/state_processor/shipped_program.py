"""What functions and classes of the user's program need in Spark's tasks: where modules are, classes of the script."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass

from rekindle.graph.pickling import main_classes
from rekindle.graph.struct_pickling import dumps
from rekindle.runtime.master.slots.process_slot_pool import user_sys_path


@dataclass(frozen=True, slots=True)
class Program:
    """Take along what there is of the user's program, as slots get it.

    Attributes:
        paths: Where the driver finds modules.
        classes: The classes of the script, pickled.
    """

    paths: tuple[str, ...]
    classes: bytes

    @staticmethod
    def of_driver() -> Program:
        """Take what is here."""
        return Program(tuple(user_sys_path()), dumps(main_classes()))

    def unpack(self) -> None:
        """Let modules be found, and classes of the script where they would be there."""
        sys.path += [path for path in self.paths if path not in sys.path]
        vars(sys.modules["__main__"]).update(pickle.loads(self.classes))
