"""Text files as streams: compression, encodings, and lines that are not data."""

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

from ...core import DataError

HEAD = 2**18  # bytes by which all but the encoding is detected
_SCANNED = 2**24  # bytes by which the encoding is detected
_BLOCK = 2**20
_OPENERS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
COMPRESSIONS = tuple(_OPENERS)
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)  # by other bytes

_MARKS = {  # the longest first: UTF-32 starts like UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_OTHER_FILES = {
    b"PK\x03\x04": "is a zip archive, such as an Excel workbook; name it .xlsx",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook; name it .xls",
    b"\x1f\x8b": "is compressed; name it .csv.gz",
    b"BZh": "is compressed; name it .csv.bz2",
    b"\xfd7zXZ": "is compressed; name it .csv.xz",
    b"PAR1": "is a Parquet file; name it .parquet",
    b"ARROW1": "is a Feather file; name it .feather",
    b"%PDF": "is a PDF document; export a table",
}


def is_compressed(file: Path) -> bool:
    """Whether a file is compressed, by its suffix."""
    return file.suffix.lower() in _OPENERS


def open_bytes(file: Path) -> BinaryIO:
    """The bytes of a file, decompressed."""
    opened: BinaryIO = _OPENERS.get(file.suffix.lower(), _open_plain)(file)
    return opened


def _open_plain(file: Path) -> BinaryIO:
    return open(file, "rb")


def open_text(file: Path, encoding: str) -> IO[str]:
    """The text of a file, with its own line ends."""
    return io.TextIOWrapper(open_bytes(file), encoding=_with_mark(encoding), newline="")


def _with_mark(encoding: str) -> str:
    """An encoding that skips a byte order mark at the beginning."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def detect_encoding(file: Path) -> str:
    """The encoding of a file; a wrong guess changes words and names, but no numbers."""
    with open_bytes(file) as opened:
        head = opened.read(HEAD)
        for mark, encoding in _MARKS.items():
            if head.startswith(mark):
                return encoding
        _refuse_other_files(file, head)
        if encoding := _detect_wide(head):
            return encoding
        if b"\0" in head:
            raise DataError(f"{file}: is not a text file")
        return _detect_narrow(_blocks(opened, head))


def _refuse_other_files(file: Path, head: bytes) -> None:
    for start, words in _OTHER_FILES.items():
        if head.startswith(start):
            raise DataError(f"{file}: {words}")


def _detect_wide(head: bytes) -> str:
    """UTF-16 without a byte order mark: every second byte of Western text is zero."""
    even, odd = head[0:4096:2].count(0), head[1:4096:2].count(0)
    half = len(head[:4096]) // 2
    if half and odd > 0.4 * half and not even:
        return "utf-16-le"
    return "utf-16-be" if half and even > 0.4 * half and not odd else ""


def _blocks(opened: BinaryIO, head: bytes) -> Iterator[bytes]:
    yield head
    left = _SCANNED - len(head)
    while left > 0 and (block := opened.read(min(_BLOCK, left))):
        left -= len(block)
        yield block


def _detect_narrow(blocks: Iterable[bytes]) -> str:
    """UTF-8 if all bytes fit it; else Windows-1252, or Latin-1 for bytes that it does not have."""
    utf8 = codecs.getincrementaldecoder("utf-8")()
    found = "utf-8"
    for block in blocks:
        if found == "utf-8":
            try:
                utf8.decode(block)
                continue
            except UnicodeDecodeError:
                found = "cp1252"
        if found == "cp1252" and any(byte in block for byte in b"\x81\x8d\x8f\x90\x9d"):
            return "latin-1"
    return found


def read_head(file: Path, encoding: str) -> tuple[list[str], bool]:
    """The first lines of a file, all complete, and whether they are the whole file."""
    with open_bytes(file) as opened:
        raw = opened.read(HEAD)
        complete = not opened.read(1)
    decoder = codecs.getincrementaldecoder(_with_mark(encoding))("replace")
    text = decoder.decode(raw, final=complete)
    lines = list(io.StringIO(text, newline=""))
    return (lines if complete or len(lines) < 2 else lines[:-1]), complete


def skip_lines(
    lines: Iterable[str], ignored: int, comment: str, *, quoted: bool = False
) -> Iterator[str]:
    """All lines, with empty ones in place of the first `ignored` ones and of comments.

    Line numbers stay as they are. A line within quotes is not a comment; `quoted` says whether the
    first line starts within quotes.
    """
    for number, line in enumerate(lines):
        if number < ignored or (comment and not quoted and line.startswith(comment)):
            yield "\n"
        else:
            quoted ^= line.count('"') % 2 == 1
            yield line


class PartStream(io.RawIOBase):
    """Parts of bytes as a stream."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._left = parts, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._left = memoryview(part)
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n


def read_parts(opened: IO[str], ignored: int, comment: str) -> Iterator[str]:
    """The text in large parts, with the lines of `skip_lines` empty.

    Only parts that contain the comment character are looked at line by line.
    """
    for _ in range(ignored):
        opened.readline()
        yield "\n"
    quoted, left = False, ""
    while part := opened.read(_BLOCK):
        whole = left + part
        end = max(whole.rfind("\n"), whole.rfind("\r")) + 1 if comment else len(whole)
        whole, left = whole[:end], whole[end:]
        if comment and comment in whole:
            whole = "".join(skip_lines(io.StringIO(whole, newline=""), 0, comment, quoted=quoted))
        quoted ^= whole.count('"') % 2 == 1
        yield whole
    if left:
        yield "".join(skip_lines([left], 0, comment, quoted=quoted))


def find_undecodable(file: Path, encoding: str) -> int:
    """The number of the first line with bytes that are not valid in an encoding."""
    replacing = io.TextIOWrapper(open_bytes(file), encoding=encoding, errors="replace", newline="")
    with replacing as lines:
        try:
            return next((n for n, line in enumerate(lines, 1) if "\ufffd" in line), 1)
        except UnicodeError:  # UTF-16 without a byte order mark
            return 1
