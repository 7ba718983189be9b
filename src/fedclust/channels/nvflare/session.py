"""The coordinator's line to a running server: who is connected, submit a job, how it stands."""

import contextlib
import io
import time
from pathlib import Path
from typing import Any

from nvflare.fuel.flare_api.api_spec import NoConnection
from nvflare.fuel.flare_api.flare_api import new_secure_session

from ...core import FedclustError


class NoServer(FedclustError, ConnectionError):
    """The server does not answer, or not to this certificate."""


class Session:
    """An open session; closed before the server is stopped, or it would keep this process alive."""

    def __init__(self, kit: Path, user: str, *, seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                with _quiet():
                    self._session: Any = new_secure_session(user, str(kit.resolve()), timeout=5.0)
                return
            except Exception as problem:
                if time.monotonic() >= end:
                    raise NoServer(f"{kit}: the server does not answer ({problem})") from None
                time.sleep(0.3)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception), _quiet():
            self._session.close()

    def clients(self, *, within: float = 60.0) -> list[str]:
        """Clients that were heard of within so many seconds."""
        return sorted(name for name, seconds in self.heard().items() if seconds < within)

    def heard(self) -> dict[str, float]:
        """Connected clients, and the seconds since they were heard."""
        info, now = self._call("get_system_info"), time.time()
        return {c.name: max(0.0, now - c.last_connect_time) for c in info.client_info}

    def jobs(self) -> list[dict[str, str]]:
        """The server's jobs, the latest first."""
        found = self._call("list_jobs") or []
        return [
            {
                "id": str(job.get("job_id", "")),
                "study": str(job.get("job_name", "")),
                "submitted": str(job.get("submit_time", "")),
                "state": str(job.get("status", "")),
            }
            for job in found
        ]

    def submit(self, job: Path) -> str:
        """Submit a job; its id."""
        return str(self._call("submit_job", str(job.resolve())))

    def status(self, job: str) -> str:
        """How a job stands, such as RUNNING or FINISHED:COMPLETED."""
        meta = self._call("get_job_meta", job)
        return str(meta.get("status", ""))

    def abort(self, job: str) -> None:
        """End a job, if it still runs."""
        with contextlib.suppress(FedclustError):
            self._call("abort_job", job)

    def abort_named(self, study: str) -> None:
        """End all jobs of a study that have not ended."""
        for job in self.jobs():
            if job["study"] == study and not job["state"].startswith("FINISHED"):
                self.abort(job["id"])

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            with _quiet():
                return getattr(self._session, name)(*arguments)
        except NoConnection as problem:
            raise NoServer(f"the server does not answer ({problem})") from None
        except Exception as problem:
            raise FedclustError(f"the server refused {name}: {problem}") from None


@contextlib.contextmanager
def _quiet() -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
