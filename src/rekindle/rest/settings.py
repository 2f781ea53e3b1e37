"""How the REST interface is to be served, settled from the configuration."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace

from rekindle.base.loopback import is_loopback
from rekindle.config.configuration import Configuration
from rekindle.config.rest_options import RestOptions
from rekindle.exceptions import ConfigurationError


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Hold the settings of the server.

    Attributes:
        enabled: Whether there is to be one.
        bind_address: The address to listen on.
        ports: Which ports to try, in this order, before any free one.
        address: How clients elsewhere call this machine, if that was said.
        token: What clients must show; None: nothing.
        made_up: Whether the token was made up for this driver, and nobody else knows it.
        max_content_length: How many bytes the body of a request may have.
    """

    enabled: bool = True
    bind_address: str = "127.0.0.1"
    ports: tuple[int, ...] = (0,)
    address: str | None = None
    token: str | None = field(default=None, repr=False)
    made_up: bool = False
    max_content_length: int = 1 << 20

    @property
    def loopback(self) -> bool:
        """Return whether only programs on this machine reach it."""
        return is_loopback(self.bind_address)

    @property
    def told(self) -> bool:
        """Return whether the token may stand in an address that is printed.

        Only one that ends with the driver, and helps nobody who is not on this machine.
        """
        return self.made_up and self.loopback

    @staticmethod
    def of(configuration: Configuration) -> RestSettings:
        """Read the settings; a value that cannot work raises here, before anything starts."""
        bind_address = configuration.get(RestOptions.BIND_ADDRESS)
        token = configuration.get(RestOptions.TOKEN)
        if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token and token):
            raise ConfigurationError(
                f"{RestOptions.TOKEN.key} contains characters that are not allowed in a header: use letters, digits, "
                "'-' and '_', or unset it so that one is generated"
            )
        if not configuration.get(RestOptions.AUTHENTICATION):
            if token is not None or not is_loopback(bind_address):
                other = RestOptions.BIND_ADDRESS.key if token is None else RestOptions.TOKEN.key
                raise ConfigurationError(
                    f"{RestOptions.AUTHENTICATION.key} is false, and {other} is set: without a token, a driver listens "
                    "on 127.0.0.1 only. Unset one of them"
                )
        elif token is None:
            return replace(_settings(configuration, new_token()), made_up=True)
        return _settings(configuration, token)


def new_token() -> str:
    """Make up a token that nobody guesses."""
    return secrets.token_urlsafe(32)


def _settings(configuration: Configuration, token: str | None) -> RestSettings:
    return RestSettings(
        enabled=configuration.get(RestOptions.ENABLED),
        bind_address=configuration.get(RestOptions.BIND_ADDRESS),
        ports=configuration.get(RestOptions.BIND_PORT),
        address=configuration.get(RestOptions.ADDRESS),
        token=token,
        max_content_length=configuration.get(RestOptions.MAX_CONTENT_LENGTH),
    )
