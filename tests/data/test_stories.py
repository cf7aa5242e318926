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

    def things_of(person):
        things = sorted(thing for thing, who in holder_now.items() if who == person)
        return " and ".join(f"the {thing}" for thing in things)

    if asked == "Summarise.":
        said = [f"{who} is in the {place[who][-1]} with {things_of(who)}" for who in sorted(place)]
        return ", ".join(words.removesuffix(" with ") for words in said) + "."
    if match := re.fullmatch(r"Where is the (\w+)\?", asked):
        thing = match[1]
        if holder := holder_now[thing]:
            return f"The {thing} is with {holder} in the {place[holder][-1]}."
        return f"The {thing} is in the {lies[thing]}."
    if match := re.fullmatch(r"Where is (\w+)\?", asked):
        return f"{match[1]} is in the {place[match[1]][-1]}."
    if match := re.fullmatch(r"Who has the (\w+)\?", asked):
        return f"The {match[1]} is with {holder_now[match[1]] or 'nobody'}."
    if match := re.fullmatch(r"What does (\w+) have\?", asked):
        return f"{match[1]} has {things_of(match[1]) or 'nothing'}."
    if match := re.fullmatch(r"Who came to the (\w+) first\?", asked):
        first = next(who for who, where in visits if where == match[1])
        return f"The first in the {match[1]} was {first}."
    if match := re.fullmatch(r"Where was (\w+) before the (\w+)\?", asked):
        who, where = match.groups()
        before = place[who][place[who].index(where) - 1]
        return f"Before the {where} {who} was in the {before}."
    thing, who = re.fullmatch(r"Who had the (\w+) before (\w+)\?", asked).groups()
    return f"Before {who} the {thing} was with {holders[thing][holders[thing].index(who) - 1]}."


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


def test_one_has_to_read_to_know_who_is_where(pairs):
    for source, _ in pairs[0]:
        last = {who: what for kind, who, what, *_ in read(source)[0] if kind == "go"}
        assert len(set(last.values())) > 1


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
    assert 0.35 < share < 0.45
