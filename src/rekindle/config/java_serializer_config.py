"""The part of ``ExecutionConfig`` that is about Java's serializers: remembered, without effect."""

from __future__ import annotations

from typing import Self

__all__ = ["JavaSerializerConfig"]


class JavaSerializerConfig:
    """Remember what a program says about Kryo, Avro and POJOs, and give it back."""

    def __init__(self) -> None:
        self._force_kryo = False
        self._force_avro = False
        self._generic_types_disabled = False
        self._auto_type_registration_disabled = False
        self._default_kryo_serializers: dict[str, str] = {}
        self._kryo_serializers: dict[str, str] = {}
        self._kryo_types: list[str] = []
        self._pojo_types: list[str] = []

    def enable_force_kryo(self) -> Self:
        """Remember that Kryo is wanted for POJOs."""
        self._force_kryo = True
        return self

    def disable_force_kryo(self) -> Self:
        """Remember that Kryo is not wanted for POJOs."""
        self._force_kryo = False
        return self

    def is_force_kryo_enabled(self) -> bool:
        """Return whether Kryo is wanted for POJOs."""
        return self._force_kryo

    def enable_force_avro(self) -> Self:
        """Remember that Avro is wanted for POJOs."""
        self._force_avro = True
        return self

    def disable_force_avro(self) -> Self:
        """Remember that Avro is not wanted for POJOs."""
        self._force_avro = False
        return self

    def is_force_avro_enabled(self) -> bool:
        """Return whether Avro is wanted for POJOs."""
        return self._force_avro

    def enable_generic_types(self) -> Self:
        """Remember that types may go through Kryo."""
        self._generic_types_disabled = False
        return self

    def disable_generic_types(self) -> Self:
        """Remember that no type may go through Kryo."""
        self._generic_types_disabled = True
        return self

    def has_generic_types_disabled(self) -> bool:
        """Return whether no type may go through Kryo."""
        return self._generic_types_disabled

    def disable_auto_type_registration(self) -> Self:
        """Remember that types are not to be registered with Kryo by themselves."""
        self._auto_type_registration_disabled = True
        return self

    def is_auto_type_registration_disabled(self) -> bool:
        """Return whether types are not to be registered with Kryo by themselves."""
        return self._auto_type_registration_disabled

    def add_default_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> Self:
        """Remember a default Kryo serializer for a Java class."""
        self._default_kryo_serializers[type_class_name] = serializer_class_name
        return self

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return the default Kryo serializers by Java class."""
        return dict(self._default_kryo_serializers)

    def register_type_with_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> Self:
        """Remember a Kryo serializer for a Java class."""
        self._kryo_serializers[type_class_name] = serializer_class_name
        return self

    def get_registered_types_with_kryo_serializer_classes(self) -> dict[str, str]:
        """Return the Kryo serializers by Java class."""
        return dict(self._kryo_serializers)

    def register_kryo_type(self, type_class_name: str) -> Self:
        """Remember a Java class for Kryo."""
        if type_class_name not in self._kryo_types:
            self._kryo_types.append(type_class_name)
        return self

    def get_registered_kryo_types(self) -> list[str]:
        """Return the Java classes for Kryo."""
        return list(self._kryo_types)

    def register_pojo_type(self, type_class_name: str) -> Self:
        """Remember a Java class as a POJO."""
        if type_class_name not in self._pojo_types:
            self._pojo_types.append(type_class_name)
        return self

    def get_registered_pojo_types(self) -> list[str]:
        """Return the Java classes that are POJOs."""
        return list(self._pojo_types)
