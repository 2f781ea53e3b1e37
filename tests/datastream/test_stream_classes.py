"""Where the classes of streams are found."""

from __future__ import annotations

import pytest

import rekindle.datastream
from rekindle.datastream import data_stream


@pytest.mark.parametrize("name", data_stream.__all__)
def test_all_streams_can_be_imported_from_where_pyflink_has_them(name: str) -> None:
    assert getattr(data_stream, name).__name__ == name
    assert getattr(rekindle.datastream, name, getattr(data_stream, name)) is getattr(data_stream, name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Stream'"):
        data_stream.Stream  # noqa: B018
