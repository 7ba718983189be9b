"""The five ideas: message, algorithm, transform, plan, loop."""

from .algorithm import Algorithm, Data, Rule, Schema
from .batches import Batches
from .channel import Channel
from .checkpoint import config, load_round, save_round
from .errors import (
    CheckpointError,
    ConfigError,
    DataError,
    FedclustError,
    MessageError,
    NothingToSay,
    Refusal,
    TooFewClients,
)
from .loop import (
    EVERYONE,
    AnyAlgorithm,
    Line,
    Participation,
    Plan,
    Request,
    Round,
    Run,
    Runner,
    respond,
    rounds,
    run,
)
from .message import Dims, Message, Record, Stacked, Summed
from .random import derived, stream
from .survey import Nothing, Survey
from .transform import Stage, Transform, Turn

__all__ = [
    "Algorithm",
    "AnyAlgorithm",
    "Batches",
    "Channel",
    "CheckpointError",
    "ConfigError",
    "Data",
    "DataError",
    "Dims",
    "EVERYONE",
    "FedclustError",
    "Line",
    "Message",
    "MessageError",
    "Nothing",
    "NothingToSay",
    "Participation",
    "Plan",
    "Record",
    "Refusal",
    "Request",
    "Round",
    "Rule",
    "Run",
    "Runner",
    "Schema",
    "Stacked",
    "Stage",
    "Summed",
    "Survey",
    "TooFewClients",
    "Transform",
    "Turn",
    "config",
    "derived",
    "load_round",
    "respond",
    "rounds",
    "run",
    "save_round",
    "stream",
]
