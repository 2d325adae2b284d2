"""Do in one process, for all stages, the steps of ``dvc repro`` before and after a stage's program.

The order is that of DVC's ``Stage.reproduce``, ``Stage.run`` and ``run_stage``; the caller runs the program. DVC hashes
a stage's dependencies after its program; this module compares their hashes before and after it.
"""

import errno
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.output import Output
from dvc.stage import PipelineStage
from dvc.stage.cache import RunCacheNotFoundError
from dvc_data.hashfile.hash_info import HashInfo

from flows import cache, provenance
from flows.graph import Graph
from flows.lockfiles import drop_entry, write_entry
from flows.runner import OutOfTime

logging.getLogger("dvc").setLevel(logging.WARNING)  # else it announces each entry of dvc.lock, and how to add it to git
logging.getLogger("dvc.rwlock").setLevel(logging.ERROR)  # else it warns where it removes the lock of a killed flow
for name in ("dvc", "dvc_objects", "dvc_data"):
    logging.getLogger(name).handlers.clear()  # importing DVC lets it print; its words go to the log file of a run
Run = Callable[[PipelineStage], int]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a stage: its program ran for so many seconds, its results were restored, or it failed."""

    name: str
    seconds: float | None = None
    failure: str = ""

    def __str__(self) -> str:
        """The outcome in words."""
        if self.failure:
            return f"{self.name} failed: {self.failure}"
        return f"{self.name} restored" if self.seconds is None else f"{self.name} done in {duration(self.seconds)}"


def duration(seconds: float) -> str:
    """``0.4 s``, ``18 s``, ``6 min`` or ``2.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def in_run_cache(stage: PipelineStage) -> bool:
    """Whether DVC's run-cache keeps the results of this stage. It keeps no pages, because git does."""
    return all(out.use_cache for out in stage.outs if not (out.is_metric or out.is_plot))


