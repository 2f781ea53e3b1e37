"""What every keyed state backend offers to the operators above it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.contracts.state import (
    State,
    StateDescriptor,
    StateTtlConfig,
)
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.state.blocks import KeyGroupBlock, StateSpec, is_reserved
from rekindle.state.kinds.state_kind import StateKind, kind_of
from rekindle.state.namespace_timers import NamespaceTimerQueue
from rekindle.state.plain_value_checks import PlainValueCheck, is_checked
from rekindle.state.queryable_state import QueryableState
from rekindle.state.restored_state import ClaimedBlocks, RestoredStates
from rekindle.state.scope import NamespacedState, NamespaceScope, Scope
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import PICKLED, UNUSED, StateSerializers
from rekindle.state.timer_store import TimerStore
from rekindle.state.timers import TimerQueue
from rekindle.state.ttl.primitives import TtlPrimitives
from rekindle.state.ttl.rules import TtlCleanup, TtlRules
from rekindle.types.type_serializer import TypeSerializer


class _NoKey:
    """Stand for the current key while there is none: looking it up in a state raises."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise StateAccessError(
            "keyed state was used where there is no current key, such as in open(), in close() or on the broadcast "
            "side: a value belongs to the key of a record. Only get the state's handle there; read and write it while "
            "a record of a keyed stream, or a timer, is processed"
        )

    def __repr__(self) -> str:
        return "<no key>"


NO_KEY = _NoKey()


@dataclass(slots=True)
class _Registered:
    descriptor: StateDescriptor
    kind: StateKind[Any]
    serializers: StateSerializers
    state: State
    scope: NamespaceScope | None
    published: str | None = None


