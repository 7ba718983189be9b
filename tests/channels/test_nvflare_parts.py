"""The few files that know NVFlare, with an engine that is not there."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

pytest.importorskip("nvflare", reason="this is the part that needs fedclust[nvflare]")
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.fuel.flare_api.api_spec import NoConnection
from nvflare.fuel.hci.client import api

from fedclust.channels.nvflare import BODY, TOPIC, call, client, process, server, session
from fedclust.channels.nvflare.client import SiteExecutor
from fedclust.channels.nvflare.server import AuxTransport, StudyController
from fedclust.core import ConfigError, FedclustError
from fedclust.follow.endpoint import FollowingEndpoints

from ..support.clock import Clock


@pytest.fixture
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server waits in no time."""
    for module in (call, server):
        monkeypatch.setattr(module, "time", Clock())


class Engine:
    """An engine whose clients are executors in this process."""

    def __init__(self, folder: Path, component: Any) -> None:
        self.folder, self.component = folder, component
        self.handlers: dict[str, Callable[..., Any]] = {}
        self.replies: Callable[[str, Shareable], Any] = lambda client, request: None

    def get_workspace(self) -> Any:
        return SimpleNamespace(
            get_root_dir=lambda: str(self.folder),
            get_app_dir=lambda job: f"app of {job}",
            get_file_path_in_startup=lambda name: name,
        )

    def get_component(self, id: str) -> Any:
        return self.component

    def register_aux_message_handler(self, topic: str, handler: Callable[..., Any]) -> None:
        self.handlers[topic] = handler

    def get_clients(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("west", "north", "south")]

    def send_aux_request(self, targets: list[str], request: Shareable, **_: Any) -> Any:
        found = {target: self.replies(target, request) for target in targets}
        return {target: reply for target, reply in found.items() if reply is not None} or None


class Context:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def get_engine(self) -> Engine:
        return self.engine

    def get_identity_name(self) -> str:
        return "west"

    def get_job_id(self) -> str:
        return "job-1"


def body(raw: Any) -> Shareable:
    made = make_reply(ReturnCode.OK)
    made[BODY] = raw
    return made


@pytest.mark.parametrize(
    ("signature", "author"),
    [
        ((True, [("ana", "fedclust", "project_admin")]), "ana"),
        ((True, [("ana", "", ""), ("bob", "", "")]), ""),
        ((False, []), ""),
    ],
)
def test_the_executor_hands_requests_to_the_site_and_says_who_signed(
    signature: Any, author: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signers(app: str, authority: str) -> Any:
        assert (app, authority) == ("app of job-1", "rootCA.pem")
        return signature

    monkeypatch.setattr(client, "verify_folder_signature_and_get_signers", signers)
    asked: list[tuple[bytes, str]] = []

    class Echo:
        def open(self, folder: Path, name: str) -> Any:
            assert (folder, name) == (tmp_path, "west")
            return self

        def answer(self, raw: bytes, author: str) -> bytes:
            asked.append((raw, author))
            return raw[::-1]

    engine = Engine(tmp_path, Echo())
    executor = SiteExecutor()
    executor.handle_event(EventType.ABOUT_TO_START_RUN, Context(engine))
    assert not engine.handlers
    executor.handle_event(EventType.START_RUN, Context(engine))
    reply = engine.handlers[TOPIC](TOPIC, body(b"abc"), Context(engine))
    assert reply[BODY] == b"cba"
    assert asked == [(b"abc", author)]
    assert engine.handlers[TOPIC](TOPIC, body(b""), Context(engine))[BODY] == b""
    assert engine.handlers[TOPIC](TOPIC, body("text"), Context(engine))[BODY] == b""
    assert executor.execute("x", Shareable(), Context(engine), Signal()).get_return_code() == (
        ReturnCode.TASK_UNKNOWN
    )
    assert FollowingEndpoints("s").open(tmp_path, "west").answer(b"").startswith(b"fedclust")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (body(b"yes"), b"yes"),
        (body("yes"), "its answer contains no bytes"),
        (make_reply(ReturnCode.TIMEOUT), "no answer in time"),
        (make_reply(ReturnCode.COMMUNICATION_ERROR), "cannot be reached"),
        (make_reply(ReturnCode.BAD_REQUEST_DATA), "no answer (BAD_REQUEST_DATA)"),
        ("what", "its answer is not a message"),
    ],
)
@pytest.mark.usefixtures("_no_waiting")
def test_the_transport_says_why_there_is_no_answer(
    reply: Any, expected: bytes | str, tmp_path: Path
) -> None:
    engine = Engine(tmp_path, None)
    engine.replies = lambda client, request: reply if client == "west" else None
    transport = AuxTransport(Context(engine), Signal())
    assert transport.clients() == ["north", "south", "west"]
    found = dict(transport.exchange(["north", "west"], b"q", 0.3))
    assert found == {"west": expected, "north": "no answer in time"}


