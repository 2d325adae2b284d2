"""The programs that ``benchmarks/compare.py`` times beside gramlab."""
