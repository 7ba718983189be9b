"""Decimal marks and thousands separators: detected where values settle them, else refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.data.kinds import Kind, unreadable_kind
from fedclust.data.numbers import (
    INTEGERS,
    PLAIN,
    Notation,
    NotationRules,
    collect_evidence,
    evidence_of,
    parse_number,
)

from .writing import NOTATIONS, written


def resolve(columns: list[list[str]], rules: NotationRules) -> list[Notation | None]:
    return rules.resolve([collect_evidence(cells, ("", "NA")) for cells in columns])


@pytest.mark.parametrize("notation", NOTATIONS)
@given(value=st.integers(-(10**9), 10**9), digits=st.integers(0, 5))
def test_a_number_in_any_notation_is_parsed_to_the_last_bit(
    notation: Notation, value: int, digits: int
) -> None:
    text = written(value, digits, notation)
    assert notation.parse(text) == float(f"{value}e-{digits}")
    assert float(notation.normalise(text)) == float(f"{value}e-{digits}")


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        (Notation(".", ","), "1,2"),
        (Notation(".", ","), "12,34.5"),
        (Notation(".", ","), "0,123"),
        (Notation(",", "."), "1.5"),
        (Notation(",", "."), "1,234.5"),
        (Notation(","), "1.234"),
        (Notation(","), "1.5"),
        (PLAIN, "1,234"),
        (PLAIN, "1_000"),
        (INTEGERS, "1.5"),
        (INTEGERS, "1,5"),
        (Notation(",", " "), "1 23"),
        (Notation(","), ""),
        (Notation(","), "12h"),
    ],
)
def test_what_does_not_fit_a_notation_is_not_a_number(notation: Notation, text: str) -> None:
    with pytest.raises(ValueError, match="number|convert"):
        notation.parse(text)
    assert notation.normalise(text) == text


@pytest.mark.parametrize(
    "text", ["", "-", "12h", "1,2,3", "12.05.2024", "1.2.3", "1 2", "0x1f", "e5"]
)
def test_other_text_is_no_evidence(text: str) -> None:
    assert evidence_of(text) is None


@pytest.mark.parametrize(
    ("columns", "delimiter", "found"),
    [
        ([["1.5", "2"]], ",", [PLAIN]),
        ([["12,5", "2"]], ";", [Notation(",")]),
        ([["1.234,5", "12"]], ";", [Notation(",", ".")]),
        ([["1,234.5", "12"]], ",", [Notation(".", ",")]),
        ([["2,402", "2402.0"]], ",", [Notation(".", ",")]),
        ([["1,234,567"]], ";", [Notation(".", ",")]),
        ([["1.234.567"]], ",", [Notation(",", ".")]),
        ([["1 234,5"]], ";", [Notation(",", " ")]),
        ([["1\u202f234"]], "\t", [Notation("", " ")]),
        ([["1'234.5"]], ",", [Notation(".", "'")]),
        # Doubtful groups take the mark of the other columns where that is usual ...
        ([["4.482", "950"], ["62,88"]], ";", [Notation(",", "."), Notation(",", ".")]),
        ([["1,234"], ["62.88"]], ",", [Notation(".", ","), Notation(".", ",")]),
        ([["1,234"], ["62,88"]], ";", [Notation(","), Notation(",")]),
        # ... and are ambiguous otherwise.
        ([["1,234"]], ",", [None]),
        ([["1,234"]], ";", [None]),
        ([["1.234"]], ";", [None]),
        ([["1.234"]], "\t", [None]),
        ([["1.234"]], ",", [PLAIN]),
        ([["4.482"], ["1.5"]], ";", [None, PLAIN]),
        ([["1,234"], ["1.5"]], ";", [None, PLAIN]),
        ([["1.234", "1,234"]], ",", [None]),
        ([["1.5", "1,5"]], ";", [None]),
        ([["1 234", "1'234"]], ",", [None]),
        # Columns without separators must not get marks that nothing supports.
        ([["1", "2"]], ",", [PLAIN]),
        ([["1", "2"]], ";", [INTEGERS]),
        ([["1", "2"], ["1,5"]], ";", [Notation(","), Notation(",")]),
        # Text stays as it is.
        ([["a", "1,5", "b"], ["2,5"]], ";", [PLAIN, Notation(",")]),
    ],
)
def test_marks_are_settled_by_values(
    columns: list[list[str]], delimiter: str, found: list[Notation | None]
) -> None:
    assert resolve(columns, NotationRules(delimiter=delimiter)) == found


@pytest.mark.parametrize(
    ("cells", "rules", "found"),
    [
        (["1,234"], NotationRules(decimal=","), Notation(",")),
        (["1,234"], NotationRules(decimal="."), Notation(".", ",")),
        (["1,234"], NotationRules(thousands=","), Notation(".", ",")),
        (["1,234"], NotationRules(thousands=""), Notation(",")),
        (["1.234"], NotationRules(thousands=".", delimiter=";"), Notation(",", ".")),
        (["1.234"], NotationRules(thousands="", delimiter=";"), PLAIN),
        (["1"], NotationRules(decimal=",", thousands=".", delimiter=";"), Notation(",", ".")),
    ],
)
def test_settings_decide(cells: list[str], rules: NotationRules, found: Notation) -> None:
    assert resolve([cells], rules) == [found]


def test_settings_that_values_rule_out_are_contradictions() -> None:
    point, comma, doubtful = (collect_evidence([c], ()) for c in ("1.5", "1,5", "1,234"))
    for rules, found, contradicted in [
        (NotationRules(decimal=","), point, True),
        (NotationRules(decimal="."), comma, True),
        (NotationRules(thousands=","), comma, True),
        (NotationRules(decimal=","), comma, False),
        (NotationRules(decimal=","), doubtful, False),
        (NotationRules(thousands=","), doubtful, False),
    ]:
        (notation,) = rules.resolve([found])
        assert (notation is None) == contradicted
        kind = unreadable_kind(rules, found, notation)
        assert kind is (Kind.CONTRADICTED if contradicted else None)
    assert unreadable_kind(NotationRules(), doubtful, None) is Kind.AMBIGUOUS
    assert unreadable_kind(NotationRules(), None, PLAIN) is None


@given(
    notation=st.sampled_from(NOTATIONS),
    delimiter=st.sampled_from(",;\t|"),
    columns=st.lists(
        st.tuples(
            st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=6), st.integers(0, 4)
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_a_detected_notation_never_gives_a_wrong_number(
    notation: Notation, delimiter: str, columns: list[tuple[list[int], int]]
) -> None:
    """Points between thousands in files of commas are the only thing that is taken on trust."""
    if delimiter == "," and notation.decimal == ",":
        return
    cells = [[written(v, digits, notation) for v in values] for values, digits in columns]
    found = resolve(cells, NotationRules(delimiter=delimiter))
    for texts, (values, digits), detected in zip(cells, columns, found, strict=True):
        for text, value in zip(texts, values, strict=True):
            if detected is None:
                continue
            try:
                read = detected.parse(text)
            except ValueError:
                continue  # it is reported as a stray value
            assert read == float(f"{value}e-{digits}"), (text, detected)


@given(st.floats(allow_nan=False))
def test_plain_numbers_are_those_of_python(value: float) -> None:
    assert parse_number(repr(value)) == value
    assert np.isnan(parse_number("nan"))
