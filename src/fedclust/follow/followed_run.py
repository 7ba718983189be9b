"""One run of a study as a client follows it: which request is next, and what was answered.

States of a client in a run, by its position (the number of finished steps):

    expected(n)  it has computed the request of step n, and answers no other
    answered(n)  it has sent its reply to step n; the same request gets the same bytes
    expected(n + 1)  it has seen the replies of all clients to step n, each sealed by its sender
    over         all steps are taken, or a request or reply was not the study's
"""

import base64
from collections.abc import Callable, Sequence

from ..client.codec import decode, encode_answer, values_of
from ..client.requests import AnyReply, AnyRequest, RunRound
from ..core import Code, FedclustError, Message, Plan, Refusal, Stage
from ..core.wire import Frame
from ..privacy import ClientPolicy
from ..privacy.masking import PairwiseMasks
from ..study.settings import Study
from .agreement import agree, asked_digest, describe, is_same
from .entries import Entry, layout_of, to_words
from .follower import Follower, Over
from .memory import Reply, RunMemory
from .roundings import Roundings, pair_numbers
from .seals import Sealer

_ROUNDINGS = "roundings.bin"  # in the client's folder, for all runs


class FollowedRun:
    """A client's place in a study that it follows."""

    def __init__(
        self,
        memory: RunMemory,
        study: Study,
        me: str,
        run: str,
        members: Sequence[str],
        policy: ClientPolicy,
    ) -> None:
        self._memory, self._me, self.run = memory, me, run
        policy.keys.adopt(run, memory.secret())
        policy.keep_draws(memory.draws())
        self._sealer = Sealer(policy, me, run)
        self._roundings = Roundings(memory.folder.parents[1] / _ROUNDINGS)
        self._follower = Follower(study, me, run, members)
        for entry in memory.entries:
            self._follower.feed(entry)

    @property
    def position(self) -> int:
        """The number of the step that comes next."""
        return self._follower.position

    def close(self) -> None:
        """Stop following in this process; another one can continue."""
        self._follower.close()

    def recognise(self, step: int, frame: Frame) -> AnyRequest:
        """The request in a frame; most often it is the expected one, to the bit."""
        expected = self._follower.expected
        if step == self.position and not isinstance(expected, Over) and is_same(expected, frame):
            return expected
        return decode(frame)

    def answer(
        self, step: int, request: AnyRequest, id: str, handle: Callable[[], AnyReply]
    ) -> bytes:
        """The reply to the request of a step; `handle` computes it."""
        last, asked = self._memory.last, asked_digest(request)
        if last is not None and last.step == step and last.asked == asked:
            return last.raw  # asked again: the same bytes, and no second look at the data
        if step > self.position:
            raise Refusal(f"it has not seen the replies to step {step - 1} yet", code=Code.BEHIND)
        expected = self._next()
        if step < self.position or (last is not None and last.step == step):
            raise self._end(f"step {step} ({describe(request)}) was answered before, differently")
        if request is not expected and not agree(expected, request):
            raise self._end(
                f"step {step}: the study's next request is {describe(expected)}, and the server "
                f"asked for {describe(request)} or for other numbers"
            )
        if not self._roundings.settle(pair_numbers(expected, request)):
            raise self._end(
                f"step {step} ({describe(request)}): numbers of the server are rounded otherwise "
                "than before; run the study where it ran first, or with another seed"
            )
        reply = handle()
        sealed = self._seal(step, request, asked, reply, id)
        plan = request.plan if isinstance(request, RunRound) else None
        noisy = plan is not None and any(t.stage == Stage.NOISE for t in plan.transforms)
        self._memory.keep_reply(sealed, sync=noisy)
        return sealed.raw

    def reject(self, step: int, asked: str, problem: str) -> Refusal:
        """A refusal of a request that no study can have, such as a plan that is not allowed."""
        if step > self.position:
            return Refusal(problem, code=Code.REQUEST)
        return self._end(
            f"step {step}: the study's next request is {describe(self._next())}, and the server "
            f"asked for {asked}: {problem}"
        )

    def _seal(
        self, step: int, request: AnyRequest, asked: bytes, reply: AnyReply, id: str
    ) -> Reply:
        if isinstance(reply, Message):
            mine = Entry(step, (self._me,), layout_of(reply), to_words(reply)[None])
        else:
            mine = Entry(step, (self._me,), values=(values_of(reply),))
        masks, cohort = _masks_of(request)
        seal = self._sealer.seal(mine, asked, cohort, masks)
        text = base64.b64encode(seal.tobytes()).decode()
        raw = encode_answer(reply, answers=id, client=self._me, seal=text)
        return Reply(step, asked, raw)

    def take(self, entry: Entry) -> None:
        """Continue with the replies of a finished step, once they are checked."""
        if entry.step < self.position:
            return
        if entry.step > self.position:
            raise Refusal("it has not seen the replies of earlier steps", code=Code.BEHIND)
        expected = self._next()
        self._check(entry, expected)
        summed = isinstance(expected, RunRound) and expected.plan.needs_all and entry.is_round
        kept = entry.kept(summed=summed)
        self._memory.keep_entry(kept)
        self._follower.feed(kept)
        if isinstance(self._follower.expected, Over):
            self._finish(self._follower.expected)

    def flush(self) -> None:
        """Write what was taken in; a reply does so, too."""
        self._memory.flush()

    def _next(self) -> AnyRequest:
        """The request that comes next; a refusal if there is none."""
        if self._memory.ended:
            raise Refusal(self._memory.ended, code=Code.STUDY)
        expected = self._follower.expected
        if isinstance(expected, Over):
            self._finish(expected)
            raise Refusal(self._memory.ended, code=Code.STUDY)
        return expected

    def _finish(self, over: Over) -> None:
        """Note why the study is over for this client."""
        error = over.error
        if error is None:
            why = "the study is finished"
        elif isinstance(error, FedclustError):
            why = f"the study is over for this client: {error}"
        else:
            why = "the study is over for this client: an internal error occurred"
        self._memory.end(why)
        if error is not None and not isinstance(error, FedclustError):
            raise error

    def _end(self, why: str) -> Refusal:
        """A refusal after which this client takes no further part in the run."""
        self._memory.end(f"this client has left the study: {why}")
        return Refusal(f"{why}; this client leaves the study", code=Code.STUDY)

    def _check(self, entry: Entry, expected: AnyRequest) -> None:
        """Refuse replies that are not those of the expected clients to the expected request."""
        if problem := self._find_problem(entry, expected):
            raise self._end(f"step {entry.step}: {problem}")
        if entry.absent:
            return
        masks, cohort = _masks_of(expected)
        last = self._memory.last
        answered = last is not None and last.step == entry.step
        asked = last.asked if last is not None and answered else asked_digest(expected)
        try:
            self._sealer.check(entry, asked, cohort, masks)
        except Refusal as refusal:
            raise self._end(str(refusal)) from None

    def _find_problem(self, entry: Entry, expected: AnyRequest) -> str:
        masks, cohort = _masks_of(expected)
        if entry.absent:
            fits = masks is not None and set(entry.absent) <= set(cohort) - {self._me}
            return "" if fits else "the clients that are left out do not fit"
        if self._me not in entry.clients:
            return "the study goes on without this client"
        if isinstance(expected, RunRound) != entry.is_round:
            return "the replies are of another kind"
        if list(entry.clients) != sorted(entry.clients):
            return "the replies are not in the order of clients"
        if not isinstance(expected, RunRound):
            return ""
        if len(entry.words) != len(entry.clients):
            return "the replies of single clients are missing"
        complete = entry.clients == cohort
        if not complete and (expected.plan.needs_all or not set(entry.clients) <= set(cohort)):
            return "the replies are not those of the cohort"
        return ""


def _masks_of(request: AnyRequest) -> tuple[PairwiseMasks | None, tuple[str, ...]]:
    """The masks of a round, if it has any, and its cohort."""
    if not isinstance(request, RunRound):
        return None, ()
    plan: Plan = request.plan
    masks = [t for t in plan.transforms if isinstance(t, PairwiseMasks)]
    return (masks[0] if masks else None), request.request.cohort
