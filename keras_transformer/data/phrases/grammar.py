"""A synchronous grammar: each rule builds the English and the French of a phrase together."""

from dataclasses import dataclass

from keras_transformer.data.phrases.lexicon import begins_with_vowel
from keras_transformer.data.phrases.numbers import in_english, in_french

SINGULAR, PLURAL = 0, 1


@dataclass
class NounPhrase:
    """A determiner or number, perhaps an adjective, and a noun.

    Args:
        determiner: "the", "a", "this", "my", "our", or a number from two on.
        noun: a `Noun`.
        adjective: an `Adjective` or None.
        plural: whether there are several; a number says so itself.
    """

    determiner: object
    noun: object
    adjective: object = None
    plural: bool = False

    def __post_init__(self):
        self.counted = isinstance(self.determiner, int)
        self.plural = self.plural or self.counted

    @property
    def indefinite(self):
        """Whether negation turns its article into "de"."""
        return self.determiner == "a"

    def english(self, negated=False):
        """As in "two red apples", "an egg", "these old hats"; negated, "any apples"."""
        words = [self.noun.english_plural if self.plural else self.noun.english]
        if self.adjective:
            words.insert(0, self.adjective.english)
        return " ".join([self._english_determiner(words[0], negated), *words])

    def _english_determiner(self, following, negated):
        if self.counted:
            return in_english(self.determiner)
        if self.determiner == "a":
            if self.plural:
                return "any" if negated else "some"
            return "an" if following[0] in "aeiou" and not following.startswith("use") else "a"
        if self.determiner == "this":
            return "these" if self.plural else "this"
        return self.determiner

    def french(self, negated=False):
        """As in "deux pommes rouges", "un œuf", "ces vieux chapeaux"; negated, "de pommes"."""
        noun = self.noun.french_plural if self.plural else self.noun.french
        words = [noun]
        if self.adjective:
            form = french_form(self.adjective, self.noun.gender, self.plural)
            if self.adjective.stands_before:
                if not self.plural and self.noun.gender == "m" and begins_with_vowel(noun):
                    form = self.adjective.before_vowel
                words.insert(0, form)
            else:
                words.append(form)
        return self._french_determiner(words[0], negated) + " ".join(words)

    def _french_determiner(self, following, negated):
        """With the space behind it, or the apostrophe."""
        vowel, feminine = begins_with_vowel(following), self.noun.gender == "f"
        adjective_first = self.adjective is not None and self.adjective.stands_before
        if self.counted:
            return in_french(self.determiner, self.noun.gender) + " "
        if self.determiner == "a":
            if negated or (self.plural and adjective_first):
                return "d'" if vowel else "de "
            return "des " if self.plural else "une " if feminine else "un "
        if self.plural:
            return {"the": "les ", "this": "ces ", "my": "mes ", "our": "nos "}[self.determiner]
        if self.determiner == "the":
            return "l'" if vowel else "la " if feminine else "le "
        if self.determiner == "this":
            return "cette " if feminine else "cet " if vowel else "ce "
        if self.determiner == "my":
            return "ma " if feminine and not vowel else "mon "
        return "notre "

    def combinations(self):
        """The (adjective, noun) pair in it, if there is one."""
        return {(self.adjective.english, self.noun.english)} if self.adjective else set()


def french_form(adjective, gender, plural):
    """The form that agrees."""
    return adjective.forms[2 * plural + (gender == "f")]


@dataclass
class Pronoun:
    """A subject that is no noun: I, he, she or we."""

    word: str

    def __post_init__(self):
        self.plural = self.word == "we"

    def english(self):
        """The word itself."""
        return self.word

    def french(self):
        """ "je" loses its e later, when the verb is known."""
        return {"I": "je", "he": "il", "she": "elle", "we": "nous"}[self.word]

    def combinations(self):
        """None: there is no noun in it."""
        return set()


def french_person(subject):
    """Which of the forms of je, il, nous, ils the verb takes: 0 to 3."""
    if isinstance(subject, Pronoun):
        return {"I": 0, "he": 1, "she": 1, "we": 2}[subject.word]
    return 3 if subject.plural else 1


