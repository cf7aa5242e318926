"""The embedded corpus: sentences drawn from the grammar, some combinations of words held out."""

import random
from collections import Counter

from keras_transformer.data.phrases.grammar import (
    TENSES,
    Action,
    Description,
    Existence,
    NounPhrase,
    Pronoun,
)
from keras_transformer.data.phrases.lexicon import ADJECTIVES, LIVING, NOUNS, PERSON, PLACE, VERBS

HELD_OUT_SHARE = 0.1
TRIES = 2_000  # a sentence
OFTEN_ENOUGH = 50  # so often must a word occur in training to be tested in other company


def phrases(count=60_000, held_out=1_000, seed=0):
    """English-French pairs, for training and held out.

    The held-out sentences are made of (adjective, noun) and (verb, object) pairs that occur in no
    training sentence, and of words that all occur there at least 50 times: who translates them has
    learned the words and the grammar, not the pairs.

    Args:
        count: how many different pairs for training.
        held_out: how many different pairs to test with.
        seed: of everything drawn.

    Returns:
        Two lists of (English, French).
    """
    source = Source(seed)
    train = source.draw(count, source.is_for_training)
    seen = Counter(word for pair in train for text in pair for word in words(text))

    def is_for_testing(sentence):
        texts = f"{sentence.english()} {sentence.french()}"
        often = all(seen[word] >= OFTEN_ENOUGH for word in words(texts))
        return source.is_held_out(sentence) and often

    return train, source.draw(held_out, is_for_testing)


def words(text):
    """The words of a sentence; an article or pronoun that lost its e is a word of its own.

    >>> words("il n'y a pas d'œuf")
    ['il', "n'", 'y', 'a', 'pas', "d'", 'œuf']
    """
    return text.replace("'", "' ").split()


class Source:
    """Draws sentences, with or without the combinations that are held out."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        described = [(a.english, n.english) for a in ADJECTIVES for n in NOUNS if n.kind in a.kinds]
        done = [(v.english, n.english) for v in VERBS for n in NOUNS if n.kind in v.objects]
        pairs = described + done
        self.held_out = set(self.random.sample(pairs, round(HELD_OUT_SHARE * len(pairs))))

    def draw(self, count, suits):
        """That many different pairs of sentences that suit."""
        drawn = {}
        for _ in range(TRIES * count):
            if len(drawn) == count:
                break
            sentence = self.sentence()
            if suits(sentence):
                drawn[sentence.english()] = sentence.french()
        if len(drawn) < count:
            raise ValueError(
                "The grammar has no more different sentences that suit; held-out ones need a "
                f"training set of some 20,000. Received: {count} wanted, {len(drawn)} found"
            )
        return list(drawn.items())

    def is_for_training(self, sentence):
        """Whether none of its combinations is held out."""
        return not sentence.combinations() & self.held_out

    def is_held_out(self, sentence):
        """Whether it has combinations, and all of them are held out."""
        return bool(sentence.combinations()) and sentence.combinations() <= self.held_out

    def sentence(self):
        """Any sentence of the grammar."""
        kind = self.random.choices(("action", "description", "existence"), (6, 2, 2))[0]
        return getattr(self, kind)()

    def action(self):
        """Somebody does something."""
        verb = self.random.choice(VERBS)
        subject = self.subject(verb.subjects)
        negated = self.random.random() < 0.25
        thing = self.noun_phrase(verb.objects)
        somewhere = self.random.random() < 0.2 and thing.noun.kind not in PLACE
        place = self.place() if somewhere else None
        return Action(subject, verb, thing, self.random.choice(TENSES), negated, place)

    def description(self):
        """Something is of some kind."""
        adjective = self.random.choice(ADJECTIVES)
        subject = self.noun_phrase(adjective.kinds, determiners=("the", "this", "my", "our"))
        if subject.adjective is adjective:
            subject.adjective = None
        negated = self.random.random() < 0.25
        return Description(subject, adjective, self.random.choice(TENSES), negated)

    def existence(self):
        """There is something somewhere."""
        thing = self.noun_phrase(frozenset({"person", "animal", "food", "thing"}), ("a", "number"))
        negated = thing.determiner == "a" and self.random.random() < 0.3
        return Existence(thing, self.place(), negated)

    def subject(self, kinds):
        """Who does it: sometimes a pronoun."""
        if self.random.random() < 0.4:
            return Pronoun(self.random.choices(("I", "we", "he", "she"), (3, 3, 1, 1))[0])
        kinds = PERSON if kinds == PERSON else LIVING
        return self.noun_phrase(kinds, ("the", "the", "a", "this", "my", "our", "number"))

    def place(self):
        """Where it is."""
        noun = self.random.choice([noun for noun in NOUNS if noun.kind in PLACE])
        return NounPhrase(self.random.choice(("the", "the", "this", "our")), noun)

    def noun_phrase(self, kinds, determiners=("the", "a", "this", "my", "our", "number")):
        """A noun of one of the kinds, with a determiner and perhaps an adjective that suits it."""
        noun = self.random.choice([noun for noun in NOUNS if noun.kind in kinds])
        suiting = [adjective for adjective in ADJECTIVES if noun.kind in adjective.kinds]
        adjective = self.random.choice(suiting) if self.random.random() < 0.4 else None
        determiner = self.random.choice(determiners)
        if determiner == "number":
            determiner = self.random.randint(2, 99)
        return NounPhrase(determiner, noun, adjective, plural=self.random.random() < 0.35)
