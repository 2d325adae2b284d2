"""One run: the stages that are stale, each as a Prefect task, as many at once as there are workers."""

import os
import queue
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass

from dvc.stage import PipelineStage
from prefect import get_client, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.concurrency.sync import concurrency
from prefect.states import Cancelled, Completed, Failed, State

from flows.artifacts import publish, verdicts
from flows.console import Progress, show
from flows.gpus import limit, visible_gpus
from flows.graph import Graph, commands, counts_in_words, dvc_environment
from flows.launch import Launch
from flows.nodes import Nodes
from flows.recorder import Outcome, Recorder, in_run_cache
from flows.runner import LIBRARIES, Runner
from flows.schedule import Batch, Schedule, kind

LAUNCHED = {"prepare", "train", "measure", "simulate", "cells"}  # kinds that --launch sends out; others take seconds
LAST_LINES = 3  # of a failed program's output, which its failure shows


@dataclass(frozen=True)
class Options:
    """How to run: the options of ``python -m flows.reproduce`` of the same names."""

    workers: int | None = None
    force: bool = False
    pull: bool = False
    push: bool = False
    keep_going: bool = True
    retries: int = 1
    hours: float | None = None
    launch: str | None = None
    nodes: str | None = None
    report: str | None = None

    def retries_of(self, kind: str) -> int:
        """How often a failed stage of this kind is tried again."""
        elsewhere = self.nodes or (self.launch and kind in LAUNCHED)
        return self.retries if elsewhere or kind == "train" else 0


@task(name="stages", task_run_name="{label}", cache_policy=NO_CACHE)
def bring_up_to_date(
    label: str, batch: Batch, recorder: Recorder, runner: Runner, launch: Launch | None, nodes: Nodes | None,
    options: Options, events: queue.SimpleQueue,
) -> State | None:  # fmt: skip
    """Bring the batch's stages up to date and put each outcome among the events. Their dependencies are up to date."""
    log = get_run_logger().info
    gpu = {} if batch.gpu is None else {"CUDA_VISIBLE_DEVICES": batch.gpu}
    last: deque[str] = deque(maxlen=LAST_LINES)
    failure_lines: list[str] = []
    node_status: dict[str, int] = {}  # exit status of a node's run of the batch, by stage

    def say(line: str) -> None:
        log(line)
        last.append(line)

    def hand_out(name: str, nodes: Nodes) -> int:
        # a forced stage goes alone, because an older result looks like the result of a failed stage
        if name not in node_status:
            left = [name] if options.force else [stage for stage in batch.names if stage not in recorder.recorded]
            inputs = recorder.share_inputs(left)
            status = nodes.hand_out(left, recorder.graph.scale, inputs, options.force, options.hours, say)
            node_status.update(dict.fromkeys(left, status))
        return node_status[name]

    def run(stage: PipelineStage) -> int:
        if nodes and in_run_cache(stage):
            status = hand_out(stage.name, nodes)
            failure_lines[:] = last if status else ()
            return status
        last.clear()
        environment = {**dvc_environment(stage), **gpu}
        environment |= {"GRAMLAB_LAUNCHED": "1"} if options.push else {}  # the provenance then names the node
        prefix = None
        if launch and kind(stage.name) in LAUNCHED:
            prefix, launch_environment = launch.begin(stage.name)
            environment |= launch_environment
        status = runner.run_all(commands(stage), environment, say, options.hours, prefix)
        failure_lines[:] = last if status else ()
        return status

    def tell(outcome: Outcome) -> None:
        log(str(outcome))
        is_last = outcome.name == batch.names[-1]
        events.put((outcome, tuple(failure_lines) if outcome.failure else (), is_last))
        failure_lines.clear()

    # if a client gives up on a busy server, its slot stays taken until the lease ends; Prefect's default is 300 s
    slot = nullcontext() if batch.gpu is None else concurrency(limit(batch.gpu), occupy=1, lease_duration=60)
    try:
        with slot:
            recorder.reproduce([name for name in batch.names if name not in recorder.recorded], run, tell)
    except InterruptedError:  # the flow has ended the program, because somebody has cancelled the flow
        message = f"{', '.join(sorted(set(batch.names) - recorder.recorded))} cancelled"
        log(message)
        return Cancelled(message=message)
    if failed := sorted(set(batch.names) - recorder.recorded):
        raise RuntimeError(f"{', '.join(failed)} failed; the log above says why")
    return None


def bring_all_up_to_date(graph: Graph, chosen: list[str], options: Options) -> State:
    """Bring these stages up to date. Return how the run went."""
    machine = graph.parameters.get("machine") or {}
    elsewhere = options.launch or options.nodes  # where the engine or the nodes have the GPUs
    gpus = [] if elsewhere else visible_gpus(machine.get("device", "auto"))
    nodes = Nodes(options.nodes, graph.root, lambda line: show(line, (), failed=True)) if options.nodes else None
    for gpu in gpus:
        with get_client(sync_client=True) as client:
            client.upsert_global_concurrency_limit_by_name(limit(gpu), 1)
    launch = Launch(options.launch, graph.root) if options.launch else None
    slots = options.workers or os.cpu_count() or 1
    before = verdicts(graph)
    schedule = Schedule(graph, chosen, slots, gpus, options.force, options.keep_going)
    events: queue.SimpleQueue = queue.SimpleQueue()  # outcomes of stages, and ends of batches
    needs_libraries = any(" -m tasks." in str(graph.stages[name].cmd) for name in chosen)
    runner = Runner(graph.root, machine.get("threads", 1), LIBRARIES if needs_libraries else ())
    recorder, running = Recorder(graph, options.force, options.pull, options.push, bool(options.nodes)), 0
    progress = Progress(graph, chosen, set(chosen) if options.force else graph.likely_stale(chosen), slots)

    def start(batch: Batch) -> None:
        name = kind(batch.names[0])
        call = bring_up_to_date.with_options(retries=options.retries_of(name), tags=[name])
        future = call.submit(batch.label, batch, recorder, runner, launch, nodes, options, events)
        future.add_done_callback(lambda future: events.put((batch, future)))

    try:
        while True:
            for batch in schedule.begin():
                start(batch)
                running += 1
            progress.up_to_date(schedule.done)
            if not running:
                break
            while isinstance((event := events.get())[0], Outcome):
                outcome, last_lines, is_last = event
                show(progress.ended(outcome, running - is_last), last_lines, bool(outcome.failure))
            batch, future = event
            running -= 1
            future.wait()  # without it the state is the server's, which may lag behind
            schedule.end(batch, recorder.recorded)
    finally:
        runner.close()
        if nodes:
            nodes.cancel()
    summary = counts_in_words(len(schedule.ran), len(schedule.done - schedule.ran))
    if schedule.failed:
        summary += f"; failed: {', '.join(sorted(schedule.failed))}"
    if schedule.waiting:
        why = "they need a failed stage" if options.keep_going else "a stage failed (--no-keep-going)"
        summary += f"; not run, because {why}: {', '.join(schedule.waiting)}"
    publish(graph, before, summary, options.report)
    get_run_logger().info(summary)
    return Failed(message=summary) if schedule.failed else Completed(message=summary)
