"""Lines in the graph are treated as Python treats them."""

import random
import sys

import pytest
import tensorflow as tf

from keras_transformer.export.text_ops import clean, one_line
from keras_transformer.tasks.translate import clean as clean_on_host
from keras_transformer.tasks.translate import one_line as one_line_on_host

SPACES = [chr(i) for i in range(sys.maxunicode + 1) if chr(i).isspace()]


def lines():
    draw = random.Random(0)
    letters = [*SPACES, "\ufeff", "a", "é", "ﬁ", "🐕", "\u200b", "\x00"]
    yield from ("", " ", "\ufeff", "\ufeff a", " \ufeffa", "\ufeff\ufeffa ", *SPACES)
    for _ in range(500):
        yield "".join(draw.choices(letters, k=draw.randint(1, 8)))


@pytest.mark.parametrize(
    ("in_graph", "in_python"),
    [(clean, clean_on_host), (one_line, one_line_on_host)],
    ids=["clean", "one_line"],
)
def test_the_graph_agrees_with_python(in_graph, in_python):
    texts = list(lines())
    assert [text.decode() for text in in_graph(tf.constant(texts)).numpy()] == [
        in_python(text) for text in texts
    ]


def test_bytes_that_are_no_text_are_left_alone():
    assert one_line(tf.constant([b"\xff\xfe"])).numpy()[0] == b"\xff\xfe"
