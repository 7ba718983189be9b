"""Format numbers, counts and sizes for readers."""

import math

MINUS, NARROW, DASH = "\u2212", "\u202f", "\u2013"


def signed(value: float, decimals: int = 1) -> str:
    """Format with a sign; zero has none.

    >>> signed(0.84), signed(-0.04)
    ('+0.8', '0.0')
    """
    shown = f"{value:+.{decimals}f}"
    return plain(0.0, decimals) if float(shown) == 0 else shown.replace("-", MINUS)


def count(n: float | None, minimum: int | None = None) -> str:
    """Format a number of rows; None means that it is below the minimum and withheld.

    >>> count(1204), count(None, 5)
    ('1,204', 'fewer than 5')
    """
    if n is None:
        return "withheld" if minimum is None else f"fewer than {minimum}"
    return plain(float(n), 0)


def digits(value: float | None) -> str:
    """Format with five digits; an unknown value is a dash.

    >>> digits(1234.5678), digits(None) == DASH
    ('1234.6', True)
    """
    return DASH if value is None or math.isnan(value) else f"{value:.5g}"


def share(part: float) -> str:
    """Format a fraction as a percentage; a small fraction is never shown as 0%.

    >>> share(0.404), share(0.002), share(0.9999), share(0.0)
    ('40%', '<1%', '>99%', '0%')
    >>> share(-1e-17), share(1e-17), share(1 - 1e-16)  # sums have rounding errors
    ('0%', '0%', '100%')
    """
    part = round(part, 9)
    if 0 < part < 0.005:
        return "<1%"
    if 0.995 < part < 1:
        return ">99%"
    return f"{plain(100 * part, 0)}%"


def data_size(n: float) -> str:
    """Format a number of bytes in a suitable unit.

    >>> data_size(812), data_size(12_400), data_size(3_000_000)
    ('812 B', '12.4 kB', '3.0 MB')
    """
    divisor, unit = size_unit(n)
    return f"{n / divisor:,.{0 if divisor == 1 else 1}f} {unit}"


def size_unit(largest: float) -> tuple[int, str]:
    """The divisor and the name of the unit for the largest value."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if largest >= 10**power:
            return 10**power, unit
    return 1, "B"


def decimals_for(spread: float | None, size: float | None) -> int | None:
    """Number of decimals for values of this spread; None: use scientific notation."""
    if not spread or not math.isfinite(spread):
        spread = abs(size or 0) / 100 or 1.0
    decimals = -math.floor(math.log10(spread / 5))
    too_long = decimals > 5 or abs(size or 0) >= 1e7 or spread >= 1e7
    return None if too_long else max(decimals, 0)


def plain(value: float, decimals: int | None) -> str:
    """Format with this many decimals and with thousands separators.

    >>> plain(1234.5, 0), plain(-0.01, 1), plain(1.5e-9, None)
    ('1,234', '0.0', '1.5e-09')
    """
    if decimals is None:
        return f"{value:.3g}".replace("-", MINUS) if value < 0 else f"{value:.3g}"
    shown = f"{value:,.{decimals}f}"
    is_zero = not any(digit in shown for digit in "123456789")
    return shown.lstrip("-") if is_zero else shown.replace("-", MINUS)


def listed(words: list[str]) -> str:
    """Join words as a list in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def several(n: int, one: str, many: str = "") -> str:
    """A number with its noun in the singular or plural.

    >>> several(1, "row"), several(3, "row")
    ('1 row', '3 rows')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"
