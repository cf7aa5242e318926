"""Translating: a line's translation is its own, and one trace serves all."""

import numpy as np
import pytest

from keras_transformer.data import phrases
from keras_transformer.tasks import RunFolder, Translator, evaluate, translate
from keras_transformer.tasks.evaluate import score
from keras_transformer.tasks.translate import one_line


@pytest.fixture
def lines():
    pairs, _ = phrases(count=200, held_out=0)
    return [source for source, _ in pairs]


def test_a_line_alone_equals_the_same_line_in_any_batch(trained, lines):
    translator = Translator.load(trained)
    together = translator(lines)
    assert len(set(together)) > 1
    assert [translator([line])[0] for line in lines[:20]] == together[:20]
    assert Translator.load(trained, batch_tokens=50)(lines) == together
    assert translator(lines[::-1])[::-1] == together


def test_one_trace_serves_all_shapes(trained, lines):
    translator = Translator.load(trained)
    translator(lines)
    traces = translator.decode.experimental_get_tracing_count()
    translator(lines[:7])
    translator(["word " * 1000])
    assert translator.decode.experimental_get_tracing_count() == traces == 1


def test_a_translation_has_at_most_50_tokens_more_than_its_source(trained):
    translator = Translator.load(trained)
    source = np.array([[5, 6, 2, 0, 0], [5, 6, 7, 8, 2]], "int32")
    ids = np.array(translator.decode(source))
    assert ids.shape == (2, 4 + 50)
    assert (ids[0, 2 + 50 :] == 0).all()


def test_a_long_line_is_translated_in_pieces(trained):
    translator = Translator.load(trained)
    ids = translator.tokenizers[0].encode("the dog " * 400)
    pieces = translator._pieces(ids)
    assert [token for piece in pieces for token in piece] == ids
    assert max(map(len, pieces)) == 255
    # With a decoder that repeats its source the pieces come back in their order.
    numbers = " ".join(map(str, range(400)))
    translator._decode_batch = translator.tokenizers[0].decode
    assert translator([numbers])[0].replace(" ", "") == numbers.replace(" ", "")


def test_an_output_is_one_line():
    assert one_line(" a\nb\r\u2028c \x85 d") == "a b c d"


def test_translate_is_the_function_for_it(trained):
    assert translate(trained, ["the dog", ""])[1] == ""


def test_a_run_without_a_model_says_so(trained, tmp_path):
    for name in ("config.json", "tokenizer.model"):
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    with pytest.raises(ValueError, match="has no model yet"):
        RunFolder(tmp_path).load_model()


def test_evaluate_compares_with_the_references(trained, pairs_file):
    result = evaluate(trained, data=str(pairs_file))
    assert result["sentences"] == len(result["outputs"]) == 200
    sources, references, translations = zip(*result["outputs"], strict=True)
    again = score(translations, references)
    assert again["bleu"] == result["bleu"]
    assert sources[0] == pairs_file.read_text().split("\t")[0]


def test_scores_are_percent():
    perfect = score(["the cat sat on the mat"], ["the cat sat on the mat"])
    assert round(perfect["bleu"]) == round(perfect["chrf"]) == perfect["exact_match"] == 100
    half = score(["the cat sat on the mat", "x"], ["the cat sat on the mat", "y"])
    assert half["exact_match"] == 50
