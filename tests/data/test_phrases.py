import itertools
from collections import Counter

import pytest

from keras_transformer.data import phrases
from keras_transformer.data.phrases.corpus import words
from keras_transformer.data.phrases.grammar import (
    Action,
    Description,
    Existence,
    NounPhrase,
    Pronoun,
)
from keras_transformer.data.phrases.lexicon import ADJECTIVES, NOUNS, VERBS
from keras_transformer.data.phrases.numbers import in_english, in_french

NOUN = {noun.english: noun for noun in NOUNS}
ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}
VERB = {verb.english: verb for verb in VERBS}


def np(determiner, noun, adjective=None, plural=False):
    return NounPhrase(determiner, NOUN[noun], ADJECTIVE.get(adjective), plural)


@pytest.mark.parametrize(
    ("phrase", "english", "french"),
    [
        # gender, plural, elision of the article
        (np("the", "dog"), "the dog", "le chien"),
        (np("the", "cow"), "the cow", "la vache"),
        (np("the", "bird"), "the bird", "l'oiseau"),
        (np("the", "school"), "the school", "l'école"),
        (np("the", "man", plural=True), "the men", "les hommes"),
        (np("the", "horse", plural=True), "the horses", "les chevaux"),
        (np("the", "mouse", plural=True), "the mice", "les souris"),
        # indefinite, and "de" before an adjective that stands before
        (np("a", "egg"), "an egg", "un œuf"),
        (np("a", "key", "useful"), "a useful key", "une clé utile"),
        (np("a", "cake", plural=True), "some cakes", "des gâteaux"),
        (np("a", "cake", "good", plural=True), "some good cakes", "de bons gâteaux"),
        (np("a", "cake", "cold", plural=True), "some cold cakes", "des gâteaux froids"),
        # agreement, place of the adjective, its form before a vowel
        (np("the", "dress", "white"), "the white dress", "la robe blanche"),
        (np("the", "dress", "new", plural=True), "the new dresses", "les nouvelles robes"),
        (np("a", "bird", "beautiful"), "a beautiful bird", "un bel oiseau"),
        (np("this", "tool", "old"), "this old tool", "ce vieil outil"),
        (np("a", "hotel", "new"), "a new hotel", "un nouvel hôtel"),
        (np("the", "bird", "beautiful", True), "the beautiful birds", "les beaux oiseaux"),
        # this and my change before a vowel
        (np("this", "man"), "this man", "cet homme"),
        (np("this", "church", plural=True), "these churches", "ces églises"),
        (np("my", "picture"), "my picture", "mon image"),
        (np("my", "picture", "pretty"), "my pretty picture", "ma jolie image"),
        (np("our", "sister", plural=True), "our sisters", "nos sœurs"),
        # numbers
        (np(21, "apple"), "twenty-one apples", "vingt et une pommes"),
        (np(80, "rabbit", "grey"), "eighty grey rabbits", "quatre-vingts lapins gris"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_noun_phrases(phrase, english, french):
    assert (phrase.english(), phrase.french()) == (english, french)


CAT, APPLES = np("the", "cat"), np("a", "apple", plural=True)


@pytest.mark.parametrize(
    ("sentence", "english", "french"),
    [
        (Action(CAT, VERB["eat"], APPLES), "the cat eats some apples", "le chat mange des pommes"),
        (
            Action(Pronoun("I"), VERB["look for"], np("my", "hat")),
            "I look for my hat",
            "je cherche mon chapeau",
        ),
        (
            Action(Pronoun("she"), VERB["look for"], np("the", "hat"), "past"),
            "she looked for the hat",
            "elle a cherché le chapeau",
        ),
        (
            Action(Pronoun("I"), VERB["buy"], np("a", "car"), "present"),
            "I buy a car",
            "j'achète une voiture",
        ),
        (
            Action(Pronoun("I"), VERB["take"], np("the", "egg"), "past"),
            "I took the egg",
            "j'ai pris l'œuf",
        ),
        (
            Action(Pronoun("we"), VERB["eat"], np("the", "pear"), "present"),
            "we eat the pear",
            "nous mangeons la poire",
        ),
        (
            Action(np("the", "child", None, True), VERB["see"], np("a", "wolf"), "future"),
            "the children will see a wolf",
            "les enfants verront un loup",
        ),
        # ne and n', de and d'
        (
            Action(CAT, VERB["eat"], APPLES, negated=True),
            "the cat does not eat any apples",
            "le chat ne mange pas de pommes",
        ),
        (
            Action(CAT, VERB["eat"], np("a", "egg"), "past", negated=True),
            "the cat did not eat an egg",
            "le chat n'a pas mangé d'œuf",
        ),
        (
            Action(Pronoun("I"), VERB["like"], np("the", "egg"), negated=True),
            "I do not like the egg",
            "je n'aime pas l'œuf",
        ),
        (
            Action(Pronoun("he"), VERB["sell"], np(2, "horse"), "future", True),
            "he will not sell two horses",
            "il ne vendra pas deux chevaux",
        ),
        (
            Action(Pronoun("she"), VERB["wash"], np("the", "dog"), place=np("the", "garden")),
            "she washes the dog in the garden",
            "elle lave le chien dans le jardin",
        ),
        (
            Description(np("this", "apple", None, True), ADJECTIVE["red"], "future", True),
            "these apples will not be red",
            "ces pommes ne seront pas rouges",
        ),
        (
            Description(np("my", "aunt"), ADJECTIVE["happy"], "past", True),
            "my aunt was not happy",
            "ma tante n'était pas heureuse",
        ),
        (
            Existence(np(3, "cat"), np("the", "school")),
            "there are three cats in the school",
            "il y a trois chats dans l'école",
        ),
        (
            Existence(np("a", "bear"), np("our", "house"), negated=True),
            "there is no bear in our house",
            "il n'y a pas d'ours dans notre maison",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_sentences(sentence, english, french):
    assert (sentence.english(), sentence.french()) == (english, french)


@pytest.mark.parametrize(
    ("number", "english", "french"),
    [
        (16, "sixteen", "seize"),
        (17, "seventeen", "dix-sept"),
        (21, "twenty-one", "vingt et un"),
        (60, "sixty", "soixante"),
        (70, "seventy", "soixante-dix"),
        (71, "seventy-one", "soixante et onze"),
        (77, "seventy-seven", "soixante-dix-sept"),
        (80, "eighty", "quatre-vingts"),
        (81, "eighty-one", "quatre-vingt-un"),
        (91, "ninety-one", "quatre-vingt-onze"),
        (99, "ninety-nine", "quatre-vingt-dix-neuf"),
    ],
)
def test_numbers(number, english, french):
    assert (in_english(number), in_french(number)) == (english, french)


@pytest.fixture(scope="module")
def corpus():
    return phrases(seed=0)


def test_there_are_many_different_pairs(corpus):
    train, held_out = corpus
    assert len({*train, *held_out}) == 61_000
    english = Counter(source for source, _ in train + held_out)
    assert max(english.values()) == 1  # one translation each


def test_a_seed_always_gives_the_same_corpus(corpus):
    assert phrases(seed=0) == corpus
    assert phrases(count=20_000, held_out=10, seed=1)[1] != corpus[1][:10]


def test_too_few_sentences_to_hold_any_out_are_an_error():
    with pytest.raises(ValueError, match="Received: 5 wanted, 0 found"):
        phrases(count=100, held_out=5)


SINGULAR = {form: n.english for n in NOUNS for form in (n.english, n.english_plural)}
BE = {"is", "are", "was", "were", "be"}


def verb_forms():
    for verb in VERBS:
        first, *rest = verb.english.split()
        for ending in ("", "s", "es"):
            yield (first + ending, *rest), verb.english
        yield (first.removesuffix("y") + "ies", *rest), verb.english
        yield tuple(verb.english_past.split()), verb.english


FORMS = dict(verb_forms())


def combinations_by_reading(english):
    """The (adjective, noun) and (verb, object) pairs of a sentence, read off its words alone."""
    tokens = english.split()
    nouns = [(i, SINGULAR[word]) for i, word in enumerate(tokens) if word in SINGULAR]
    for i, word in enumerate(tokens):
        if word in ADJECTIVE:
            attributive = tokens[i + 1] in SINGULAR if i + 1 < len(tokens) else False
            yield (word, SINGULAR[tokens[i + 1]] if attributive else nouns[0][1])
    if not BE & set(tokens):
        for i, length in itertools.product(range(len(tokens)), (2, 1)):
            verb = FORMS.get(tuple(tokens[i : i + length]))
            if verb and tokens[i] not in SINGULAR:
                yield verb, next(noun for j, noun in nouns if j > i)
                return
        raise AssertionError(f"no verb in: {english}")


def test_no_combination_of_a_held_out_sentence_occurs_in_training(corpus):
    train, held_out = corpus
    seen = {pair for english, _ in train for pair in combinations_by_reading(english)}
    for english, _ in held_out:
        pairs = set(combinations_by_reading(english))
        assert pairs, english
        assert not pairs & seen, english


def test_every_word_of_a_held_out_sentence_occurs_often_in_training(corpus):
    train, held_out = corpus
    counts = Counter(word for pair in train for text in pair for word in words(text))
    for pair in held_out:
        for text in pair:
            assert min(counts[word] for word in words(text)) >= 50, text


def test_every_noun_adjective_and_verb_is_used(corpus):
    train, held_out = corpus
    used = {word for english, _ in train for word in english.split()}
    missing = {n.english for n in NOUNS} | set(ADJECTIVE) | {v.split()[0] for v in VERB}
    assert not missing - used
    assert len(held_out) == 1000
