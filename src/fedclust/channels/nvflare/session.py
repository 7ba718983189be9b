"""The coordinator's session with a running server: clients, jobs and their status."""

import contextlib
import io
import time
from pathlib import Path
from typing import Any

from nvflare.fuel.flare_api.api_spec import NoConnection
from nvflare.fuel.flare_api.flare_api import new_secure_session
from nvflare.fuel.hci.client import api as admin_api
from nvflare.private.fed.authenticator import Authenticator

from ...core import FedclustError
from .drivers import load_few, without_settings

_RETRY = 0.1  # seconds; NVFlare would wait a second until its first connection is there


class _Hurried(Authenticator):
    def __init__(self, **values: Any) -> None:
        super().__init__(**{**values, "retry_interval": _RETRY})


admin_api.Authenticator = _Hurried
load_few()
without_settings()


class NoServer(FedclustError, ConnectionError):
    """The server does not reply, or rejects this certificate."""


class Session:
    """An open session. Close it before stopping the server, or this process will not exit."""

    def __init__(self, kit: Path, user: str, *, seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                with _quiet():
                    self._session: Any = new_secure_session(user, str(kit.resolve()), timeout=5.0)
                return
            except Exception as problem:
                if time.monotonic() >= end:
                    raise NoServer(f"{kit}: the server does not reply ({problem})") from None
                time.sleep(0.3)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception), _quiet():
            self._session.close()

    def clients(self, *, within: float = 60.0) -> list[str]:
        """Clients that were last seen less than `within` seconds ago."""
        return sorted(name for name, seconds in self.last_seen().items() if seconds < within)

    def last_seen(self) -> dict[str, float]:
        """Connected clients, and the seconds since each was last seen."""
        info, now = self._call("get_system_info"), time.time()
        return {c.name: max(0.0, now - c.last_connect_time) for c in info.client_info}

    def jobs(self) -> list[dict[str, str]]:
        """Jobs of the server, the latest first."""
        jobs = self._call("list_jobs") or []
        return [
            {
                "id": str(job.get("job_id", "")),
                "study": str(job.get("job_name", "")),
                "submitted": str(job.get("submit_time", "")),
                "state": str(job.get("status", "")),
            }
            for job in jobs
        ]

    def submit(self, job: Path) -> str:
        """Submit a job and return its id."""
        return str(self._call("submit_job", str(job.resolve())))

    def status(self, job: str) -> str:
        """Status of a job, such as RUNNING or FINISHED:COMPLETED."""
        meta = self._call("get_job_meta", job)
        return str(meta.get("status", ""))

    def failed_sites(self, job: str) -> list[str]:
        """Where a job could not be deployed, if it is known."""
        lines = self._call("get_job_meta", job).get("job_deploy_detail") or []
        parts = [str(line).partition(": ") for line in lines]
        return sorted(name for name, colon, state in parts if colon and state != "OK")

    def abort(self, job: str) -> None:
        """Abort a job if it is still running."""
        with contextlib.suppress(FedclustError):
            self._call("abort_job", job)

    def abort_study(self, study: str) -> None:
        """Abort all unfinished jobs of a study."""
        for job in self.jobs():
            if job["study"] == study and not job["state"].startswith("FINISHED"):
                self.abort(job["id"])

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            with _quiet():
                return getattr(self._session, name)(*arguments)
        except NoConnection as problem:
            raise NoServer(f"the server does not reply ({problem})") from None
        except Exception as problem:
            raise FedclustError(f"the server refused {name}: {problem}") from None


@contextlib.contextmanager
def _quiet() -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
