"""RocksDB's own options, settled from the job's settings: predefined ones first, then single values, then the factory.

Every set of predefined options starts from the same base: bloom filters, lz4, and more files of level 0 than RocksDB's
four before they are compacted, so that a checkpoint finds most files in the one before and need not store them again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompactionStyle,
    DBCompressionType,
    Options,
    WriteBufferManager,
)

from rekindle.exceptions import ConfigurationError
from rekindle.state.rocksdb.settings import RocksDBSettings

_KIB = 1024
_MIB = 1024 * _KIB
_MEMTABLE_BLOOM = 0.03  # of a write buffer: new keys are not looked for in it
_BLOOM_BITS = 10
_ARENA_BLOCKS = 32  # so many of them are in the write buffers of a slot at least, so that none is flushed half empty
_LOG_BYTES = _MIB
_MANIFEST_BYTES = 4 * _MIB  # every checkpoint stores it again
_COMPRESSIONS: dict[str, Callable[[], DBCompressionType]] = {
    "none": DBCompressionType.none,
    "snappy": DBCompressionType.snappy,
    "lz4": DBCompressionType.lz4,
    "lz4hc": DBCompressionType.lz4hc,
    "zlib": DBCompressionType.zlib,
    "bz2": DBCompressionType.bz2,
    "zstd": DBCompressionType.zstd,
}


@dataclass(frozen=True, slots=True)
class RocksDBOptions:
    """Hold the options of a database and of the column families in it."""

    database: Options
    column: Options


@dataclass(frozen=True, slots=True)
class SlotMemory:
    """Hold the memory that the databases of a slot share.

    Attributes:
        cache: The block cache; what write buffers take is taken off it.
        write_buffers: Has write buffers flushed when they take too much.
        write_buffer_bytes: How much that is.
    """

    cache: Cache
    write_buffers: WriteBufferManager
    write_buffer_bytes: int


@functools.cache
def slot_memory(size: int, write_buffer_ratio: float) -> SlotMemory:
    """Return the memory of the slot that this process is; always the same.

    Write buffers take up to half as much again as they are given, while they are flushed. So they are given two thirds
    of their part, and the cache all but the other third: together that is never more than the whole.
    """
    cache = Cache(int(size * (3 - write_buffer_ratio) / 3))
    write_buffer_bytes = int(size * 2 * write_buffer_ratio / 3)
    manager = WriteBufferManager.new_write_buffer_manager_with_cache(write_buffer_bytes, False, cache)
    return SlotMemory(cache, manager, write_buffer_bytes)


@dataclass(slots=True)
class _Values:
    """Hold the values that are set in any case, as they are without anything predefined or configured."""

    write_buffer_size: int = 64 * _MIB
    write_buffer_count: int = 2
    write_buffers_to_merge: int = 1
    block_cache_size: int = 32 * _MIB
    block_size: int = 4 * _KIB
    bloom_filter: bool = True
    compression: str = "lz4"
    level0_files: int = 28
    background_threads: int = 2
    open_files: int = -1
    level_style: bool = False
    target_file_size: int = 64 * _MIB
    level_base_size: int = 256 * _MIB


_PREDEFINED: dict[str, Callable[[], _Values]] = {
    "DEFAULT": _Values,
    "SPINNING_DISK_OPTIMIZED": lambda: _Values(background_threads=4, level_style=True),
    "SPINNING_DISK_OPTIMIZED_HIGH_MEM": lambda: _Values(
        background_threads=4,
        level_style=True,
        target_file_size=256 * _MIB,
        level_base_size=1024 * _MIB,
        write_buffer_count=4,
        write_buffers_to_merge=3,
        block_cache_size=256 * _MIB,
        block_size=128 * _KIB,
    ),
    "FLASH_SSD_OPTIMIZED": lambda: _Values(background_threads=4),
}
_CONFIGURABLE = (
    "write_buffer_size",
    "write_buffer_count",
    "write_buffers_to_merge",
    "block_cache_size",
    "block_size",
    "bloom_filter",
    "compression",
    "background_threads",
    "open_files",
)


def settle_options(settings: RocksDBSettings) -> RocksDBOptions:
    """Make the options that settings ask for."""
    predefined = _PREDEFINED.get(settings.predefined)
    if predefined is None:
        raise ConfigurationError(
            f"state.backend.rocksdb.predefined-options is {settings.predefined!r}; it must be one of "
            f"{', '.join(_PREDEFINED)}"
        )
    values = predefined()
    for name in _CONFIGURABLE:
        configured = getattr(settings, name)
        if configured is not None:
            setattr(values, name, configured)
    memory = None
    if settings.memory_per_slot is not None:
        memory = slot_memory(settings.memory_per_slot, settings.write_buffer_ratio)
        # What stands in a write buffer from the start, such as its bloom filter, goes by its size.
        values.write_buffer_size = min(values.write_buffer_size, memory.write_buffer_bytes)
    database = _database_options(values, memory)
    column = _column_options(values, memory, settings.partitioned_index_filters)
    factory = settings.options_factory
    if factory is not None:
        database = factory.create_db_options(database)
        column = factory.create_column_options(column)
    return RocksDBOptions(database, column)


def plain_options() -> RocksDBOptions:
    """Make options that will do for reading whatever a database was written with."""
    return RocksDBOptions(Options(raw_mode=True), Options(raw_mode=True))


def _database_options(values: _Values, memory: SlotMemory | None) -> Options:
    options = Options(raw_mode=True)
    if memory is not None:
        options.set_write_buffer_manager(memory.write_buffers)
    options.create_if_missing(True)
    options.set_use_fsync(False)
    options.set_max_open_files(values.open_files)
    options.set_max_background_jobs(values.background_threads)
    # Nobody reads the statistics, and each log file is one more to look after.
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_keep_log_file_num(1)
    options.set_max_log_file_size(_LOG_BYTES)
    options.set_max_manifest_file_size(_MANIFEST_BYTES)
    return options


def _column_options(values: _Values, memory: SlotMemory | None, partitioned: bool) -> Options:
    compression = _COMPRESSIONS.get(values.compression)
    if compression is None:
        raise ConfigurationError(
            f"state.backend.rocksdb.compression.per.level is {values.compression!r}; it must be one of "
            f"{', '.join(_COMPRESSIONS)}"
        )
    options = Options(raw_mode=True)
    options.set_write_buffer_size(values.write_buffer_size)
    options.set_max_write_buffer_number(values.write_buffer_count)
    options.set_min_write_buffer_number_to_merge(values.write_buffers_to_merge)
    options.set_compression_type(compression())
    options.set_target_file_size_base(values.target_file_size)
    options.set_max_bytes_for_level_base(values.level_base_size)
    options.set_level_zero_file_num_compaction_trigger(values.level0_files)
    options.set_level_zero_slowdown_writes_trigger(2 * values.level0_files)
    options.set_level_zero_stop_writes_trigger(3 * values.level0_files)
    if values.level_style:
        options.set_compaction_style(DBCompactionStyle.level())
        options.set_level_compaction_dynamic_level_bytes(True)
    blocks = BlockBasedOptions()
    blocks.set_block_size(values.block_size)
    if memory is None:
        blocks.set_block_cache(Cache(values.block_cache_size))
    else:
        blocks.set_block_cache(memory.cache)
        blocks.set_cache_index_and_filter_blocks(True)  # else they are in no limit
        blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
        options.set_arena_block_size(min(values.write_buffer_size // 8, memory.write_buffer_bytes // _ARENA_BLOCKS))
        if partitioned:
            blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
            blocks.set_partition_filters(True)
            blocks.set_pin_top_level_index_and_filter(True)
    if values.bloom_filter:
        blocks.set_bloom_filter(_BLOOM_BITS, False)
        options.set_memtable_whole_key_filtering(True)
        options.set_memtable_prefix_bloom_ratio(_MEMTABLE_BLOOM)
    options.set_block_based_table_factory(blocks)
    return options