def english_third_person(verb):
    """ "eats", "washes", "carries", "looks for"."""
    word, *rest = verb.split()
    if word.endswith(("s", "x", "ch", "sh", "o")):
        word += "es"
    elif word.endswith("y") and word[-2] not in "aeiou":
        word = word[:-1] + "ies"
    else:
        word += "s"
    return " ".join([word, *rest])


AVOIR = ("ai", "a", "avons", "ont")
FUTURE = ("ai", "a", "ons", "ont")
BE = {
    # tense: English singular and plural, French singular and plural
    "present": (("is", "are"), ("est", "sont")),
    "past": (("was", "were"), ("était", "étaient")),
    "future": (("will be", "will be"), ("sera", "seront")),
}
TENSES = tuple(BE)


def elide(first, second):
    """Joins two French words; je, ne, de lose their e before a vowel."""
    return f"{first[:-1]}'{second}" if begins_with_vowel(second) else f"{first} {second}"


@dataclass
class Action:
    """Somebody does something to something, perhaps somewhere."""

    subject: object
    verb: object
    object: NounPhrase
    tense: str = "present"
    negated: bool = False
    place: NounPhrase = None

    def english(self):
        """As in "the old cat did not eat any apples in the garden"."""
        third = not self.subject.plural and self.subject.english() != "I"
        verb = self.verb.english
        if self.negated:
            helper = {"present": "does" if third else "do", "past": "did", "future": "will"}
            verb = f"{helper[self.tense]} not {verb}"
        elif self.tense == "past":
            verb = self.verb.english_past
        elif self.tense == "future":
            verb = f"will {verb}"
        elif third:
            verb = english_third_person(verb)
        words = [self.subject.english(), verb, self.object.english(self.negated)]
        return " ".join([*words, *([f"in {self.place.english()}"] if self.place else [])])

    def french(self):
        """As in "le vieux chat n'a pas mangé de pommes dans le jardin"."""
        person = french_person(self.subject)
        participle = []
        if self.tense == "past":
            verb, participle = AVOIR[person], [self.verb.participle]
        elif self.tense == "future":
            verb = self.verb.future + FUTURE[person]
        else:
            verb = self.verb.present[person]
        if self.negated:
            verb = elide("ne", verb) + " pas"
        subject = self.subject.french()
        begin = elide(subject, verb) if subject == "je" else f"{subject} {verb}"
        thing = self.object.french(self.negated and self.object.indefinite)
        place = [f"dans {self.place.french()}"] if self.place else []
        return " ".join([begin, *participle, thing, *place])

    def combinations(self):
        """All (adjective, noun) pairs, and the pair of verb and object."""
        pairs = self.subject.combinations() | self.object.combinations()
        return pairs | {(self.verb.english, self.object.noun.english)}


@dataclass
class Description:
    """Something is, was or will be of some kind."""

    subject: NounPhrase
    adjective: object
    tense: str = "present"
    negated: bool = False

    def english(self):
        """As in "these apples will not be red"."""
        be = BE[self.tense][0][self.subject.plural]
        if self.negated:
            first, *rest = be.split()
            be = " ".join([first, "not", *rest])
        return f"{self.subject.english()} {be} {self.adjective.english}"

    def french(self):
        """As in "ces pommes ne seront pas rouges"."""
        be = BE[self.tense][1][self.subject.plural]
        if self.negated:
            be = elide("ne", be) + " pas"
        form = french_form(self.adjective, self.subject.noun.gender, self.subject.plural)
        return f"{self.subject.french()} {be} {form}"

    def combinations(self):
        """The adjective belongs to the noun here, too."""
        return self.subject.combinations() | {(self.adjective.english, self.subject.noun.english)}


@dataclass
class Existence:
    """There is, or is not, something somewhere."""

    thing: NounPhrase
    place: NounPhrase
    negated: bool = False

    def english(self):
        """As in "there are two cats in the garden", "there is no cat in the garden"."""
        thing = self.thing.english()
        if self.negated:
            thing = f"no {thing.partition(' ')[2]}"
        be = "are" if self.thing.plural else "is"
        return f"there {be} {thing} in {self.place.english()}"

    def french(self):
        """As in "il y a deux chats dans le jardin", "il n'y a pas de chat dans le jardin"."""
        there = "il n'y a pas" if self.negated else "il y a"
        return f"{there} {self.thing.french(self.negated)} dans {self.place.french()}"

    def combinations(self):
        """The pair in what there is."""
        return self.thing.combinations()
