"""What can go wrong, by whose hand it is mended.

::

    FedclustError
    ├── ConfigError       (ValueError)    a parameter: its name, its value, what it may be
    ├── DataError         (ValueError)    a client's data: client, column, what to do
    ├── MessageError      (ValueError)    a reply that is not what the plan says
    ├── TooFewClients     (RuntimeError)  a round that not enough clients answered
    │   └── NothingToSay                  all who answered had nothing they could send
    ├── Refusal           (RuntimeError)  a client that will not answer, and why
    └── CheckpointError   (RuntimeError)  a saved round that cannot be continued
"""


class FedclustError(Exception):
    """Any error of this package that is somebody's to mend."""


class ConfigError(FedclustError, ValueError):
    """A parameter that cannot be used."""


class DataError(FedclustError, ValueError):
    """Data that cannot be clustered."""


class MessageError(FedclustError, ValueError):
    """A message that is not of the announced kind, shape or value."""


class TooFewClients(FedclustError, RuntimeError):
    """Not enough clients answered."""


class EmptyRound(TooFewClients):
    """Clients answered, but none had anything to send."""


class Refusal(FedclustError, RuntimeError):
    """A client declines: what it is asked would break a rule it has set itself."""


class CheckpointError(FedclustError, RuntimeError):
    """A saved round that does not belong to this plan, or is damaged."""
