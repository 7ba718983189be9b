"""Looks for anything private in bytes that leave a client."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fedclust.core import MessageError
from fedclust.core.wire import unpack

from .kit import FILE, ID, IDENTITY, NUMBERS, SECRET, WORDS, good_table

_ABSOLUTE = re.compile(r"(?:^|[\s\"'(\[=:,])(?:/[\w.-]+|[A-Za-z]:\\)")
_OFFSET, _SCALE = 1.5, 2.5  # of the preparations in requests
_SAMPLE = 8  # rows whose values are looked for
_SHORT = 4  # bytes; what is shorter is looked for in the text of a reply


class Finder:
    """All that must not leave: paths, ids, values, secrets, and names that nobody gave."""

    def __init__(self, folder: Path, words: Iterable[str] = (), values: Iterable[float] = ()):
        table = good_table()
        texts = [str(folder), folder.name, "wallaby_kit", FILE, "Traceback", ".py"]
        texts += [SECRET, IDENTITY, *table[ID], *set(table["diagnosis"]), *words]
        numbers = [float(v) for name in NUMBERS for v in table[name][:_SAMPLE]] + list(values)
        forms = [(text, form) for text in texts for form in _text_forms(text)]
        self._patterns = {f"text {text!r} ({form!r})": form for text, form in forms}
        self._patterns["secret bytes"] = bytes.fromhex(IDENTITY)
        for value in numbers:
            self._patterns |= {f"{kind} of {value!r}": form for kind, form in _number_forms(value)}

    def leaks_in(self, raw: bytes, given: Iterable[str] = ()) -> list[str]:
        """What is in a reply to a request that gave these names of columns."""
        head = _header(raw)
        found = [
            label
            for label, pattern in self._patterns.items()
            if pattern in (raw if len(pattern) >= _SHORT else head.encode())
        ]
        unknown = {ID, *NUMBERS, *WORDS} - set(given)
        found += [f"column {name!r}" for name in sorted(unknown) if name.encode() in raw]
        return found + [f"path {path!r}" for path in _ABSOLUTE.findall(head)]


def _header(raw: bytes) -> str:
    """The text of a reply: among numbers, a path or a short word would be found by chance."""
    try:
        return json.dumps(unpack(raw).header, ensure_ascii=False)
    except MessageError:
        return raw.decode(errors="replace")


def _text_forms(text: str) -> Iterator[bytes]:
    yield text.encode()
    if not text.isascii():
        yield json.dumps(text)[1:-1].encode()


def _number_forms(value: float) -> Iterator[tuple[str, bytes]]:
    yield "digits", repr(value).encode()
    if 0 < abs(value) < 1e15:
        yield "first digits", f"{value:.7g}".encode()
    with np.errstate(all="ignore"):
        forms = {"value": value, "prepared": (value - _OFFSET) / _SCALE, "log": np.log(abs(value))}
        for name, form in forms.items():
            yield f"{name} as float64", np.float64(form).tobytes()
            if np.isfinite(np.float32(form)) and form:
                yield f"{name} as float32", np.float32(form).tobytes()
