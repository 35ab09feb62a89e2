"""Export to the formats of other programs, with a check that the export computes the same."""
