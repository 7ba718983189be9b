"""The core: messages, algorithms, transforms, plans, and the loop that runs them."""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
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
        WriteError,
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
    "WriteError",
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

# Errors and files are used by light commands; NumPy is imported only by those that compute.
__getattr__ = lazy_names(
    __name__,
    {
        "algorithm": (
            "Algorithm",
            "Data",
            "Empty",
            "OneRoundQuery",
            "Rule",
            "Schema",
        ),
        "batches": ("Batches",),
        "channel": (
            "Channel",
            "Wrapper",
        ),
        "checkpoint": (
            "config",
            "load_round",
            "save_round",
        ),
        "errors": (
            "CheckpointError",
            "Code",
            "ConfigError",
            "DataError",
            "EmptyRound",
            "FedclustError",
            "MessageError",
            "Reason",
            "Refusal",
            "TooFewClients",
            "WriteError",
            "did_you_mean",
        ),
        "loop": (
            "ALL_CLIENTS",
            "AnyAlgorithm",
            "ClientSampling",
            "Plan",
            "Request",
            "Round",
            "RoundSummary",
            "Run",
            "Runner",
            "respond",
            "rounds",
            "run",
        ),
        "message": (
            "Dims",
            "Message",
            "Record",
            "Stacked",
            "Summed",
        ),
        "random": (
            "derive_seed",
            "stream",
        ),
        "traits": (
            "Role",
            "Traits",
            "Work",
        ),
        "transform": (
            "RoundContext",
            "Stage",
            "Transform",
        ),
    },
)
