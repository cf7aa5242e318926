"""The embedded stories: true answers, told apart by a reader that knows nothing of the code."""

import re

import pytest

from keras_transformer.data import stories

SENTENCES = {
    "go": r"(\w+) (?:went|walked) to the (\w+)",
    "take": r"(\w+) (?:took|picked up) the (\w+)",
    "drop": r"(\w+) (?:put down|left) the (\w+)(?: there)?",
    "give": r"(\w+) gave the (\w+) to (\w+)",
    "hand": r"(\w+) handed (\w+) the (\w+)",
}


@pytest.fixture(scope="module")
def pairs():
    return stories(count=4_000, held_out=400)


def read(source):
    """The events of a story as tuples, and what is asked; read from the text alone."""
    *told, asked = re.split(r"(?<=\.) ", source)
    events = []
    for sentence in told:
        ((kind, match),) = [
            (kind, match)
            for kind, pattern in SENTENCES.items()
            if (match := re.fullmatch(pattern + r"\.", sentence))
        ]
        if kind == "hand":
            who, other, thing = match.groups()
            events.append(("give", who, thing, other))
        else:
            events.append((kind, *match.groups()))
    return events, asked


def answer(events, asked):
    """What a careful reader would say."""
    if asked == "Summarise.":
        people = sorted({event[1] for event in events if event[0] == "go"})
        said = []
        for person in people:
            things = answer(events, f"What does {person} have?")
            place = answer(events, f"Where is {person}?").removeprefix("in the ")
            said.append(f"{person} is in the {place}" + f" with {things}" * (things != "nothing"))
        return ", ".join(said) + "."
    place, holders, visits, lies, holder_now = {}, {}, [], {}, {}
    for kind, who, what, *other in events:
        if kind == "go":
            place.setdefault(who, []).append(what)
            visits.append((who, what))
            continue
        holder_now[what] = {"take": who, "drop": None, "give": other[0] if other else None}[kind]
        if kind == "drop":
            lies[what] = place[who][-1]
        else:
            holders.setdefault(what, []).append(holder_now[what])
    if match := re.fullmatch(r"Where is the (\w+)\?", asked):
        holder = holder_now[match[1]]
        return f"in the {place[holder][-1] if holder else lies[match[1]]}"
    if match := re.fullmatch(r"Where is (\w+)\?", asked):
        return f"in the {place[match[1]][-1]}"
    if match := re.fullmatch(r"Who has the (\w+)\?", asked):
        return holder_now[match[1]] or "nobody"
    if match := re.fullmatch(r"What does (\w+) have\?", asked):
        things = sorted(thing for thing, who in holder_now.items() if who == match[1])
        return " and ".join(f"the {thing}" for thing in things) or "nothing"
    if match := re.fullmatch(r"Who came to the (\w+) first\?", asked):
        return next(who for who, where in visits if where == match[1])
    if match := re.fullmatch(r"Where was (\w+) before the (\w+)\?", asked):
        places = place[match[1]]
        return f"in the {places[places.index(match[2]) - 1]}"
    match = re.fullmatch(r"Who had the (\w+) before (\w+)\?", asked)
    had = holders[match[1]]
    return had[had.index(match[2]) - 1]


def kind_of(asked):
    return re.sub(r"(?<=the )\w+|(?<!^)\b[A-Z]\w+", "_", asked)


def test_every_answer_is_what_a_reader_would_say(pairs):
    asked_for = set()
    for source, target in (*pairs[0], *pairs[1]):
        events, asked = read(source)
        assert answer(events, asked) == target, source
        asked_for.add(kind_of(asked))
    assert len(asked_for) == 8  # seven questions and the summary


def test_what_is_told_can_happen(pairs):
    for source, _ in pairs[0]:
        place, holder, lies = {}, {}, {}
        for kind, who, what, *other in read(source)[0]:
            if kind == "go":
                assert place.get(who) != what
                place[who] = what
            elif kind == "take":
                assert holder.get(what) is None
                assert lies.get(what, place[who]) == place[who]
                holder[what] = who
            elif kind == "drop":
                assert holder[what] == who
                holder[what], lies[what] = None, place[who]
            else:
                assert holder[what] == who
                assert place[other[0]] == place[who]
                holder[what] = other[0]


def combinations(source):
    for kind, who, what, *other in read(source)[0]:
        yield who, what
        if kind == "give":
            yield other[0], what


def test_held_out_stories_bring_together_who_and_what_never_met(pairs):
    train, test = pairs
    seen = {combination for source, _ in train for combination in combinations(source)}
    people, others = {person for person, _ in seen}, {other for _, other in seen}
    for source, _ in test:
        found = set(combinations(source))
        assert found - seen
        assert {person for person, _ in found} <= people
        assert {other for _, other in found} <= others
    assert not {source for source, _ in train} & {source for source, _ in test}


def test_a_seed_gives_the_same_stories(pairs):
    assert stories(count=50, held_out=400)[1] == pairs[1]
    assert stories(count=50, held_out=400)[0] == pairs[0][:50]
    assert stories(count=5, held_out=5, seed=1)[0] != pairs[0][:5]
    assert len({source for source, _ in pairs[0]}) == 4_000


def test_a_part_is_to_be_summarised(pairs):
    share = sum(source.endswith(" Summarise.") for source, _ in pairs[0]) / 4_000
    assert 0.2 < share < 0.3
