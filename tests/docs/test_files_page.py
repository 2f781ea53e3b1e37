"""What the page about files shows is true."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from rekindle.connectors.files.file_source import FILES_PER_EPOCH
from rekindle.connectors.files.spark_files import SparkFiles
from rekindle.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
from rekindle.datastream.formats import avro, csv, orc, parquet
from rekindle.testing import local_environment

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "files.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def names_of(part: str) -> dict[str, Any]:
    (block,) = [block for block in BLOCKS if part in block]
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(block, "files.md", "exec", dont_inherit=True), names)
    return names


def test_the_first_program_is_one() -> None:
    env = local_environment()
    names_of("def totals")["totals"](env, "/data/orders", "/data/totals")
    plan = env.get_execution_plan()
    assert "orders" in plan
    assert "Sink" in plan


def test_csv_files_are_read_with_the_schema_of_the_page() -> None:
    files = names_of("CsvReaderFormat.for_schema(schema)")
    source = files["source"]
    assert isinstance(source.files, SparkFiles)
    assert source.files.schema.names == ["user", "amount", "tags"]
    assert source.files.format.options["header"] is True
    assert source.files.format.options["mode"] == "FAILFAST"


def test_small_files_are_merged_as_the_page_says() -> None:
    settings = names_of("enable_compaction_on_checkpoint(10)")["sink"]._settings
    strategy, _ = settings.compaction
    assert strategy == FileCompactStrategy(10, 64 << 20, 1)


def test_what_the_page_names_is_there() -> None:
    for name in re.findall(r"`FileCompactor\.(\w+)\(", PAGE):
        assert hasattr(FileCompactor, name)
    for module in (avro, csv, orc, parquet):
        for name in module.__all__:
            if name.endswith(("_writer", "BulkWriters", "Writers")):
                assert f"`{name}" in PAGE, name
    assert f"{FILES_PER_EPOCH} files of a monitored directory by default" in PAGE
    assert "record_class" in inspect.signature(names_of("CsvSchema.builder()")["FileSource"].for_format).parameters
    assert callable(FileSink.for_bulk_format)


def test_links_of_the_page_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", PAGE):
        assert not target or (ROOT / "docs" / target).exists(), target
