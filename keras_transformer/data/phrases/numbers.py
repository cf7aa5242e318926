"""Numbers from two to ninety-nine as words."""

ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
ENGLISH_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
).split()
# Seventy and ninety count on from sixty and eighty.
FRENCH_TENS = (
    "- - vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt"
).split()


def in_english(number):
    """The number in words.

    >>> in_english(71)
    'seventy-one'
    """
    if number < 20:
        return ENGLISH[number]
    tens, ones = divmod(number, 10)
    return ENGLISH_TENS[tens] + (f"-{ENGLISH[ones]}" if ones else "")


def in_french(number, gender="m"):
    """The number in words; one agrees with what is counted.

    >>> in_french(71), in_french(80), in_french(21, "f")
    ('soixante et onze', 'quatre-vingts', 'vingt et une')
    """
    tens, rest = divmod(number, 10)
    if tens in (7, 9):
        rest += 10
    if number < 20:
        words = FRENCH[number]
    elif rest == 0:
        words = FRENCH_TENS[tens] + ("s" if number == 80 else "")
    elif rest in (1, 11) and tens < 8:
        words = f"{FRENCH_TENS[tens]} et {FRENCH[rest]}"
    else:
        words = f"{FRENCH_TENS[tens]}-{FRENCH[rest]}"
    return words + "e" if gender == "f" and words.endswith("un") else words
