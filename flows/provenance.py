"""Keep a copy of each result's provenance in DVC's run-cache, which clones push and pull.

No stage depends on provenance, so DVC does not keep it. Without the copy, a result from another clone or from the cache
would have no provenance, or that of another result.
"""

import hashlib
import json
import shutil
from pathlib import Path

from dvc.stage import PipelineStage
from dvc.stage.serialize import to_lockfile

from flows.graph import Graph
from gramlab.files import atomic


def store(graph: Graph, stage: PipelineStage) -> None:
    """Copy the provenance of a stage's run beside the run-cache's entry of its result."""
    record = graph.provenance(stage.name)
    if record.is_file():
        with atomic(_copy_path(graph, stage)) as temporary:
            shutil.copyfile(record, temporary)


def restore(graph: Graph, stage: PipelineStage) -> None:
    """Restore the provenance of the run that made a restored result, if there is a copy."""
    record, copy = graph.provenance(stage.name), _copy_path(graph, stage)
    if copy.is_file():
        with atomic(record) as temporary:
            shutil.copyfile(copy, temporary)


def _copy_path(graph: Graph, stage: PipelineStage) -> Path:
    """The path of the copy for this command, code, data, settings and results; DVC copies all files below ``runs``."""
    entry = json.dumps(to_lockfile(stage), sort_keys=True)
    name = hashlib.sha256(entry.encode()).hexdigest()
    return Path(graph.repo.cache.legacy.path, "runs", "provenance", f"{name}.json")
