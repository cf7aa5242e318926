"""What can be asked about a story, and the answers."""


def questions(story):
    """All questions that a `Story` answers.

    Returns:
        A list of (question, answer).
    """
    return [*_about_people(story), *_about_things(story), *_about_places(story)]


def summary(story):
    """One line about how a `Story` ends: where everybody is, with what, by the alphabet."""
    people = []
    for person in sorted(story.where):
        with_things = f" with {_listed(story.things_of(person))}" if story.things_of(person) else ""
        people.append(f"{person} is in the {story.place_of(person)}{with_things}")
    return f"{', '.join(people)}."


def _about_people(story):
    for person, places in story.where.items():
        yield f"Where is {person}?", f"in the {places[-1]}"
        yield f"What does {person} have?", _listed(story.things_of(person)) or "nothing"
        if len(places) > 1 and places.count(places[-1]) == 1:
            yield f"Where was {person} before the {places[-1]}?", f"in the {places[-2]}"


def _about_things(story):
    for thing, holders in story.had_by.items():
        yield f"Where is the {thing}?", f"in the {story.place_of_thing(thing)}"
        yield f"Who has the {thing}?", holders[-1] or "nobody"
        people = [holder for holder in holders if holder is not None]
        if len(people) > 1 and people.count(people[-1]) == 1:
            yield f"Who had the {thing} before {people[-1]}?", people[-2]


def _about_places(story):
    for place, visitors in story.visitors.items():
        if len(visitors) > 1:
            yield f"Who came to the {place} first?", visitors[0]


def _listed(things):
    return " and ".join(f"the {thing}" for thing in things)
