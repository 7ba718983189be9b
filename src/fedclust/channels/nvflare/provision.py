"""Create kits: certificates from NVFlare's provisioning, and a restrictive policy.

Policy of a site: a job brings no code, only classes of fedclust are created, and files and logs of
a site cannot be read remotely.
"""

import contextlib
import io
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nvflare.lighter.constants import CtxKey
from nvflare.lighter.prov_utils import prepare_builders
from nvflare.lighter.provision import prepare_project
from nvflare.lighter.provisioner import Provisioner

from ...core import ConfigError
from ...core.files import write_text
from .job import CONTROLLER, EXECUTOR
from .logs import LOG_BYTES, LOG_FILES

_BUILDERS = [
    {
        "path": "nvflare.lighter.impl.workspace.WorkspaceBuilder",
        "args": {"template_file": "master_template.yml"},
    },
    {
        "path": "nvflare.lighter.impl.static_file.StaticFileBuilder",
        "args": {"config_folder": "config", "scheme": "grpc"},
    },
    {"path": "nvflare.lighter.impl.cert.CertBuilder", "args": {"root_valid_days": 3650}},
    {"path": "nvflare.lighter.impl.signature.SignatureBuilder", "args": {}},
]
_FORBIDDEN = ("clone_job", "download_job", "operate", "shell_commands", "byoc")
_RETRY = 0.5  # seconds between two attempts to register
_LOGS = ("consoleHandler", "logFileHandler", "errorFileHandler")  # the others repeat these
_REFUSED = "disabled_clients.json"  # NVFlare reads this file of the server's kit when it starts
POLICY = {
    "format_version": "1.0",
    "permissions": {
        "project_admin": {
            "submit_job": "any",
            "manage_job": "any",
            "view": "any",
            **dict.fromkeys(_FORBIDDEN, "none"),
        }
    },
}


def make_kits(
    authority: Path,
    *,
    name: str,
    server: str,
    addresses: Iterable[str],
    port: int,
    admin: str,
    clients: Iterable[str],
) -> dict[str, Path]:
    """Create startup folders by participant; keys of earlier calls on `authority` are kept."""
    project = {
        "api_version": 3,
        "name": name,
        "description": "fedclust",
        "participants": [
            {
                "name": server,
                "type": "server",
                "org": _ORG,
                "fed_learn_port": port,
                "host_names": list(addresses),
            },
            {"name": admin, "type": "admin", "org": _ORG, "role": "project_admin"},
            *({"name": client, "type": "client", "org": _ORG} for client in clients),
        ],
        "builders": _BUILDERS,
        "gen_scripts": False,
    }
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            provisioner = Provisioner(str(authority), prepare_builders(project))
            result = provisioner.provision(prepare_project(project))
        except (ValueError, RuntimeError) as problem:
            raise ConfigError(f"creating kits failed: {problem}") from None
    if result.get(CtxKey.BUILD_ERROR):
        last = output.getvalue().strip().splitlines()[-1:]
        raise ConfigError(f"creating kits failed: {' '.join(last)}")
    folder = Path(result[CtxKey.CURRENT_PROD_DIR])
    return {name: folder / name for name in (server, admin, *clients)}


_ORG = "fedclust"


def forget_certificates(authority: Path, name: str) -> None:
    """Make the next `make_kits` issue new certificates from the same root."""
    path = authority / name / "state" / "cert.json"
    try:
        state = json.loads(path.read_text())
        root = {key: state[key] for key in (CtxKey.ROOT_CERT, CtxKey.ROOT_PRI_KEY)}
    except (OSError, ValueError, KeyError) as problem:
        raise ConfigError(f"{path}: cannot read the keys of the authority ({problem!r})") from None
    write_text(path, json.dumps(root))
    path.chmod(0o600)


def lock_client(kit: Path, component: str) -> None:
    """Write the policy of a site: only these classes are created, and nothing is readable."""
    resources = _defaults(kit)
    resources["class_allow_list"] = [EXECUTOR, component]
    resources["class_list_enforcement_mode"] = "enforce"
    resources["allow_log_streaming"] = False
    resources["client"]["client_register_interval"] = _RETRY
    resources["components"] = [c for c in resources["components"] if c["id"] != "site_log_streamer"]
    _write_policy(kit, resources)


def lock_server(kit: Path, component: str) -> None:
    """Write the policy of the server, and keep its storage inside the kit."""
    resources = _defaults(kit)
    resources["class_allow_list"] = [CONTROLLER, component]
    resources["class_list_enforcement_mode"] = "enforce"
    resources["servers"][0]["heart_beat_timeout"] = 30
    store = kit.resolve() / "store"
    persistor = resources["snapshot_persistor"]["args"]["storage"]["args"]
    persistor["root_dir"] = str(store / "snapshots")
    components = {c["id"]: c for c in resources["components"]}
    components["job_manager"]["args"]["uri_root"] = str(store / "jobs")
    components.pop("log_receiver", None)
    resources["components"] = list(components.values())
    _write_policy(kit, resources)


def refuse_client(kit: Path, client: str) -> Path:
    """Let the server refuse a client, whose name its certificate proves; return the list."""
    refused = {*read_refused(kit), client}
    write_text(kit / _REFUSED, json.dumps({"disabled_clients": sorted(refused)}))
    return kit / _REFUSED


def read_refused(kit: Path) -> list[str]:
    """The clients that a server's kit refuses."""
    path = kit / _REFUSED
    if not path.exists():
        return []
    try:
        return [str(name) for name in json.loads(path.read_text())["disabled_clients"]]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ConfigError(f"{path}: not readable ({problem!r})") from None


def _defaults(kit: Path) -> dict[str, Any]:
    defaults: dict[str, Any] = json.loads((kit / "local" / "resources.json.default").read_text())
    return defaults


def _write_policy(kit: Path, resources: Mapping[str, Any]) -> None:
    local = kit / "local"
    (local / "resources.json").write_text(json.dumps(resources, indent=1))
    (local / "authorization.json").write_text(json.dumps(POLICY, indent=1))
    log = json.loads((local / "log_config.json.default").read_text())
    log["handlers"]["consoleHandler"]["level"] = "ERROR"
    log["handlers"] = {name: log["handlers"][name] for name in _LOGS}
    for name, handler in log["handlers"].items():
        if name != "consoleHandler":
            handler |= {"maxBytes": LOG_BYTES, "backupCount": LOG_FILES}
    log["loggers"]["root"]["handlers"] = list(_LOGS)
    (local / "log_config.json").write_text(json.dumps(log, indent=1))


def copy_kit(made: Path, kit: Path) -> None:
    """Copy a participant's folder to where it is handed out; protect its private keys."""
    shutil.copytree(made, kit, symlinks=False)
    for script in ("start.sh", "stop_fl.sh", "sub_start.sh", "docker.sh"):
        (kit / "startup" / script).unlink(missing_ok=True)  # replaced by 'fedclust client'
    (kit / "readme.txt").unlink(missing_ok=True)
    for key in (kit / "startup").glob("*.key"):
        key.chmod(0o600)
