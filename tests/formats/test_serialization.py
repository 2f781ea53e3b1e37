from __future__ import annotations

from io import BytesIO

import pytest

from rekindle.common import ByteArraySchema, Encoder, Row, SimpleStringSchema, Types, TypeSerializer
from rekindle.common.serialization import RowFieldExtractorSchema
from rekindle.common.serializer import VoidNamespaceSerializer


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "UTF-16LE"])
def test_strings_survive_a_charset(charset: str) -> None:
    schema = SimpleStringSchema(charset)
    assert schema.serialize("é") == "é".encode(charset)
    assert schema.deserialize(schema.serialize("é")) == "é"
    assert not schema.is_end_of_stream("é")


def test_an_unknown_charset_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'nope'"):
        SimpleStringSchema("nope")
    with pytest.raises(ValueError, match="'nope'"):
        Encoder.simple_string_encoder("nope")


def test_bytes_pass_unchanged() -> None:
    assert ByteArraySchema().serialize(b"\x00\xff") == b"\x00\xff"
    assert ByteArraySchema().deserialize(b"\x00\xff") == b"\x00\xff"
    assert ByteArraySchema().serialize(None) is ByteArraySchema().deserialize(None) is None


def test_a_field_of_bytes_is_taken_out_of_a_row() -> None:
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row("a", b"key")) == b"key"
    assert schema.serialize(Row("a", None)) == b""
    assert schema.serialize(None) == b""  # as in Flink
    with pytest.raises(TypeError, match=r"Field 1 of .* is a str"):
        schema.serialize(Row("a", "key"))
    with pytest.raises(ValueError, match="-1"):
        RowFieldExtractorSchema(-1)


def test_an_encoder_writes_one_line_for_each_record() -> None:
    encoder = Encoder.simple_string_encoder()
    assert encoder.encode("é") == b"\xc3\xa9\n"
    assert encoder.encode(5) == b"5\n"
    assert encoder.encode(True, Types.BOOLEAN()) == b"true\n"
    assert encoder.encode(Row("a", 0), Types.ROW([Types.STRING(), Types.INT()])) == b"+I[a, 0]\n"
    assert Encoder.simple_string_encoder("ISO-8859-1").encode("é") == b"\xe9\n"


class Numbers(TypeSerializer[int]):
    def __init__(self, width: int) -> None:
        self.width = width

    def serialize(self, element: int, stream: BytesIO) -> None:
        stream.write(element.to_bytes(self.width, "big"))

    def deserialize(self, stream: BytesIO) -> int:
        return int.from_bytes(stream.read(self.width), "big")


def test_serializers_are_equal_by_class_and_attributes() -> None:
    assert Numbers(2) == Numbers(2)
    assert hash(Numbers(2)) == hash(Numbers(2))
    assert Numbers(2) != Numbers(4)
    assert Numbers(2) != VoidNamespaceSerializer()
    assert repr(Numbers(2)) == "Numbers()"


def test_the_void_namespace_takes_no_bytes() -> None:
    stream = BytesIO()
    VoidNamespaceSerializer().serialize(b"", stream)
    assert stream.getvalue() == b""
    assert VoidNamespaceSerializer().deserialize(BytesIO(b"next")) == b""


def test_a_chunk_of_messages_gives_one_record_each() -> None:
    schema = SimpleStringSchema()
    assert schema.serialize_all(["a", "é"]) == [b"a", "é".encode()]
    assert schema.deserialize_all([b"a", "é".encode()]) == (["a", "é"], None)
    assert schema.deserialize_all([]) == ([], None)


def test_a_message_without_a_record_is_left_out_and_the_others_know_where_they_are_from() -> None:
    assert ByteArraySchema().deserialize_all([b"a", None, b"b"]) == ([b"a", b"b"], [0, 2])  # type: ignore[list-item]


def test_schemas_know_the_type_of_their_records_if_they_can() -> None:
    assert SimpleStringSchema().get_produced_type() == Types.STRING()
    assert ByteArraySchema().get_produced_type() is None
