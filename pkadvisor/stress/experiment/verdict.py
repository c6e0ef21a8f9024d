"""What a stress test says in the end: a sentence for each design, one for goals, one for predictions that failed."""

from __future__ import annotations

from math import sqrt

from pkadvisor.documents.part import word
from pkadvisor.documents.stress import StressDesign, StressTableGoal, StressVerdict, StressVerdictDesign
from pkadvisor.documents.stress_run import StressClass, StressPrediction, StressRun, StressWay
from pkadvisor.numbers import TIMED_OUT_MS, lasting, milliseconds, percent, plural, ratio
from pkadvisor.report.stress_words import KEEP_CURRENT, counted
from pkadvisor.stress.experiment.pass_criteria import LOST_SHARE, Level, level_of, lost_most
from pkadvisor.stress.experiment.runs import COLD

CHANCE = 3
"""Standard deviations of a difference of two counts that chance explains."""
NAMED = 2
"""Queries that a sentence names at most."""
BOUNDS = {
    "partition": "the target of one partition",
    "range": "the target of one range of keys",
    "server": "the capacity of one server",
    "account": "the target of the account",
    "bandwidth": "the bandwidth of one range",
    "queue": "the queue of one server",
}
STYLES = {Level.BEARS: "good", Level.BURSTS: "warn", Level.UNTESTED: "warn", Level.FAILS: "bad"}


def verdict_of(designs: list[StressDesign], goals: list[StressTableGoal]) -> StressVerdict:
    """A sentence for each design, then keys that serve less and predictions that failed, then the rest.

    ``style``: good where the proposed design bears the load and its goals, warn where only with bursts, or where a
    prediction of it did not hold.
    """
    if not designs:
        return StressVerdict(
            sentences=[],
            style="warn",
            level=None,
            bears=None,
            new_table_bears=None,
            keep_current=False,
            failed_predictions=0,
            designs=[],
        )
    verdicts = [_of_design(design, goals) for design in designs]
    sentences = [each.sentence for each in verdicts]
    proposed, level = designs[-1], Level(verdicts[-1].level)
    keep = _keep(designs)
    if keep:
        sentences.append(keep)
    failed = failed_predictions(proposed.prediction)
    if failed:
        more = f"; {len(failed) - 1} more" if failed[1:] else ""
        sentences.append(f"analyze predicts otherwise for {proposed.label}: {failed[0]}{more}")
    missed = [g for g in goals for mark in g.designs if mark.label == proposed.label and not mark.met]
    if missed:
        more = f" and {plural(len(missed) - 1, 'more goal')}" if missed[1:] else ""
        sentences.append(f"{proposed.label} misses the goal {_goal(missed[0])}{more}")
    others = (_other_hottest(d, Level(each.measured_level)) for d, each in zip(designs, verdicts, strict=True))
    sentences += [other for other in others if other]
    style = "bad" if missed or keep else STYLES[level]
    return StressVerdict(
        sentences=sentences,
        style=word("warn" if failed and style == "good" else style),
        level=word(level),
        bears=None if level is Level.UNTESTED else level is not Level.FAILS,
        new_table_bears=None if level is Level.UNTESTED else verdicts[-1].new_table_level != "fails",
        keep_current=bool(keep),
        failed_predictions=len(failed),
        designs=verdicts,
    )


