"""Kafka's client properties: programs name them as Java's clients do, and librdkafka gets its own.

Most names are the same. This module knows those that are not, takes the credentials out of a JAAS configuration, and
refuses what is only in Java. A name that is in neither table goes on to librdkafka, which knows whether it exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from rekindle.config.secrets import HIDDEN, is_secret
from rekindle.exceptions import ConfigurationError

_ENTRY = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")

_RENAMED = {
    "max.request.size": "message.max.bytes",
    "sasl.mechanism": "sasl.mechanisms",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}

_WITHOUT_EFFECT = {
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
    "max.block.ms",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "auto.include.jmx.reporter",
    "metadata.max.idle.ms",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "transaction.two.phase.commit.enable",
}

_ONLY_IN_JAVA = {
    "partitioner.class": "it names a Java class; keys are placed as Java's default partitioner does",
    "interceptor.classes": "it names Java classes",
    "metric.reporters": "it names Java classes",
    "security.providers": "it names Java classes",
    "config.providers": "it names Java classes",
    "sasl.client.callback.handler.class": "it names a Java class",
    "sasl.login.callback.handler.class": "it names a Java class",
    "sasl.login.class": "it names a Java class",
    "ssl.engine.factory.class": "it names a Java class",
    "ssl.trustmanager.algorithm": "it is about Java's TLS",
    "ssl.keymanager.algorithm": "it is about Java's TLS",
    "ssl.secure.random.implementation": "it is about Java's TLS",
    "ssl.provider": "it is about Java's TLS",
}


def translated(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties of Java's clients as librdkafka's.

    Raises:
        ConfigurationError: A property or its value has no counterpart; the message names it, and no secret.
    """
    found: dict[str, str] = {}
    for name, value in properties.items():
        if name in _ONLY_IN_JAVA:
            raise ConfigurationError(f"the Kafka property {name!r} cannot be used: {_ONLY_IN_JAVA[name]}. Omit it")
        if name in _WITHOUT_EFFECT:
            continue
        special = _SPECIAL.get(name)
        if special is not None:
            found |= special(value, properties)
        else:
            found[_RENAMED.get(name, name)] = value
    return found


def without_secrets(text: str, properties: Mapping[str, str]) -> str:
    """Return a text in which no value of a secret property is left."""
    secrets = [value for name, value in properties.items() if value and is_secret(name)]
    passwords = [password for secret in secrets for password in _quoted(secret)]
    for secret in (*secrets, *passwords):
        text = text.replace(secret, HIDDEN)
    return text


def _jaas(value: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Take user and password out of a JAAS configuration of the PLAIN and SCRAM login modules."""
    module = value.split(maxsplit=1)[0].rpartition(".")[2] if value.strip() else ""
    if module not in ("PlainLoginModule", "ScramLoginModule"):
        raise ConfigurationError(
            f"the Kafka property 'sasl.jaas.config' names the login module {module!r}. PlainLoginModule and "
            "ScramLoginModule can be used; for others set librdkafka's properties, such as 'sasl.kerberos.keytab' "
            "and 'sasl.kerberos.principal', or 'sasl.oauthbearer.method'"
        )
    options = {name: _unquoted(quoted) for name, quoted in _ENTRY.findall(value)}
    if not options.keys() >= {"username", "password"}:
        raise ConfigurationError("the Kafka property 'sasl.jaas.config' has no username or no password")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _quoted(jaas: str) -> Iterable[str]:
    return [_unquoted(quoted) for name, quoted in _ENTRY.findall(jaas) if name == "password"]


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in ("'", '"') else text


def _buffer_memory(value: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {"queue.buffering.max.kbytes": str(max(1, _number("buffer.memory", value) // 1024))}


def _batch_size(value: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {"batch.size": str(max(1, _number("batch.size", value)))}  # Java's 0: each record by itself


def _socket_buffer(name: str) -> Callable[[str, Mapping[str, str]], dict[str, str]]:
    """Return what translates the size of a socket's buffer: Java's -1 leaves it to the system, as 0 does here."""
    return lambda value, properties: {f"socket.{name}": str(max(0, _number(name, value)))}


def _identification(value: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {"ssl.endpoint.identification.algorithm": value or "none"}


def _truststore(value: str, properties: Mapping[str, str]) -> dict[str, str]:
    _require_pem("ssl.truststore.type", properties.get("ssl.truststore.type", "JKS"))
    return {"ssl.ca.location": value}


def _keystore(value: str, properties: Mapping[str, str]) -> dict[str, str]:
    kind = properties.get("ssl.keystore.type", "JKS").upper()
    if kind == "PKCS12":
        return {"ssl.keystore.location": value}
    _require_pem("ssl.keystore.type", kind)
    return {"ssl.certificate.location": value, "ssl.key.location": value}


def _require_pem(name: str, kind: str) -> None:
    if kind.upper() != "PEM":
        others = " or 'PKCS12'" if "keystore" in name else ""
        raise ConfigurationError(
            f"the Kafka property {name!r} is {kind!r}, and only 'PEM'{others} can be read outside of Java. Convert the "
            "file (keytool -importkeystore, openssl pkcs12), and set the property"
        )


def _nothing(value: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {}


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigurationError(f"the Kafka property {name!r} must be a number, and is {value!r}") from None


_SPECIAL: Mapping[str, Callable[[str, Mapping[str, str]], dict[str, str]]] = {
    "sasl.jaas.config": _jaas,
    "buffer.memory": _buffer_memory,
    "batch.size": _batch_size,
    "send.buffer.bytes": _socket_buffer("send.buffer.bytes"),
    "receive.buffer.bytes": _socket_buffer("receive.buffer.bytes"),
    "ssl.endpoint.identification.algorithm": _identification,
    "ssl.truststore.location": _truststore,
    "ssl.truststore.password": _nothing,  # PEM files have none
    "ssl.truststore.type": _nothing,
    "ssl.keystore.location": _keystore,
    "ssl.keystore.type": _nothing,
}
