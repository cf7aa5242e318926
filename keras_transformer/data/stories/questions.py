"""What can be asked about a story, and the answers."""


def questions(story):
    """All questions that a `Story` answers, by what they are about.

    Returns:
        A dict of lists of (question, answer).
    """
    by_kind = {}
    for part in (_about_people, _about_things, _about_places):
        for kind, question, answer in part(story):
            by_kind.setdefault(kind, []).append((question, answer))
    return by_kind


def summary(story):
    """One line about how a `Story` ends: where everybody is, with what, by the alphabet."""
    people = []
    for person in sorted(story.where):
        with_things = f" with {_listed(story.things_of(person))}" if story.things_of(person) else ""
        people.append(f"{person} is in the {story.place_of(person)}{with_things}")
    return f"{', '.join(people)}."


def _about_people(story):
    for person, places in story.where.items():
        here = places[-1]
        yield "place", f"Where is {person}?", f"{person} is in the {here}."
        things = _listed(story.things_of(person)) or "nothing"
        yield "things", f"What does {person} have?", f"{person} has {things}."
        if len(places) > 1 and places.count(here) == 1:
            before = f"Before the {here} {person} was in the {places[-2]}."
            yield "earlier place", f"Where was {person} before the {here}?", before


def _about_things(story):
    for thing, holders in story.had_by.items():
        place, holder = story.place_of_thing(thing), holders[-1]
        with_whom = f" with {holder}" if holder else ""
        where = f"The {thing} is{with_whom} in the {place}."
        yield "place of a thing", f"Where is the {thing}?", where
        yield "holder", f"Who has the {thing}?", f"The {thing} is with {holder or 'nobody'}."
        people = [holder for holder in holders if holder is not None]
        if len(people) > 1 and people.count(people[-1]) == 1:
            before = f"Before {people[-1]} the {thing} was with {people[-2]}."
            yield "earlier holder", f"Who had the {thing} before {people[-1]}?", before


def _about_places(story):
    for place, visitors in story.visitors.items():
        if len(visitors) > 1:
            first = f"The first in the {place} was {visitors[0]}."
            yield "first", f"Who came to the {place} first?", first


def _listed(things):
    return " and ".join(f"the {thing}" for thing in things)
