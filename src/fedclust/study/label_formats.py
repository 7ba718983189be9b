"""The formats that labels can be written in."""

from collections.abc import Collection, Iterator

from ..data.formats import label_suffixes, writes_labels


class LabelFormats(Collection[str]):
    """The formats that labels can be written in, by suffix, and "none".

    A format can be registered at any time, so formats are looked up whenever they are needed.
    """

    def __contains__(self, value: object) -> bool:
        return value == "none" or (isinstance(value, str) and writes_labels(f".{value}"))

    def __iter__(self) -> Iterator[str]:
        yield from (suffix.removeprefix(".") for suffix in label_suffixes())
        yield "none"

    def __len__(self) -> int:
        return len(label_suffixes()) + 1
