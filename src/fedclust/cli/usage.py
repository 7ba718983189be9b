"""Explain a wrong command line in one sentence: what was meant, or where it is set."""

import re
from collections.abc import Sequence

from click import NoSuchOption, UsageError

from ..core import did_you_mean

_ON_STUDIES = ("run", "check", "simulate", "server")


def explain_usage(error: UsageError, commands: Sequence[str]) -> str:
    """What is wrong with a command line, and what to write instead."""
    context = error.ctx
    command = "" if context is None or context.parent is None else str(context.info_name)
    help = f"; see fedclust {command} --help" if command else "; see fedclust --help"
    if isinstance(error, NoSuchOption):
        return f"{command} has no option {error.option_name}{_advise(error, command)}"
    unknown = re.match(r"No such command '([^']*)'", error.format_message())
    if unknown:
        near = did_you_mean(unknown[1], commands)
        return f"there is no command {unknown[1]!r}{near or help}"
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}{help}"


def _advise(error: NoSuchOption, command: str) -> str:
    """The key of the study file that was probably meant, or the nearest option."""
    name = error.option_name.lstrip("-")
    if command in _ON_STUDIES and (key := _find_key(name)):
        return f"; set {key} in the study file"
    if command == "init" and (key := _find_key(name)) and key.endswith("[data]"):
        return f"; use --set {key.split()[0]}=VALUE"
    options = [option for p in error.ctx.command.params for option in p.opts] if error.ctx else []
    return did_you_mean(error.option_name, options) or f"; see fedclust {command} --help"


def _find_key(name: str) -> str:
    """A key of the study file by its own name or by one that other programs have for it."""
    from ..settings import settings_of
    from ..study.settings import SECTIONS, privacy_settings

    plain = name.replace("-", "_")
    for table, owner in SECTIONS.items():
        settings = privacy_settings() if table == "privacy" else settings_of(owner)
        for setting in settings:
            if setting.name == plain or setting.is_called(name):
                return f"{setting.name} under [{table}]"
    return ""
