"""Everything that runs beside the rows: files, preflight, consent, policy, labels, disclosures."""
