"""Programs drawn at random, and what becomes of their state when operators are inserted, removed and moved."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from rekindle.checkpoint.left_behind import left_behind
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.restoring import Consent, fit_to_checkpoint
from rekindle.checkpoint.source_positions import positions_for
from rekindle.exceptions import StateRestoreError
from rekindle.graph.job_graph import JobGraph
from support.programs_with_uids import SINKS, SOURCES, STEPS, Names, checkpoint_of, environment

SEEDS = range(40)
# A loop in rounds takes bounded sources, and a DataFrame has a uid whether it is given one or not.
FREE_STEPS = [step for step in STEPS if step != "rounds"]
FREE_SOURCES = [source for source in SOURCES if source != "data frame"]


@dataclass(frozen=True)
class Lane:
    """A stream, from its source to its sink. Each call has a number that no other has."""

    source: tuple[str, int]
    sink: tuple[str, int]
    steps: tuple[tuple[str, int], ...] = ()


@dataclass
class Drawing:
    """Draw programs."""

    seed: int
    numbers: int = 0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        print(f"seed {self.seed}")

    def call(self, catalog: list[str]) -> tuple[str, int]:
        self.numbers += 1
        return self.random.choice(catalog), self.numbers

    def lane(self) -> Lane:
        steps = tuple(self.call(FREE_STEPS) for _ in range(self.random.randrange(5)))
        return Lane(self.call(FREE_SOURCES), self.call(list(SINKS)), steps)

    def program(self) -> list[Lane]:
        return [self.lane() for _ in range(self.random.randint(1, 4))]

    def inserted(self, program: list[Lane]) -> list[Lane]:
        program = list(program)
        if self.random.random() < 0.5:
            program.insert(self.random.randint(0, len(program)), self.lane())
        place = self.random.randrange(len(program))
        steps = list(program[place].steps)
        steps.insert(self.random.randint(0, len(steps)), self.call(FREE_STEPS))
        program[place] = replace(program[place], steps=tuple(steps))
        return program

    def removed(self, program: list[Lane]) -> list[Lane]:
        program = list(program)
        if len(program) > 1 and self.random.random() < 0.5:
            del program[self.random.randrange(len(program))]
        return [
            replace(lane, steps=tuple(step for step in lane.steps if self.random.random() < 0.8)) for lane in program
        ]

    def moved(self, program: list[Lane]) -> list[Lane]:
        lanes = []
        for lane in self.random.sample(program, len(program)):
            lanes.append(replace(lane, steps=tuple(self.random.sample(lane.steps, len(lane.steps)))))
        return lanes


def compiled(program: list[Lane], uids: bool = True) -> JobGraph:
    """Compile a program; each operator has the name of its call, and with it the uid, if there are to be any."""
    env = environment()
    if uids:
        env.get_config().disable_auto_generated_uids()

    def names(call: tuple[str, int]) -> Names:
        return Names(f"{call[0]} {call[1]}", uids)

    sources = [names(lane.source)(SOURCES[lane.source[0]](env)) for lane in program]
    for place, lane in enumerate(program):
        stream, other = sources[place], sources[place - 1]
        for step in lane.steps:
            stream = STEPS[step[0]](stream, other, names(step))
        names(lane.sink)(SINKS[lane.sink[0]](stream))
    return env._compile()


def with_state(metadata: CheckpointMetadata) -> set[str]:
    read = {position.uid for position in metadata.positions}
    return {operator.uid for operator in metadata.operators if operator.stateful or operator.uid in read}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_program_with_uids_everywhere_has_no_derived_one(seed: int) -> None:
    assert [node for node in compiled(Drawing(seed).program()).nodes if node.derived_from is not None] == []


@pytest.mark.parametrize("change", [Drawing.inserted, Drawing.removed, Drawing.moved])
@pytest.mark.parametrize("seed", SEEDS)
def test_with_uids_each_operator_goes_on_where_it_was(seed: int, change: object) -> None:
    drawing = Drawing(seed)
    program = drawing.program()
    before, after = compiled(program), compiled(change(drawing, program))  # type: ignore[operator]
    saved = checkpoint_of(before)
    uids = {node.uid for node in after.nodes}
    assert {state.uid for state in left_behind(after, saved)} == with_state(saved) - uids
    fit_to_checkpoint(after, saved, Consent(unclaimed_state=True))
    names = {position.uid: position.offsets[0] for position in positions_for(after, saved)}
    assert all(names[source.uid] == source.uid for source in after.cluster_sources if source.uid in names)
    assert names.keys() == {source.uid for source in before.cluster_sources}


@pytest.mark.parametrize("uids", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_program_that_has_not_changed_goes_on(seed: int, uids: bool) -> None:
    program = Drawing(seed).program()
    saved = checkpoint_of(compiled(program, uids))
    fit_to_checkpoint(compiled(program, uids), saved, Consent())


@pytest.mark.parametrize("change", [Drawing.inserted, Drawing.removed, Drawing.moved])
@pytest.mark.parametrize("seed", SEEDS)
def test_without_uids_no_operator_gets_what_another_wrote(seed: int, change: object) -> None:
    drawing = Drawing(seed)
    program = drawing.program()
    saved = checkpoint_of(compiled(program, uids=False))
    after = compiled(change(drawing, program), uids=False)  # type: ignore[operator]
    try:
        fit_to_checkpoint(after, saved, Consent(unclaimed_state=True))
    except StateRestoreError:
        return
    names = {node.uid: node.name for node in after.nodes}
    written = with_state(saved)
    for operator in saved.operators:
        if operator.uid in written and operator.uid in names:
            assert names[operator.uid] == operator.name
