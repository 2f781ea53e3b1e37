from rekindle.serialization import (
    TypeSerializer,
    TypeSerializerSchemaCompatibility,
    TypeSerializerSnapshot,
)
from rekindle.testing import check_evolution


class FixedPointSerializer(TypeSerializer):
    """Keep numbers with so many decimals, in eight bytes each."""

    def __init__(self, decimals):
        self.decimals = decimals

    def serialize(self, element, stream):
        stream.write_long(round(element * 10**self.decimals))

    def deserialize(self, stream):
        return stream.read_long() / 10**self.decimals

    def snapshot_configuration(self):
        return FixedPointSerializerSnapshot(self)


class FixedPointSerializerSnapshot(TypeSerializerSnapshot):
    """Remember how many decimals there were."""

    def __init__(self, serializer=None):
        self.decimals = serializer.decimals if serializer else 0

    def get_current_version(self):
        return 1

    def write_snapshot(self, output):
        output.write_int(self.decimals)

    def read_snapshot(self, read_version, input_view):
        self.decimals = input_view.read_int()

    def restore_serializer(self):
        return FixedPointSerializer(self.decimals)

    def resolve_schema_compatibility(self, old_serializer_snapshot):
        old = old_serializer_snapshot
        if not isinstance(old, FixedPointSerializerSnapshot):
            return TypeSerializerSchemaCompatibility.incompatible(f"it was {old.describe()}")
        change = f"numbers had {old.decimals} decimals and have {self.decimals} now"
        if old.decimals == self.decimals:
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        if old.decimals < self.decimals:
            return TypeSerializerSchemaCompatibility.compatible_after_migration(change)
        return TypeSerializerSchemaCompatibility.incompatible(change)


if __name__ == "__main__":
    print(check_evolution(FixedPointSerializer(2), FixedPointSerializer(2)))
    print(check_evolution(FixedPointSerializer(2), FixedPointSerializer(4)))
    print(check_evolution(FixedPointSerializer(4), FixedPointSerializer(2)))
    print(check_evolution(float, FixedPointSerializer(2)))
