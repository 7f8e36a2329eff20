"""Every signature over its own examples and over all other signatures' examples."""

from __future__ import annotations

import time

import pytest

from experiment_debugger.rules.base import Signature
from experiment_debugger.rules.rulebook import RULES_DIR, effects, load_folder, load_rulebook, matching

SLOW_SECONDS = 0.02
"""Mean over the hostile lines; a quadratic regex takes a hundred times that."""
SIGNATURES = load_folder(RULES_DIR / "signatures", Signature, strict=True)
RULES = list(SIGNATURES.values())
FIRES = [(rule.id, text) for rule in RULES for text in rule.examples.fires]
SILENT = [(rule.id, text) for rule in RULES for text in rule.examples.silent]


@pytest.mark.parametrize(("rule", "text"), FIRES)
def test_an_example_fires_its_own_rule_and_no_other(rule: str, text: str) -> None:
    assert matching(RULES, text) == [rule]


@pytest.mark.parametrize(("rule", "text"), SILENT)
def test_a_silent_example_does_not_fire(rule: str, text: str) -> None:
    assert rule not in matching(RULES, text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_refers_only_to_what_exists(rule: Signature) -> None:
    assert set(rule.refines) <= set(SIGNATURES)
    assert rule.symptom_class in load_rulebook().symptoms


def test_the_graph_of_symptoms_has_no_cycle() -> None:
    symptoms = load_rulebook().symptoms
    for symptom in symptoms.values():
        assert all(symptoms[effect].rank > symptom.rank for effect in symptom.leads_to), symptom.id
        assert symptom.id not in effects(symptoms, symptom.id)


def test_causes_refer_only_to_rules_that_exist() -> None:
    book = load_rulebook()
    known = set(book.rule_ids())
    for cause in book.causes.values():
        named = {*cause.supported_by, *cause.requires, *cause.contradicted_by}
        assert named <= known, f"{cause.id}: {sorted(named - known)}"


def test_rule_cause_and_mode_ids_are_disjoint() -> None:
    book = load_rulebook()
    rules, causes, modes = set(book.rule_ids()), set(book.causes), set(book.modes)
    assert not rules & causes
    assert not rules & modes
    assert not causes & modes


def test_no_regex_is_slow_on_a_hostile_line() -> None:
    """A window holds 4,000 characters; each regex must get through any of these in a few milliseconds."""
    hostile = [
        (piece * 4000)[:4000]
        for piece in ("a", " ", "0", ".", "/", "=", "a ", "a=", "0.", "[", "('", "a:1 ", "\t", "-")
    ]
    slow = []
    for rule in RULES:
        lines = [line[:2000] + literal + line[:2000] for line in hostile for literal in rule.match.literals[:2]]
        began = time.perf_counter()
        for line in lines:
            rule.groups(line)
        if (time.perf_counter() - began) / len(lines) > SLOW_SECONDS:
            slow.append(rule.id)
    assert not slow