class Recorder:
    """Brings stages up to date. ``recorded`` holds the names of those that are.

    With ``push`` their results go to DVC's remote. With ``remote`` the programs run in other clones, and their results
    come from DVC's remote. ``inputs`` are the hashes, by path, of the stages' inputs from other stages, which come from
    the remote too.
    """

    def __init__(
        self, graph: Graph, force: bool, pull: bool, push: bool = False, remote: bool = False,
        inputs: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self.graph, self.repo, self.force, self.pull = graph, graph.repo, force, pull
        self.push, self.remote, self.inputs = push, remote, inputs or {}
        self.recorded: set[str] = set()
        self.shared: set[str] = set()  # stages whose results are in DVC's remote
        if pull:
            with graph.locked():
                cache.mend(self.repo, recheck=False)  # DVC would check out a damaged object and never fetch it again
                self.repo.stage_cache.pull(None)

    def reproduce(self, names: Iterable[str], run: Run, tell: Callable[[Outcome], None]) -> None:
        """Bring these stages up to date, one after the other. ``tell`` receives the outcome of each.

        ``run`` runs the program of a stage and returns its exit status, or raises OutOfTime.
        """
        for name in names:
            try:
                tell(self._reproduce(self.graph.stages[name], run))
            except DvcException as error:
                tell(Outcome(name, failure=_one_line(error)))
            except InterruptedError:  # an OSError too; it ends the run
                raise
            except OSError as error:
                full = "the disk is full; free some space, type `python -m flows.cache`, and run again"
                is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                tell(Outcome(name, failure=full if is_full else str(error)))
            except Exception as error:  # of the library of a remote or of a server, which has errors of its own
                logging.getLogger(__name__).exception("%s failed", name)
                tell(Outcome(name, failure=_one_line(error) or type(error).__name__))

    def share_inputs(self, names: Iterable[str]) -> dict[str, str]:
        """Push the stages' inputs from other stages. Return their hashes by path."""
        inputs: dict[str, str] = {}
        with self.graph.locked():
            for name in sorted(set().union(*(self.graph.needs[name] for name in names))):
                stage = self.graph.stages[name]
                if name not in self.shared:
                    self._push(stage)
                inputs.update({self._path(out): str(out.hash_info.value) for out in stage.outs if out.use_cache})
        return inputs

    def _push(self, stage: PipelineStage) -> None:
        """Push the results of a stage to DVC's remote."""
        for objects in stage.get_used_objs().values():
            if self.repo.cloud.push(objects).failed:
                raise DvcException(f"{stage.name} has results that DVC's remote did not take, or its cache lacks")
        self.shared.add(stage.name)

    def _fetch_inputs(self, stage: PipelineStage) -> None:
        """Fetch a stage's inputs from other stages from DVC's remote."""
        for name in sorted(self.graph.needs[stage.name]):
            for out in self.graph.stages[name].outs:
                if (digest := self.inputs.get(self._path(out))) is None:
                    continue
                out.hash_info = HashInfo("md5", digest)
                try:
                    for objects in out.get_used_objs().values():
                        self.repo.cloud.pull(objects)
                    out.checkout(force=True)
                except DvcException as error:
                    raise DvcException(f"its input {self._path(out)} of {name} is not in DVC's remote") from error

    def _path(self, out: Output) -> str:
        return Path(out.fs_path).relative_to(self.graph.root).as_posix()

    def _reproduce(self, stage: PipelineStage, run: Run) -> Outcome:
        """Bring a stage up to date and return its outcome."""
        with self.graph.locked(), self.repo.scm_context(quiet=True):
            self._fetch_inputs(stage)
            with self.graph.reserved(stage):
                pass  # if another process uses its files, this fails before anything is removed
            stage.remove_outs(ignore_remove=False, force=False)
            restored, started = self._restore(stage), time.monotonic()
            computed_here = not restored
            before = {dep.def_path: dep.hash_info for dep in stage.deps}
            if not restored:
                try:
                    with self.graph.reserved(stage), self.graph.unlocked():
                        status = run(stage)
                except OutOfTime as error:
                    return Outcome(stage.name, failure=str(error))
                on_node = self.remote and in_run_cache(stage)
                if status and not on_node:
                    return Outcome(stage.name, failure=f"its program ended with status {status}")
                if on_node:
                    self.repo.stage_cache.pull(None)
                    if (status and self.force) or not self._restore(stage, force=False):
                        missing = "DVC's remote has no result of it for this code, data and settings"
                        return Outcome(stage.name, failure="it failed on a node" if status else missing)
                    self.shared.add(stage.name)
                    computed_here = False
            seconds = time.monotonic() - started
            stage.save(run_cache=False)
            if changed := [dep.def_path for dep in stage.deps if dep.hash_info != before[dep.def_path]]:
                drop_entry(stage)
                for item in (*stage.deps, *stage.outs):  # forget the hashes that this process has read
                    item.hash_info = HashInfo()
                return Outcome(stage.name, failure=f"{', '.join(changed)} changed while it ran; run it again")
            if in_run_cache(stage):
                self.repo.stage_cache.save(stage)
            stage.commit()
            if in_run_cache(stage):
                (provenance.store if computed_here else provenance.restore)(self.graph, stage)
            if self.push and in_run_cache(stage):
                self._push(stage)
                self.repo.stage_cache.push(None)  # last, so that its entries name what is there
            write_entry(stage)
            self.recorded.add(stage.name)
            return Outcome(stage.name, None if restored else seconds)

    def _restore(self, stage: PipelineStage, force: bool | None = None) -> bool:
        """Restore the results from DVC's cache; return whether it had them. ``stage.deps`` then hold present hashes.

        Without them this forgets the outputs' hashes of dvc.lock. With those DVC would think the stage unchanged as
        soon as its dependencies have their present hashes, and would record a second try, or a node's result, with the
        outputs of older settings.
        """
        if not (self.force if force is None else force):
            for _ in range(2):
                try:
                    self.repo.stage_cache.restore(stage, pull=self.pull)
                    return True
                except RunCacheNotFoundError:
                    # the outputs of dvc.lock may be another machine's: without them DVC looks into the run-cache
                    self._forget_outputs(stage)
        stage.save_deps()
        self._forget_outputs(stage)
        return False

    def _forget_outputs(self, stage: PipelineStage) -> None:
        for out in stage.outs:
            out.hash_info = HashInfo()


def _one_line(error: BaseException) -> str:
    """An error and its causes, in one line."""
    parts = [str(error)]
    while (error := error.__cause__) is not None:  # type: ignore[assignment]
        parts.append(str(error))
    return " ".join(": ".join(dict.fromkeys(filter(None, parts))).split())
