"""Which addresses are reached from this machine only."""

from __future__ import annotations

import ipaddress

_LOOPBACK_NAMES = ("localhost", "ip6-localhost")


def is_loopback(address: str) -> bool:
    """Return whether an address is reached from this machine only."""
    if address.lower() in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False
