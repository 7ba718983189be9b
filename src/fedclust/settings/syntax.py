"""Explain what is wrong with a file that is not valid TOML."""

import re
from pathlib import Path

_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_BARE = re.compile(r"\s*([\w-]+|\"[^\"]*\"|'[^']*')\s*=\s*([^\s\"'\[{].*)?$")
_PATH = re.compile(r"=.*\"[^\"]*\\[^\"]*\"")
_TYPOGRAPHIC = "\u201c\u201d\u201e\u2018\u2019"


def explain_syntax(path: Path, text: str, problem: str) -> str:
    """One sentence about a syntax error: the line, and what to write instead.

    Values are not repeated: a file may hold a secret.
    """
    found = _PLACE.search(problem)
    reason = problem[: found.start()] if found else problem
    lines = text.splitlines()
    number = int(found[1]) if found and found[1] else len(lines)
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    advice = _advise(line, reason) or f"not valid TOML ({reason[:1].lower()}{reason[1:]})"
    return f"{path}:{number}: {advice}"


def _advise(line: str, reason: str) -> str:
    """What to do about a line; empty if the parser's own words have to do."""
    if quotes := _advise_quotes(line):
        return quotes
    if line.lstrip().startswith("[") and "]" not in line:
        return "the bracket ] is missing after the name of the table"
    if "overwrite" in reason or "twice" in reason or "already" in reason:
        return "the key or table is given twice; keep one"
    if open_bracket := _find_open_bracket(line):
        return f"a bracket {open_bracket} is not closed"
    if ":" in line and "=" not in line:
        return 'write key = "value", with an equals sign'
    found = _BARE.match(line)
    return _advise_value(found[1], found[2]) if found else ""


def _find_open_bracket(line: str) -> str:
    """The bracket that a value opens and does not close; empty if there is none."""
    value = re.sub(r"\"[^\"]*\"|'[^']*'", "", line).split("#")[0].partition("=")[2]
    for opening, closing in ("[]", "{}"):
        if value.count(opening) > value.count(closing):
            return opening
    return ""


def _advise_quotes(line: str) -> str:
    if any(mark in line for mark in _TYPOGRAPHIC):
        return 'use straight quotes ("), not typographic ones'
    if _PATH.search(line):
        return "write paths with / instead of \\, or in single quotes"
    return "a quote is missing" if line.count('"') % 2 or line.count("'") % 2 else ""


def _advise_value(key: str, value: str | None) -> str:
    if value is None:
        return f"{key} has no value"
    if value.split("#")[0].strip() in ("True", "False", "yes", "no", "on", "off"):
        return f"write {key} = true or {key} = false"
    if re.match(r"[+-]?\d+,\d", value):
        return f"write the number of {key} with a decimal point"
    if re.match(r"[+-]?[\d.]+\s*(#|$)", value):
        return ""
    return f'put text in quotes, as in {key} = "text"'