@pytest.mark.usefixtures("_no_waiting")
def test_a_client_outside_of_the_job_costs_the_others_nothing(tmp_path: Path) -> None:
    """NVFlare sends nothing at all if one of the targets is unknown to the job."""
    engine = Engine(tmp_path, None)

    def send(targets: list[str], request: Shareable, **_: Any) -> Any:
        return None if "east" in targets else dict.fromkeys(targets, body(b"yes"))

    engine.send_aux_request = send  # type: ignore[method-assign]
    transport = AuxTransport(Context(engine), Signal())
    for _ in range(2):
        found = dict(transport.exchange(["east", "north"], b"q", 0.3))
        assert found == {"east": "was not connected when the job began", "north": b"yes"}


@pytest.mark.usefixtures("_no_waiting")
def test_a_client_that_was_silent_is_greeted_before_it_is_asked_again(tmp_path: Path) -> None:
    """Another silence then costs a greeting, and no request travels in vain."""
    engine, asked, alive = Engine(tmp_path, None), [], False

    def replies(client: str, request: Shareable) -> Any:
        asked.append(request.get(BODY))
        return body(b"yes") if alive else None

    engine.replies = replies
    transport = AuxTransport(Context(engine), Signal())
    assert dict(transport.exchange(["west"], b"q", 0.1)) == {"west": "no answer in time"}
    asked.clear()
    same = "no answer in time"  # one reason is one incident
    assert dict(transport.exchange(["west"], b"q", 0.1)) == {"west": same}
    assert asked == [b""]
    alive = True
    assert dict(transport.exchange(["west"], b"q", 0.1)) == {"west": b"yes"}
    asked.clear()
    assert dict(transport.exchange(["west"], b"q", 0.1)) == {"west": b"yes"}
    assert asked == [b"q"]


def test_an_aborted_job_asks_nobody(tmp_path: Path) -> None:
    signal = Signal()
    signal.trigger("enough")
    with pytest.raises(KeyboardInterrupt):
        list(AuxTransport(Context(Engine(tmp_path, None)), signal).exchange(["west"], b"", 1.0))


@pytest.mark.usefixtures("_no_waiting")
def test_the_controller_waits_for_processes_and_runs_the_study(tmp_path: Path) -> None:
    ran: list[list[str]] = []
    study = SimpleNamespace(run=lambda transport, ready: ran.append(ready))
    engine = Engine(tmp_path, study)
    calls: list[str] = []

    def replies(client: str, request: Shareable) -> Any:
        calls.append(client)
        return body(b"") if client != "south" and calls.count(client) > 1 else None

    engine.replies = replies
    controller = StudyController(wait=0.5)
    controller.start_controller(Context(engine))
    controller.control_flow(Signal(), Context(engine))
    controller.stop_controller(Context(engine))
    controller.process_result_of_unknown_task(None, "", "", None, Context(engine))
    assert ran == [["north", "west"]]


def test_a_login_retries_sooner_than_every_second() -> None:
    made = api.Authenticator(
        cell=None,
        project_name="p",
        client_name="c",
        client_type="admin",
        expected_sp_identity="s",
        secure_mode=True,
        root_cert_file="r",
        private_key_file="k",
        cert_file="c",
        msg_timeout=1.0,
        retry_interval=1.0,
    )
    assert made.retry_interval == 0.1


def test_a_process_that_a_killed_command_left_is_stopped_after_use(tmp_path: Path) -> None:
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    recorded = {"pid": left.pid, "started": process.created(left.pid)}
    (tmp_path / "process.json").write_text(json.dumps({**recorded, "started": 1.0}))
    with process.adopting(tmp_path):
        pass
    assert left.poll() is None, "another process with the same id"
    (tmp_path / "process.json").write_text(json.dumps(recorded))
    with process.adopting(tmp_path):
        assert left.poll() is None
    left.wait(10)
    assert not psutil.pid_exists(left.pid)
    with process.adopting(tmp_path):
        pass


