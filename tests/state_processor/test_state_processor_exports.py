"""What ``rekindle.state_processor`` offers."""

from __future__ import annotations

import rekindle.state_processor


def test_the_names_are_there() -> None:
    assert sorted(rekindle.state_processor.__all__) == [
        "KeyedStateBootstrapFunction",
        "KeyedStateReaderFunction",
        "OperatorTransformation",
        "SavepointReader",
        "SavepointWriter",
        "broadcast_state",
        "keyed_state",
        "list_state",
        "union_state",
    ]
    for name in rekindle.state_processor.__all__:
        assert getattr(rekindle.state_processor, name).__doc__
