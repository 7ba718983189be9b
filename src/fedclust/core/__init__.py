"""The core: messages, algorithms, transforms, plans, and the loop that runs them."""

from .algorithm import Algorithm, Data, Empty, OneRoundQuery, Rule, Schema
from .batches import Batches
from .channel import Channel, Wrapper
from .checkpoint import config, load_round, save_round
from .errors import (
    CheckpointError,
    Code,
    ConfigError,
    DataError,
    EmptyRound,
    FedclustError,
    MessageError,
    Reason,
    Refusal,
    TooFewClients,
    did_you_mean,
)
from .loop import (
    ALL_CLIENTS,
    AnyAlgorithm,
    ClientSampling,
    Plan,
    Request,
    Round,
    RoundSummary,
    Run,
    Runner,
    respond,
    rounds,
    run,
)
from .message import Dims, Message, Record, Stacked, Summed
from .random import derive_seed, stream
from .traits import Role, Traits, Work
from .transform import RoundContext, Stage, Transform

__all__ = [
    "Algorithm",
    "AnyAlgorithm",
    "Batches",
    "Channel",
    "CheckpointError",
    "Code",
    "ConfigError",
    "Data",
    "DataError",
    "Dims",
    "ALL_CLIENTS",
    "FedclustError",
    "RoundSummary",
    "Message",
    "MessageError",
    "Empty",
    "EmptyRound",
    "ClientSampling",
    "Plan",
    "Reason",
    "Record",
    "Refusal",
    "Request",
    "Round",
    "Role",
    "Rule",
    "Run",
    "Runner",
    "Schema",
    "Stacked",
    "Stage",
    "Summed",
    "OneRoundQuery",
    "TooFewClients",
    "Traits",
    "Transform",
    "Wrapper",
    "RoundContext",
    "Work",
    "config",
    "derive_seed",
    "did_you_mean",
    "load_round",
    "respond",
    "rounds",
    "run",
    "save_round",
    "stream",
]