class KeyedStateBackend(ABC):
    """Keep the keyed state of one operator in one subtask.

    ``key`` is the current key: what a state handle returns and changes depends on it. Operators set it before every
    call into user code, so it is a plain attribute; before that it is NO_KEY.
    """

    __slots__ = (
        "_checks",
        "_registered",
        "_restored",
        "_sweeps",
        "key",
        "key_groups",
        "max_parallelism",
        "now",
        "owner",
        "ttl_configs",
    )

    def __init__(
        self, owner: StateOwner, key_groups: KeyGroupRange, max_parallelism: int, now: Callable[[], int]
    ) -> None:
        """Make an empty backend.

        Args:
            owner: The operator.
            key_groups: The key groups whose state is kept here.
            max_parallelism: The number of all key groups.
            now: Tells the processing time, in milliseconds.
        """
        self.key: Any = NO_KEY
        self.key_groups = key_groups
        self.max_parallelism = max_parallelism
        self.owner = owner
        self.now = now
        self._restored = RestoredStates()
        self.ttl_configs: dict[str, StateTtlConfig] = {}
        self._registered: dict[str, _Registered] = {}
        self._sweeps: list[tuple[str, TtlCleanup]] = []
        self._checks: list[PlainValueCheck] = []

    # --- states ---

    def get_or_create(self, descriptor: StateDescriptor) -> State:
        """Return the handle of a state; the same descriptor gives the same state."""
        return self._find_or_create(descriptor, namespaced=False).state

    def get_or_create_namespaced(
        self, descriptor: StateDescriptor, namespace_serializer: TypeSerializer[Any] = PICKLED.namespace
    ) -> NamespacedState:
        """Return a state that each key has once in each namespace, such as a window."""
        found = self._find_or_create(descriptor, namespaced=True, namespace_serializer=namespace_serializer)
        assert found.scope is not None
        return NamespacedState(found.state, found.scope, found.kind)

    def timers(self, name: str, namespace_serializer: TypeSerializer[Any] | None = None) -> TimerStore:
        """Return the timers of a name, with what was restored of them; to be called once for each name.

        Args:
            name: What they are called in a snapshot.
            namespace_serializer: That of the namespace that each timer has, such as a window; None: they have none.

        Raises:
            StateMigrationException: Those that were restored cannot follow the types of the program.
        """
        queue: TimerQueue = TimerQueue(name, self.owner)
        if namespace_serializer is not None:
            queue = NamespaceTimerQueue(name, self.owner, namespace_serializer)
        store = self._timer_store(queue)
        store.restore_blocks(self._restored.of(name), self.max_parallelism)
        self._restored.claim(name)
        return store

    def _timer_store(self, in_memory: TimerQueue) -> TimerStore:
        """Return what keeps timers for which there is an empty queue in memory: that, or something in front of it."""
        return in_memory

    def before_chunk(self, keys: Sequence[Any]) -> None:  # noqa: B027 - of no interest where all state is in memory
        """Get ready for records of these keys; called by the operator before a chunk of records, if it wants to."""

    def after_chunk(self, records: int) -> None:
        """Do what is to be done from time to time; called by the operator between chunks of records.

        Raises:
            SerializationError: A state has a value of another type than the one declared.
        """
        if self.key is not NO_KEY:
            for check in self._checks:
                check.check(self.key)
        for name, cleanup in self._sweeps:
            self.sweep(name, cleanup.per_record * records, cleanup)

    def _find_or_create(
        self, descriptor: StateDescriptor, namespaced: bool, namespace_serializer: TypeSerializer[Any] = UNUSED
    ) -> _Registered:
        name = descriptor.get_name()
        known = self._registered.get(name)
        if known is not None:
            if (known.scope is not None) != namespaced:
                raise InvalidProgramError(
                    f"state {name!r} of operator {self.owner.name!r} was asked for both as state of a window and as "
                    "state of a key; give one of the two another name"
                )
            if known.descriptor != descriptor:
                raise InvalidProgramError(
                    f"state {name!r} of operator {self.owner.name!r} was first asked for with {known.descriptor!r} and "
                    f"now with {descriptor!r}; give the second state another name"
                )
            self._publish(known, descriptor)
            return known
        if is_reserved(name):
            raise InvalidProgramError(
                f"state name {name!r} of operator {self.owner.name!r} is Rekindle's own; choose another"
            )
        scope = NamespaceScope(self) if namespaced else None
        kind = kind_of(descriptor)
        serializers = kind.serializers(descriptor, self.owner.key_serializer, namespace_serializer)
        serializers.stored(self.owner.state(name))  # raises now, rather than at the first snapshot
        state = kind.open(descriptor, self._primitives(descriptor, kind, serializers, scope))
        self._restored.claim(name)
        self._check_values(descriptor, kind, serializers, namespaced)
        created = self._registered[name] = _Registered(descriptor, kind, serializers, state, scope)
        self._publish(created, descriptor)
        return created

    def _check_values(
        self, descriptor: StateDescriptor, kind: StateKind[Any], serializers: StateSerializers, namespaced: bool
    ) -> None:
        """Look at values of the state between chunks, if its type is one that allows it."""
        name = descriptor.get_name()
        held = self._held_objects(name)
        ttl = name in self.ttl_configs
        if held is not None and is_checked(StateSpec(name, kind, ttl, namespaced), serializers.value):
            self._checks.append(PlainValueCheck(self.owner.state(name), serializers.value, ttl, held))

    def _held_objects(self, name: str) -> Callable[[Any], Any] | None:
        """Return what finds the object that a state has for a key and that is not written yet; None: there are none."""
        return None

    def _publish(self, registered: _Registered, descriptor: StateDescriptor) -> None:
        """Let clients query a state, if its descriptor says so; once."""
        queried_as = descriptor.get_queryable_state_name()
        if queried_as is None or registered.published == queried_as:
            return
        name = descriptor.get_name()
        if registered.scope is not None:
            raise InvalidProgramError(
                f"state {name!r} of operator {self.owner.name!r} cannot be queried as {queried_as!r}: it belongs to a "
                "window, and queries are for the state of a key. Remove set_queryable, or keep it in the global state"
            )
        registered.published = queried_as
        self.owner.publish(
            QueryableState(
                queried_as,
                self.owner.uid,
                self.owner.name,
                descriptor,
                registered.kind,
                registered.serializers,
                self.key_groups,
                self.max_parallelism,
                partial(self.peek, name),
            )
        )

    def _primitives(
        self,
        descriptor: StateDescriptor,
        kind: StateKind[Any],
        serializers: StateSerializers,
        namespace: NamespaceScope | None,
    ) -> StatePrimitives:
        """Open a state, with its time-to-live if it has one."""
        config = descriptor.get_ttl_config()
        expires = config is not None and config.is_enabled()
        spec = StateSpec(descriptor.get_name(), kind, expires, namespace is not None)
        scope: Scope = self if namespace is None else namespace
        if not expires:
            return self._open(spec, serializers, scope)
        assert config is not None
        self.ttl_configs[spec.name] = config
        cleanup = self._cleanup(config)
        if cleanup is not None and cleanup.per_record:
            self._sweeps.append((spec.name, cleanup))
        on_access = None
        if cleanup is not None and cleanup.per_access:
            on_access = lambda: self.sweep(spec.name, cleanup.per_access, cleanup)  # noqa: E731
        return TtlPrimitives(self._open(spec, serializers, scope), TtlRules(config, self.now, on_access))

    @abstractmethod
    def _open(self, spec: StateSpec, serializers: StateSerializers, scope: Scope) -> StatePrimitives:
        """Open a state, and give what its kind makes a handle of.

        With ``spec.ttl`` each value, list element and map value that goes in and comes out is a pair (value, last
        access). State that was restored is taken over; where it was written with the other ``ttl`` or with other
        serializers it is converted, and where it was written as another kind, or namespaced and now not,
        StateRestoreError is raised; where it cannot follow the serializers, StateMigrationException.
        """

    @abstractmethod
    def _cleanup(self, config: StateTtlConfig) -> TtlCleanup | None:
        """Return how this backend removes what has expired, besides when it is read; None: not at all."""

    @abstractmethod
    def sweep(self, name: str, limit: int, cleanup: TtlCleanup) -> None:
        """Visit the next ``limit`` entries of a state with time-to-live, in turn, and remove what has expired."""

    @abstractmethod
    def keys(self, name: str) -> Iterator[Any]:
        """Return the keys that have an entry in a state that was asked for, each once; without their namespaces."""

    @abstractmethod
    def blocks_of(self, key: Any) -> Iterator[KeyGroupBlock]:
        """Encode what one key has in all states that were asked for, in all namespaces."""

    @abstractmethod
    def stored(self, name: str, key: Any) -> Any:
        """Return what a state without namespaces keeps for a key, as its shape says; None: nothing. Changes nothing.

        What is returned may change with the state.

        Raises:
            StateBusyError: It cannot be read without waiting.
        """

    def peek(self, name: str, key: Any) -> Any:
        """Return what a state keeps for a key that has not expired; None: nothing. Changes nothing."""
        value = self.stored(name, key)
        config = self.ttl_configs.get(name)
        if config is None or not value:
            return value
        shape = self._registered[name].kind.shape
        left = shape.unexpired(value, self.now() - config.get_ttl().to_milliseconds())
        return None if left is None else shape.split(left)[0]

    def registered_names(self) -> list[str]:
        """Name the states that were asked for."""
        return list(self._registered)

    # --- snapshots ---

    @abstractmethod
    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        """Freeze the state as it is now. Nothing else runs until this returns: it should be short."""

    def changes(self) -> tuple[int, int]:
        """Count the entries in memory that changed since the last completed checkpoint, and all of them.

        Where it is not known what changed, more are said to have changed than there are.
        """
        return 0, 0

    def snapshot_completed(self, checkpoint_id: int) -> None:  # noqa: B027 - of no interest to some backends
        """Learn that a checkpoint is complete: later snapshots may build on it, none will build on an older one."""

    def restore_blocks(self, blocks: Iterable[KeyGroupBlock]) -> None:
        """Take over the entries of blocks of the own key groups, in their order. Before any state is asked for."""
        self._restored.add(blocks)

    def _claimed(self, spec: StateSpec, serializers: StateSerializers) -> ClaimedBlocks:
        """Return what was restored of a state as blocks. They stay here, too, until the state has taken them over."""
        blocks = self._restored.of(spec.name)
        return ClaimedBlocks(blocks, spec, serializers, self.owner.state(spec.name), self.now, self.max_parallelism)

    @abstractmethod
    def state_names(self) -> list[str]:
        """Name the states that hold anything, or may."""

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give back what the backend holds outside of memory; it is not used any more."""
