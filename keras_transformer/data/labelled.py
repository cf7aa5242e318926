"""Labelled texts: a label and a text a line, tagged words in columns, questions with answers."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from keras_transformer.data.pairs import describe_dropped, read_lines
from keras_transformer.text import one_line

COLUMNS = ("label", "text", "second")
LANGUAGE = re.compile(r"[a-z]{2,3}:")  # before every word of some collections: "en:Paris"


class LabelledText(NamedTuple):
    """A text, or two, with its label.

    Attributes:
        label: a string.
        text: a string.
        second: another one, or None.
    """

    label: str
    text: str
    second: str | None = None


class TaggedWords(NamedTuple):
    """A sentence with a tag for each word.

    Attributes:
        words: a tuple of strings.
        tags: as many.
    """

    words: tuple
    tags: tuple


class Question(NamedTuple):
    """A question that a text answers, or does not.

    Attributes:
        question: a string.
        text: a string.
        answers: strings that stand in the text; none if it has no answer.
        start: where the first of them begins, in characters.
    """

    question: str
    text: str
    answers: tuple = ()
    start: int | None = None


def read_labelled(path, columns=("label", "text"), dropped=None):
    """Reads a TSV file of labelled texts, plain or gzip.

    Args:
        path: of the file, without a line of titles.
        columns: what its columns are: "label", "text" and perhaps "second", in any order; "-" for
            one that is of no interest. Further columns are ignored.
        dropped: a `Counter` to which is added what is left out: empty texts, and texts that stood
            there before.

    Returns:
        A list of `LabelledText`s.
    """
    check_columns(columns)
    dropped = Counter() if dropped is None else dropped
    rows = []
    for number, line in decoded_lines(path):
        cells = line.split("\t")
        if not line.strip():
            dropped["empty"] += 1
            continue
        if len(cells) < len(columns):
            raise ValueError(
                f"{path}, line {number} has {len(cells)} columns, not {len(columns)}: "
                f"{', '.join(columns)}, with tabs between them"
            )
        named = {
            name: one_line(cell) for name, cell in zip(columns, cells, strict=False) if name != "-"
        }
        if not named["label"]:
            raise ValueError(f"{path}, line {number} has no label")
        rows.append(LabelledText(**named))
    return without_useless(rows, path, dropped)


def check_columns(columns):
    """Raises an error unless these can be the columns of a file."""
    known = [name for name in columns if name != "-"]
    if not {"label", "text"} <= set(known) <= set(COLUMNS) or len(known) != len(set(known)):
        raise ValueError(
            "`columns` must have a label and a text, perhaps a second text, and - for others. "
            f"Received: {','.join(columns)}"
        )


def without_useless(rows, path, dropped):
    """The rows without empty texts, and each text only once."""
    found, seen = [], set()
    for row in rows:
        if not row.text:
            dropped["empty"] += 1
        elif (row.text, row.second) in seen:
            dropped["repeated"] += 1
        else:
            seen.add((row.text, row.second))
            found.append(row)
    if not found:
        why = f" ({describe_dropped(dropped)})" if dropped else ""
        raise ValueError(f"{path} has no labelled text to read{why}")
    return found


def read_tagged(path, dropped=None):
    """Reads sentences in columns, one word a line: the word first, its tag last.

    A blank line ends a sentence, a line that begins with -DOCSTART- is left out. Columns have tabs
    or spaces between them. If all words begin with the name of their language, "en:Paris", that is
    taken away.

    Args:
        path: of the file, plain or gzip.
        dropped: not used; all is kept.

    Returns:
        A list of `TaggedWords`.
    """
    sentences, words = [], []
    for number, line in decoded_lines(path):
        cells = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            if words:
                sentences.append(words)
            words = []
        elif not line.startswith("-DOCSTART-"):
            if len(cells) < 2 or not cells[0].strip() or not cells[-1].strip():
                raise ValueError(f"{path}, line {number} has no two columns: a word and its tag")
            words.append((one_line(cells[0]), cells[-1].strip()))
    sentences += [words] if words else []
    if not sentences:
        raise ValueError(f"{path} has no tagged sentence to read")
    prefixes = {match[0] if match else None for match in map(LANGUAGE.match, all_words(sentences))}
    cut = len(prefixes.pop()) if len(prefixes) == 1 and None not in prefixes else 0
    return [
        TaggedWords(tuple(word[cut:] for word, _ in words), tuple(tag for _, tag in words))
        for words in sentences
    ]


def all_words(sentences):
    """The words of sentences, one after the other."""
    return (word for words in sentences for word, _ in words)


def read_questions(path, dropped=None):
    """Reads questions with texts that answer them.

    Args:
        path: a TSV file: question, text, answer, which is a part of the text or empty; or a JSON
            file in the layout of SQuAD.
        dropped: a `Counter` to which is added what is left out: empty questions and texts.

    Returns:
        A list of `Question`s.
    """
    dropped = Counter() if dropped is None else dropped
    rows = squad_questions(path) if str(path).endswith(".json") else tsv_questions(path)
    found = []
    for row in rows:
        if row.question and row.text:
            found.append(row)
        else:
            dropped["empty"] += 1
    if not found:
        raise ValueError(f"{path} has no question to read")
    return found


def tsv_questions(path):
    """The questions of a TSV file."""
    for number, line in decoded_lines(path):
        if not line.strip():
            continue
        cells = [one_line(cell) for cell in line.split("\t")]
        if len(cells) < 3:
            raise ValueError(
                f"{path}, line {number} has {len(cells)} columns, not 3: question, text, answer, "
                "with tabs between them"
            )
        question, text, answer = cells[:3]
        start = text.find(answer) if answer else None
        if start == -1:
            raise ValueError(f"{path}, line {number}: the answer is no part of the text")
        yield Question(question, text, (answer,) if answer else (), start)


def squad_questions(path):
    """The questions of a JSON file in the layout of SQuAD."""
    if not Path(path).exists():
        raise ValueError(f"{path} does not exist")
    try:
        articles = json.loads(Path(path).read_text())["data"]
        for article in articles:
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    answers = qa.get("answers", [])
                    yield Question(
                        qa["question"].strip(),
                        paragraph["context"],
                        tuple(dict.fromkeys(answer["text"] for answer in answers)),
                        answers[0]["answer_start"] if answers else None,
                    )
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not a JSON file in the layout of SQuAD") from None


def decoded_lines(path):
    """The numbers and texts of a file's lines."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield number, line.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{path}, line {number} is not UTF-8") from None
