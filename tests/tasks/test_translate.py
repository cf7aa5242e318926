"""Translating: a line's translation is its own, and one trace serves all."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import phrases
from keras_transformer.tasks import RunFolder, Translator, evaluate, translate
from keras_transformer.tasks.evaluate import score
from keras_transformer.tasks.validation_bleu import ValidationBleu
from keras_transformer.text import one_line
from keras_transformer.training.workers import Workers


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
    ids = np.array(translator.decode(source)[0])[:, 0]
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
    decode = translator.tokenizers[0].decode
    translator._decode_batch = lambda pieces: [[(-1.0, text)] for text in decode(pieces)]
    assert translator([numbers])[0].replace(" ", "") == numbers.replace(" ", "")


def test_a_beam_finds_what_is_at_least_as_good(trained, lines):
    greedy = Translator.load(trained)
    beam = Translator.load(trained, beam_size=4, alpha=0.0, n_best=4)
    better = 0
    for one, four in zip(greedy.n_best(lines[:40]), beam.n_best(lines[:40]), strict=True):
        ((score, text),) = one
        scores = [s for s, _ in four]
        assert scores == sorted(scores, reverse=True)
        assert len(four) == 4
        better += scores[0] > score + 1e-4
        if scores[0] < score - 1e-4:  # rare: greedy's way was pushed out of the beam
            assert text not in [t for _, t in four]
    assert better > 5
    assert beam([""]) == [""]
    assert beam.n_best([""]) == [[]]


def test_a_beam_of_one_is_greedy_and_a_beam_needs_no_company(trained, lines):
    assert Translator.load(trained, alpha=0.3)(lines) == Translator.load(trained)(lines)
    beam = Translator.load(trained, beam_size=3)
    together = beam(lines[:40])
    assert [beam([line])[0] for line in lines[:10]] == together[:10]


def test_the_pieces_of_a_long_line_are_joined_by_rank(trained):
    translator = Translator.load(trained, beam_size=2, n_best=2)
    translator._decode_batch = lambda pieces: [
        [(-1.0, f"best {len(piece)}"), (-2.0, f"second {len(piece)}")] for piece in pieces
    ]
    ((first, second),) = translator.n_best(["the dog " * 400])
    assert first[0] == second[0] / 2
    assert first[1].startswith("best 255 best 255")
    assert second[1].startswith("second 255 second 255")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"beam_size": 0}, "A beam must be of 1 at least"),
        ({"beam_size": 321}, "beam_size=321, and the vocabulary has 320 pieces"),
        ({"beam_size": 2, "alpha": -1.0}, "`alpha` must not be negative"),
        ({"n_best": 2}, "n_best=2, beam_size=1"),
        ({"weights": "worst"}, "`weights` must be one of best, last, averaged"),
        ({"weights": "averaged"}, "has no averaged model"),
    ],
)
def test_what_cannot_be_searched_with_is_refused(trained, wrong, complaint):
    with pytest.raises(ValueError, match=complaint):
        Translator.load(trained, **wrong)


def test_an_output_is_one_line():
    assert one_line(" a\nb\r\u2028c \x85 d") == "a b c d"


def test_bleu_of_the_validation_pairs_is_added_to_the_metrics(trained):
    folder, pairs = RunFolder(trained), phrases(count=30, held_out=0)[0]
    alone = Workers(tf.distribute.get_strategy())
    callback = ValidationBleu(folder.load_model(), folder.tokenizers(), pairs, "none", alone)
    logs = {}
    callback.on_epoch_end(0, logs)
    sources, references = map(list, zip(*pairs, strict=True))
    wanted = score(translate(trained, sources), references, "none")["bleu"]
    assert logs == {"val_bleu": wanted}
    assert wanted > 0


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
