"""What clients hold: their files, data frames, ids and columns, as arrays."""
