"""Kits: certificates by NVFlare's own provisioning, and a policy that lets in nothing else.

A site's policy: no code comes with a job, only fedclust's own classes are built, nobody reads files
or logs of a site from elsewhere.
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
_NOTHING = ("clone_job", "download_job", "operate", "shell_commands", "byoc")
POLICY = {
    "format_version": "1.0",
    "permissions": {
        "project_admin": {
            "submit_job": "any",
            "manage_job": "any",
            "view": "any",
            **dict.fromkeys(_NOTHING, "none"),
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
    """Everybody's startup folder, by name; keys of earlier calls on `authority` are kept."""
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
    chatter = io.StringIO()
    with contextlib.redirect_stdout(chatter), contextlib.redirect_stderr(chatter):
        try:
            provisioner = Provisioner(str(authority), prepare_builders(project))
            made = provisioner.provision(prepare_project(project))
        except (ValueError, RuntimeError) as problem:
            raise ConfigError(f"no kits could be made: {problem}") from None
    if made.get(CtxKey.BUILD_ERROR):
        last = chatter.getvalue().strip().splitlines()[-1:]
        raise ConfigError(f"no kits could be made: {' '.join(last)}")
    folder = Path(made[CtxKey.CURRENT_PROD_DIR])
    return {one: folder / one for one in (server, admin, *clients)}


_ORG = "fedclust"


def forget_certificates(authority: Path, name: str) -> None:
    """Let the next call of `make_kits` give everybody a new certificate of the same root."""
    path = authority / name / "state" / "cert.json"
    try:
        state = json.loads(path.read_text())
        root = {key: state[key] for key in (CtxKey.ROOT_CERT, CtxKey.ROOT_PRI_KEY)}
    except (OSError, ValueError, KeyError) as problem:
        raise ConfigError(f"{path}: the authority's keys are not readable ({problem!r})") from None
    write_text(path, json.dumps(root))
    path.chmod(0o600)


def lock_client(kit: Path, answers: str) -> None:
    """The site's policy: only these classes are built, and nothing of the site is read."""
    resources = _defaults(kit)
    resources["class_allow_list"] = [EXECUTOR, answers]
    resources["class_list_enforcement_mode"] = "enforce"
    resources["allow_log_streaming"] = False
    resources["components"] = [c for c in resources["components"] if c["id"] != "site_log_streamer"]
    _settle(kit, resources)


def lock_server(kit: Path, asks: str) -> None:
    """The server's policy; what it stores stays in its kit, wherever that is moved to."""
    resources = _defaults(kit)
    resources["class_allow_list"] = [CONTROLLER, asks]
    resources["class_list_enforcement_mode"] = "enforce"
    resources["servers"][0]["heart_beat_timeout"] = 30
    store = kit.resolve() / "store"
    persistor = resources["snapshot_persistor"]["args"]["storage"]["args"]
    persistor["root_dir"] = str(store / "snapshots")
    components = {c["id"]: c for c in resources["components"]}
    components["job_manager"]["args"]["uri_root"] = str(store / "jobs")
    components.pop("log_receiver", None)
    resources["components"] = list(components.values())
    _settle(kit, resources)


def _defaults(kit: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((kit / "local" / "resources.json.default").read_text())
    return found


def _settle(kit: Path, resources: Mapping[str, Any]) -> None:
    local = kit / "local"
    (local / "resources.json").write_text(json.dumps(resources, indent=1))
    (local / "authorization.json").write_text(json.dumps(POLICY, indent=1))
    log = json.loads((local / "log_config.json.default").read_text())
    log["handlers"]["consoleHandler"]["level"] = "ERROR"
    (local / "log_config.json").write_text(json.dumps(log, indent=1))


def copy_kit(made: Path, kit: Path) -> None:
    """A participant's folder where it is handed out from; private keys stay private."""
    shutil.copytree(made, kit, symlinks=False)
    for script in ("start.sh", "stop_fl.sh", "sub_start.sh", "docker.sh"):
        (kit / "startup" / script).unlink(missing_ok=True)  # 'fedclust client' does it
    (kit / "readme.txt").unlink(missing_ok=True)
    for key in (kit / "startup").glob("*.key"):
        key.chmod(0o600)
