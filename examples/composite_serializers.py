"""Serializers of one's own in the state of a running job, and the three kinds of snapshots for them.

A snapshot is what a checkpoint remembers of a serializer: nothing but its class, or the serializers that it is made of
(as Flink's MapSerializerSnapshot does), or these and an outer part of its own (as its GenericArraySerializerSnapshot
does). custom_serializer.py has a serializer whose snapshot is written by hand. PyFlink has none of them.
"""

from rekindle.common import Configuration
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.serialization import CompositeTypeSerializerSnapshot, SimpleTypeSerializerSnapshot, TypeSerializer
from rekindle.testing import check_evolution

# --- a serializer that is the same wherever it is made: nothing is to be remembered but its class ---


class CentsSerializer(TypeSerializer):
    """Keep amounts of money as whole cents."""

    def serialize(self, element, stream):
        stream.write_long(round(element * 100))

    def deserialize(self, stream):
        return stream.read_long() / 100

    def snapshot_configuration(self):
        return CentsSerializerSnapshot()


class CentsSerializerSnapshot(SimpleTypeSerializerSnapshot):
    def __init__(self):
        super().__init__(CentsSerializer)


class NameSerializer(TypeSerializer):
    def serialize(self, element, stream):
        stream.write_utf(element)

    def deserialize(self, stream):
        return stream.read_utf()

    def snapshot_configuration(self):
        return NameSerializerSnapshot()


class NameSerializerSnapshot(SimpleTypeSerializerSnapshot):
    def __init__(self):
        super().__init__(NameSerializer)


# --- a map: made of two others, whose snapshots are all there is to remember ---


class PriceListSerializer(TypeSerializer):
    def __init__(self, key, value):
        self.key = key
        self.value = value

    def serialize(self, element, stream):
        stream.write_int(len(element))
        for article, price in element.items():
            self.key.serialize(article, stream)
            self.value.serialize(price, stream)

    def deserialize(self, stream):
        return {self.key.deserialize(stream): self.value.deserialize(stream) for _ in range(stream.read_int())}

    def snapshot_configuration(self):
        return PriceListSerializerSnapshot(self)


class PriceListSerializerSnapshot(CompositeTypeSerializerSnapshot):
    def get_current_outer_snapshot_version(self):
        return 1

    def get_nested_serializers(self, outer_serializer):
        return [outer_serializer.key, outer_serializer.value]

    def create_outer_serializer_with_nested_serializers(self, nested_serializers):
        return PriceListSerializer(*nested_serializers)


# --- an array: made of another one, and of what it calls its elements, which is the outer part of its snapshot ---


class ArraySerializer(TypeSerializer):
    def __init__(self, component, element):
        self.component = component
        self.element = element

    def serialize(self, element, stream):
        stream.write_int(len(element))
        for part in element:
            self.element.serialize(part, stream)

    def deserialize(self, stream):
        return [self.element.deserialize(stream) for _ in range(stream.read_int())]

    def snapshot_configuration(self):
        return ArraySerializerSnapshot(self)


class ArraySerializerSnapshot(CompositeTypeSerializerSnapshot):
    def __init__(self, serializer=None):
        super().__init__(serializer)
        self.component = serializer.component if serializer else ""

    def get_current_outer_snapshot_version(self):
        return 1

    def write_outer_snapshot(self, output):
        output.write_utf(self.component)

    def read_outer_snapshot(self, read_outer_snapshot_version, input_view):
        self.component = input_view.read_utf()

    def is_outer_snapshot_compatible(self, new_serializer):
        return self.component == new_serializer.component

    def get_nested_serializers(self, outer_serializer):
        return [outer_serializer.element]

    def create_outer_serializer_with_nested_serializers(self, nested_serializers):
        return ArraySerializer(self.component, *nested_serializers)


# --- both in the state of a job ---

PRICES = PriceListSerializer(NameSerializer(), CentsSerializer())
HISTORY = ArraySerializer("price", CentsSerializer())


class Shop(KeyedProcessFunction):
    """Keep the last price of every article, and all prices in their order."""

    def open(self, runtime_context):
        self.prices = runtime_context.get_state(ValueStateDescriptor("price list", PRICES))
        self.history = runtime_context.get_state(ValueStateDescriptor("history", HISTORY))

    def process_element(self, offer, ctx):
        shop, article, price = offer
        self.prices.update({**(self.prices.value() or {}), article: price})
        self.history.update([*(self.history.value() or []), price])
        yield f"{shop}: {self.prices.value()} after {self.history.value()}"


offers = [
    ("corner", "tea", 3.999),  # 4.0 comes back: cents are whole
    ("corner", "pen", 1.5),
    ("market", "tea", 3.5),
    ("corner", "tea", 4.25),
]
# RocksDB holds bytes. Without its cache of objects, state is written and read by its serializer at every access.
settings = Configuration.from_dict({"state.backend.type": "rocksdb", "rekindle.rocksdb.cache.entries": "0"})
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(1)
env.from_collection(offers).key_by(lambda offer: offer[0]).process(Shop()).print()
env.execute("prices")

# What the snapshots say to state that was written before.
print(check_evolution(PRICES, PRICES))
print(check_evolution(PRICES, PriceListSerializer(NameSerializer(), NameSerializer())))
print(check_evolution(HISTORY, ArraySerializer("discount", CentsSerializer())))
