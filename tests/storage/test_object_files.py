"""What becomes of an object whose conditional write is not answered, and what an error of a store means."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, GenericError

from rekindle.exceptions import ConfigurationError
from rekindle.storage import object_files
from rekindle.storage.object_files import ObjectFiles
from rekindle.storage.remote_files import OutcomeUnknownError, StorageError
from support.disk_storage import DiskObjects

UNANSWERED = "Generic S3 error: Error performing PUT http://x/entry in 1ms - HTTP error: error sending request\n\nDebug"
REFUSED = (
    "Generic S3 error: Error performing PUT http://x in 1ms - Server returned non-2xx status code: 403 Forbidden: "
)
BUSY = (
    "Generic S3 error: Error performing PUT http://x - Server returned non-2xx status code: 503 Service Unavailable: "
)
CONFLICT = "Object at location x already exists: 409 Conflict: <Error><Code>ConditionalRequestConflict</Code></Error>"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_files, "_FIRST_PAUSE", 0.0)


def store(path: Path, *answers: Exception | None, stored: bool = False, **instead: Any) -> DiskObjects:
    """Return a store whose first writes answer so; None is the true answer. Afterwards it works."""
    files = DiskObjects(path)
    left = list(answers)

    def put(*arguments: Any, **options: Any) -> Any:
        answer = left.pop(0) if left else None
        if answer is None:
            return obstore.put(*arguments, **options)
        if stored:
            obstore.put(*arguments, **options)
        raise answer

    real: Any = SimpleNamespace(**{name: getattr(obstore, name) for name in ("get", "head", "get_range", "delete")})
    real.put = put
    for name, operation in instead.items():
        setattr(real, name, operation)
    files._obstore = real
    return files


def failing(*_: object, **__: object) -> None:
    raise GenericError(UNANSWERED)


@pytest.mark.parametrize("stored", [False, True])
def test_a_write_that_is_not_answered_is_tried_again_and_known_as_the_own_one(tmp_path: Path, stored: bool) -> None:
    store(tmp_path, GenericError(UNANSWERED), stored=stored).create("entry", b"a")
    assert DiskObjects(tmp_path).read("entry") == b"a"


@pytest.mark.parametrize("answer", [GenericError(BUSY), AlreadyExistsError(CONFLICT)])
def test_a_store_that_is_busy_is_asked_again(tmp_path: Path, answer: Exception) -> None:
    store(tmp_path, answer, answer).create("entry", b"a")
    assert DiskObjects(tmp_path).read("entry") == b"a"


@pytest.mark.parametrize("answers", [(), (GenericError(UNANSWERED),), (GenericError(BUSY), GenericError(UNANSWERED))])
def test_another_writers_object_is_told_from_the_own_one(tmp_path: Path, answers: tuple[Exception, ...]) -> None:
    DiskObjects(tmp_path).create("entry", b"b")
    with pytest.raises(FileExistsError):
        store(tmp_path, *answers).create("entry", b"a")
    assert DiskObjects(tmp_path).read("entry") == b"b"


def test_the_first_answer_that_there_is_one_is_believed_even_of_the_same_bytes(tmp_path: Path) -> None:
    DiskObjects(tmp_path).create("entry", b"a")
    with pytest.raises(FileExistsError):
        store(tmp_path).create("entry", b"a")


def test_a_store_that_never_answers_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    with pytest.raises(OutcomeUnknownError, match="the store does not answer"):
        store(tmp_path, *[GenericError(UNANSWERED)] * 99).create("entry", b"a")
    with pytest.raises(OutcomeUnknownError, match="it exists now, and cannot be read"):
        store(tmp_path, GenericError(UNANSWERED), stored=True, head=failing, get=failing).create("other", b"a")


def test_a_refusal_is_a_failure_but_not_after_a_write_that_may_have_landed(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="403") as raised:
        store(tmp_path, GenericError(REFUSED)).create("entry", b"a")
    assert not isinstance(raised.value, OutcomeUnknownError)
    with pytest.raises(OutcomeUnknownError):
        store(tmp_path, GenericError(UNANSWERED), *[GenericError(REFUSED)] * 99).create("entry", b"a")


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            FileNotFoundError("Object at location x not found: 404: <Code>NoSuchKey</Code>"),
            FileNotFoundError,
            "no such",
        ),
        (FileNotFoundError("x: 404: <Code>BlobNotFound</Code>"), FileNotFoundError, "no such object"),
        (
            FileNotFoundError("x: 404: <Code>NoSuchBucket</Code><Message>gone.</Message>"),
            StorageError,
            "NoSuchBucket: gone",
        ),
        (FileNotFoundError("x: 404: <Code>ContainerNotFound</Code>"), StorageError, "ContainerNotFound"),
        (FileNotFoundError("x: 404: <Code>NoSuchUser</Code>"), StorageError, "NoSuchUser"),
        (GenericError(UNANSWERED), StorageError, "does not answer: Generic S3 error: Error performing PUT"),
        (GenericError("Error performing PUT http://169.254.169.254/latest/api/token"), StorageError, "no credentials"),
        (GenericError("x: Server returned non-2xx status code: 301 Moved: "), StorageError, "in another region"),
    ],
)
def test_only_the_word_of_the_store_that_an_object_is_missing_reads_as_that(
    tmp_path: Path, error: Exception, kind: type[OSError], text: str
) -> None:
    explained = DiskObjects(tmp_path)._explained(error, "x")
    assert type(explained) is kind
    assert text in str(explained.strerror)
    assert "\n" not in str(explained)


def test_reading_says_whether_the_object_or_the_bucket_is_missing(tmp_path: Path) -> None:
    """A server's answer to HEAD has no text, so it does not tell."""

    def head(*_: object) -> None:
        raise FileNotFoundError("Object at location x not found: 404 Not Found: \n\nDebug source:")

    def get(*_: object) -> None:
        raise FileNotFoundError("Object at location x not found: 404: <Error><Code>NoSuchBucket</Code></Error>")

    for operation in (lambda files: files.read("x"), lambda files: files.size("x")):
        with pytest.raises(StorageError, match="NoSuchBucket"):
            operation(store(tmp_path, head=head, get=get))
        assert store(tmp_path, head=head).size("x") is None


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("s3://bucket/a?colour=red", r"unknown option 'colour': there are endpoint_override, region, scheme"),
        ("gs://bucket/a?region=x", "has options, and none are known for gs://"),
    ],
)
def test_an_option_that_is_not_known_is_refused(uri: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        ObjectFiles(uri, "test")


def test_a_profile_that_is_not_there_is_no_reason_to_be_somebody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    ObjectFiles("s3://bucket/a", "test")
    monkeypatch.setenv("AWS_PROFILE", "tests")
    with pytest.raises(ConfigurationError, match=r"no AWS profile 'tests' in .*correct AWS_PROFILE"):
        ObjectFiles("s3://bucket/a", "test")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    ObjectFiles("s3://bucket/a", "test")


def test_the_region_of_a_bucket_is_asked_for_where_nothing_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    asked: list[str] = []

    def urlopen(request: urllib.request.Request, timeout: float) -> Any:
        asked.append(request.full_url)
        raise urllib.error.HTTPError(request.full_url, 403, "no", {"x-amz-bucket-region": "eu-west-3"}, None)  # type: ignore[arg-type]

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    opened: list[Callable[..., Any]] = []
    monkeypatch.setattr(ObjectFiles, "_opened", lambda self, retries: opened.append(self._config["region"]))
    files = ObjectFiles("s3://bucket/a", "test")
    assert asked == []
    assert files._reached("x") == "x"
    assert asked == ["https://bucket.s3.amazonaws.com"]
    assert set(opened) == {"eu-west-3"}
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    ObjectFiles("s3://bucket/a", "test")._reached("x")
    assert len(asked) == 1
