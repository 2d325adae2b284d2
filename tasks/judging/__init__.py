"""Judging: rules, statistics, what makes findings a verdict, and Holm's correction."""
