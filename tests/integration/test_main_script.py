"""What a user's script defines at its top level works in records, keys and state."""

from __future__ import annotations

from pathlib import Path

from support.driver import driver


def test_classes_of_the_main_script_cross_exchanges_live_in_state_and_come_back(tmp_path: Path) -> None:
    with driver("main_classes.py", str(tmp_path)) as running:
        assert running.wait() == 0, running.output()
        assert (
            "collected: [Total(shop=Shop(name='a'), amount=6), Total(shop=Shop(name='b'), amount=4)]"
            in running.output()
        )
        running.assert_nothing_is_left()
