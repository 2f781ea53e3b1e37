"""How RocksDB is set up: a plain value that travels to the slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DEFAULT_CACHE_ENTRIES = 65_536
DEFAULT_TIMER_CACHE_SIZE = 128


@dataclass(frozen=True, slots=True)
class RocksDBSettings:
    """Hold what a program or configuration says about RocksDB. None: as the predefined options have it.

    Attributes:
        directories: Local directories for the databases; slots are spread over them. Empty: those of other local state.
        predefined: The name of a PredefinedOptions.
        options_factory: An object whose ``create_db_options(options)`` and ``create_column_options(options)`` return
            rocksdict options, given those that were settled from the rest.
        write_buffer_size: Bytes of a state's write buffer.
        write_buffer_count: Maximum number of write buffers of a state.
        write_buffers_to_merge: How many write buffers are merged before they are written.
        block_cache_size: Bytes of the block cache, shared by the states of an operator.
        block_size: Bytes of a block.
        bloom_filter: Whether files have bloom filters.
        compression: A codec's name: none, snappy, lz4, zstd, …
        memory_per_slot: Bytes of block cache and write buffers together, for all operators of a slot; None: each of
            them has its own.
        write_buffer_ratio: How much of that write buffers may take.
        partitioned_index_filters: Whether indexes and filters of files are split up, with a small index of them in
            memory; only with ``memory_per_slot``.
        background_threads: How many threads flush and compact.
        open_files: How many files may be open; -1: all.
        cache_entries: How many entries of a state are kept as Python objects in front of RocksDB; 0: none.
        ttl_compaction: Whether expired state is removed in the background.
        transfer_threads: How many files are copied at once.
        timers: Whether timers are in RocksDB, too, rather than all in memory.
        timer_cache_size: How many timers of each key group are in memory, if timers are in RocksDB; two at least.
    """

    directories: tuple[str, ...] = ()
    predefined: str = "DEFAULT"
    options_factory: Any = None
    write_buffer_size: int | None = None
    write_buffer_count: int | None = None
    write_buffers_to_merge: int | None = None
    block_cache_size: int | None = None
    block_size: int | None = None
    bloom_filter: bool | None = None
    compression: str | None = None
    memory_per_slot: int | None = None
    write_buffer_ratio: float = 0.5
    partitioned_index_filters: bool = False
    background_threads: int | None = None
    open_files: int | None = None
    cache_entries: int = DEFAULT_CACHE_ENTRIES
    ttl_compaction: bool = True
    transfer_threads: int = 4
    timers: bool = False
    timer_cache_size: int = DEFAULT_TIMER_CACHE_SIZE
