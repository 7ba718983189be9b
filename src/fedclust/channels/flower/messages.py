"""Put bytes into Flower messages, as one array that Flower does not decode."""

from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict

_PART, _BODY, _NAME = "fedclust", "body", "name"
_KIND = "fedclust.wire"  # marks bytes that only fedclust decodes
_OWN_ERROR = 0  # error code of messages written by fedclust
_REASONS = {
    1: "its Flower cannot import fedclust; install the same version there",
    2: "an error in its process; see the log of the client",
    3: "no answer in time",
    4: "no answer in time",
    5: "is no longer connected",
    7: "its SuperNode refuses the app",
    8: "its process died",
}


def bytes_content(raw: bytes) -> RecordDict:
    """Content of a message with bytes."""
    array = Array(dtype="uint8", shape=(len(raw),), stype=_KIND, data=raw)
    return RecordDict({_PART: ArrayRecord({_BODY: array})})


def read_bytes(message: Message) -> bytes | str:
    """Bytes of a message, or the reason why it has none."""
    if message.has_error():
        return error_text(message.error)
    part = message.content.get(_PART)
    array = part.get(_BODY) if isinstance(part, ArrayRecord) else None
    if array is None or array.stype != _KIND or not isinstance(array.data, bytes):
        return "its answer contains no bytes"
    return array.data


def name_content(name: str) -> RecordDict:
    """Content of a message with a name."""
    return RecordDict({_PART: ConfigRecord({_NAME: name})})


def read_name(message: Message) -> str:
    """Name in a message, or an empty string."""
    part = None if message.has_error() else message.content.get(_PART)
    name = part.get(_NAME) if isinstance(part, ConfigRecord) else None
    return name if isinstance(name, str) else ""


def error_reply(reason: str, request: Message) -> Message:
    """Reply with an error message."""
    return Message(Error(_OWN_ERROR, reason), reply_to=request)


def error_text(error: Error) -> str:
    """Text of an error. Flower's own texts are not repeated, because they may contain data."""
    if error.code == _OWN_ERROR and error.reason:
        return str(error.reason)
    return _REASONS.get(error.code, f"no answer (Flower's error {error.code})")
