"""Colours belong to a cluster, are readable, and differ for all kinds of colour vision."""

import re
from importlib.resources import files

import numpy as np
import pytest

from fedclust.report.colours import PALETTE, colour, contrast, ink_on
from fedclust.typing import FloatArray

STYLE = (files("fedclust.report") / "parts" / "page.css").read_text()
LIGHT, DARK = STYLE.split("@media screen and (prefers-color-scheme: dark)")[:2]


def variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text))


THEMES = {"light": variables(LIGHT), "dark": variables(DARK.partition("}")[0])}

# Colour vision without one kind of cone, in linear RGB (Machado, Oliveira and Fernandes 2009).
SIGHTS = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def seen(colours: tuple[str, ...], sight: str) -> FloatArray:
    """Colours in OKLab, where distances approximate perceived differences."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(SIGHTS[sight]).T, 0, 1)
    cones = np.cbrt(
        linear @ [[0.4122, 0.2119, 0.0883], [0.5363, 0.6807, 0.2817], [0.0514, 0.1074, 0.6300]]
    )
    found: FloatArray = cones @ [
        [0.2105, 1.9780, 0.0259], [0.7936, -2.4286, 0.7828], [-0.0041, 0.4506, -0.8087],
    ]  # fmt: skip
    return found


def test_a_colour_is_a_function_of_the_identity() -> None:
    assert len(set(PALETTE)) == len(PALETTE) >= 20
    assert [colour(id) for id in range(len(PALETTE))] == list(PALETTE)
    assert colour(len(PALETTE)) == colour(0)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(("among", "apart"), [(6, 0.07), (24, 0.03)])
def test_colours_are_apart_for_every_sight(sight: str, among: int, apart: float) -> None:
    found = seen(PALETTE[:among], sight)
    distances = np.linalg.norm(found[:, None] - found, axis=2) + np.eye(among)
    assert distances.min() > apart


@pytest.mark.parametrize("theme", THEMES)
def test_colours_and_text_stand_out_from_the_page(theme: str) -> None:
    of = THEMES[theme]
    for own in PALETTE:
        assert contrast(own, of["card"]) >= 3
        assert contrast(ink_on(own), own) >= 4.5
    for words in ("ink", "soft", "accent", "warn"):
        for ground in ("card", "page", "faint"):
            assert contrast(of[words], of[ground]) >= 4.5, (words, ground)
    for ground in ("low", "middle", "high"):
        assert contrast(of["ink"], of[ground]) >= 4.5, ground


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
