"""Makes clients of Kafka, on librdkafka. It is imported only where one is made: in slots."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Mapping
from typing import Any

from rekindle.config.secrets import all_shown
from rekindle.connectors.kafka.client_properties import translated, without_secrets
from rekindle.exceptions import ConfigurationError, RekindleError

_LOG = logging.getLogger(__name__)
_FOR_ALL_CLIENTS = (
    *("bootstrap.servers", "client.", "security.", "sasl.", "ssl.", "socket.", "broker.", "reconnect.", "debug"),
    *("enable.ssl.", "enable.sasl.", "metadata.", "https.", "log_level"),
)


class KafkaClientError(RekindleError):
    """Kafka could not be reached, or refused what it was asked."""


class KafkaClients:
    """Make producers, consumers and administrators with the properties of a program.

    Args:
        properties: Properties by the names of Java's clients, ``bootstrap.servers`` among them.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._translated = translated(properties)

    def __repr__(self) -> str:
        return f"KafkaClients({all_shown(self._properties)})"

    @property
    def bootstrap_servers(self) -> str:
        """Where clients begin."""
        return self._properties.get("bootstrap.servers", "")

    def text(self, name: str, default: str) -> str:
        """Return a property by librdkafka's name."""
        return self._translated.get(name, default)

    def number(self, name: str, default: int) -> int:
        """Return a property by librdkafka's name that is a number.

        Raises:
            ConfigurationError: It is none.
        """
        value = self._translated.get(name, default)
        try:
            return int(value)
        except ValueError:
            raise ConfigurationError(f"the Kafka property {name!r} must be a number, and is {value!r}") from None

    def producer(self, defaults: Mapping[str, Any], fixed: Mapping[str, Any]) -> Any:
        """Return a producer.

        Args:
            defaults: What holds where the program says nothing.
            fixed: What holds whatever the program says.
        """
        client = require_client()
        return self._made(client.Producer, {**defaults, **self._translated, **fixed})

    def consumer(self, settings: Mapping[str, Any]) -> Any:
        """Return a consumer, with no properties of the program but those of connections."""
        return self._made(require_client().Consumer, {**self._connection(), **settings})

    def admin(self) -> Any:
        """Return an administrator."""
        return self._made(require_admin().AdminClient, self._connection())

    def describe(self, error: Exception) -> str:
        """Return an error of the client as text without secrets."""
        return without_secrets(str(error), self._properties)

    def _connection(self) -> dict[str, Any]:
        return {name: value for name, value in self._translated.items() if name.startswith(_FOR_ALL_CLIENTS)}

    def _made(self, kind: Any, settings: dict[str, Any]) -> Any:
        client = require_client()
        try:
            return kind({"logger": _LOG, **settings})
        except client.KafkaException as error:
            raise ConfigurationError(
                f"Kafka's client does not take its properties: {self.describe(error)}. Names are those of Java's "
                "client or of librdkafka; docs/kafka.md lists them"
            ) from None


def require_client() -> Any:
    """Return the module ``confluent_kafka``.

    Raises:
        KafkaClientError: It is not installed.
    """
    try:
        import confluent_kafka
    except ImportError as error:
        raise KafkaClientError(
            "Kafka needs the package confluent-kafka on every machine of the cluster: "
            'pip install "confluent-kafka>=2.6,<3"'
        ) from error
    return confluent_kafka


def require_admin() -> Any:
    """Return the module ``confluent_kafka.admin``."""
    require_client()
    import confluent_kafka.admin

    return confluent_kafka.admin


def close_quietly(client: Any) -> None:
    """Close a client of which nothing is needed any more; older versions do it when they are forgotten."""
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where a transaction is open that cannot be aborted
        client.close()
