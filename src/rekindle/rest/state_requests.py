"""Requests about queryable state: which states a job has, and what they hold for a key. Rekindle's own."""

from __future__ import annotations

from concurrent.futures import TimeoutError as NotAnsweredError
from urllib.parse import unquote

import msgspec
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from rekindle.exceptions import QueryableStateError
from rekindle.rest.job_requests import find_job
from rekindle.rest.messages import Handler, RequestError, answer
from rekindle.runtime.master.running_jobs import RegisteredJob, RunningJobs
from rekindle.runtime.master.slots.state_registry import StateRegistry
from rekindle.runtime.queries import protocol as p

_SECONDS = 5.0
_STATUS = {
    p.Code.UNKNOWN_JOB: 404,
    p.Code.UNKNOWN_NAME: 404,
    p.Code.UNKNOWN_KEY: 404,
    p.Code.WRONG_TYPE: 400,
    p.Code.REFUSED: 400,
    p.Code.NO_CHECKPOINT: 409,
    p.Code.NO_OWNER: 503,
    p.Code.SERVER_GONE: 503,
    p.Code.TIMEOUT: 504,
    p.Code.FAILED: 500,
}


class _Anything(PathConvertor):
    """Take line ends, too."""

    regex = r"[\s\S]+"


register_url_convertor("anything", _Anything())


class StateRequests:
    """Answer what is asked about queryable state."""

    def __init__(self, jobs: RunningJobs) -> None:
        self._jobs = jobs

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [
            ("GET", "/jobs/{job}/state", self.states),
            ("GET", "/jobs/{job}/state/{name_and_key:anything}", self.look_up),
        ]

    def states(self, request: Request) -> Response:
        """List the states of a job that can be queried, and the proxies that clients can ask."""
        job = find_job(self._jobs, request)
        registry = job.queryable_states()
        return answer(
            {
                "enabled": job.settings.queries is not None,
                "proxies": [] if registry is None else [f"{host}:{port}" for host, port in registry.proxies()],
                "states": [
                    {
                        "name": state.name,
                        "kind": state.kind,
                        "key-type": state.key_type,
                        "type": state.state_type,
                        "operator": state.operator,
                        "uid": state.uid,
                        "state": state.state,
                        "parallelism": state.parallelism,
                    }
                    for state in ([] if registry is None else registry.states())
                ],
            }
        )

    def look_up(self, request: Request) -> Response:
        """Return what a state holds for a key."""
        job = find_job(self._jobs, request)
        name, key = _name_and_key(request)
        consistency = request.query_params.get("consistency", p.Consistency.LIVE)
        if consistency not in list(p.Consistency):
            raise RequestError(400, f"consistency is {consistency!r}, and can only be {' or '.join(p.Consistency)}.")
        asked = [p.QueriedKey(key.encode("utf-8", "replace"))]
        query = p.Query(job.job_id, name, asked, p.Consistency(consistency), p.Form.JSON)
        try:
            found = _registry(job).ask(query).result(_SECONDS)
        except QueryableStateError as error:
            raise _refusal(p.code_of(error), str(error)) from None
        except NotAnsweredError:
            raise _refusal(p.Code.TIMEOUT, f"no slot answered within {_SECONDS:g} s") from None
        (result,) = found.results
        if result.value is None:
            raise _refusal(result.code or p.Code.FAILED, result.message)
        return answer(
            {
                "name": name,
                "key": key,
                "kind": found.kind,
                "consistency": consistency,
                "checkpoint-id": found.checkpoint_id,
                "value": msgspec.Raw(result.value.values),
            }
        )


def _name_and_key(request: Request) -> tuple[str, str]:
    """Return the name of a state and a key as they were sent: what is a slash in them, and what is between them.

    Raises:
        RequestError: There is no key.
    """
    _, _, place = request.scope["raw_path"].decode("ascii", "replace").partition("/state/")
    name, slash, key = place.partition("/")
    if not slash:
        raise RequestError(404, f"Not found: {request.scope['path']}. A key follows the name of a state.")
    return unquote(name), unquote(key[:-1] if len(key) > 1 and key.endswith("/") else key)


def _registry(job: RegisteredJob) -> StateRegistry:
    if job.settings.queries is None:
        raise RequestError(409, f"Queryable state is off in job {job.job_id}: set queryable-state.enable to true.")
    registry = job.queryable_states()
    if registry is None:
        raise RequestError(409, f"Job {job.job_id} does not run: {job.history.status.name}.")
    return registry


def _refusal(code: p.Code, message: str) -> RequestError:
    return RequestError(_STATUS[code], f"{message[:1].upper()}{message[1:]}")
