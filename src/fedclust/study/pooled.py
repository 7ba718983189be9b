"""What pooled rows would give: the result beside which a run is reported."""

from ..algorithms import make
from ..clustering.rows import Clustering, cluster
from ..core import Channel, Schema
from ..tiers import Tier
from ..typing import FloatArray
from .journal import Journal
from .phases import Phase


def cluster_pooled(
    found: Clustering,
    channel: Channel,
    schema: Schema,
    tier: Tier,
    journal: Journal,
    *,
    compares: bool,
) -> FloatArray | None:
    """Centres of a lossless run from the same start, which are those of pooled rows.

    None where clients withhold something, or have not agreed to further queries.
    """
    if not found.guarantee.exact:
        return None
    if found.algorithm.lossless:
        return found.centers
    if not compares:
        return None
    soft, start = found.algorithm.soft, found.algorithm.parameter("init")
    same = {"fuzzifier": found.algorithm.parameter("fuzzifier")} if soft else {}
    lossless = make("llf-fcm" if soft else "llf-cm", len(found.centers), **same)
    return cluster(
        lossless,
        channel,
        schema,
        init="auto" if start is None else start,
        privacy=tier,
        runner=journal.runner(Phase.COMPARING),
    ).centers
