"""What the page about Kafka says of the sink is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rekindle.connectors.kafka.client_properties import _ONLY_IN_JAVA, translated
from rekindle.connectors.kafka.commit_markers import DEFAULT_COMMIT_TOPIC, PARTITIONS
from rekindle.connectors.kafka.kafka_transactions import TRANSACTION_BYTES
from rekindle.connectors.kafka.producing import DEFAULTS
from rekindle.datastream.connectors import DeliveryGuarantee
from rekindle.datastream.connectors.kafka import KafkaSink

PAGE = (Path(__file__).parents[2] / "docs" / "kafka.md").read_text()
SECTION = PAGE[PAGE.index("\n## Sink\n") :]
TEXT = " ".join(SECTION.split())


def test_the_sink_of_the_page_is_one() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(block, "kafka.md", "exec"), names)
    sink = names["sink"]
    assert isinstance(sink, KafkaSink)
    assert sink._settings.guarantee is DeliveryGuarantee.EXACTLY_ONCE


def test_the_page_names_every_guarantee_and_the_defaults() -> None:
    for guarantee in DeliveryGuarantee:
        assert f"| `{guarantee.name}`" in SECTION
    assert f"`{DEFAULT_COMMIT_TOPIC}`" in TEXT
    assert f"{PARTITIONS} partitions, `cleanup.policy=compact`" in TEXT
    assert f"More than {TRANSACTION_BYTES >> 20} MB of one subtask" in TEXT
    assert f"`linger.ms` is {DEFAULTS['linger.ms']} and `batch.size` {DEFAULTS['batch.size'] >> 10} KiB" in TEXT
    assert DEFAULTS["message.max.bytes"] == 1 << 20
    assert "`max.request.size` (1 MiB)" in TEXT


def test_properties_are_treated_as_the_page_says() -> None:
    rows = dict(re.findall(r"^\| (`.*?) \| (.*?) \|$", SECTION[SECTION.index("### Properties") :], re.MULTILINE))
    for names, treatment in rows.items():
        for name in re.findall(r"`([\w.]+)`", names):
            if treatment == "have no effect":
                assert translated({name: "1"}) == {}
            elif treatment == "translated":
                assert translated({name: "1024"}).keys() != {name}
            elif treatment == "are refused":
                assert name == "transactional.id" or name in _ONLY_IN_JAVA
            elif treatment.startswith("the same"):
                assert translated({name: "1"}) == {name: "1"}