def _lost_more(designs: list[StressDesign]) -> tuple[StressRun | StressWay, StressRun | StressWay, str] | None:
    """The runs (of the design in use, of the proposed one) in which the proposed one loses more requests: by more than
    ``LOST_SHARE`` of them and by more than chance; and where, if not in the run of the whole load, warmed up.

    Keys in use that the analysis refuses are no alternative. Where the engine ran a part of a table, each design had
    requests of its own, which are not compared.
    """
    if len(designs) < 2 or designs[0].refused:
        return None
    first, last = designs[0], designs[-1]
    pairs: list[tuple[StressRun | StressWay, StressRun | StressWay, str]] = [(first.runs[0], last.runs[0], "")]
    audits = first.prediction.audit, last.prediction.audit
    if audits[0] and audits[1] and all(audit and audit.rows == audit.table_rows for audit in audits):
        pairs.append((audits[0].engine, audits[1].engine, " in the embedded engine"))
    for current, proposed, where in pairs:
        more = proposed.lost - current.lost
        beyond_chance = more > CHANCE * sqrt(proposed.lost + current.lost)
        if proposed.lost_share - current.lost_share > LOST_SHARE and beyond_chance:
            return current, proposed, where
    return None


def _keep(designs: list[StressDesign]) -> str:
    """Why the keys are not to be changed; empty where nothing speaks against it."""
    losses = _lost_more(designs)
    if losses is None:
        return ""
    before, after, where = losses
    return (
        f"{KEEP_CURRENT}:{where} {designs[-1].label} loses {percent(after.lost_share)} of the requests, "
        f"{designs[0].label} {percent(before.lost_share)}"
    )


def failed_predictions(prediction: StressPrediction) -> list[str]:
    """What was predicted and came otherwise, in words: counts, loads, break factors, answers."""
    failed = [
        f"{counted(measure.name)} of {entry.name}"
        for entry in prediction.classes
        for measure in entry.measures
        if not measure.agrees
    ]
    failed += [measure.name for measure in prediction.load if measure.agrees is False]
    failed += [f"the break factor ({proof.cause})" for proof in prediction.breaks if proof.holds is False]
    if prediction.audit is not None and prediction.audit.violations:
        failed.append("answers of the embedded engine")
    return failed


def _goal(goal: StressTableGoal) -> str:
    return f"{goal.name} of {goal.query}" if goal.query else goal.name


def _of_design(design: StressDesign, goals: list[StressTableGoal]) -> StressVerdictDesign:
    """The levels of a design, warmed up and as a new table, and its sentence; a design that the analysis refuses fails
    whatever was measured."""
    slow = [
        goal
        for goal in goals
        for mark in goal.designs
        if goal.unit == "ms" and mark.label == design.label and not mark.met
    ]
    warm, cold = design.runs[0], _cold(design)
    level = level_of(warm, not slow)
    new = level if cold is warm else level_of(cold)
    sentence = _sentence(design, level, new, slow)
    untested = design.untested
    if untested and level is not Level.FAILS:
        sentence = f"no verdict on {design.label}: {untested}; but for that {sentence}"
        level, new = Level.UNTESTED, new if new is Level.FAILS else Level.UNTESTED
    refused = design.refused
    if refused and (level is not Level.FAILS or _conflicting(warm)):
        more = f" and {plural(len(refused) - 1, 'more constraint')}" if refused[1:] else ""
        sentence = f"{design.label} is refused by 'advisor analyze': {refused[0].message}{more}; in this run {sentence}"
    return StressVerdictDesign(
        label=design.label,
        level=word(Level.FAILS if refused else level),
        measured_level=word(level),
        new_table_level=word(Level.FAILS if refused else new),
        sentence=sentence,
    )


def _sentence(design: StressDesign, level: Level, new: Level, slow: list[StressTableGoal]) -> str:
    label, warm, cold = design.label, design.runs[0], _cold(design)
    hot = warm.hottest
    if level is Level.BEARS:
        text = f"{label} sustains the load"
        if hot:
            text += f": its hottest partition is at {ratio(hot.times_target)} its target"
    elif level is Level.BURSTS:
        text = f"{label} sustains the load, with bursts throttled and retried: {_bursts(warm)}"
    else:
        text = f"{label} does not sustain the load: {_throttled(warm)}, {percent(warm.lost_share)} of the requests lost"
        lost = lost_most(warm)
        if lost is not None and lost.lost_share > 2 * warm.lost_share:
            text += f", {percent(lost.lost_share)} of {lost.name}"
        if warm.timed_out:
            text += f", {plural(warm.timed_out, 'attempt')} timed out"
        if slow and level_of(warm) is Level.BURSTS:
            text += f", and the goal {_goal(slow[0])} is missed"
        if hot:
            text += f"; with retries the hottest partition, {hot.partition_key}, is at {ratio(hot.times_target)}"
            text += " its target"
    in_use = label.startswith("current")  # no new table of these keys comes
    if cold is not warm and new is Level.FAILS and level is not Level.FAILS and not in_use:
        text += f"; as a new table it loses {percent(cold.lost_share)} of the requests{_quiet_from(cold)}"
    return text


