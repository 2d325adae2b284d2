"""What ``dvc repro`` does before and after the program of a stage, for all stages in one process.

The order is that of DVC's ``Stage.reproduce``, ``Stage.run`` and ``run_stage``; the caller runs the program.
"""

import logging
import time
from collections.abc import Callable, Iterable

from dvc.exceptions import DvcException
from dvc.stage import PipelineStage
from dvc.stage.cache import RunCacheNotFoundError

from flows.graph import Graph
from flows.lockfiles import write_entry

logging.getLogger("dvc").setLevel(logging.WARNING)  # else it announces each entry of dvc.lock, and how to add it to git
Run = Callable[[PipelineStage], int]
Say = Callable[[str], None]


class Recorder:
    """Brings stages up to date. ``recorded`` holds the names of those that are."""

    def __init__(self, graph: Graph, force: bool, pull: bool):
        self.graph, self.repo, self.force, self.pull = graph, graph.repo, force, pull
        self.recorded: set[str] = set()
        if pull:
            with graph.locked():
                self.repo.stage_cache.pull(None)

    def reproduce(self, names: Iterable[str], run: Run, say: Say) -> None:
        """Bring these stages up to date, one after the other; ``say`` gets a line on each.

        ``run`` runs the program of a stage and returns its exit status.
        """
        for name in names:
            try:
                say(f"{name}: {self._reproduce(self.graph.stages[name], run)}")
            except DvcException as error:
                say(f"{name}: failed: {error}")

    def _reproduce(self, stage: PipelineStage, run: Run) -> str:
        """Bring a stage up to date; what became of it, in words."""
        with self.graph.locked(), self.repo.scm_context(quiet=True):
            with self.graph.reserved(stage):
                pass  # refused before anything is removed where somebody else works on its files
            stage.remove_outs(ignore_remove=False, force=False)
            restored, started = self._restored(stage), time.monotonic()
            if not restored:
                with self.graph.reserved(stage), self.graph.unlocked():
                    status = run(stage)
                if status:
                    return f"failed: its program ended with status {status}"
            seconds = time.monotonic() - started
            uncached = any(not out.use_cache for out in stage.outs if not (out.is_metric or out.is_plot))
            stage.save(run_cache=not uncached)
            stage.commit()
            write_entry(stage)
            self.recorded.add(stage.name)
            return "taken from DVC's cache" if restored else f"{seconds:.1f} s"

    def _restored(self, stage: PipelineStage) -> bool:
        """Whether the results came from DVC's cache: the stage has run before with the same dependencies."""
        if self.force:
            return False
        try:
            self.repo.stage_cache.restore(stage, pull=self.pull)
        except RunCacheNotFoundError:
            stage.save_deps()
            return False
        return True
