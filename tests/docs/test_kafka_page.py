"""The programs on the page about Kafka build, and its table of properties is that of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rekindle.connectors.kafka import source_properties
from rekindle.connectors.kafka.source_properties import KafkaProperties
from rekindle.datastream import DataStream
from rekindle.datastream.connectors.kafka import KafkaRecord

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "kafka.md").read_text()
SOURCE = PAGE[: PAGE.index("\n## Sink")]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", SOURCE, re.DOTALL | re.MULTILINE)


def names_of(part: str) -> dict[str, Any]:
    (block,) = [block for block in BLOCKS if part in block]
    names: dict[str, Any] = {}
    exec(compile(block, "kafka.md", "exec"), names)
    return names


def test_the_source_of_the_page_can_be_built() -> None:
    assert isinstance(names_of("KafkaSource.builder()")["orders"], DataStream)


def test_the_schema_of_the_page_takes_key_and_value() -> None:
    schema = names_of("class WithPlace")["WithPlace"]()
    record = KafkaRecord("t", 1, 7, 0, 0, b"k", b"v")
    assert schema.deserialize(record) == ("k", "v", "t", 1, 7)
    assert schema.deserialize(record._replace(value=None)) is None


def test_every_special_property_is_in_the_table_and_is_treated_as_it_says() -> None:
    special = source_properties._OWN | source_properties._WITHOUT_EFFECT | set(source_properties._REFUSED)
    table = SOURCE[SOURCE.index("### Properties") : SOURCE.index("### Guarantees")]
    named = set(re.findall(r"`([\w.]+)`", table))
    assert special <= named
    ignored = next(line for line in table.splitlines() if "have no effect" in line)
    assert set(re.findall(r"`([\w.]+)`", ignored)) == source_properties._WITHOUT_EFFECT
    assert f"{source_properties.DEFAULT_MAX_OFFSETS:,} by default" in table
    options = KafkaProperties({"bootstrap.servers": "x", **dict.fromkeys(source_properties._WITHOUT_EFFECT, "x")})
    assert set(options.client()) == {"bootstrap.servers"}
