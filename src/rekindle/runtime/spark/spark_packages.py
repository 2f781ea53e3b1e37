"""Packages that Spark has to be started with, because sources need them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_JARS, _PACKAGES = "spark.jars", "spark.jars.packages"
_NEWEST_PUBLISHED = (4, 2, 0)
"""The newest Spark whose connectors are on Maven Central. Later ones were seen to work with those."""


def package_version(spark_version: str) -> str:
    """Return the version of Spark's own connectors for a version of Spark: its own, or the newest that there is."""
    own = tuple(int(part) for part in spark_version.split(".")[:3] if part.isdigit())
    return ".".join(map(str, min(own, _NEWEST_PUBLISHED)))


def coordinates(packages: Iterable[str], spark_version: str) -> list[str]:
    """Return packages with their versions: those that name none have Spark's."""
    version = package_version(spark_version)
    return [package if package.count(":") > 1 else f"{package}:{version}" for package in packages]


def not_started(settings: Mapping[str, str]) -> str | None:
    """Return what to say of a JVM that ended before Spark ran; None if it had no packages to fetch.

    Args:
        settings: What Spark was started with.
    """
    if not settings.get(_PACKAGES):
        return None
    return (
        f"Spark did not start. Perhaps it could not fetch {settings[_PACKAGES]} from Maven ({_PACKAGES}): what it "
        "printed before this error says so. If this machine does not reach Maven Central, name a mirror in "
        "spark.jars.repositories; or download the connector and all that it depends on, and name the files in "
        f"{_JARS}, separated by commas"
    )


def with_packages(settings: Mapping[str, str], packages: Iterable[str], spark_version: str) -> dict[str, str]:
    """Return settings with which Spark fetches packages; those that the settings name already, as jars too, stay.

    Args:
        settings: The settings of the program.
        packages: What it needs, as Maven names it: ``group:artifact``, or with a version.
        spark_version: The version of Spark.
    """
    named = f"{settings.get(_JARS, '')},{settings.get(_PACKAGES, '')}"
    missing = [package for package in packages if package.split(":")[1] not in named]
    if not missing:
        return dict(settings)
    before = [settings[_PACKAGES]] if settings.get(_PACKAGES) else []
    return {**settings, _PACKAGES: ",".join([*before, *coordinates(missing, spark_version)])}
