"""The report: what it shows and how."""
