"""What ``dvc repro`` does before and after the program of a stage, for all stages in one process.

The order is that of DVC's ``Stage.reproduce``, ``Stage.run`` and ``run_stage``; the caller runs the program. DVC hashes
what a stage depends on after its program; this compares the hashes from before and after it.
"""

import errno
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dvc.exceptions import DvcException
from dvc.stage import PipelineStage
from dvc.stage.cache import RunCacheNotFoundError
from dvc_data.hashfile.hash_info import HashInfo

from flows import cache, provenance
from flows.graph import Graph
from flows.lockfiles import drop_entry, write_entry

logging.getLogger("dvc").setLevel(logging.WARNING)  # else it announces each entry of dvc.lock, and how to add it to git
Run = Callable[[PipelineStage], int]


@dataclass(frozen=True)
class Outcome:
    """What became of a stage: its program ran for so many seconds, its results were restored, or it failed."""

    name: str
    seconds: float | None = None
    failure: str = ""

    def __str__(self) -> str:
        """In words."""
        if self.failure:
            return f"{self.name} failed: {self.failure}"
        return f"{self.name} restored" if self.seconds is None else f"{self.name} done in {duration(self.seconds)}"


def duration(seconds: float) -> str:
    """``0.4 s``, ``18 s``, ``6 min`` or ``2.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def in_run_cache(stage: PipelineStage) -> bool:
    """Whether DVC keeps the stage's results for the same code, data and settings; pages are git's."""
    return all(out.use_cache for out in stage.outs if not (out.is_metric or out.is_plot))


class Recorder:
    """Brings stages up to date. ``recorded`` holds the names of those that are.

    With ``push`` their results go to DVC's remote. With ``remote`` the programs run in other clones, and their results
    come from there.
    """

    def __init__(self, graph: Graph, force: bool, pull: bool, push: bool = False, remote: bool = False):
        self.graph, self.repo, self.force, self.pull = graph, graph.repo, force, pull
        self.push, self.remote = push, remote
        self.recorded: set[str] = set()
        if pull:
            with graph.locked():
                cache.mend(self.repo)  # a damaged object would be checked out, and never be fetched again
                self.repo.stage_cache.pull(None)

    def reproduce(self, names: Iterable[str], run: Run, tell: Callable[[Outcome], None]) -> None:
        """Bring these stages up to date, one after the other; ``tell`` gets what became of each.

        ``run`` runs the program of a stage and returns its exit status.
        """
        for name in names:
            try:
                tell(self._reproduce(self.graph.stages[name], run))
            except DvcException as error:
                tell(Outcome(name, failure=_words(error)))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                full = "the disk is full; free some space, type `python -m flows.cache`, and run again"
                tell(Outcome(name, failure=full))

    def _reproduce(self, stage: PipelineStage, run: Run) -> Outcome:
        """Bring a stage up to date; what became of it."""
        with self.graph.locked(), self.repo.scm_context(quiet=True):
            with self.graph.reserved(stage):
                pass  # refused before anything is removed where somebody else works on its files
            stage.remove_outs(ignore_remove=False, force=False)
            restored, started = self._restored(stage), time.monotonic()
            made_here = not restored
            before = {dep.def_path: dep.hash_info for dep in stage.deps}
            if not restored:
                with self.graph.reserved(stage), self.graph.unlocked():
                    status = run(stage)
                if status:
                    return Outcome(stage.name, failure=f"its program ended with status {status}")
                if self.remote and in_run_cache(stage):
                    self.repo.stage_cache.pull(None)
                    if not self._restored(stage, force=False):
                        return Outcome(stage.name, failure="DVC's remote has no result of it for this code and data")
                    made_here = False
            seconds = time.monotonic() - started
            stage.save(run_cache=False)
            if changed := [dep.def_path for dep in stage.deps if dep.hash_info != before[dep.def_path]]:
                drop_entry(stage)
                for item in (*stage.deps, *stage.outs):  # what this process knows of the stage ends too
                    item.hash_info = HashInfo()
                return Outcome(stage.name, failure=f"{', '.join(changed)} changed while it ran; run it again")
            if in_run_cache(stage):
                self.repo.stage_cache.save(stage)
            stage.commit()
            if in_run_cache(stage):
                (provenance.keep if made_here else provenance.take)(self.graph, stage)
            if self.push and in_run_cache(stage):
                for objects in stage.get_used_objs().values():
                    self.repo.cloud.push(objects)
                self.repo.stage_cache.push(None)  # last, so that its entries name what is there
            write_entry(stage)
            self.recorded.add(stage.name)
            return Outcome(stage.name, None if restored else seconds)

    def _restored(self, stage: PipelineStage, force: bool | None = None) -> bool:
        """Whether the results came from DVC's cache; ``stage.deps`` then hold the hashes of this moment."""
        if not (self.force if force is None else force):
            try:
                self.repo.stage_cache.restore(stage, pull=self.pull)
                return True
            except RunCacheNotFoundError:
                pass
        stage.save_deps()
        return False


def _words(error: BaseException) -> str:
    """An error and its causes, in one line."""
    parts = [str(error)]
    while (error := error.__cause__) is not None:  # type: ignore[assignment]
        parts.append(str(error))
    return " ".join(": ".join(dict.fromkeys(filter(None, parts))).split())
