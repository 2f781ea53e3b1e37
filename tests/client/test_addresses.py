"""How addresses of jobs are written."""

from __future__ import annotations

import pytest

from rekindle.client.address import base_url
from rekindle.exceptions import ConfigurationError


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("localhost:8082", "http://localhost:8082"),
        ("cluster", "http://cluster:8081"),
        (" 10.0.0.1:9 ", "http://10.0.0.1:9"),
        ("[::1]:8082", "http://[::1]:8082"),
        ("::1", "http://[::1]:8081"),
        ("http://host:80/", "http://host:80"),
        ("https://gate.example.com/flink/", "https://gate.example.com:443/flink"),
    ],
)
def test_an_address_is_a_url(written: str, url: str) -> None:
    assert base_url(written) == url


@pytest.mark.parametrize(
    "written", ["", ":8081", "host:port", "host:99999", "ftp://host", "two hosts", "http://h:1?x=1"]
)
def test_what_is_none_is_refused(written: str) -> None:
    with pytest.raises(ConfigurationError, match="write HOST:PORT"):
        base_url(written)
