"""What a function may do with what it is given: what is on the list, and nothing of the program is called for that."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

import pytest

from rekindle.columns.expressions import Accumulated, Choice, Constant, Field, Operation
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.purity import traceable, traceable_callable
from rekindle.columns.shapes import Shape
from rekindle.columns.tracing import Traced, accumulator, record, trace
from rekindle.contracts.functions import MapFunction

pytestmark = pytest.mark.usefixtures("standing_still")

ROW = Shape.row(["a", "b", "count", "_x"])
A, B = Field(0), Field(1)
PAIR = (1, 2)
TEXT = "xy"
NOT_A_NUMBER = math.nan
CALLED: list[str] = []


def traced(function: Any, shape: Shape = ROW) -> Traced:
    return trace(traceable_callable(function), record(shape))


def helper(x: Any) -> Any:
    return x + 1


def with_default(x: Any, more: Any = 2) -> Any:
    return x + more


def same(x: Any) -> Any:
    return same(x)


def local(row: Any) -> Any:
    a, b = row.a, row.b
    a += 1
    if (c := a * 2) > 3:
        b = c
    return a, b, c


def unpacked(pair: Any) -> Any:
    a, b = pair
    return b, a


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        (lambda r: r.a, (A,)),
        (lambda r: r["a"], (A,)),
        (lambda r: (r[-3], r[0]), (B, A)),
        (lambda r: r._x, (Field(3),)),
        (lambda r: r["count"], (Field(2),)),
        (lambda r: r, (A, B, Field(2), Field(3))),
        (lambda r: (r.a, 1)[0], (A,)),
        (lambda r: PAIR[1] * 2 + 1.5, (Constant.of(5.5),)),
        (lambda r: -r.a, (Operation("neg", (A,)),)),
        (lambda r: abs(r.a) % 3, (Operation("%", (Operation("abs", (A,)), Constant.of(3))),)),
        (lambda r: helper(r.a), (Operation("+", (A, Constant.of(1))),)),
        (lambda r: with_default(r.a), (Operation("+", (A, Constant.of(2))),)),
        (lambda r: with_default(r.a, r.b), (Operation("+", (A, B)),)),
        (lambda r: r.a if r.a > 1 else r.b, (Choice(Operation(">", (A, Constant.of(1))), A, B),)),
        (lambda r: min(r.a, r.b), (Choice(Operation("<", (B, A)), B, A),)),
        (lambda r: max(r.a, r.b), (Choice(Operation(">", (B, A)), B, A),)),
        (lambda r: min(3, 2, -PAIR[0]), (Constant.of(-1),)),
        (lambda r: abs(-PAIR[0]), (Constant.of(1),)),
        (lambda r: r.a if PAIR[0] < 2 and not None else r.b, (A,)),
        (lambda r: r.a if PAIR[0] == "1" or "x" < "y" else r.b, (A,)),
        (itemgetter("a"), (A,)),
        (itemgetter(0, "b"), (A, B)),
        (attrgetter("a", "b"), (A, B)),
    ],
)  # fmt: skip
def test_what_is_on_the_list(function: Any, fields: Any) -> None:
    assert traced(function).fields == fields


def test_what_is_never_come_to_must_be_on_the_list_as_well() -> None:
    with pytest.raises(NotTraceable, match="it calls len"):
        traced(lambda r: r.a if PAIR[0] < 2 else len(r))


def test_variables_branches_and_parts() -> None:
    a, c = Operation("+", (A, Constant.of(1))), Operation("*", (Operation("+", (A, Constant.of(1))), Constant.of(2)))
    assert traced(local).fields == (a, Choice(Operation(">", (c, Constant.of(3))), c, B), c)
    assert traced(unpacked, Shape.tuple(2)).fields == (B, A)
    both = trace(traceable_callable(lambda a, b: a + b), accumulator(Shape.value()), record(Shape.value()))
    assert both.fields == (Operation("+", (Accumulated(0), A)),)


def too_long(row: Any) -> Any:
    x = row.a
    x = x + x
    x = x + x
    x = x + x
    x = x + x
    x = x + x
    x = x + x
    x = x + x
    x = x + x
    x = x + x
    return x + x


def before_it_has_a_value(row: Any) -> Any:
    if PAIR[0] == 2:
        x = 1
    return x + row.a


def matches(row: Any) -> Any:
    match row:
        case (a, _, _, _):
            return a


def inner(row: Any) -> Any:
    def inside() -> Any:
        return row.a

    return inside()


def wrong_unpacking(row: Any) -> Any:
    a, _ = row
    return a


@functools.wraps(helper)
def any_arguments(*arguments: Any) -> Any:
    return arguments[0]


def named_arguments(row: Any, *, more: Any = 1) -> Any:
    return row.a + more


def raises(row: Any) -> Any:
    raise ValueError(row.a)


class Callable_:  # noqa: N801
    def __call__(self, row: Any) -> Any:
        return row.a


REFUSED: list[tuple[Any, str]] = [
    (lambda r: TEXT.format(r.a), "asks a str for 'format'"),
    (lambda r: r.s % (r.a,), "asks a record|inside of a record"),
    (lambda r: ("%s", 1)[0] % (r.a,), "applies % to a str|makes text"),
    (lambda r: "x" + "y".upper(), "asks a str for 'upper'"),
    (lambda r: "x" * PAIR[1], r"applies \* to a str"),
    (lambda r: f"{r.a}", "makes text"),
    (lambda r: f"{r.a:>3}", "makes text"),
    (lambda r: (r.a, 1) == (r.a, 1), "compares a tuple"),
    (lambda r: (r.a, 1) < (r.b, 1), "compares a tuple"),
    (lambda r: r == r, "compares a record"),
    (lambda r: r.a == (1, 2), "a tuple inside of a record"),
    (lambda r: helper == helper, "compares a function"),
    (lambda r: r.a == helper, "a function inside of a record"),
    (lambda r: 1 if helper else 2, "asks for the truth of a function"),
    (lambda r: 1 if r else 2, "asks for the truth of a record"),
    (lambda r: 1 if (r.a,) else 2, "asks for the truth of a tuple"),
    (lambda r: not (r.a,), "asks for the truth of a tuple"),
    (lambda r: r.a is None, "asks whether"),
    (lambda r: r.a is r.b, "the same object"),
    (lambda r: r.a in (1, 2), "is in something"),
    (lambda r: r[1:], "slice"),
    (lambda r: r[0:2], "slice"),
    (lambda r: (r.a,) + (r.b,), r"applies \+ to a tuple"),  # noqa: RUF005
    (lambda r: (r.a,) * 2, r"applies \* to a tuple"),
    (lambda r: r + (1,), r"applies \+ to a record"),  # noqa: RUF005
    (lambda r: r.a + (1,), "a tuple inside of a record"),  # noqa: RUF005
    (lambda r: -(r.a,), "negates a tuple"),
    (lambda r: -r, "negates a record"),
    (lambda r: +r.a, "uses the instruction|computes"),
    (lambda r: ~r.a, "uses the instruction"),
    (lambda r: r.a**2, r"computes with \*\*"),
    (lambda r: r.a << 2, "computes with <<"),
    (lambda r: r.a & 1, "computes with &"),
    (lambda r: r.a @ 1, "computes with @"),
    (lambda r: min((r.a, r.b)), "calls min with one argument"),
    (lambda r: max(r), "calls max with one argument"),
    (lambda r: min(r.a, r.b, key=abs), "named arguments"),
    (lambda r: min((r.a, 1), (r.b, 2)), "compares a tuple"),
    (lambda r: abs((r.a,)), "calls abs with a tuple"),
    (lambda r: abs("x"), "calls abs with a str"),
    (lambda r: abs(r.a, r.b), "calls abs with a value and a value"),
    (lambda r: (1).real, "asks a int for 'real'"),
    (lambda r: r.a.real, "asks a value for 'real'"),
    (lambda r: r.a["x"], "asks a value for the item 'x'"),
    (lambda r: PAIR[0:1][0] + r.a, "slice"),
    (lambda r: (r.a, 1)[True], "for the item True"),
    (lambda r: (r.a, 1)[2], "for the item 2"),
    (lambda r: (r.a, 1)[r.a], "for the item a value"),
    (lambda r: TEXT[0], "asks a str for the item 0"),
    (lambda r: r[True], "for the item True"),
    (lambda r: r[4], "for the item 4"),
    (lambda r: r[r.a], "for the item a value"),
    (lambda r: r.count, "asks a record for 'count'"),
    (lambda r: r.asDict, "asks a record for 'asDict'"),
    (lambda r: r.missing, "asks a record for 'missing'"),
    (lambda r: r.__class__, "asks for __class__"),
    (lambda r: r["__class__"], "asks a record for '__class__'"),
    (lambda r: helper.x, "asks a function for 'x'"),
    (lambda r: PAIR.count(1), "asks a tuple for 'count'"),
    (lambda r: math.sqrt(r.a), r"calls math\.sqrt"),
    (lambda r: math.floor, r"calls math\.floor"),
    (lambda r: math, "returns a MathModule"),
    (lambda r: helper, "returns a function"),
    (lambda r: (r.a, (r.b, 1)), "returns a tuple inside of a record"),
    (lambda r: r.a(1), "calls a value"),
    (lambda r: PAIR[0](2), "calls a int"),
    (lambda r: helper(r.a, r.b), "wrong number of arguments"),
    (lambda r: helper(), "wrong number of arguments"),
    (lambda r: helper(x=r.a), "named arguments"),
    (lambda r: helper(*r), "named arguments|list"),
    (lambda r: same(r.a), "too deep to follow"),
    (lambda r: (lambda: r.a)(), "variables that others see|makes a function"),
    (lambda r: [r.a], "makes a list"),
    (lambda r: {r.a}, "makes a list, set or dict"),
    (lambda r: {"a": r.a}, "makes a list, set or dict"),
    (lambda r: [x for x in r], "loops|makes"),  # noqa: C416
    (lambda r: 1j, "uses a complex"),
    (lambda r: ..., "uses a ellipsis"),
    (lambda r: 1 / (PAIR[0] - 1), "it fails .ZeroDivisionError"),
    (lambda r: 1 < "x", "it fails .TypeError"),
    (lambda r: (r.a / r.b, r.a)[1], "computes something that it does not use"),
    (lambda r: r.a if r.b else r.a, "has a branch that makes no difference"),  # noqa: RUF034
    (lambda r: r.a if r.b else (r.a,), "records of different kinds from its branches"),
    (lambda r: (yield r.a), "yields"),
    (too_long, "computes too much"),
    (before_it_has_a_value, "before it has a value|uses the instruction"),
    (matches, "it "),
    (inner, "variables that others see|makes a function"),
    (wrong_unpacking, "takes a record apart into 2 parts"),
    (any_arguments, "any number of arguments"),
    (named_arguments, "named ones"),
    (raises, "calls ValueError|raises"),
    (functools.partial(helper, 1), "is a partial"),
    (functools.lru_cache(helper), "is a _lru_cache_wrapper"),
    (Callable_(), "is a Callable_"),
    (Callable_, "is a type"),
    (itemgetter(slice(1)), "for the item"),
    (attrgetter("a.real"), "asks a record for 'a.real'"),
]


@pytest.mark.parametrize(("function", "reason"), REFUSED)
def test_what_is_not_on_the_list(function: Any, reason: str) -> None:
    with pytest.raises(NotTraceable, match=reason):
        traced(function)


def test_getters_want_records() -> None:
    with pytest.raises(NotTraceable, match="asks a value for 0"):
        traced(itemgetter(0), Shape.value())


class NamedAsTheTracer(MapFunction):
    """Have all the names that a tracer might want for itself."""

    fields = 3
    shape = 3

    def __init__(self) -> None:
        self._instance = self._rekindle = self.instance = self.texts = 2

    def of(self, x: Any) -> Any:
        return x + 1

    def attribute(self, x: Any) -> Any:
        return x * 2

    def item(self, x: Any) -> Any:
        CALLED.append("item")
        return x

    def map(self, row: Any) -> Any:
        return self.of(row.a) * self._instance + self.attribute(row.b) + self._rekindle + self.instance * self.texts

    def called(self, row: Any) -> Any:
        return self.item(row.a)

    def shaped(self, row: Any) -> Any:
        return row.a * self.fields + self.shape


def method(name: str, function: Any = None) -> Traced:
    return trace(traceable(function or NamedAsTheTracer(), name), record(ROW))


def test_no_name_belongs_to_the_tracer() -> None:
    function = NamedAsTheTracer()
    row = type("R", (), {"a": 5, "b": 7})()
    assert function.map(row) == 32
    two = Constant.of(2)
    added = Operation("*", (Operation("+", (A, Constant.of(1))), two))
    assert method("map").fields == (
        Operation("+", (Operation("+", (Operation("+", (added, Operation("*", (B, two)))), two)), Constant.of(4))),
    )
    assert method("shaped").fields == (Operation("+", (Operation("*", (A, Constant.of(3))), Constant.of(3))),)


T = TypeVar("T")


class Doubled(MapFunction[T, T], Generic[T]):
    factor = 2

    def map(self, value: Any) -> Any:
        return value.a * self.factor, value.b


class DoubledNumbers(Doubled[int]):
    pass


@pytest.mark.parametrize("function", [Doubled(), Doubled[int](), DoubledNumbers()], ids=["none", "own", "of a base"])
def test_methods_of_classes_with_parameters_are_traced(function: MapFunction) -> None:
    assert method("map", function).fields == (Operation("*", (A, Constant.of(2))), B)


def test_a_method_with_a_side_effect_is_not_called() -> None:
    with pytest.raises(NotTraceable, match="it uses CALLED, which is a list"):
        method("called")
    assert CALLED == []


class UsesSelf(MapFunction):
    other = helper
    in_place = staticmethod(helper)
    listed: list[int] = []  # noqa: RUF012
    function: Any
    by_class = classmethod(helper)

    def __init__(self) -> None:
        self.function = lambda x: x * 3

    @staticmethod
    def still(x: Any) -> Any:
        return x + 1

    def map(self, row: Any) -> Any:
        return self.still(row.a) + self.function(row.b)

    def text(self, row: Any) -> Any:
        return f"{self}"

    def truth(self, row: Any) -> Any:
        return 1 if self else 2

    def compared(self, row: Any) -> Any:
        return row.a if self == 3 else row.b

    def with_value(self, row: Any) -> Any:
        return row.a == self

    def returned(self, row: Any) -> Any:
        return self

    def method_returned(self, row: Any) -> Any:
        return self.map

    def method_compared(self, row: Any) -> Any:
        return self.map == self.map

    def itself(self) -> Any:
        return self

    def through_itself(self, row: Any) -> Any:
        return self.itself().still(row.a)

    def item(self, row: Any) -> Any:
        return self[0]

    def missing(self, row: Any) -> Any:
        return self.not_there

    def changes(self, row: Any) -> Any:
        self.listed = row.a
        return row.a

    def lists(self, row: Any) -> Any:
        return self.listed

    def classes(self, row: Any) -> Any:
        return self.by_class()

    def recursive(self, row: Any) -> Any:
        return self.recursive(row)

    def supers(self, row: Any) -> Any:
        return super().map(row)

    def dunder(self, row: Any) -> Any:
        return self.__class__.still(row.a)


def test_methods_static_methods_and_functions_of_an_instance_are_followed() -> None:
    three = Constant.of(3)
    assert method("map", UsesSelf()).fields == (
        Operation("+", (Operation("+", (A, Constant.of(1))), Operation("*", (B, three)))),
    )
    assert method("through_itself", UsesSelf()).fields == (Operation("+", (A, Constant.of(1))),)
    bound = UsesSelf().through_itself
    assert traced(bound).fields == (Operation("+", (A, Constant.of(1))),)
    unbound = UsesSelf.map
    with pytest.raises(NotTraceable, match="asks a record for 'still'"):
        trace(traceable_callable(unbound), record(ROW), record(ROW))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("text", "makes text"),
        ("truth", "asks for the truth of self"),
        ("compared", "compares self"),
        ("with_value", "self inside of a record"),
        ("returned", "returns self"),
        ("method_returned", "returns a function"),
        ("method_compared", "compares a function"),
        ("item", "asks self for the item 0"),
        ("missing", "asks for self.not_there, which is not there yet"),
        ("changes", "changes an object"),
        ("lists", "uses self.listed, which is a list"),
        ("classes", "uses self.by_class, which is a classmethod"),
        ("recursive", "too deep to follow"),
        ("supers", "it "),
        ("dunder", "asks for __class__"),
        ("other", "another value where UsesSelf is imported anew"),
        ("in_place", "another value where UsesSelf is imported anew"),
        ("listed", "which is a list"),
    ],
)
def test_what_may_not_be_done_with_self(name: str, reason: str) -> None:
    with pytest.raises(NotTraceable, match=reason):
        method(name, UsesSelf())


def aliased() -> Callable[[Any], Any]:
    unbound, instance = NamedAsTheTracer.item, NamedAsTheTracer()
    return lambda row: unbound(instance, row.a)


def test_a_method_by_another_name_is_not_called() -> None:
    with pytest.raises(NotTraceable, match=r"it uses (instance, which is a NamedAsTheTracer|CALLED)"):
        traced(aliased())
    assert CALLED == []


def test_a_name_with_a_dot_is_no_field() -> None:
    dotted = record(Shape.row(["user.id", "v"]))
    with pytest.raises(NotTraceable, match=r"it asks a record for 'user\.id'"):
        trace(traceable_callable(attrgetter("user.id", "v")), dotted)
    assert trace(traceable_callable(itemgetter("user.id", "v")), dotted).fields
