"""Results of a run: the classes that write its files and read them back."""

from .choice import ChoiceRecord, ScoreRecord
from .codec import build, to_json
from .files import parse_json, read_lines, read_record, read_text, write_lines, write_record
from .profile import (
    ClientRecord,
    ClusterMap,
    ClusterProfile,
    Coverage,
    Ellipse,
    EstimatedBounds,
    FeatureProfile,
    MapAxis,
    MapGrid,
    MissingCells,
    PhaseRecord,
    QualityRecord,
    RunProfile,
    Withheld,
)
from .run import PrivacyRecord, RoundRecord, RunDescription

__all__ = [
    "ChoiceRecord",
    "ClientRecord",
    "ClusterMap",
    "ClusterProfile",
    "EstimatedBounds",
    "Coverage",
    "Ellipse",
    "FeatureProfile",
    "MapAxis",
    "MapGrid",
    "MissingCells",
    "PhaseRecord",
    "PrivacyRecord",
    "QualityRecord",
    "RoundRecord",
    "RunDescription",
    "RunProfile",
    "ScoreRecord",
    "Withheld",
    "build",
    "parse_json",
    "read_lines",
    "read_record",
    "read_text",
    "to_json",
    "write_lines",
    "write_record",
]
