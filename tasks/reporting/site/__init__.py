"""The site in ``reports/``: what its pages hold, and how they are written."""