def _other_hottest(design: StressDesign, level: Level) -> str:
    """Why the hottest partition that a sentence names is not the one that was foreseen; empty where it is."""
    measured, foreseen = design.runs[0].hottest, design.scheme.hot_partition
    if level is not Level.FAILS or not measured or not foreseen:
        return ""
    if measured.partition_key == foreseen.partition_key:
        return ""
    return (
        f"{design.label}: 'advisor analyze' predicts {foreseen.partition_key} as the hottest partition of the "
        f"worst minute; in this run it is {measured.partition_key}, because the run counts retries and leaves out "
        "the pages of requests that were given up"
    )


def _throttled(run: StressRun) -> str:
    """How much was turned away, and by what."""
    by = run.throttled_by
    if _conflicting(run):
        return f"{plural(run.conflicts, 'write')} answered 412, because the entity had changed since it was read"
    if not by:
        return f"{percent(run.throttled_share)} of attempts throttled"
    most = max(by, key=lambda name: (by[name], name))
    word = "" if by[most] == run.throttled else "mostly "
    return f"{percent(run.throttled_share)} of attempts throttled, {word}by {BOUNDS[most]}"


def _conflicting(run: StressRun) -> bool:
    """Whether more attempts are answered 412 than 503: no target is in the way, but the entity."""
    return run.conflicts > run.throttled


def _bursts(run: StressRun) -> str:
    """Who was turned away, how much, in which seconds, and how long that takes."""
    hit = sorted((entry for entry in run.classes if entry.throttled), key=lambda entry: -entry.throttled_share)
    seconds, longest = run.throttling.seconds, run.throttling.longest_s
    text = f"{_throttled(run)}, in {seconds} of {run.duration_s:g} s"
    if seconds > 1:
        text += ", each alone" if longest == 1 else f", at most {longest} s at a time"
    named = [f"{entry.name} {percent(entry.throttled_share)}{_slow(entry)}" for entry in hit[:NAMED]]
    more = f" and {len(hit) - NAMED} more" if hit[NAMED:] else ""
    return f"{text}; {', '.join(named)}{more}"


def _slow(entry: StressClass) -> str:
    """The p99 of a query; one beyond a minute is no time of an answer, so it is said what takes that long."""
    late = entry.latency_ms_p99
    if late is None:
        return ""
    return f" (p99 {milliseconds(late)}{': requests queue or are retried that long' if late > TIMED_OUT_MS else ''})"


def _cold(design: StressDesign) -> StressRun:
    """The run as a new table; the warmed-up one where it has not come to that."""
    return next((run for run in design.runs if run.state == COLD), design.runs[0])


def _quiet_from(run: StressRun) -> str:
    """What ended the throttling of a cold start, and when; nothing is said where nothing was split."""
    if not any(event.kind == "split" for event in run.events):
        return ", because nothing is split within this run"
    line = run.timeline
    last = max((i for i, value in enumerate(line.throttled_per_s) if value), default=-1)
    if last + 1 >= len(line.throttled_per_s) or (last + 1) * line.step_s >= run.duration_s:
        return ", to the end of this run"
    return f" until it has been split, after {lasting((last + 1) * line.step_s)}"
