"""What tests of federations share."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..support.pretended import Pretended


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Pretended":
    """A server that runs studies over clients in this process."""
    from ..support.pretended import pretend  # needs fedclust[nvflare]

    return pretend(tmp_path, monkeypatch)
