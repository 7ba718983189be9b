"""Every kind of request that a client can get, well-formed and malformed."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedclust.algorithms import VERTICAL, make, make_seeding
from fedclust.algorithms.record_alignment import RecordAlignment
from fedclust.algorithms.records import RecordState
from fedclust.client.codec import encode
from fedclust.client.column_session import digest_of
from fedclust.client.requests import (
    AlignRecords,
    AnyRequest,
    ColumnTask,
    EncodedRows,
    FinishColumns,
    OfferRecords,
    Preflight,
    PreparedRows,
    RecordTokens,
    RowForm,
    RunRound,
    SharedRecords,
    WriteLabels,
)
from fedclust.clustering.model import Model
from fedclust.clustering.preparation import Column, Histogram, Moments, Preparation
from fedclust.core import AnyAlgorithm, Plan, Record, Request, Schema
from fedclust.core.codec import encode_request
from fedclust.core.wire import pack, unpack
from fedclust.metrics import Evaluation
from fedclust.privacy.key_exchange import KeyExchange
from fedclust.typing import Array

from ..support.damage import mutated, resealed
from .kit import CITIES, CLIENT, ID, RUN, STUDY, good_table, tokens_of

COHORT = ("east", "north", CLIENT)
OFFSET, SCALE = 1.5, 2.5
HEIGHT, WEIGHT, CITY = Column("height_cm"), Column("weight_kg"), Column("city", CITIES)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "plain": (HEIGHT, WEIGHT),
    "bounded": (Column("height_cm", low=100.0, high=250.0), WEIGHT),
    "log": (Column("weight_kg", log=True), HEIGHT),
    "categories": (HEIGHT, CITY),
}
TASKS = {
    "own": ColumnTask(None, "standard", "drop"),
    "named": ColumnTask((HEIGHT, WEIGHT, Column("steps")), "none", "mean"),
    "min-max": ColumnTask(COLUMNS["bounded"], "min-max", "drop"),
    "words": ColumnTask((HEIGHT, CITY), "standard", "drop"),
    "log": ColumnTask(COLUMNS["log"], "none", "drop"),
}
SHARED = tokens_of(good_table()[ID][:30])


def preparation_of(columns: tuple[Column, ...], fill: bool = False) -> Preparation:
    n = sum(len(column.encoded_names) for column in columns)
    filling = np.full(n, 3.0) if fill else None
    return Preparation(columns, np.full(n, OFFSET), np.full(n, SCALE), filling)


def row_requests() -> Iterator[tuple[str, AnyRequest]]:
    """Requests over split rows."""
    yield "preflight without columns", Preflight(None, "llf-fcm", True)
    for name, columns in COLUMNS.items():
        ready = preparation_of(columns)
        filled = PreparedRows(preparation_of(columns, fill=True))
        n = len(ready.names)
        centers = np.array([[30.5] * n, [60.5] * n])
        yield f"preflight {name}", Preflight(columns, "llf-fcm")
        yield f"preflight with counts {name}", Preflight(columns, "llf-fcm", True, "the start")
        fuzzy = make("llf-fcm", 2, init=centers)
        histogram = Histogram(np.zeros(n), np.full(n, 300.0), n_bins=8)
        for algorithm in (Moments(), histogram, fuzzy):
            label = f"{algorithm.key} over encoded rows, {name}"
            yield label, first_round(algorithm, EncodedRows(columns), n)
        one_shot, gradient = (make(key, 2, init=centers) for key in ("c2f-fcm", "gdf-fcm"))
        for algorithm in (fuzzy, one_shot, gradient, Evaluation(2, centers), KeyExchange(RUN)):
            label = f"{algorithm.key} over prepared rows, {name}"
            yield label, first_round(algorithm, PreparedRows(ready), n)
        yield f"llf-fcm over filled rows, {name}", first_round(fuzzy, filled, n)
        model = Model(centers, (1, 2), (None, None), ready, "llf-fcm", 2.0)
        yield f"label {name}", WriteLabels(model)


def column_requests() -> Iterator[tuple[str, AnyRequest]]:
    """Requests over split columns, in the order of a run, for several tasks."""
    schema = Schema(2, n_records=len(SHARED))
    for name, task in TASKS.items():
        records = SharedRecords(task, digest_of(SHARED))
        yield f"round before an alignment {name}", first_round(vertical(), records, schema=schema)
        yield f"offer {name}", OfferRecords(task)
        yield f"tokens {name}", first_round(RecordAlignment(), RecordTokens(task), schema=schema)
        yield f"align {name}", AlignRecords(task, SHARED)
        for algorithm in (
            KeyExchange(RUN),
            make_seeding("vertical-k-means++", 2),
            vertical(),
            vertical("vertical-llf-fcm"),
        ):
            label = f"{algorithm.key} over shared records {name}"
            yield label, first_round(algorithm, records, schema=schema)
        label, swapped = f"rows over tokens {name}", RecordTokens(task)
        yield label, first_round(vertical(), swapped, schema=schema)
        label = f"tokens over shared records {name}"
        yield label, first_round(RecordAlignment(), records, schema=schema)
        yield f"finish {name}", finish(records)
        yield f"finish without labels {name}", finish(records, labels=False)


def vertical(key: str = "vertical-llf-cm") -> AnyAlgorithm:
    halves = np.arange(len(SHARED)) % 2
    kind: Any = VERTICAL[key]
    algorithm: AnyAlgorithm = kind(2, init=halves)
    return algorithm


def finish(records: SharedRecords, labels: bool = True) -> FinishColumns:
    algorithm: Any = vertical()
    return FinishColumns(records, algorithm, started(algorithm, Schema(2, n_records=30)), labels)


def started(algorithm: AnyAlgorithm, schema: Schema) -> Record:
    state: RecordState = algorithm.start(schema, np.random.default_rng(0))
    down: Record = algorithm.broadcast(state)
    return down


def first_round(
    algorithm: AnyAlgorithm, rows: RowForm, n: int = 2, schema: Schema | None = None
) -> RunRound:
    down = started(algorithm, schema or Schema(n))
    return RunRound(Plan(algorithm), Request(0, COHORT, down), rows)


def given_names(request: AnyRequest) -> set[str]:
    """Names of columns that a request gives."""
    match request:
        case Preflight(columns) | RunRound(rows=EncodedRows(columns)):
            return {column.name for column in columns or ()}
        case RunRound(rows=PreparedRows(preparation)) | WriteLabels(Model(preparation=preparation)):
            return {column.name for column in preparation.columns}
    return set()  # whose columns they are is private, even where the task names them


def to_bytes(request: AnyRequest, study: str = STUDY) -> bytes:
    """A request as a channel sends it."""
    about, id = {"study": study}, f"{RUN}/3"
    if isinstance(request, RunRound):
        rows = request.rows.as_config()
        return encode_request(request.plan, request.request, id=id, about=about, data=rows)
    kind, header, arrays = encode(request)
    return pack({"kind": kind, "id": id, "about": about, **header}, arrays)


def malformed(raw: bytes, rng: np.random.Generator, n: int = 4) -> Iterator[bytes]:
    """A request with entries left out or replaced, with other arrays, and with damaged bytes."""
    header, arrays = unpack(raw)
    for name in header:
        yield pack({key: value for key, value in header.items() if key != name}, arrays)
        for wrong in (None, -1, "no such thing", [], {}, [[1]], {"columns": [{"name": 3}]}):
            yield pack({**header, name: wrong}, arrays)
    yield pack(header, {})
    yield pack(header, {**arrays, "down.other": np.ones(3)})
    for name, array in arrays.items():
        for other in _wrong_arrays(array):
            yield pack(header, {**arrays, name: other})
    yield raw[: len(raw) // 2]
    yield b"GET / HTTP/1.1"
    yield from (resealed(mutated(raw, rng)) for _ in range(n))


def _wrong_arrays(array: Array) -> Iterator[Array]:
    yield np.zeros((2, 2, 2))
    yield array.ravel()[:1]
    yield np.full_like(array, np.nan) if array.dtype.kind == "f" else np.full_like(array, 97)
    yield array.astype(np.float64) * 1e9


def probes() -> Iterator[tuple[str, bytes]]:
    """Requests that try to learn what was not given."""
    columns = {"id": (Column(ID),), "absent": (Column("height_mm"),), "hidden": (Column("shoe"),)}
    for name, wanted in columns.items():
        yield f"preflight of a column: {name}", to_bytes(Preflight(wanted, "llf-fcm", True))
        round_request = first_round(Moments(), EncodedRows(wanted), 1)
        yield f"round over a column: {name}", to_bytes(round_request)
        task = ColumnTask(wanted, "none", "drop")
        yield f"offer of a column: {name}", to_bytes(OfferRecords(task))
        yield f"align a column: {name}", to_bytes(AlignRecords(task, SHARED))
    stranger = np.vstack([SHARED, tokens_of(["PX-000000"])])
    yield "align a stranger", to_bytes(AlignRecords(TASKS["own"], stranger))
    yield "align one record", to_bytes(AlignRecords(TASKS["own"], SHARED[:1]))
    yield "another study", to_bytes(OfferRecords(TASKS["own"]), study="another")
    header, arrays = unpack(to_bytes(Preflight(None, "llf-fcm")))
    for id in ("x" * 1_000, "\ud800", "../../etc/passwd"):
        yield f"an id of {len(id)} characters", pack({**header, "id": id}, arrays)
    small = {"kind": "?", "about": {"study": STUDY}}
    room = 2**20 - len(pack({**small, "id": ""}, {})) + 22
    yield "an id as long as a frame", pack({**small, "id": "x" * room}, {})
    about = {"study": "../" * 80 + "\x00"}
    yield "a study that is a path", pack({**header, "about": about}, arrays)
