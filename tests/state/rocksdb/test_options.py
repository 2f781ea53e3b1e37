"""RocksDB's options: predefined, then configured, then by a factory."""

import os

import pytest
from rocksdict import Options

from rekindle.common import Types
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import ConfigurationError
from rekindle.state.rocksdb.database import Database
from rekindle.state.rocksdb.options import settle_options, slot_memory
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import take_snapshot
from support.processes import wait_until


def written_options(backend):
    """Return what RocksDB says its options are."""
    backend.key = "a"
    backend.get_or_create(ValueStateDescriptor("v")).update(1)
    directory = backend._database_directory
    latest = max(name for name in os.listdir(directory) if name.startswith("OPTIONS-"))
    with open(os.path.join(directory, latest)) as file:
        sections = file.read().split('[CFOptions "state-0"]')
    pairs = (line.strip().partition("=") for line in sections[0].splitlines() + sections[1].splitlines())
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize(
    ("predefined", "expected"),
    [
        ("DEFAULT", {"max_background_jobs": "2", "write_buffer_size": "67108864", "max_open_files": "-1"}),
        ("SPINNING_DISK_OPTIMIZED", {"max_background_jobs": "4", "level_compaction_dynamic_level_bytes": "true"}),
        (
            "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
            {
                "max_background_jobs": "4",
                "level_compaction_dynamic_level_bytes": "true",
                "target_file_size_base": str(256 << 20),
                "max_bytes_for_level_base": str(1 << 30),
                "write_buffer_size": str(64 << 20),
                "min_write_buffer_number_to_merge": "3",
                "max_write_buffer_number": "4",
                "block_size": str(128 << 10),
            },
        ),
        ("FLASH_SSD_OPTIMIZED", {"max_background_jobs": "4", "max_open_files": "-1"}),
    ],
)
def test_predefined_options(make_backend, predefined, expected):
    options = written_options(make_backend(predefined=predefined))
    common = {
        "compression": "kLZ4Compression",
        "filter_policy": "bloomfilter",
        "level0_file_num_compaction_trigger": "28",
        "level0_slowdown_writes_trigger": "56",
        "level0_stop_writes_trigger": "84",
        "use_fsync": "false",
        "keep_log_file_num": "1",
    }
    assert {name: options[name] for name in common | expected} == common | expected


def test_what_is_configured_wins_over_what_is_predefined(make_backend):
    options = written_options(
        make_backend(
            predefined="SPINNING_DISK_OPTIMIZED_HIGH_MEM",
            write_buffer_size=1 << 20,
            write_buffer_count=5,
            write_buffers_to_merge=2,
            block_cache_size=1 << 20,
            block_size=1 << 14,
            bloom_filter=False,
            compression="zstd",
            background_threads=3,
            open_files=100,
        )
    )
    expected = {
        "write_buffer_size": str(1 << 20),
        "max_write_buffer_number": "5",
        "min_write_buffer_number_to_merge": "2",
        "block_size": str(1 << 14),
        "filter_policy": "nullptr",
        "compression": "kZSTD",
        "max_background_jobs": "3",
        "max_open_files": "100",
    }
    assert {name: options[name] for name in expected} == expected


def test_a_factory_has_the_last_word(make_backend):
    class Factory:
        def create_db_options(self, options: Options) -> Options:
            options.set_max_background_jobs(5)
            return options

        def create_column_options(self, options: Options) -> Options:
            options.set_write_buffer_size(123456)
            return options

    options = written_options(make_backend(options_factory=Factory(), write_buffer_size=1 << 20, background_threads=3))
    assert options["max_background_jobs"] == "5"
    assert options["write_buffer_size"] == "123456"


@pytest.mark.parametrize("compression", ["none", "snappy", "lz4", "lz4hc", "zlib", "bz2", "zstd"])
def test_every_codec_works(make_backend, compression):
    backend = make_backend(compression=compression)
    backend.key = "a"
    backend.get_or_create(ValueStateDescriptor("v")).update("x" * 10_000)
    take_snapshot(backend, 1)
    assert backend.get_or_create(ValueStateDescriptor("v")).value() == "x" * 10_000


def test_unknown_names_are_refused():
    with pytest.raises(ConfigurationError, match="predefined-options is 'FAST'; it must be one of DEFAULT"):
        settle_options(RocksDBSettings(predefined="FAST"))
    with pytest.raises(ConfigurationError, match=r"compression\.per\.level is 'rar'; it must be one of none"):
        settle_options(RocksDBSettings(compression="rar"))


def test_settings_that_rocksdb_refuses_are_an_error_of_configuration(tmp_path):
    options = settle_options(RocksDBSettings(block_size=8 << 30))
    with pytest.raises(ConfigurationError, match=r"RocksDB refuses its settings: .*block size"):
        Database(str(tmp_path), options, create=True)


def test_without_a_limit_write_buffers_grow_apart_from_each_other(make_backend):
    one, other = make_backend(), make_backend()
    assert settle_options(RocksDBSettings()) is not settle_options(RocksDBSettings())
    for backend in (one, other):
        fill(backend, 200)
        assert files_of(backend) == []


def test_the_databases_of_a_slot_share_the_memory_that_it_has_for_them(make_backend):
    size = 3 << 20
    memory = slot_memory(size, 0.5)
    assert memory is slot_memory(size, 0.5)
    assert memory.write_buffers.get_buffer_size() == size // 3
    one, other = (make_backend(memory_per_slot=size) for _ in range(2))
    for _ in range(10):
        for backend in (one, other):
            fill(backend, 20)
            wait_until(lambda: memory.write_buffers.get_usage() < size // 2, "write buffers are flushed")
            wait_until(lambda: memory.cache.get_usage() < size, "the cache is within its limit")
    assert files_of(one)
    assert files_of(other)


def test_the_part_of_write_buffers_can_be_chosen():
    small, large = (slot_memory(6 << 20, ratio) for ratio in (0.1, 0.9))
    assert small.write_buffers.get_buffer_size() == int((6 << 20) * 0.2 / 3)
    assert large.write_buffers.get_buffer_size() == int((6 << 20) * 1.8 / 3)


@pytest.mark.parametrize("partitioned", [False, True])
def test_indexes_and_filters_are_in_the_memory_of_the_slot_and_may_be_partitioned(make_backend, partitioned):
    options = written_options(make_backend(memory_per_slot=4 << 20, partitioned_index_filters=partitioned))
    assert options["cache_index_and_filter_blocks"] == "true"
    assert options["partition_filters"] == str(partitioned).lower()
    assert options["index_type"] == ("kTwoLevelIndexSearch" if partitioned else "kBinarySearch")
    assert options["arena_block_size"] == str(int((4 << 20) / 3) // 32)


def fill(backend, entries):
    """Write values of 10,000 bytes that cannot be compressed."""
    state = backend.get_or_create(ValueStateDescriptor("v", Types.PRIMITIVE_ARRAY(Types.BYTE())))
    for backend.key in range(entries):
        state.update(os.urandom(10_000))
    backend._caches["v"].flush()


def files_of(backend):
    return [name for name in os.listdir(backend._database_directory) if name.endswith(".sst")]
