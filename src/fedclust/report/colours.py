"""One colour for each cluster identity: the same in every figure and every report.

The colours were chosen by farthest-point search from the first four, so that all differ for
people with normal sight, protanopia, deuteranopia and tritanopia, and each has a contrast of at
least 3 to 1 with the light and with the dark page. The number of a cluster always appears
beside its colour, because many colours cannot be distinguished reliably.
"""

PALETTE = (
    "#0074b0", "#d46000", "#009c74", "#cc78a8", "#886cf8", "#7c6050", "#b83490", "#009ce0",
    "#c81824", "#6450d0", "#fc5880", "#8c8448", "#307074", "#647ccc", "#a0709c", "#646494",
    "#74a054", "#588060", "#5c6c1c", "#6c98bc", "#a050b0", "#d48000", "#b48488", "#7088fc",
)  # fmt: skip


def colour(id: int) -> str:
    """The colour of a cluster; it depends only on the cluster's number."""
    return PALETTE[id % len(PALETTE)]


def ink_on(background: str) -> str:
    """Black or white, whichever is easier to read on this background."""
    return "#ffffff" if contrast("#ffffff", background) >= 4.5 else "#000000"


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG defines it, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(hexadecimal: str) -> float:
    parts = [int(hexadecimal[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
