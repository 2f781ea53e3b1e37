"""Operators must be able to travel: the check names the one that cannot, and says what to do."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from rekindle.contracts.functions.function_adapters import as_map_function
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.partitioning import FORWARD, Partitioner, Partitioning
from rekindle.graph.pickling import check_picklable, main_classes
from rekindle.graph.stream_graph import StreamEdge, StreamGraph
from rekindle.graph.transformations.one_input import MapTransformation


class RaisesInReduce:
    def __reduce__(self) -> str:
        raise RuntimeError("this cannot leave the process")


def job(function: Callable[[Any], Any], key_selector: Callable[[Any], Any] | None = None) -> JobGraph:
    graph = StreamGraph()
    source = graph.add("the source", MapTransformation(as_map_function(abs)), ())
    partitioner = FORWARD if key_selector is None else Partitioner(Partitioning.HASH, key_selector)
    graph.add("the map", MapTransformation(as_map_function(function)), (StreamEdge(source.id, partitioner),))
    return compile_job(graph, 1, None)


def capturing(value: Any) -> Callable[[Any], Any]:
    return lambda record: (value, record)


def test_lambdas_closures_and_local_classes_can_travel() -> None:
    class Local:
        def __call__(self, record: Any) -> Any:
            return record

    for function in (lambda record: record, capturing(5), Local()):
        graph = job(function, key_selector=lambda record: record)
        check_picklable(graph)
        moved = cloudpickle.loads(cloudpickle.dumps(graph))
        assert moved.nodes[1].name == "the map"


@pytest.mark.parametrize(
    "unpicklable",
    [threading.Lock, lambda: (number for number in range(3)), RaisesInReduce],
    ids=["lock", "generator", "raising reduce"],
)
def test_a_function_that_cannot_travel_raises_naming_operator_reason_and_remedy(
    unpicklable: Callable[[], Any],
) -> None:
    with pytest.raises(
        InvalidProgramError, match=r"operator 'the map' cannot be sent to the slots: .+open\(\)"
    ) as info:
        check_picklable(job(capturing(unpicklable())))
    assert info.value.__cause__ is not None
    assert str(info.value.__cause__) in str(info.value)


def test_a_key_selector_that_cannot_travel_raises_naming_the_operator_behind_it() -> None:
    with pytest.raises(InvalidProgramError, match="the key selector before operator 'the map' cannot be sent"):
        check_picklable(job(abs, key_selector=capturing(threading.Lock())))


def test_a_data_frame_stays_with_the_driver_and_need_not_travel() -> None:
    graph = StreamGraph()
    graph.add("the table", MapTransformation(as_map_function(abs)), (), data_frame=threading.Lock())
    check_picklable(compile_job(graph, 1, None))


class TestClassesOfTheScript:
    """Records are pickled by the names of their classes, so slots must know the classes of the user's script."""

    @pytest.fixture
    def script(self, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        module = ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", module)
        return module

    def define(self, script: ModuleType, code: str) -> None:
        exec(code, vars(script))

    def test_those_that_the_script_defines_travel(self, script: ModuleType) -> None:
        self.define(script, "class Event: pass\nclass Other(Event): pass\n")
        assert main_classes() == {"Event": vars(script)["Event"], "Other": vars(script)["Other"]}

    def test_those_that_it_only_imports_or_renames_do_not(self, script: ModuleType) -> None:
        self.define(script, "from decimal import Decimal\nclass Event: pass\nAlias = Event\nnumber = 5\n")
        assert list(main_classes()) == ["Event"]

    def test_one_that_cannot_travel_is_left_behind(self, script: ModuleType) -> None:
        self.define(script, "import threading\nclass Event: pass\nclass Locked:\n    lock = threading.Lock()\n")
        assert list(main_classes()) == ["Event"]
