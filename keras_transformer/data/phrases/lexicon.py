"""The words of the embedded corpus, in English and French, with what goes together with what."""

from dataclasses import dataclass

VOWELS = "aeiouàâéèêëîïôûùœh"  # every h here is silent


def begins_with_vowel(word):
    """Whether le, de, ne and je lose their e before this French word."""
    return word[0] in VOWELS


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; `kind` says what can be done with it and said of it."""

    english: str
    french: str
    gender: str
    kind: str
    english_plural: str
    french_plural: str


@dataclass(frozen=True)
class Adjective:
    """An adjective; its French forms are masculine, feminine, and both plurals.

    `before_vowel` is the masculine before a noun that begins with a vowel, as in "bel oiseau".
    """

    english: str
    forms: tuple
    stands_before: bool
    kinds: frozenset
    before_vowel: str


@dataclass(frozen=True)
class Verb:
    """A verb with an object; who does it to what.

    The French forms are those of je, il, nous, ils in the present, the stem of the future, and the
    past participle.
    """

    english: str
    english_past: str
    present: tuple
    future: str
    participle: str
    subjects: frozenset
    objects: frozenset


def _nouns(kind, gender, table):
    for row in table.split(","):
        english, french, *irregular = row.split()
        plurals = dict(zip(("english", "french"), irregular, strict=False))
        yield Noun(
            english,
            french,
            gender,
            kind,
            plurals.get("english", "-").replace("-", _english_plural(english)),
            plurals.get("french", _french_plural(french)),
        )


def _english_plural(word):
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    return word[:-1] + "ies" if word[-1] == "y" and word[-2] not in "aeiou" else word + "s"


def _french_plural(word):
    if word.endswith(("s", "x")):
        return word
    return word + "x" if word.endswith("eau") else word + "s"


NOUNS = (
    *_nouns("person", "m", "man homme men, boy garçon, doctor médecin, baker boulanger"),
    *_nouns("person", "m", "farmer fermier, king roi, brother frère, neighbour voisin"),
    *_nouns("person", "m", "uncle oncle, child enfant children, teacher professeur, prince prince"),
    *_nouns("person", "f", "woman femme women, girl fille, queen reine, sister sœur, aunt tante"),
    *_nouns("person", "f", "nurse infirmière, princess princesse, witch sorcière"),
    *_nouns("animal", "m", "cat chat, dog chien, horse cheval - chevaux, bird oiseau, bear ours"),
    *_nouns("animal", "m", "wolf loup wolves, rabbit lapin, duck canard, elephant éléphant"),
    *_nouns("animal", "f", "cow vache, mouse souris mice, hen poule, goat chèvre"),
    *_nouns("food", "m", "egg œuf, cake gâteau, onion oignon, lemon citron, biscuit biscuit"),
    *_nouns("food", "f", "apple pomme, orange orange, carrot carotte, pear poire"),
    *_nouns("food", "f", "tomato tomate tomatoes, cherry cerise, banana banane, salad salade"),
    *_nouns("thing", "m", "book livre, hat chapeau, umbrella parapluie, mirror miroir, bag sac"),
    *_nouns("thing", "m", "coat manteau, tool outil, ring anneau, knife couteau knives"),
    *_nouns("thing", "f", "letter lettre, lamp lampe, key clé, chair chaise, ladder échelle"),
    *_nouns("thing", "f", "dress robe, shirt chemise, box boîte, picture image, clock horloge"),
    *_nouns("vehicle", "m", "bicycle vélo, train train, boat bateau, plane avion, lorry camion"),
    *_nouns("vehicle", "f", "car voiture, cart charrette"),
    *_nouns("place", "m", "garden jardin, park parc, village village, hotel hôtel, castle château"),
    *_nouns("place", "m", "market marché, hospital hôpital - hôpitaux"),
    *_nouns("place", "f", "house maison, school école, kitchen cuisine, forest forêt"),
    *_nouns("place", "f", "church église, street rue, town ville"),
)

LIVING = frozenset({"person", "animal"})
OBJECT = frozenset({"thing", "vehicle"})
EDIBLE = frozenset({"food"})
PLACE = frozenset({"place"})
PERSON = frozenset({"person"})
ANIMAL = frozenset({"animal"})
EVERYTHING = LIVING | OBJECT | EDIBLE | PLACE


def _adjectives(kinds, stands_before, table):
    for row in table.split(","):
        english, masculine, *irregular = row.split()
        feminine = irregular[0] if irregular else _feminine(masculine)
        masculine_plural = masculine if masculine[-1] in "sx" else _french_plural(masculine)
        before_vowel = irregular[1] if len(irregular) > 1 else masculine
        forms = (masculine, feminine, masculine_plural, feminine + "s")
        yield Adjective(english, forms, stands_before, kinds, before_vowel)


def _feminine(masculine):
    return masculine if masculine.endswith("e") else masculine + "e"


ADJECTIVES = (
    *_adjectives(EVERYTHING, True, "big grand, small petit, beautiful beau belle bel"),
    *_adjectives(EVERYTHING, True, "old vieux vieille vieil, pretty joli"),
    *_adjectives(OBJECT | PLACE, True, "new nouveau nouvelle nouvel"),
    *_adjectives(LIVING, True, "young jeune"),
    *_adjectives(EDIBLE, True, "good bon bonne, bad mauvais"),
    *_adjectives(EDIBLE | OBJECT | ANIMAL, False, "red rouge, green vert, black noir, grey gris"),
    *_adjectives(EDIBLE | OBJECT | ANIMAL, False, "white blanc blanche, yellow jaune, blue bleu"),
    *_adjectives(LIVING, False, "tired fatigué, sad triste, happy heureux heureuse"),
    *_adjectives(LIVING, False, "strong fort, clever intelligent, famous célèbre"),
    *_adjectives(PERSON, False, "rich riche, polite poli"),
    *_adjectives(ANIMAL, False, "wild sauvage, dangerous dangereux dangereuse"),
    *_adjectives(EDIBLE, False, "fresh frais fraîche, hot chaud, cold froid, round rond"),
    *_adjectives(OBJECT, False, "heavy lourd, broken cassé, expensive cher chère, useful utile"),
    *_adjectives(OBJECT | PLACE, False, "clean propre, dirty sale, modern moderne"),
    *_adjectives(PLACE, False, "quiet calme, empty vide, huge immense"),
)


def _regular(infinitive, first_person_plural=None):
    """The forms of a verb in -er: cherche, cherche, cherchons, cherchent; chercher-; cherché."""
    stem = infinitive[:-2]
    nous = first_person_plural or stem + "ons"
    return (stem + "e", stem + "e", nous, stem + "ent"), infinitive, stem + "é"


def _verb(english, english_past, french, subjects, objects):
    return Verb(english, english_past, *french, subjects, objects)


VERBS = (
    _verb("eat", "ate", _regular("manger", "mangeons"), LIVING, EDIBLE),
    _verb("prepare", "prepared", _regular("préparer"), PERSON, EDIBLE),
    _verb("look for", "looked for", _regular("chercher"), LIVING, EVERYTHING),
    _verb("find", "found", _regular("trouver"), LIVING, EVERYTHING),
    _verb("like", "liked", _regular("aimer"), LIVING, EVERYTHING),
    _verb("wash", "washed", _regular("laver"), PERSON, EDIBLE | OBJECT | ANIMAL),
    _verb("repair", "repaired", _regular("réparer"), PERSON, OBJECT),
    _verb("carry", "carried", _regular("porter"), PERSON, EDIBLE | frozenset({"thing"})),
    _verb("draw", "drew", _regular("dessiner"), PERSON, EVERYTHING),
    _verb("visit", "visited", _regular("visiter"), PERSON, PLACE),
    _verb("leave", "left", _regular("quitter"), LIVING, PLACE),
    _verb("admire", "admired", _regular("admirer"), PERSON, EVERYTHING),
    _verb("forget", "forgot", _regular("oublier"), PERSON, EVERYTHING),
    _verb("hide", "hid", _regular("cacher"), PERSON, EDIBLE | OBJECT),
    _verb(
        "see",
        "saw",
        (("vois", "voit", "voyons", "voient"), "verr", "vu"),
        LIVING,
        EVERYTHING,
    ),
    _verb(
        "buy",
        "bought",
        (("achète", "achète", "achetons", "achètent"), "achèter", "acheté"),
        PERSON,
        EDIBLE | OBJECT,
    ),
    _verb(
        "sell",
        "sold",
        (("vends", "vend", "vendons", "vendent"), "vendr", "vendu"),
        PERSON,
        EDIBLE | OBJECT | ANIMAL,
    ),
    _verb(
        "lose",
        "lost",
        (("perds", "perd", "perdons", "perdent"), "perdr", "perdu"),
        PERSON,
        OBJECT,
    ),
    _verb(
        "follow",
        "followed",
        (("suis", "suit", "suivons", "suivent"), "suivr", "suivi"),
        LIVING,
        LIVING | frozenset({"vehicle"}),
    ),
    _verb(
        "choose",
        "chose",
        (("choisis", "choisit", "choisissons", "choisissent"), "choisir", "choisi"),
        PERSON,
        EDIBLE | OBJECT,
    ),
    _verb(
        "take",
        "took",
        (("prends", "prend", "prenons", "prennent"), "prendr", "pris"),
        LIVING,
        EDIBLE | frozenset({"thing"}),
    ),
)
