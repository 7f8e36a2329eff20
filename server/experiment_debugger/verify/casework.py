"""From a run, its smoke tests, its commits and the boards to one case, with the sanity check computed anew.

The report, the hand-offs and the status all speak about this one value; nothing of it is believed because an earlier
report said so, except what people have told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.case import Case, Changed, Changes, Fix, SmokeTest, Told
from experiment_debugger.compare.settings_changed import ExperimentChanges, experiment_changes
from experiment_debugger.context import gather
from experiment_debugger.diagnose import Examination, risk_fingerprints
from experiment_debugger.errors import DebuggerError
from experiment_debugger.run import Run
from experiment_debugger.smoke.command import command_of
from experiment_debugger.verify.earlier import tests_of
from experiment_debugger.verify.fix import fix_of, is_code_or_config
from experiment_debugger.verify.job_at import commands_of, texts_of
from experiment_debugger.verify.sanity import sanity_check, status_of
from experiment_debugger.writeback.boards import HANDOFFS, RISKS, BoardRow
from experiment_debugger.writeback.fingerprints import fingerprint_in
from experiment_debugger.writeback.recording import read_rows
from experiment_debugger.writeback.reports import file_name


def case_of(done: Examination, told: Told, pictures: tuple[str, ...] = ()) -> Case:
    """The case of an examined run; asks git and reads the boards and the records of smoke tests, writes nothing."""
    run, root = done.evidence.run, done.evidence.run.project.root
    context = gather(done.evidence, done.diagnosis)
    tested = tests_of(root, run.id)
    base = _failing_commit(run, context.commit_of_run, tested)
    fix = fix_of(root, told.fix_commit, base, tested, _configs(run))
    told = _still_about(root, told, fix)
    case = Case(
        run_id=run.id,
        context=context,
        diagnosis=done.diagnosis,
        told=told,
        tested=tested,
        fix=fix,
        changes=_changes(run, Case(run_id=run.id, context=context, diagnosis=done.diagnosis, fix=fix)),
        pictures=pictures,
    )
    case = _with_boards(done, case)
    case = case.model_copy(update={"sanity_check": sanity_check(root, case)})
    return case.model_copy(update={"status": status_of(case)})


def _still_about(root: Path, told: Told, fix: Fix | None) -> Told:
    """What was told, without what argued about another fix: that was said of other changes."""
    if fix is None:
        return told
    before, now = told.told_for, fix.corrected
    if before is not None and before != now:
        try:
            between = git.paths(root, "diff", "--name-only", "--no-renames", "-z", before, now)
        except DebuggerError:
            between = [before]
        if any(is_code_or_config(path) for path in between):
            reasons = {name: text for name, text in told.reasons.items() if name == "risk-recorded"}
            told = told.model_copy(update={"why_unchanged": None, "reasons": reasons})
    return told.model_copy(update={"told_for": now})


def _with_boards(done: Examination, case: Case) -> Case:
    """The case with what the boards say about it; a damaged board is no reason to write no report."""
    try:
        risks = _risks_about(done, case.fix)
        handoffs = tuple(
            row.id for row in read_rows(done.evidence.run.project, HANDOFFS) if is_from_us(row, case.run_id)
        )
    except DebuggerError as problem:
        return case.model_copy(update={"board_problem": str(problem)})
    return case.model_copy(update={"risks": risks, "handoffs": handoffs})


def told_commit(run: Run, name: str | None) -> str | None:
    """The full sha of a fix commit as somebody named it; `DebuggerError` where there is no such commit."""
    if name is None:
        return None
    if not git.has_repository(run.project.root):
        raise DebuggerError(
            f"expected a git repository in {run.project.root} for the fix commit {name[:80]!r}; found none; leave it "
            "out and give a reason for the check fix-committed"
        )
    return git.resolved_commit(run.project.root, name)


def is_from_us(row: BoardRow, run_id: str) -> bool:
    """Whether a hand-off is one that this tool has made for the run."""
    made = row.values.get("Producer", "").strip() == "experiment-debugger"
    return made and f"/{file_name(run_id)}-to-" in row.values.get("Source paths", "")


def _failing_commit(run: Run, recorded: object, tested: Iterable[SmokeTest]) -> str | None:
    """The commit of the failing run: one at which it was seen to fail here, else the one that was recorded."""
    root, value = run.project.root, getattr(recorded, "value", None)
    if not git.has_repository(root):
        return None
    seen = (git.commit_named(root, one.commit) for one in tested if one.proves == "the failure" and one.commit)
    return next(filter(None, seen), None) or (git.commit_named(root, str(value)) if value is not None else None)


def _changes(run: Run, case: Case) -> Changes | None:
    fix = case.fix
    if fix is None or fix.base is None or fix.base == fix.commit:
        return None
    configs = _configs(run)
    after = fix.corrected
    commands = commands_of(run, case.context, fix.base, after)
    try:
        found = _compared(run, fix.base, after, configs, commands)
    except DebuggerError:  # a shallow clone, or objects that are not here
        return None
    settings = (
        Changed(key=one.key, path=one.path, group=one.group, before=one.before, after=one.after)
        for one in found.settings
        if not _is_command(run, one.path, one.key)
    )
    return Changes(
        settings=tuple(settings),
        configs=found.configs,
        other_configs=found.other_configs,
        code=found.code,
        other_files=found.other_files,
        unread=found.unread,
    )


def _compared(
    run: Run, before: str, after: str, configs: tuple[str, ...], commands: tuple[str | None, str | None]
) -> ExperimentChanges:
    texts = [*texts_of(run, before, commands[0], configs), *texts_of(run, after, commands[1], configs)]
    return experiment_changes(run.project.root, before, after, configs=configs, texts=texts, commands=commands)


def _is_command(run: Run, path: str, key: str) -> bool:
    """Whether a key of a job file is its command, which is compared word by word."""
    jobs = {job.name for job in run.of_kind("job")}
    return path in jobs and key.rpartition(".")[2] in {"command", "cmd", "entrypoint", "commit"}


def _configs(run: Run) -> tuple[str, ...]:
    """The configs and job files of the run below the project."""
    try:
        named = command_of(run).files
    except DebuggerError:  # no job file: then only what discovery knows
        named = ()
    artifacts = [artifact.name for artifact in run.of_kind("config", "job")]
    every = dict.fromkeys([*named, *run.declared.configs, *artifacts])
    return tuple(name for name in every if not os.path.isabs(name) and not name.startswith("~"))


def _risks_about(done: Examination, fix: Fix | None) -> tuple[str, ...]:
    """Risks about this failure, by fingerprint or because they name run, fix or cause; closed ones are none."""
    prints = set(risk_fingerprints(done))
    first = done.diagnosis.modes[0] if done.diagnosis.modes else None
    names = [rf"(?:run|rerun|Run)[ _:#-]*{re.escape(done.evidence.run.id)}", first.cause if first else None]
    names += [fix.commit[:7] + r"[0-9a-f]*"] if fix else []
    about = re.compile("|".join(rf"(?<![\w-]){name}(?![\w-])" for name in names if name))
    rows = read_rows(done.evidence.run.project, RISKS)
    return tuple(
        row.id
        for row in rows
        if row.values.get("Status", "").strip("*`_ ").casefold() != "closed"
        and (fingerprint_in(row.values.get("Summary", "")) in prints or about.search(" ".join(row.values.values())))
    )
