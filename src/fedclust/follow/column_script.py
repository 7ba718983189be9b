"""Studies over split columns: the script that a client holds the server to.

The server computes assignments from distances that are summed over all owners. Owners must not see
these sums, because each could subtract its own columns from them. They can therefore not compute
the next assignment. They check everything else: the task, the algorithm and its settings, the
protection, the seeds, the number of rounds, and that each round of a run is asked once.

What the server can still choose are assignments, and which of the shared records take part. Both
change only at which sets of records distances are taken to, and the distances of an honest run
already give the geometry of all records (docs/privacy-engineering.md).
"""

from dataclasses import replace
from typing import Any

from ..algorithms.record_alignment import RecordAlignment
from ..client.requests import (
    AlignRecords,
    AnyRequest,
    FinishColumns,
    OfferRecords,
    RecordTokens,
    RunRound,
    SharedRecords,
)
from ..clustering.columns import make_record_seeding
from ..core import AnyAlgorithm, Code, Plan, Refusal, Stage, derive_seed
from ..core.codec import encode_plan
from ..privacy.key_exchange import KeyExchange
from ..study.layouts.columns import ColumnsLayout
from ..study.settings import Study, make_columns_algorithm
from ..tiers import Tier
from .agreement import asked_digest, describe
from .memory import Reply, RunMemory

_STARTS, _ROUNDS = "seeding", "clustering"  # as seeds are derived


class ColumnScript:
    """What a study over split columns may ask of an owner, each once."""

    def __init__(self, memory: RunMemory, study: Study, tier: Tier) -> None:
        self._memory, self._tier = memory, tier
        self._settings = study.clustering
        self._task = ColumnsLayout(study).make_task(tier)
        self._algorithm = make_columns_algorithm(study.clustering)
        self._seeding = make_record_seeding(self._algorithm, study.clustering.init)

    def close(self) -> None:
        """There is nothing to end."""

    def admit(self, request: AnyRequest) -> None:
        """Refuse what is not part of the study, and a second question in the place of a first."""
        if self._memory.ended:
            raise Refusal(self._memory.ended, code=Code.STUDY)
        if not self._belongs(request):
            raise self._end(f"{describe(request)} is not part of the study, or has other settings")
        if isinstance(request, RunRound) and request.plan.algorithm.traits.reads_rows:
            self._ask_once(request)

    def _belongs(self, request: AnyRequest) -> bool:
        match request:
            case OfferRecords() | AlignRecords():
                return request.task == self._task
            case FinishColumns():
                algorithm: AnyAlgorithm = request.algorithm
                same = _settings(algorithm) == _settings(self._algorithm)
                return same and self._is_form(request.rows)
            case RunRound():
                return self._is_form(request.rows) and self._is_plan(request)
        return False

    def _is_form(self, form: Any) -> bool:
        return isinstance(form, RecordTokens | SharedRecords) and form.task == self._task

    def _is_plan(self, request: RunRound) -> bool:
        plan, algorithm = request.plan, request.plan.algorithm
        if isinstance(algorithm, KeyExchange | RecordAlignment):
            return not plan.transforms
        stages = [t.stage for t in plan.transforms]
        return self._slot(request) is not None and stages == [Stage.ENCODE, Stage.MASK]

    def _slot(self, request: RunRound) -> int | None:
        """The place of a round in the study; None if it has none."""
        plan, number = request.plan, request.request.round
        parts = ((_STARTS, self._seeding), (_ROUNDS, self._algorithm))
        longest = self._algorithm.max_rounds + self._algorithm.n_clusters
        for attempt in range(self._settings.n_init):
            for order, (part, expected) in enumerate(parts):
                seed = derive_seed(self._settings.seed, part, attempt)
                same = _settings(plan.algorithm) == _settings(expected)
                if same and plan.seed == seed and 0 <= number < longest:
                    return (2 * attempt + order) * longest + number
        return None

    def _ask_once(self, request: RunRound) -> None:
        slot, asked = self._slot(request), asked_digest(request)
        if slot is None:
            return
        before = self._memory.slots.get(slot)
        if before is None:
            self._memory.keep_reply(Reply(slot, asked, b""), sync=False)
        elif before != asked:
            raise self._end(f"{describe(request)} was answered before, with another assignment")

    def _end(self, why: str) -> Refusal:
        self._memory.end(f"this client has left the study: {why}")
        return Refusal(f"{why}; this client leaves the study", code=Code.STUDY)


def _settings(algorithm: AnyAlgorithm) -> Any:
    """An algorithm without its start, which depends on distances."""
    bare: Any = algorithm
    bare = replace(bare, init=None) if algorithm.has_parameter("init") else bare
    header, arrays = encode_plan(Plan(bare))
    return header, {name: array.tobytes() for name, array in arrays.items()}
