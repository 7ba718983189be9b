"""What every tier has to say where columns are split between clients."""

# Every participant must know this; it is shown in the docs, the result and the console.
TRUST = (
    "The server must be trusted with geometry (a semi-trusted server): it sees the summed "
    "distances of all records to all centres. From the distances of a few rounds it can "
    "reconstruct the records up to a rotation and a shift. It does not receive values or ids, nor "
    "names that the study does not list. With fuzzy c-means, memberships reveal much of the same "
    "to the owners about each other's columns."
)
