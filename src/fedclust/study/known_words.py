"""Words for the parameters of `run_study` that users of other programs try first."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..core import did_you_mean
from ..settings import settings_of
from .settings import ClusteringSettings

P = ParamSpec("P")
R = TypeVar("R")

_ELSEWHERE = {
    "k": "use n_clusters",
    "out": "use folder",
    "output": "use folder",
    "random_state": 'use clustering={"seed": ...}',
    "max_iter": 'use clustering={"max_rounds": ...}',
    "columns": "use features",
    "bounds": 'use features={"name": {"low": ..., "high": ...}}',
    "tier": "use privacy",
    "missing": 'use settings={"data": {"missing": ...}}',
    "names": 'use settings={"clusters": {"names": [...]}}',
}


def with_known_words(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse an unknown parameter in words that name the one to use."""
    accepted = list(inspect.signature(function).parameters)
    of_clustering = {setting.name for setting in settings_of(ClusteringSettings)}

    @wraps(function)
    def called(*args: P.args, **given: P.kwargs) -> R:
        for name in given:
            if name in accepted:
                continue
            advice = _ELSEWHERE.get(name, "")
            if name in of_clustering:
                advice = f'use clustering={{"{name}": ...}}'
            near = f"; {advice}" if advice else did_you_mean(name, accepted)
            raise TypeError(f"{function.__name__} has no parameter {name!r}{near}")
        return function(*args, **given)

    return called
