"""Classes that a script defines travel to the slots as they are: there they serialize as in the script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
from __future__ import annotations
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
import msgspec
from rekindle.graph.pickling import main_classes
from rekindle.graph.struct_pickling import dumps

class Colour(Enum):
    RED = 1

@dataclass
class User:
    name: str
    visits: int
    age: int = 7
    price: Decimal = Decimal("1.5")
    tags: list[str] = field(default_factory=list)
    colour: Colour = Colour.RED

class Event(msgspec.Struct):
    name: str
    count: int
    age: int = 7
    tags: list[str] = msgspec.field(default_factory=lambda: ["new"])

class Alarm(Event, frozen=True, kw_only=True, tag="alarm", rename="camel"):
    is_urgent: bool = False
    cause: Event | None = None
    made = 0

    def __post_init__(self):
        Alarm.made += 1

    def with_cause(self):
        return Alarm("x", 2, cause=self)

    @property
    def urgency(self):
        return 2 if self.is_urgent else 1

def make():
    return Alarm("x", 1, is_urgent=True).with_cause()

"""
WRITE = """
with open(sys.argv[1], "wb") as file:
    file.write(dumps((main_classes(), make)))
"""
READ = """
import sys, pickle, msgspec
with open(sys.argv[1], "rb") as file:
    classes, make = pickle.load(file)
vars(sys.modules["__main__"]).update(classes)
"""
SHOW = """
from rekindle.serialization import AvroSerializer
from rekindle.serialization.classes.class_fields import fields_of_dataclass, fields_of_struct
from rekindle.testing import serializer_snapshot
for fields in (fields_of_dataclass(User), fields_of_struct(Event)):
    print([(each.name, each.initial()) for each in fields])
alarm = make()
assert type(alarm) is Alarm and type(alarm.cause) is Alarm
print(alarm, alarm.cause.urgency, Alarm.made, msgspec.json.encode(alarm), Alarm.__doc__, Alarm.__match_args__)
try:
    alarm.is_urgent = True
except AttributeError as error:
    print(error)
for cls in (User, Event, Alarm, Colour):
    print(serializer_snapshot(cls).hex())
print(AvroSerializer.of(User).schema)
"""


def run(tmp_path: Path, name: str, source: str) -> str:
    (tmp_path / name).write_text(source)
    command = [sys.executable, str(tmp_path / name), str(tmp_path / "classes")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_they_start_new_fields_and_are_stored_as_in_the_script(tmp_path: Path) -> None:
    here = run(tmp_path, "script.py", SCRIPT + WRITE + SHOW)
    assert "('visits', 0), ('age', 7)" in here
    assert "('tags', ['new'])" in here
    assert run(tmp_path, "slot.py", READ + SHOW) == here
