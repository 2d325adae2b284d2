"""The stages of one scale, read by DVC from the dvc.yaml files, and which of them DVC finds stale."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import networkx
from dvc.dependency import Dependency
from dvc.dvcfile import load_file
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.repo.index import Index
from dvc.rwlock import rwlock
from dvc.stage import PipelineStage

from flows import parameters
from flows.durations import SHORT_SECONDS, last_duration
from flows.lockfiles import mend_lock_file, remove_torn_process_list
from gramlab.arguments import did_you_mean

# files of a scale's stages that do not lie in its folder
BESIDE = {"quick": ["dvc.yaml"], "atlas": ["pipeline/quick/atlas/dvc.yaml"]}


class Refused(ValueError):
    """A mistake in the project's files or in the request, in one line."""


class Graph:
    """The stages of one scale.

    ``needs`` maps a stage's name to the names of the stages that it reads from.
    """

    def __init__(self, root: Path, scale: str):
        self.root, self.scale, self.thread = root, scale, threading.Lock()
        self.likely: dict[frozenset[str], set[str]] = {}
        scales = [path.name for path in sorted(root.glob("pipeline/*")) if any(path.rglob("dvc.yaml"))]
        if not scales:
            raise Refused(f"{root} is not the project's folder: it has no file pipeline/SCALE/dvc.yaml")
        if scale not in scales:
            raise Refused(f"unknown scale {scale!r}{did_you_mean(scale, scales)}; allowed: {', '.join(scales)}")
        try:
            # without waiting, DVC gives up on its lock after 3 s, and a running stage may hash for longer
            self.repo = Repo(str(root), _wait_for_lock=True)
            self.repo._lock_depth = 1  # else DVC's own functions would forget the stages at each call
            self.parameters: dict[str, Any] = parameters.load(str(root / "params.yaml"))
            parameters.check_shapes(self.parameters)
            parameters.check_keys(self.parameters)  # DVC puts them into the shell's commands as they are
            parameters.check_names(self.parameters, root / "tasks/papers")
            parameters.check_data(self.parameters)
            with self.locked():
                remove_torn_process_list(self.repo)
                files = sorted((root / "pipeline" / scale).rglob("dvc.yaml"))
                files += [root / file for file in BESIDE.get(scale, []) if (root / file).is_file()]
                for file in files:
                    mend_lock_file(file.with_suffix(".lock"))
                stages = [stage for file in files for stage in load_file(self.repo, str(file)).stages.values()]
                self.edges = networkx.relabel_nodes(
                    Index(self.repo, stages=stages).graph, {stage: stage.name for stage in stages}
                )
        except (DvcException, OSError, ValueError) as error:
            raise Refused(" ".join(f"{error} {error.__cause__ or ''}".split())) from error
        self.stages: dict[str, PipelineStage] = {stage.name: stage for stage in stages}
        self.needs = {name: set(self.edges.successors(name)) for name in self.stages}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold DVC's lock: no other thread or process uses DVC."""
        with self.thread, self.repo.lock:
            yield

    @contextmanager
    def unlocked(self) -> Iterator[None]:
        """Within `locked`: release DVC's lock for the length of the block."""
        self.repo.lock.unlock()
        self.thread.release()
        try:
            yield
        finally:
            self.thread.acquire()
            self.repo.lock.lock()

    @contextmanager
    def reserved(self, *stages: PipelineStage, write: bool = True) -> Iterator[None]:
        """Within `locked`: let DVC refuse other commands that would disturb these stages.

        DVC identifies the user of a file by its process and command, so each stage has a command of its own here.
        """
        deps = [dep.fs_path for stage in stages for dep in stage.deps]
        outs = [out.fs_path for stage in stages for out in stage.outs]
        paths = (deps, outs) if write else (list({*deps, *outs}), [])
        command = f"flows.reproduce {stages[0].name if stages else ''}"
        hardlink = self.repo.config["core"].get("hardlink_lock", False)
        with rwlock(self.repo.tmp_dir, self.repo.fs, command, *paths, hardlink):
            yield

    def select(self, targets: Iterable[str]) -> list[str]:
        """The stages that the targets name, and the stages that these need. Without a target, every stage.

        A target is a stage (``train@a_fig7``), a kind of stage (``train``), or the key of a claim, an experiment or a
        data set (``a_fig7``), which names all stages of this key. Stages that begin the chains that take longest come
        first.
        """
        words = {name: (name, *name.split("@")) for name in self.stages}
        wanted = set() if (targets := list(targets)) else set(self.stages)
        for target in targets:
            if not (named := {name for name in self.stages if target in words[name]}):
                kinds = ", ".join(dict.fromkeys(names[1] for names in words.values()))
                nearest = did_you_mean(target, sum(words.values(), ()))
                raise Refused(
                    f"unknown target {target!r}{nearest}; allowed: {kinds}, a key of params.yaml, or KIND@KEY"
                )
            wanted |= named.union(*(networkx.descendants(self.edges, name) for name in named))
        after = dict.fromkeys(wanted, 0.0)  # the seconds of the longest chain after a stage
        chain = {}  # the same with the stage itself
        for user in networkx.topological_sort(self.edges.subgraph(wanted)):
            chain[user] = after[user] + max(last_duration(self, user) or SHORT_SECONDS, SHORT_SECONDS)
            for name in self.needs[user]:
                after[name] = max(after[name], chain[user])
        return sorted(wanted, key=lambda name: (-chain[name], name))

    def stale(self, names: Iterable[str]) -> set[str]:
        """The stages among ``names`` that DVC would run.

        DVC's ``Stage.changed`` gives the same answer, but looks at a file once for each stage that depends on it and
        reserves the files of each stage three times.
        """
        stages = [self.stages[name] for name in names]
        statuses: dict[str, bool] = {}

        def changed(dep: Dependency) -> bool:
            key = str((dep.fs_path, dep.hash_info.value, getattr(dep, "params", None)))
            if key not in statuses:
                statuses[key] = bool(dep.status())
            return statuses[key]

        def stale(stage: PipelineStage) -> bool:
            return stage.changed_stage() or any(map(changed, stage.deps)) or any(out.status() for out in stage.outs)

        try:
            with self.locked(), self.reserved(*stages, write=False):
                return {stage.name for stage in stages if stale(stage)}
        # another process works on one of them, or a dependency cannot be read; the task of this stage reports it
        except (DvcException, OSError):
            return {stage.name for stage in stages}

    def likely_stale(self, names: Iterable[str]) -> set[str]:
        """The stages among ``names`` that are stale or need a stale stage; computed once for the same names."""
        chosen = frozenset(names)
        if chosen not in self.likely:
            stale, users = self.stale(chosen), self.edges.subgraph(chosen)
            self.likely[chosen] = stale.union(*(networkx.ancestors(users, name) for name in stale))
        return self.likely[chosen]

    def provenance(self, name: str) -> Path:
        """The file with the machine, the time and the code of a stage's last run."""
        return self.root / "data" / self.scale / "provenance" / f"{name.replace('simulate@', 'measure@')}.json"

    def on_gpu(self, name: str) -> bool:
        """Whether params.yaml has ``gpu: true`` for a stage."""
        values = [value for dep in self.stages[name].params for value in dep.read_params().values()]
        entries = [value for value in values if isinstance(value, dict)]
        # a quick stage depends on its whole entry, a stage of the paper scale on `paper` alone
        entries += [entry[scale] for entry in entries for scale in ("paper", "quick") if scale in entry]
        return any(entry.get("gpu") for entry in entries if isinstance(entry, dict))  # else the stage refuses its entry


load = cache(Graph)  # a project is read once


def commands(stage: PipelineStage) -> list[str]:
    """The commands of a stage."""
    return [stage.cmd] if isinstance(stage.cmd, str) else stage.cmd


def dvc_environment(stage: PipelineStage) -> dict[str, str]:
    """The variables that DVC sets for a stage's commands."""
    return {"DVC_ROOT": stage.repo.root_dir, "DVC_STAGE": stage.addressing}


def counts_in_words(ran: int, unchanged: int) -> str:
    """How many stages a run brought up to date, and how many already were."""
    stages, were = "stage" if ran == 1 else "stages", "was" if unchanged == 1 else "were"
    return f"{ran} {stages} brought up to date, {unchanged} already {were}"
