"""Try every statistical rule on simulated seeds: ``python -m tasks.calibrate`` writes reports/calibration.json."""

import argparse
import hashlib

from tasks import stage as stages
from tasks.judging.calibration import table

RESULT = stages.ROOT / "reports" / "calibration.json"
# modules of tasks/judging
CODE = ("calibration", "calibration_of_means", "monte_carlo", "power", "rules", "statistics")


def code_hash() -> str:
    """The hash of the rules' code. A test compares it with the hash in the committed result."""
    paths = [stages.ROOT / "tasks" / "judging" / f"{name}.py" for name in CODE]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def main() -> None:
    """Write the shares of wrong findings and the power of each rule."""
    argparse.ArgumentParser(prog="python -m tasks.calibrate", description=__doc__).parse_args()
    stages.write_json(RESULT, {"code": code_hash(), "rules": table()})


if __name__ == "__main__":
    main()
