"""Dates are recognised, and a number can stand for them; a doubtful order is never guessed."""

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import ConfigError, DataError
from fedclust.clustering.preparation import Column
from fedclust.clustering.preparation.column import DERIVED
from fedclust.data.dates import AmbiguousDate, date_order, is_date, parse_date, parse_dates

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)
FORMATS = {
    "%Y-%m-%d": None,
    "%Y-%m-%dT%H:%M:%S": None,
    "%Y-%m-%d %H:%M": None,
    "%Y/%m/%d": None,
    "%d.%m.%Y": None,
    "%d.%m.%Y %H:%M:%S": None,
    "%d/%m/%Y": "day-first",
    "%m/%d/%Y": "month-first",
    "%d-%m-%Y %H:%M": "day-first",
    "%d %b %Y": None,
    "%d-%b-%Y": None,
    "%B %d, %Y": None,
    "%d. %B %Y %H:%M": None,
}


@pytest.mark.parametrize("format", FORMATS)
@given(moment=MOMENTS)
def test_dates_are_parsed_in_every_format(format: str, moment: datetime) -> None:
    text = moment.strftime(format)
    wanted = datetime.strptime(text, format)
    assert parse_date(text, FORMATS[format]) == wanted
    assert is_date(text)
    if FORMATS[format] is not None:
        with pytest.raises(AmbiguousDate):
            parse_date(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        "1.5",
        "1.2.3",
        "31.02.2024",
        "2024-13-01",
        "12/2024",
        "a-b-c",
        "01.02.24",
        "7 Mai 2024",
        "30 Feb 2024",
        "unit 12 2024",
    ],
)
def test_other_text_is_not_a_date(text: str) -> None:
    assert not is_date(text)
    with pytest.raises(ValueError, match="date|day|month"):
        parse_date(text, "day-first")


def test_offsets_are_ignored() -> None:
    for offset in ("", "Z", "+02:00", " -0530"):
        assert parse_date(f"2024-05-01T23:30:00{offset}") == datetime(2024, 5, 1, 23, 30)


def test_the_order_is_known_if_one_date_shows_it() -> None:
    assert date_order(["03/04/2024", "25/04/2024"]) == "day-first"
    assert date_order(["03/04/2024", "04/25/2024"]) == "month-first"
    assert date_order(["03/04/2024"]) is None
    assert date_order(["25/04/2024", "04/25/2024"]) is None


def test_columns_of_every_kind_are_dates() -> None:
    days: list[Any] = ["2024-05-01", None, datetime(2024, 5, 2), np.datetime64("2024-05-03").item()]
    found = parse_dates(np.array(days, dtype=object))
    assert found.astype("M8[D]").astype(str).tolist() == [
        "2024-05-01",
        "NaT",
        "2024-05-02",
        "2024-05-03",
    ]
    assert parse_dates(np.array(["2024-05-01"], dtype="M8[ns]")).dtype == "M8[s]"


@given(
    moments=st.lists(st.none() | MOMENTS, min_size=1, max_size=9),
    part=st.sampled_from(list(DERIVED)),
)
def test_derived_numbers_are_those_of_the_calendar(
    moments: list[datetime | None], part: str
) -> None:
    def number(moment: datetime) -> int:
        return {
            "year": moment.year,
            "month": moment.month,
            "day-of-year": moment.timetuple().tm_yday,
            "weekday": moment.isoweekday(),
            "hour": moment.hour,
            "days": (moment.date() - datetime(1970, 1, 1).date()).days,
        }[part]

    column = Column("when", derive=part)
    expected = [[np.nan if m is None else float(number(m))] for m in moments]
    as_text = np.array([None if m is None else m.isoformat() for m in moments], dtype=object)
    for values in (as_text, np.array(moments, dtype="M8[s]")):
        np.testing.assert_array_equal(column.encode(values, "it"), expected)
    assert column.encoded_names == [f"when ({part})"]


def test_what_cannot_be_derived_is_refused() -> None:
    column = Column("when", derive="month")
    with pytest.raises(DataError, match="set dates under .data. to day-first or month-first"):
        column.encode(np.array(["03/04/2024"], dtype=object), "it")
    assert column.encode(np.array(["03/04/2024"], dtype=object), "it", "day-first")[0] == 4
    assert column.encode(np.array(["03/04/2024"], dtype=object), "it", "month-first")[0] == 3
    with pytest.raises(DataError, match="1 of 2 values are dates; the other is 'soon'"):
        column.encode(np.array(["2024-05-01", "soon"], dtype=object), "it")
    with pytest.raises(ConfigError, match="derive must be one of year, month"):
        Column("when", derive="century")
    with pytest.raises(ConfigError, match="give categories or derive, not both"):
        Column("when", ("a",), derive="year")


def test_dates_without_a_derived_number_name_the_remedy() -> None:
    for values in (
        np.array(["2024-05-01"] * 3, dtype="M8[D]"),
        np.array(["2024-05-01"] * 3, dtype=object),
    ):
        with pytest.raises(DataError, match='has dates or durations, .* such as derive = "year"'):
            Column("when").encode(values, "it")
