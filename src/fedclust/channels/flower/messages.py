"""Bytes in Flower's messages: one array that Flower carries in chunks and nobody decodes."""

from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict

_PART, _BODY, _NAME = "fedclust", "body", "name"
_KIND = "fedclust.wire"  # how the array's bytes are to be read: by fedclust alone
_SAID = 0  # the error code of those that fedclust words itself
_WHY = {
    1: "its Flower cannot load fedclust; is it installed there, of the same version?",
    2: "an error in its process; its own log says which",
    3: "no answer in time",
    4: "no answer in time",
    5: "is not connected any more",
    7: "its SuperNode refuses the app",
    8: "its process died",
}


def carrying(raw: bytes) -> RecordDict:
    """The content of a message that carries bytes."""
    array = Array(dtype="uint8", shape=(len(raw),), stype=_KIND, data=raw)
    return RecordDict({_PART: ArrayRecord({_BODY: array})})


def carried(message: Message) -> bytes | str:
    """The bytes of a message, or the reason why there are none."""
    if message.has_error():
        return reason(message.error)
    part = message.content.get(_PART)
    array = part.get(_BODY) if isinstance(part, ArrayRecord) else None
    if array is None or array.stype != _KIND or not isinstance(array.data, bytes):
        return "its answer holds no bytes"
    return array.data


def naming(name: str) -> RecordDict:
    """The content of a message that says a name."""
    return RecordDict({_PART: ConfigRecord({_NAME: name})})


def named(message: Message) -> str:
    """The name that a message says; empty if it says none."""
    part = None if message.has_error() else message.content.get(_PART)
    name = part.get(_NAME) if isinstance(part, ConfigRecord) else None
    return name if isinstance(name, str) else ""


def failure(why: str, asked: Message) -> Message:
    """A reply that is a sentence."""
    return Message(Error(_SAID, why), reply_to=asked)


def reason(error: Error) -> str:
    """An error as a sentence; what Flower words may tell of values, so it is not repeated."""
    if error.code == _SAID and error.reason:
        return str(error.reason)
    return _WHY.get(error.code, f"no answer (Flower's error {error.code})")
