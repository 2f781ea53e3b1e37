"""Files in an object store: S3 and what has its interface, Google Cloud Storage, Azure.

The fence is a conditional write: ``If-None-Match: *`` or its like, which the store decides in one step. The client's
own retries are off there: the second try would meet what the first one has stored, and take it for another writer's.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from datetime import timedelta
from typing import Any, BinaryIO, cast
from urllib.parse import parse_qsl, urlsplit

from rekindle.exceptions import ConfigurationError
from rekindle.storage.remote_files import (
    OutcomeUnknownError,
    RemoteFiles,
    StorageError,
    address_of,
    check_address,
    client_module,
    parts_of,
)

_PART_BYTES = 8 << 20
_READ_BYTES = 1 << 20
_UPLOADS = 4
_TRIES = 5
_FIRST_PAUSE = 0.2
_RETRIES = {"max_retries": 8, "retry_timeout": timedelta(seconds=60)}
_OPTIONS = ("endpoint_override", "region", "scheme")
_MISSING = ("NoSuchKey", "NoSuchVersion", "BlobNotFound", "PathNotFound", "NotFound")
_CODE = re.compile(r"<Code>([^<]*)</Code>")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>")
_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_NOT_STORED = (400, 401, 403, 404, 405, 411, 413, 501)
_ENDPOINT = (
    "Check the endpoint (for S3: AWS_ENDPOINT_URL) in the environment of driver and slots, and that the server runs"
)
_CREDENTIALS = (
    "Give credentials to driver and slots in environment variables (for S3: AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY; for slots of a cluster spark.executorEnv.AWS_ACCESS_KEY_ID and so on), or by the role of "
    "the machine, and let them read, write, list and delete there"
)
_checked: set[str] = set()


class ObjectFiles(RemoteFiles):
    """Keep files in a bucket or container, below a prefix."""

    whole_at_once = True

    def __init__(self, uri: str, what: str) -> None:
        self._obstore = client_module("obstore", "obstore", uri, what)
        self._uri, self._what = uri, what
        self.root = uri.partition("?")[0]
        self._endpoint: str | None = None
        scheme = self.root.partition(":")[0].lower()
        self._s3 = scheme in ("s3", "s3a")
        if not self._s3 and "?" in uri:
            raise ConfigurationError(f"the {what} {uri!r} has options, and none are known for {scheme}://: remove them")
        self._scheme = scheme
        self._config = self._s3_config() if self._s3 else {}
        self._store: Any = None
        self._once: Any = None
        self._errors = client_module("obstore.exceptions", "obstore", uri, what)
        self._stores = client_module("obstore.store", "obstore", uri, what)

    def __reduce__(self) -> tuple[type[ObjectFiles], tuple[str, str]]:
        return ObjectFiles, (self._uri, self._what)

    def create(self, path: str, data: bytes) -> None:
        full = self._reached(path)
        tried = False  # whether an earlier try may have stored it
        pause = _FIRST_PAUSE
        for last in [False] * (_TRIES - 1) + [True]:
            try:
                self._obstore.put(self._once, full, data, mode="create", use_multipart=False)
                return
            except Exception as error:
                explained = self._explained(error, full)
                exists = isinstance(explained, FileExistsError)
                if exists and "ConditionalRequestConflict" not in str(error):
                    if tried and self._holds(path, data, error):
                        return
                    raise explained from error
                certain = not exists and _certainly_not_stored(error, explained)
                if certain and not tried:
                    raise explained from error
                tried = tried or not certain
                if last:
                    raise OutcomeUnknownError(
                        explained.strerror or "no answer", getattr(explained, "advice", "Check the storage")
                    ) from error
            time.sleep(pause)
            pause *= 2

    def _holds(self, path: str, data: bytes, error: Exception) -> bool:
        """Return whether an object is the one that an earlier try of this call has stored."""
        try:
            return self.read(path) == data
        except OSError as second:
            raise OutcomeUnknownError(
                f"it exists now, and cannot be read: {second.strerror}", getattr(second, "advice", "Check the storage")
            ) from error

    def check_fence(self, directory: str) -> None:
        """Look whether the store honours conditions: old servers with S3's interface ignore them, and overwrite."""
        probe = "/".join([*parts_of(directory), f"_probe-{uuid.uuid4().hex}"])
        self.create(probe, b"first")
        try:
            self.create(probe, b"second")
        except FileExistsError:
            return
        finally:
            self.delete(probe)
        raise ConfigurationError(
            f"{self.root} overwrites objects that were to be created only if they are not there (it ignores "
            "If-None-Match), so it cannot keep two drivers of one job apart: use a newer server, or keep "
            "high-availability.storageDir on a shared disk or HDFS"
        )

    def write(self, path: str, source: BinaryIO) -> int:
        full = self._reached(path)
        first = _filled(source, _PART_BYTES)
        written = len(first)
        with self._explaining(full):
            if written < _PART_BYTES:
                self._obstore.put(self._store, full, first, use_multipart=False)
                return written

            def parts() -> Iterator[bytes]:
                nonlocal written
                yield first
                while part := _filled(source, _PART_BYTES):
                    written += len(part)
                    yield part

            self._obstore.put(
                self._store, full, parts(), use_multipart=True, chunk_size=_PART_BYTES, max_concurrency=_UPLOADS
            )
        return written

    def output(self, path: str) -> BinaryIO:
        return cast(BinaryIO, _Output(self, self._reached(path)))

    def open(self, path: str) -> BinaryIO:
        full = self._reached(path)
        size = self._size(full)
        if size is None:
            raise _missing()
        return cast(BinaryIO, io.BufferedReader(_Input(self, full, size), _READ_BYTES))

    def size(self, path: str) -> int | None:
        return self._size(self._reached(path))

    def _size(self, full: str) -> int | None:
        try:
            with self._explaining(full):
                try:
                    return int(self._obstore.head(self._store, full)["size"])
                except FileNotFoundError:  # it does not say what is missing: the object or the bucket
                    return int(self._obstore.get(self._store, full).meta["size"])
        except FileNotFoundError:
            return None

    def names(self, directory: str) -> list[str]:
        full = self._reached(directory)
        with self._explaining(full):
            found = self._obstore.list_with_delimiter(self._store, full or None)
        paths = [*found["common_prefixes"], *(meta["path"] for meta in found["objects"])]
        return sorted({path.rstrip("/").rpartition("/")[2] for path in paths})

    def walk(self) -> list[str]:
        return self._below("")

    def _below(self, full: str) -> list[str]:
        self._reached("")
        with self._explaining(full):
            return [
                meta["path"]
                for chunk in self._obstore.list(self._store, full or None, chunk_size=1000)
                for meta in chunk
            ]

    def rename(self, source: str, target: str) -> None:
        before, after = self._reached(source), self._reached(target)
        with self._explaining(before):
            self._obstore.copy(self._store, before, after)
        self._remove([before])

    def delete(self, path: str) -> None:
        full = self._reached(path)
        self._remove(self._below(full) + ([full] if full else []))

    def delete_empty(self, directory: str) -> None:
        """Do nothing: there are no directories."""

    def make_directory(self, directory: str) -> None:
        """Do nothing: there are no directories."""

    def read_range(self, full: str, start: int, end: int) -> bytes:
        """Read some bytes of an object that is there, by its name in the bucket."""
        with self._explaining(full):
            return bytes(self._obstore.get_range(self._store, full, start=start, end=end))

    def put(self, full: str, data: bytes) -> None:
        """Write a small object, by its name in the bucket."""
        with self._explaining(full):
            self._obstore.put(self._store, full, data, use_multipart=False)

    def upload(self, full: str) -> Any:
        """Begin a large object, by its name in the bucket."""
        with self._explaining(full):
            return self._obstore.open_writer(self._store, full, buffer_size=_PART_BYTES, max_concurrency=_UPLOADS)

    def _remove(self, names: list[str]) -> None:
        for start in range(0, len(names), 1000):
            batch = names[start : start + 1000]
            try:
                with self._explaining(batch[0]):
                    self._obstore.delete(self._store, batch)
            except FileNotFoundError:  # some stores say so of one that is gone already, and leave the others
                for name in batch:
                    with contextlib.suppress(FileNotFoundError), self._explaining(name):
                        self._obstore.delete(self._store, name)

    def _reached(self, path: str) -> str:
        """Return the name of an object below the prefix; open the store first, if its server answers."""
        if self._endpoint is not None and self._endpoint not in _checked:
            host, port = address_of(self._endpoint, self._what)
            if not urllib.request.getproxies():
                check_address(host, port or (80 if self._endpoint.startswith("http:") else 443), _ENDPOINT)
            _checked.add(self._endpoint)
        if self._store is None:
            if self._s3 and self._endpoint is None and "region" not in self._config:
                self._config["region"] = _region_of(urlsplit(self.root).netloc) or "us-east-1"
            with _configuring(self._uri, self._what):
                self._once = self._opened({"max_retries": 0})
                self._store = self._opened(_RETRIES)
        return "/".join(parts_of(path))

    def _opened(self, retries: dict[str, Any]) -> Any:
        parts = urlsplit(self.root)
        prefix = "/".join(parts_of(self.root.partition("://")[2].partition("/")[2])) or None
        options = {"connect_timeout": "5s", "timeout": "60s"}
        if self._s3:
            client = {**options, "allow_http": (self._endpoint or "").startswith("http:")}
            return self._stores.S3Store(
                parts.netloc, prefix=prefix, config=self._config, client_options=client, retry_config=retries
            )
        if self._scheme == "gs":
            return self._stores.GCSStore(parts.netloc, prefix=prefix, client_options=options, retry_config=retries)
        return self._stores.from_url(self.root, client_options=options, retry_config=retries)

    def _s3_config(self) -> dict[str, Any]:
        """Settle what S3 needs: from the URI's options, the environment, and the files of the AWS tools."""
        options = dict(parse_qsl(urlsplit(self._uri).query))
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise ConfigurationError(
                f"the {self._what} {self.root!r} has the unknown option {unknown[0]!r}: there are {', '.join(_OPTIONS)}"
            )
        profile = _profile()
        endpoint = options.get("endpoint_override") or _first_set(
            "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"
        )
        endpoint = endpoint or profile.get("endpoint_url")
        if endpoint and "://" not in endpoint:
            endpoint = f"{options.get('scheme', 'https')}://{endpoint}"
        self._endpoint = endpoint.rstrip("/") if endpoint else None
        region = options.get("region") or _first_set("AWS_REGION", "AWS_DEFAULT_REGION") or profile.get("region")
        config: dict[str, Any] = {}
        if self._endpoint:
            config["endpoint"] = self._endpoint
        if region:
            config["region"] = region
        if not os.environ.get("AWS_ACCESS_KEY_ID") and "aws_access_key_id" in profile:
            config["access_key_id"] = profile["aws_access_key_id"]
            config["secret_access_key"] = profile.get("aws_secret_access_key", "")
            if "aws_session_token" in profile:
                config["session_token"] = profile["aws_session_token"]
        return config

    @contextlib.contextmanager
    def _explaining(self, full: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            explained = self._explained(error, full)
            if explained is error:
                raise
            raise explained from error

    def _explained(self, error: Exception, full: str) -> OSError:
        """Return the error of a disk that says what one of the client means.

        What is not known for certain to be another kind is an error of the storage: it must not read as "not there".
        """
        if isinstance(error, OSError) and error.errno is not None:
            return error
        text = str(error)
        code = _CODE.search(text)
        said = _MESSAGE.search(text)
        status = _STATUS.search(text)
        short = text.partition("\n")[0].partition(": <?xml")[0]
        reason = short if code is None else f"{code[1]}: {(said[1] if said else short).rstrip('.')}"
        if code is not None and code[1] in ("NoSuchBucket", "ContainerNotFound", "InvalidBucketName"):
            return StorageError(reason, f"Check the name of the bucket in {self.root}, and create it if it is new")
        if isinstance(error, FileNotFoundError):
            if code is None or code[1] in _MISSING:
                return _missing()
            return StorageError(reason, _CREDENTIALS)
        if isinstance(error, self._errors.AlreadyExistsError):
            return FileExistsError(errno.EEXIST, "it exists already")
        if isinstance(error, (self._errors.PermissionDeniedError, self._errors.UnauthenticatedError)):
            denied = PermissionError(errno.EACCES, reason)
            denied.advice = _CREDENTIALS  # type: ignore[attr-defined]
            return denied
        if "169.254.169.254" in text or "169.254.170.2" in text or "Credential" in short or "metadata.google" in text:
            return StorageError("no credentials were found", _CREDENTIALS)
        if isinstance(error, ValueError):
            return StorageError(short, "Choose another path")
        if status is not None and status[1].startswith("3"):
            return StorageError(
                f"the bucket is in another region ({short})", "Set AWS_DEFAULT_REGION to the region of the bucket"
            )
        if code is not None or status is not None:
            return StorageError(reason)
        cause = re.search(r"kind: ConnectionRefused|Connection refused|dns error|timed out|TimedOut", text)
        return StorageError(f"the store does not answer{f' ({cause[0]})' if cause else ''}: {short}", _ENDPOINT)


class _Input(io.RawIOBase):
    """Read an object in ranges, each short enough for one request."""

    def __init__(self, files: ObjectFiles, full: str, size: int) -> None:
        self._files, self._full, self._size = files, full, size
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        end = min(self._place + min(len(buffer), _PART_BYTES), self._size)
        if end <= self._place:
            return 0
        data = self._files.read_range(self._full, self._place, end)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


class _Output(io.BufferedIOBase):
    """Write an object: in one request if it is small, else in parts. Dropped without being closed, it never appears."""

    def __init__(self, files: ObjectFiles, full: str) -> None:
        self._files, self._full = files, full
        self._collected = bytearray()
        self._upload: Any = None
        self._sent = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._collected += data
        if len(self._collected) >= _PART_BYTES:
            self._send()
        return len(data)

    def tell(self) -> int:
        return self._sent + len(self._collected)

    def close(self) -> None:
        if self.closed:
            return
        try:
            if self._upload is None:
                self._files.put(self._full, bytes(self._collected))
            else:
                self._send()
                with self._files._explaining(self._full):
                    self._upload.close()
        finally:
            super().close()

    def __del__(self) -> None:
        """Leave nothing: its writer gave it up."""

    def _send(self) -> None:
        if self._upload is None:
            self._upload = self._files.upload(self._full)
        with self._files._explaining(self._full):
            self._upload.write(bytes(self._collected))
        self._sent += len(self._collected)
        self._collected.clear()


@contextlib.contextmanager
def _configuring(uri: str, what: str) -> Iterator[None]:
    try:
        yield
    except ConfigurationError:
        raise
    except Exception as error:
        short = str(error).partition("\n")[0]
        raise ConfigurationError(
            f"the {what} {uri!r} cannot be used: {short}. Check the URI, and the environment variables of its storage"
        ) from error


def _missing() -> FileNotFoundError:
    missing = FileNotFoundError(errno.ENOENT, "there is no such object")
    missing.advice = "Check the path"  # type: ignore[attr-defined]
    return missing


def _certainly_not_stored(error: Exception, explained: OSError) -> bool:
    """Return whether a failed write says that the server refused it, and not merely that its answer is missing."""
    if isinstance(error, (ValueError, FileNotFoundError)) or isinstance(explained, PermissionError):
        return True
    status = _STATUS.search(str(error))
    return status is not None and int(status[1]) in _NOT_STORED


def _filled(source: BinaryIO, size: int) -> bytes:
    """Read that many bytes, or all that there are."""
    parts = []
    while size > 0 and (part := source.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _first_set(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)


def _profile() -> dict[str, str]:
    """Read the chosen profile from the files of the AWS tools; what the client cannot take on is said."""
    chosen = _first_set("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
    name = chosen or "default"
    home = os.path.expanduser("~/.aws")
    found: dict[str, str] = {}
    known = False
    for variable, place, section in (
        ("AWS_CONFIG_FILE", f"{home}/config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", f"{home}/credentials", name),
    ):
        path = os.environ.get(variable) or place
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(path)
        except (ConfigParserError, OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
        if parser.has_section(section):
            known = True
            found |= dict(parser.items(section))
    if chosen is not None and not known and not os.environ.get("AWS_ACCESS_KEY_ID"):
        raise ConfigurationError(
            f"there is no AWS profile {name!r} in {home}/config or {home}/credentials (AWS_CONFIG_FILE and "
            "AWS_SHARED_CREDENTIALS_FILE name other files): correct AWS_PROFILE, in driver and slots"
        )
    if not os.environ.get("AWS_ACCESS_KEY_ID") and "aws_access_key_id" not in found:
        other = next(
            (key for key in ("role_arn", "sso_session", "sso_start_url", "credential_process") if key in found), 0
        )
        if other:
            raise ConfigurationError(
                f"the AWS profile {name!r} has {other}, which is not followed: put keys into the environment, for "
                "instance those that 'aws configure export-credentials --format env' prints"
            )
    return found


def _region_of(bucket: str) -> str | None:
    """Ask Amazon in which region a bucket is; None where it does not say."""
    if "." in bucket:  # no certificate fits such a host
        return None
    request = urllib.request.Request(f"https://{bucket}.s3.amazonaws.com", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            headers = answer.headers
    except urllib.error.HTTPError as error:  # 301 and 403 have it, too
        headers = error.headers
    except (OSError, ValueError):
        return None
    region = headers.get("x-amz-bucket-region")
    return None if region is None else str(region)
