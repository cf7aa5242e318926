"""A small world: people go to places, take things, put them down and hand them on."""

from typing import NamedTuple

PEOPLE = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Ida", "Jonas")
PLACES = ("attic", "bedroom", "cellar", "garage", "garden", "kitchen", "library", "office")
THINGS = ("apple", "ball", "book", "cup", "hat", "key", "lamp", "letter")

GO, TAKE, DROP, GIVE = "go", "take", "drop", "give"
WORDINGS = {
    GO: ("{person} went to the {place}.", "{person} walked to the {place}."),
    TAKE: ("{person} took the {thing}.", "{person} picked up the {thing}."),
    DROP: ("{person} put down the {thing}.", "{person} left the {thing} there."),
    GIVE: ("{person} gave the {thing} to {other}.", "{person} handed {other} the {thing}."),
}


class Event(NamedTuple):
    """Something that happened.

    Attributes:
        kind: what was done.
        person: who did it.
        place: where somebody went.
        thing: what was taken, put down or given.
        other: to whom.
        wording: how it is told.
    """

    kind: str
    person: str
    place: str | None = None
    thing: str | None = None
    other: str | None = None
    wording: int = 0

    def text(self):
        """The sentence that tells it."""
        return WORDINGS[self.kind][self.wording].format(**self._asdict())

    def combinations(self):
        """Who came together with which place or thing."""
        if self.kind == GO:
            return {(self.person, self.place)}
        return {(who, self.thing) for who in (self.person, self.other) if who is not None}


class Story:
    """Events in their order, and what is known after them.

    Args:
        events: a list of `Event`s.

    Attributes:
        where: the places each person has been to, in their order.
        visitors: the people who have been to each place, in their order, each once.
        had_by: the people who have had each thing, in their order; None for nobody.
        left_at: where each thing lies that nobody has.
    """

    def __init__(self, events=()):
        self.events = []
        self.where, self.visitors, self.had_by, self.left_at = {}, {}, {}, {}
        for event in events:
            self.add(event)

    def add(self, event):
        """Lets it happen."""
        self.events.append(event)
        if event.kind == GO:
            self.where.setdefault(event.person, []).append(event.place)
            visitors = self.visitors.setdefault(event.place, [])
            if event.person not in visitors:
                visitors.append(event.person)
            return
        holder = {TAKE: event.person, GIVE: event.other, DROP: None}[event.kind]
        self.had_by.setdefault(event.thing, []).append(holder)
        self.left_at.pop(event.thing, None)
        if event.kind == DROP:
            self.left_at[event.thing] = self.place_of(event.person)

    def possible(self, people, places, things):
        """All that could happen next to these people, places and things."""
        for person in people:
            here = self.place_of(person)
            for place in places:
                if place != here:
                    yield Event(GO, person, place=place)
            if here is None:
                continue
            for thing in things:
                holder = self.holder_of(thing)
                if holder == person:
                    yield Event(DROP, person, thing=thing)
                    for other in people:
                        if other != person and self.place_of(other) == here:
                            yield Event(GIVE, person, thing=thing, other=other)
                elif holder is None and self.left_at.get(thing, here) == here:
                    yield Event(TAKE, person, thing=thing)

    def place_of(self, person):
        """Where somebody is, or None before it was told."""
        return self.where.get(person, [None])[-1]

    def holder_of(self, thing):
        """Who has it, or None."""
        return self.had_by.get(thing, [None])[-1]

    def place_of_thing(self, thing):
        """Where it is: where it was left, or where its holder is."""
        holder = self.holder_of(thing)
        return self.left_at.get(thing) if holder is None else self.place_of(holder)

    def things_of(self, person):
        """What somebody has, by the alphabet."""
        return sorted(thing for thing in self.had_by if self.holder_of(thing) == person)

    def is_spread(self):
        """Whether not all are in one place: else one could say where they are without reading."""
        return len({places[-1] for places in self.where.values()}) > 1

    def text(self):
        """The whole story."""
        return " ".join(event.text() for event in self.events)

    def combinations(self):
        """Who came together with which places and things."""
        return set().union(*(event.combinations() for event in self.events))
