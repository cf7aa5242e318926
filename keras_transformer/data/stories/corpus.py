"""The embedded stories: with questions or to be summarised, some combinations held out."""

import random

from keras_transformer.data.stories.questions import questions, summary
from keras_transformer.data.stories.story import PEOPLE, PLACES, THINGS, WORDINGS, Story

HELD_OUT_SHARE = 0.05
SUMMARIES = 0.4  # the share of stories that are to be summarised
SUMMARISE = "Summarise."
EVENTS = (2, 5)  # the fewest and the most


def stories(count=150_000, held_out=1_000, seed=0):
    r"""Pairs of a story with a question and its answer, or of a story and its summary.

    The source is the story and after it the question, or "Summarise.". In held-out stories somebody
    goes to a place, or gets a thing, that this person has nothing to do with in any training story:
    who answers has learned to read, not the stories.

    Args:
        count: how many different pairs for training.
        held_out: how many different pairs to test with.
        seed: of everything drawn.

    Returns:
        Two lists of (source, target).

    >>> _, test = stories(count=0, held_out=3)
    >>> print(*test[2], sep="\n")
    Ida walked to the kitchen. Grace went to the office. Grace took the hat. Who has the hat?
    The hat is with Grace.
    """
    source = Source(seed)
    # The test stories come first: whoever wants only these need not wait for the others.
    test = source.draw(held_out, lambda story: story.combinations() & source.held_out)
    return source.draw(count, lambda story: not story.combinations() & source.held_out), test


class Source:
    """Draws stories, with or without the combinations that are held out."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        pairs = [(person, other) for person in PEOPLE for other in (*PLACES, *THINGS)]
        self.held_out = set(self.random.sample(pairs, round(HELD_OUT_SHARE * len(pairs))))

    def draw(self, count, suits):
        """That many different pairs, of stories that suit."""
        drawn = {}
        while len(drawn) < count:
            story = self.story()
            if story.is_spread() and suits(story):
                source, target = self.pair(story)
                drawn[source] = target
        return list(drawn.items())

    def story(self):
        """Any story: a few people, places and things, and what comes to pass between them."""
        people = self.random.sample(PEOPLE, self.random.randint(2, 3))
        places = self.random.sample(PLACES, self.random.randint(2, 3))
        things = self.random.sample(THINGS, self.random.randint(1, 2))
        story = Story()
        for _ in range(self.random.randint(*EVENTS)):
            possible = list(story.possible(people, places, things))
            kind = self.random.choice(sorted({event.kind for event in possible}))
            event = self.random.choice([event for event in possible if event.kind == kind])
            story.add(event._replace(wording=self.random.randrange(len(WORDINGS[kind]))))
        return story

    def pair(self, story):
        """The story with something to do about it, and what is to be written."""
        if self.random.random() < SUMMARIES:
            return f"{story.text()} {SUMMARISE}", summary(story)
        # First the kind, so that rare ones are asked often enough to be learned.
        of_kind = self.random.choice(list(questions(story).values()))
        question, answer = self.random.choice(of_kind)
        return f"{story.text()} {question}", answer
