"""What every tier has to say where columns are split between clients."""

TRUST = (
    "The server must be trusted with geometry (a semi-trusted server): it sees the summed "
    "distances of all records to all centres, and whoever keeps those of a few rounds can rebuild "
    "the records up to a rotation and a shift. It is not told values or ids, nor names that a "
    "study does not list. With fuzzy c-means memberships tell the owners much of the same about "
    "each other's columns."
)
