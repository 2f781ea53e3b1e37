"""How the finished files of a file sink are named."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.exceptions import ConfigurationError

__all__ = ["OutputFileConfig"]


@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """Give finished files a prefix and a suffix: ``<prefix>-<subtask>-<token>-<counter><suffix>``.

    Attributes:
        part_prefix: Start of the name.
        part_suffix: End of the name, such as ``".csv"``.
    """

    part_prefix: str
    part_suffix: str

    def __post_init__(self) -> None:
        for name, value in (("part_prefix", self.part_prefix), ("part_suffix", self.part_suffix)):
            if "/" in value or "\0" in value:
                raise ConfigurationError(
                    f"{name} {value!r} cannot be in a file's name; use a BucketAssigner to make directories"
                )

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Start with the prefix ``part`` and no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return the start of the name."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return the end of the name."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Build an :class:`OutputFileConfig`."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the start of the name."""
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the end of the name."""
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Build the configuration."""
            return OutputFileConfig(self.part_prefix, self.part_suffix)
