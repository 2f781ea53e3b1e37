"""The window operator: elements are put into windows, windows fire, their contents are managed state.

Contents, triggers' state and per-window state are namespaced state of the backend, the window being the namespace;
timers carry key and window. So a window is checkpointed, rescaled and, in RocksDB, kept on disk as any state is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rekindle.contracts.functions import (
    AllWindowFunction,
    Function,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.state import ValueState, ValueStateDescriptor
from rekindle.contracts.windowing.assigner import MergingWindowAssigner
from rekindle.contracts.windowing.session_assigners import SessionWindows
from rekindle.contracts.windowing.time_assigners import TimeWindowAssigner
from rekindle.contracts.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from rekindle.contracts.windowing.trigger import Trigger, TriggerResult
from rekindle.contracts.windowing.windows import MAX_TIMESTAMP, MIN_TIMESTAMP, TimeWindow
from rekindle.graph.transformations.windows import Windowing
from rekindle.runtime.at_work import at_record, at_timer
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.keyed import KeyedOperator, check_samples
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.result_copies import FIXED, unshared
from rekindle.runtime.operators.roles import ColumnOperator, ProcessingTimeOperator
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.runtime.operators.side_outputs import SideOutput, emitted, sorted_out
from rekindle.runtime.operators.stateless import append_results
from rekindle.runtime.operators.windows.merging_windows import MergingWindowSet
from rekindle.runtime.operators.windows.window_contents import contents_of
from rekindle.runtime.operators.windows.window_contexts import (
    AssignerContext,
    WindowFunctionContext,
    WindowStateStore,
    WindowTriggerContext,
)
from rekindle.state.timer_store import TimerStore
from rekindle.types.class_typeinfo import SerializerTypeInfo
from rekindle.types.typeinfo import Types

if TYPE_CHECKING:
    from rekindle.runtime.operators.column_folds import WindowFolds

_MERGING = "_merging-windows"
_new_window = tuple.__new__


class WindowOperator(KeyedOperator, ProcessingTimeOperator, ColumnOperator):
    """Run a window function over the windows of each key."""

    _context: WindowTriggerContext
    _function_context: WindowFunctionContext
    _assigner_context: AssignerContext
    _open_windows: ValueState[Any]
    _folds: WindowFolds | None

    def __init__(self, windowing: Windowing, function: Function) -> None:
        super().__init__(function)
        self.windowing = windowing
        self.contents = contents_of(windowing.contents)
        self._event_time = windowing.assigner.is_event_time()
        self._lateness = windowing.allowed_lateness if self._event_time else 0
        # These triggers keep nothing and do nothing but wait for the end of a window: the operator does it for them.
        self._fires_at_end = type(windowing.trigger) is (
            EventTimeTrigger if self._event_time else ProcessingTimeTrigger
        )
        merging = getattr(type(windowing.assigner), "merge_windows", None)
        self._sessions = merging is SessionWindows.merge_windows and self._fires_at_end
        self._lazy_timers = self._sessions and not self._lateness
        self._values: list[Any] = []  # what is emitted, until it leaves as a chunk
        self._timestamps: list[int | None] = []

    def emit_side(self, tag: OutputTag, value: Any, timestamp: int | None) -> None:
        """Send a late element to a side output."""
        self._values.append(SideOutput(tag.tag_id, value))
        self._timestamps.append(timestamp)

    # --- life ---

    def run_key_by_key(self) -> None:
        """Prepare for a batch, in which time goes on to the last timer of a key: it must be where it belongs."""
        if not self._event_time:
            self._lazy_timers = False

    def _prepare(self, context: OperatorContext) -> None:
        assigner, backend = self.windowing.assigner, self.backend
        serializer = assigner.get_window_serializer()
        merging = isinstance(assigner, MergingWindowAssigner)
        runtime_context = SlotRuntimeContext(context, backend)
        self._context = WindowTriggerContext(context.slot.clock, backend, serializer, context.metrics)
        self._assigner_context = AssignerContext(context.slot.clock, runtime_context)
        window_state = WindowStateStore(backend, serializer, merging)
        self._function_context = WindowFunctionContext(self._context, window_state, runtime_context)
        window_state.context = self._function_context
        self._call = self._caller()
        self.contents.open(backend, serializer)
        if merging:
            window_type = SerializerTypeInfo(serializer)
            pairs = Types.LIST(Types.TUPLE([window_type, window_type]))
            self._open_windows = backend.get_or_create(ValueStateDescriptor(_MERGING, pairs))  # type: ignore[assignment]
        self.restore_timers(context.restored.timers)
        self._folds = self._column_folds()

    def _column_folds(self) -> WindowFolds | None:
        if self.columns is None or self.columns.grid is None:
            return None
        from rekindle.runtime.operators.column_folds import WindowFolds  # a job without columns needs none of it

        state = self.contents.many_keys(self.backend)
        return WindowFolds(self.columns.fold, self.columns.grid, self._lateness, state, self._add_one)

    def timer_queues(self) -> tuple[TimerStore, TimerStore]:
        return self._context.event_timers, self._context.processing_timers

    def next_processing_timer(self) -> int | None:
        return self._context.processing_timers.next_timestamp()

    # --- elements ---

    def process_columns(self, chunk: Chunk) -> Chunk | None:
        folds, context = self._folds, self._context
        late = self.windowing.late_tag is not None
        if folds is None or not folds.fold(chunk, context.watermark, late, context.event_timers.register):
            return None
        self.backend.after_chunk(chunk.size())
        return Chunk([])

    @at_record("value", key="self.backend.key", timestamp="timestamp")
    def _add_one(self, place: tuple[Any, TimeWindow], value: Any, timestamp: int) -> None:
        """Add an element to the window of a key."""
        self.backend.key, window = place
        self.contents.add(window, value, timestamp)

    @at_record("value", key="backend.key", timestamp="stamp")
    def _process(self, chunk: Chunk) -> Chunk:
        assert chunk.keys is not None, "a keyed operator was fed from an edge without keys"
        check_samples(self.windowing.contents.function, chunk)
        assign, assigner_context = self.windowing.assigner.assign_windows, self._assigner_context
        backend = self.backend
        stamps = chunk.timestamps or [None] * len(chunk.values)
        add: Callable[[Any, Any, int], bool]
        if self._lazy_timers and type(self.windowing.assigner).assign_windows is SessionWindows.assign_windows:
            self._extend_sessions(chunk, stamps)
            return self._emitted() or Chunk([])
        if self._sessions:
            add = self._add_to_session
        elif isinstance(self.windowing.assigner, MergingWindowAssigner):
            add = self._add_merging
        elif self._fires_at_end:
            add = self._adder_until_end()
        else:
            add = self._add
        for backend.key, value, stamp in zip(chunk.keys, chunk.values, stamps, strict=True):
            timestamp = MIN_TIMESTAMP if stamp is None else stamp
            windows = assign(value, timestamp, assigner_context)
            if not add(windows, value, timestamp):
                self._skipped(value, timestamp)
        return self._emitted() or Chunk([])

    def _add(self, windows: Iterable[Any], value: Any, timestamp: int) -> bool:
        """Add an element to windows that do not merge; tell whether any of them is open."""
        context, contents = self._context, self.contents
        on_element = self.windowing.trigger.on_element
        added = False
        for window in windows:
            if self._is_late(window):
                continue
            if added and type(value) not in FIXED:
                value = unshared(value)  # each window its own: functions may change what they accumulate in
            added = True
            context.window = window
            contents.add(window, value, timestamp)
            result = on_element(value, timestamp, window, context)
            if result is not TriggerResult.CONTINUE:
                self._apply(result, window, window)
            self._set_cleanup_timer(window)
        return added

    def _adder_until_end(self) -> Callable[[Any, Any, int], bool]:
        """Return what :meth:`_add` does, for triggers that wait for the end of a window and for one chunk.

        The watermark stands still meanwhile, so what is to be done for windows need not be settled for each element.
        """
        backend, event_time, watermark = self.backend, self._event_time, self._context.watermark
        register = (self._context.event_timers if event_time else self._context.processing_timers).register
        add = self.contents.add
        same_lists = isinstance(self.windowing.assigner, TimeWindowAssigner)
        settled: Any = None
        plan: list[tuple[Any, int, bool, int | None, set[Any]]] = []
        timed: dict[Any, set[Any]] = {}  # the keys whose timers are set, by window

        def add_to_all(windows: Any, value: Any, timestamp: int) -> bool:
            nonlocal settled, plan
            if windows is not settled or not same_lists:
                settled, plan = windows, []
                for window in windows:
                    end, cleanup = window.max_timestamp(), self._cleanup_time(window)
                    if not (event_time and cleanup <= watermark):
                        later = None if cleanup in (end, MAX_TIMESTAMP) else cleanup
                        keys = timed.setdefault(window, set())
                        plan.append((window, end, event_time and end <= watermark, later, keys))
            first = True
            key = backend.key
            for window, end, is_over, cleanup_later, keys in plan:
                if not first and type(value) not in FIXED:
                    value = unshared(value)
                first = False
                add(window, value, timestamp)
                if is_over:
                    self._apply(TriggerResult.FIRE, window, window)
                if key not in keys:
                    keys.add(key)
                    if not is_over:
                        register((key, window), end)
                    if cleanup_later is not None:
                        register((key, window), cleanup_later)
            return not first

        return add_to_all

    def _add_merging(self, windows: Iterable[Any], value: Any, timestamp: int) -> bool:
        """Add an element to windows that merge; tell whether any of them is open."""
        context, contents = self._context, self.contents
        open_windows = self._merging_windows()
        added = False
        for assigned in windows:
            window = open_windows.add(assigned, self._merge)
            if self._is_late(window):
                open_windows.retire(window)
                continue
            added = True
            state_window = open_windows.state_window(window)
            context.window = window
            contents.add(state_window, value, timestamp)
            result = self.windowing.trigger.on_element(value, timestamp, window, context)
            if result is not TriggerResult.CONTINUE:
                self._apply(result, window, state_window)
            self._set_cleanup_timer(window)
        open_windows.persist()
        return added

    @at_record("value", key="backend.key", timestamp="stamp")
    def _extend_sessions(self, chunk: Chunk, stamps: Sequence[int | None]) -> None:
        """Add elements where most go: into an open session of their key, at its end.

        Its timer stays where it is, though the session grows; :meth:`_renew_timer` moves it when it is due.
        """
        assert chunk.keys is not None
        assigner, backend, add = self.windowing.assigner, self.backend, self.contents.add
        assert isinstance(assigner, SessionWindows)
        opened, extend = self._open_windows.value, self._open_windows.update
        gap, now = assigner.gap_of, None if self._event_time else self._context.get_current_processing_time
        for backend.key, value, stamp in zip(chunk.keys, chunk.values, stamps, strict=True):
            timestamp = MIN_TIMESTAMP if stamp is None else stamp
            start = timestamp if now is None else now()
            windows = opened()
            if windows is not None and start != MIN_TIMESTAMP:
                (window, state_window) = windows[0] if len(windows) == 1 else _around(windows, start)
                if window[0] <= start <= window[1]:
                    end = start + gap(value)
                    if end <= window[1]:
                        add(state_window, value, timestamp)
                        continue
                    if len(windows) == 1 or all(not window[1] < other[0] <= end for other, _ in windows):
                        longer = (_new_window(TimeWindow, (window[0], end)), state_window)
                        extend([longer if pair[0] is window else pair for pair in windows])
                        add(state_window, value, timestamp)
                        continue
            assigned = assigner.assign_windows(value, timestamp, self._assigner_context)
            if not self._add_to_session(assigned, value, timestamp):
                self._skipped(value, timestamp)

    def _renew_timer(self, windows: MergingWindowSet, earlier: TimeWindow, timestamp: int) -> None:
        """Set the timers of a session that has grown since a timer was set for what it was then.

        It may have grown in a job that this one was restored from, whose lateness or trigger was another.
        """
        for window in windows:
            if window[0] <= earlier[0] and earlier[1] <= window[1] and window[1] - 1 > timestamp:
                if self._fires_at_end:
                    queue = self._context.event_timers if self._event_time else self._context.processing_timers
                    queue.register((self.backend.key, window), window[1] - 1)
                self._set_cleanup_timer(window)

    def _add_to_session(self, windows: Collection[TimeWindow], value: Any, timestamp: int) -> bool:
        """Do what :meth:`_add_merging` does, where the key has one open session at most and the element belongs to it.

        That is how most elements come. Merging windows in general takes three times as long.
        """
        if len(windows) != 1:
            return self._add_merging(windows, value, timestamp)
        (assigned,) = windows
        stored = self._open_windows.value()
        if stored is None:
            if self._is_late(assigned):
                return False
            window = state_window = assigned
            self._open_windows.update([(assigned, assigned)])
        else:
            window, state_window = stored[0]
            if len(stored) > 1 or not window.intersects(assigned):
                return self._add_merging(windows, value, timestamp)
            if assigned[0] < window[0] or assigned[1] > window[1]:
                self._delete_timers(window)
                window = window.cover(assigned)
                self._open_windows.update([(window, state_window)])
        self.contents.add(state_window, value, timestamp)
        end = window[1] - 1
        if self._event_time and end <= self._context.watermark:
            self._apply(TriggerResult.FIRE, window, state_window)
        else:
            queue = self._context.event_timers if self._event_time else self._context.processing_timers
            queue.register((self.backend.key, window), end)
        if self._lateness:
            self._set_cleanup_timer(window)
        return True

    def _delete_timers(self, window: Any) -> None:
        """Delete the timers of a window whose trigger waits for its end."""
        queue = self._context.event_timers if self._event_time else self._context.processing_timers
        queue.delete((self.backend.key, window), window.max_timestamp())
        if self._lateness:
            self._delete_cleanup_timer(window)

    def _merge(self, window: Any, gone: list[Any], state_window: Any, gone_state_windows: list[Any]) -> None:
        """Let one window take over from those it was made of: their trigger's state, timers and contents."""
        context, trigger = self._context, self.windowing.trigger
        context.window, context.merged = window, gone
        trigger.on_merge(window, context)
        context.merged = ()
        for part in gone:
            if part == window:
                continue
            context.window = part
            trigger.clear(part, context)
            self._delete_cleanup_timer(part)
        if gone_state_windows:
            self.contents.merge(state_window, gone_state_windows)

    def _skipped(self, value: Any, timestamp: int) -> None:
        """Take an element whose windows are all gone: it is late if its own time is, too."""
        tag = self.windowing.late_tag
        if tag is not None and self._event_time and timestamp + self._lateness <= self._context.watermark:
            self.emit_side(tag, value, timestamp)

    # --- time ---

    def advance_watermark(self, watermark: int) -> Chunk | None:
        self._context.watermark = watermark
        trigger = self.windowing.trigger
        self._fire_timers(self._context.event_timers, watermark, trigger.on_event_time, self._event_time)
        return self._emitted()

    def advance_processing_time(self, now: int) -> Chunk | None:
        trigger = self.windowing.trigger
        self._fire_timers(self._context.processing_timers, now, trigger.on_processing_time, not self._event_time)
        return self._emitted()

    @at_timer("due", key="self.backend.key", queue="queue.name", window="window")
    def _fire_timers(
        self,
        queue: TimerStore,
        until: int,
        on_time: Callable[[int, Any, Trigger.TriggerContext], TriggerResult],
        cleans_up: bool,
    ) -> None:
        context = self._context
        merging = isinstance(self.windowing.assigner, MergingWindowAssigner)
        while (due := queue.pop_due(until)) is not None:
            (self.backend.key, window), timestamp = due
            state_window, open_windows = window, None
            if merging:
                open_windows = self._merging_windows()
                state_window = open_windows.state_window(window)
                if state_window is None:
                    if isinstance(window, TimeWindow):
                        self._renew_timer(open_windows, window, timestamp)
                    continue  # else the window is gone, and its trigger left a timer behind
            context.window = window
            result = on_time(timestamp, window, context)
            if result is not TriggerResult.CONTINUE:
                self._apply(result, window, state_window)
            if cleans_up and timestamp == self._cleanup_time(window):
                self._drop(window, state_window)
                if open_windows is not None:
                    open_windows.retire(window)
                    open_windows.persist()

    # --- windows ---

    def _apply(self, result: TriggerResult, window: Any, state_window: Any) -> None:
        """Do what a trigger has decided."""
        contents = self.contents
        if result.is_fire():
            self._function_context.current = window
            timestamp = window.max_timestamp()

            def emit(elements: list[Any]) -> None:
                append_results(self._call(window, elements), self._values, timestamp, self._timestamps, emitted)

            contents.evaluate(window, self._context, emit, state_window)
        if result.is_purge():
            contents.clear(state_window)

    def _drop(self, window: Any, state_window: Any) -> None:
        """Delete all that is kept of a window."""
        self.contents.clear(state_window)
        self._context.window = window
        self.windowing.trigger.clear(window, self._context)
        if isinstance(self.function, ProcessWindowFunction | ProcessAllWindowFunction):
            self._function_context.current = window
            self.function.clear(self._function_context)

    def _cleanup_time(self, window: Any) -> int:
        return min(window.max_timestamp() + self._lateness, MAX_TIMESTAMP)  # type: ignore[no-any-return]

    def _set_cleanup_timer(self, window: Any) -> None:
        time = self._cleanup_time(window)
        if time != MAX_TIMESTAMP:
            queue = self._context.event_timers if self._event_time else self._context.processing_timers
            queue.register((self.backend.key, window), time)

    def _delete_cleanup_timer(self, window: Any) -> None:
        queue = self._context.event_timers if self._event_time else self._context.processing_timers
        queue.delete((self.backend.key, window), self._cleanup_time(window))

    def _is_late(self, window: Any) -> bool:
        return self._event_time and self._cleanup_time(window) <= self._context.watermark

    def _merging_windows(self) -> MergingWindowSet:
        assigner = self.windowing.assigner
        assert isinstance(assigner, MergingWindowAssigner)
        return MergingWindowSet(assigner, self._open_windows)

    def _caller(self) -> Callable[[Any, list[Any]], Any]:
        """Return what is called with a window and its elements, or the one result over them."""
        function, backend, context = self.function, self.backend, self._function_context
        match function:
            case PassThroughWindowFunction() | PassThroughAllWindowFunction():
                return lambda _, elements: elements
            case WindowFunction():
                return lambda window, elements: function.apply(backend.key, window, elements)
            case AllWindowFunction():
                return lambda window, elements: function.apply(window, elements)
            case ProcessWindowFunction():
                return lambda _, elements: function.process(backend.key, context, elements)
            case ProcessAllWindowFunction():
                return lambda _, elements: function.process(context, elements)
        raise TypeError(f"{type(function).__name__} is not a window function")

    def _emitted(self) -> Chunk | None:
        if not self._values:
            return None
        chunk = sorted_out(self._values, self._timestamps)
        self._values, self._timestamps = [], []
        return chunk


def _around(windows: list[tuple[TimeWindow, TimeWindow]], timestamp: int) -> tuple[TimeWindow, TimeWindow]:
    """Return the session that a timestamp lies in, or any if it lies in none."""
    for pair in windows:
        if pair[0][0] <= timestamp <= pair[0][1]:
            return pair
    return windows[-1]