def test_a_session_looks_for_no_settings_in_the_current_folder(tmp_path: Path) -> None:
    """It would read every folder below, and take the first comm_config.json that lies anywhere."""
    deep = tmp_path / "data" / "deep"
    deep.mkdir(parents=True)
    (deep / "comm_config.json").write_text('{"use_aio_grpc": true}')
    program = """
import os
def walk(top, *a, **k):
    raise AssertionError(f"{top} was searched")
os.walk = walk
import fedclust.channels.nvflare.session
from nvflare.fuel.f3 import communicator
from nvflare.fuel.f3.comm_config import CommConfigurator
communicator.load_comm_drivers()
print(CommConfigurator().get_config(), sorted(communicator.driver_mgr.drivers))
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("None ")
    assert "'grpc'" in done.stdout
    assert "aio" not in done.stdout


class FakeSession:
    """What NVFlare's session answers, and what it says on the side."""

    def __init__(self) -> None:
        self.closed = False
        self.aborted: list[str] = []

    def get_system_info(self) -> Any:
        print("chatter")  # noqa: T201
        now = __import__("time").time()
        clients = [("west", now), ("north", now - 5), ("gone", now - 500)]
        return SimpleNamespace(
            client_info=[SimpleNamespace(name=n, last_connect_time=t) for n, t in clients]
        )

    def submit_job(self, path: str) -> str:
        return "job-1"

    def get_job_meta(self, job: str) -> dict[str, str]:
        return {"status": "RUNNING"}

    def list_jobs(self) -> list[dict[str, str]]:
        running = {"job_id": "1", "job_name": "s", "submit_time": "now", "status": "RUNNING"}
        ended = {"job_id": "2", "job_name": "s", "submit_time": "now", "status": "FINISHED:OK"}
        return [running, ended, {**running, "job_id": "3", "job_name": "t"}]

    def abort_job(self, job: str) -> None:
        self.aborted.append(job)
        raise NoConnection("gone")

    def close(self) -> None:
        self.closed = True


def test_a_session_is_quiet_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeSession()
    monkeypatch.setattr(session, "new_secure_session", lambda *_, **__: fake)
    with session.Session(tmp_path, "ana") as line:
        assert line.clients() == ["north", "west"]
        assert line.submit(tmp_path) == "job-1"
        assert line.status("job-1") == "RUNNING"
        assert [job["state"] for job in line.jobs()] == ["RUNNING", "FINISHED:OK", "RUNNING"]
        line.abort_study("s")
        assert fake.aborted == ["1"]
        with pytest.raises(session.NoServer, match="does not reply"):
            line._call("abort_job", "job-1")
        with pytest.raises(FedclustError, match="refused no_such"):
            line._call("no_such")
    assert fake.closed
    assert capsys.readouterr().out == ""


def test_a_server_that_is_not_there_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(*_: Any, **__: Any) -> None:
        raise NoConnection("nobody")

    monkeypatch.setattr(session, "new_secure_session", nobody)
    with pytest.raises(session.NoServer, match="the server does not reply"):
        session.Session(tmp_path, "ana", seconds=0.4)


PARENT = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
)
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_process_is_ended_with_its_children_even_if_it_will_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_GRACE", 1.0)
    with process.running([sys.executable, "-c", PARENT], tmp_path) as parent:
        with pytest.raises(ConfigError, match=f"is already running as process {parent.pid}"):
            process.running([sys.executable, "-c", ""], tmp_path).__enter__()
        while not (said := (tmp_path / "console.log").read_text().strip()):
            assert parent.poll() is None
        child = psutil.Process(int(said))
        assert child.is_running()
    assert parent.poll() is not None
    assert not psutil.pid_exists(child.pid) or child.status() == "zombie"


def test_a_process_that_ends_by_itself_says_how(tmp_path: Path) -> None:
    with process.running([sys.executable, "-c", "raise SystemExit(3)"], tmp_path) as parent:
        assert process.wait(parent) == 3
    assert isinstance(parent, subprocess.Popen)


def test_commands_name_the_kit_and_this_python(tmp_path: Path) -> None:
    assert process.server_command(tmp_path)[0] == sys.executable
    words = process.client_command(tmp_path, "west")
    assert "uid=west" in words
    assert "secure_train=true" in words


def test_an_engine_ends_with_the_command_that_started_it(tmp_path: Path) -> None:
    """However that ends: a client that was killed must not go on answering."""
    code = f"""
import sys, time
from pathlib import Path
from fedclust.channels.nvflare.process import running
sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
with running(sleeping, Path({str(tmp_path)!r}), alone=False) as made:
    print(made.pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        engine = psutil.Process(int(command.stdout.readline()))
        command.kill()
        command.wait(timeout=10)
    psutil.wait_procs([engine], timeout=10)
    assert not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE
