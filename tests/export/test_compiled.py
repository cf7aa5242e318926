"""Sentences by compiled code: the same translations as in a graph."""

import numpy as np
import pytest
from keras import ops

from examples.before_transformers.lstm_encoder_decoder import LstmEncoderDecoder
from keras_transformer import Transformer
from keras_transformer.data import phrases
from keras_transformer.export import CompiledGreedy, Translation, compiled
from keras_transformer.export.compiled import LARGE
from keras_transformer.tasks import RunFolder, Translator
from keras_transformer.text import END


@pytest.fixture
def lines():
    return [*[source for source, _ in phrases(count=20, held_out=0)[0]][:4], ""]


@pytest.fixture
def few_sizes(monkeypatch):
    """Batches of four that go on as two: stages with little to compile."""
    monkeypatch.setattr(compiled, "SIZES", (1, 2, 4))


def assert_equal(found, wanted):
    for of_line, wanted_of_line in zip(found, wanted, strict=True):
        assert [text for _, text in of_line] == [text for _, text in wanted_of_line]
        np.testing.assert_allclose(
            [score for score, _ in of_line], [score for score, _ in wanted_of_line], rtol=1e-4
        )


def test_a_line_alone_is_translated_as_in_a_graph(trained, lines):
    translator, graph = Translator.load(trained, compiled=True), Translator.load(trained)
    alone = [translator.n_best([line])[0] for line in lines]
    assert_equal(alone, [graph.n_best([line])[0] for line in lines])
    lengths = [len(ids) + 1 for ids in translator.tokenizers[0].encode(lines) if ids]
    padded = {translator.compiled.padded_length(length) for length in lengths}
    assert {(1, length) for length in padded} <= {key[:2] for key in translator.compiled.compiled}
    # The graph was not needed.
    assert translator.decode.experimental_get_tracing_count() == 0
    assert len({text for best in alone for _, text in best}) > 2


def test_all_lengths_use_the_same_weights(trained):
    translator = Translator.load(trained, compiled=True)
    compiled, tensors = translator.compiled, translator.compiled.weights.tensors
    compiled([[4, 5, END]])
    first = dict(tensors)
    compiled([[4] * 20 + [END]])
    assert {key[1] for key in compiled.compiled} == {8, 24}
    assert {id(tensor) for tensor in tensors.values()} == {id(x) for x in first.values()}
    # Every large matrix of the model, the embedding turned round as well, and the positions.
    large = [v for v in translator.model.weights if np.prod(v.shape) * 4 >= LARGE]
    assert len(tensors) == len(large) + 2
    for variable in large:
        assert any(np.array_equal(variable, tensor) for tensor in tensors.values())


def test_a_batch_is_translated_as_in_a_graph(trained, lines, few_sizes):
    translator = Translator.load(trained, compiled=True)
    wanted = Translator.load(trained).n_best(lines)
    assert_equal(translator.n_best(lines), wanted)
    # Four lines together, of which two go on by themselves.
    moved = {(key[0], key[2]) for key in translator.compiled.compiled if len(key) == 4}
    assert (4, 2) in moved
    assert translator.decode.experimental_get_tracing_count() == 0


def test_a_translation_gets_more_room_when_it_needs_it(trained, lines, few_sizes, monkeypatch):
    wanted = Translator.load(trained).n_best(lines)
    monkeypatch.setattr(CompiledGreedy, "room", lambda self, length: 2)
    translator = Translator.load(trained, compiled=True)
    assert_equal(translator.n_best(lines), wanted)
    # None of the four has ended after two tokens, so the four go on together.
    moved = {(key[0], key[2]) for key in translator.compiled.compiled if len(key) == 4}
    assert (4, 4) in moved
    assert max(len(text.split()) for best in wanted for _, text in best) > 2


def test_a_line_alone_gets_more_room_when_it_needs_it(trained, lines, monkeypatch):
    wanted = Translator.load(trained).n_best(lines[:1])
    monkeypatch.setattr(CompiledGreedy, "room", lambda self, length: 2)
    translator = Translator.load(trained, compiled=True)
    assert_equal(translator.n_best(lines[:1]), wanted)
    assert len(wanted[0][0][1].split()) > 2
    rooms = [room for _, _, room in translator.compiled.compiled]
    assert len(rooms) == 2
    assert rooms[0] == 2 < rooms[1]


def test_lengths_are_few_and_within_what_the_model_can_read(trained, monkeypatch):
    monkeypatch.setattr(CompiledGreedy, "_begin", lambda self, *shape: made.append(shape))
    folder = RunFolder(trained)
    greedy, made = CompiledGreedy(Translation(folder.load_model(), folder.tokenizers())), []
    assert [greedy.padded_length(n) for n in (1, 8, 9, 64, 65)] == [8, 8, 16, 64, 128]
    longest = greedy.translation.longest
    assert greedy.padded_length(longest) == longest
    assert all(greedy.room(n) <= greedy.most_room(n) <= longest for n in (8, 64, 128, longest))
    greedy.warm_up(9)
    assert made == [(1, 8, greedy.room(8)), (1, 16, greedy.room(16))]


def test_warming_up_for_batches_compiles_all_their_sizes(trained, few_sizes):
    greedy = Translator.load(trained, compiled=True).compiled
    greedy.warm_up(8, sentences=4)
    room = greedy.room(8)
    assert set(greedy.compiled) == {(size, 8, room) for size in (1, 2, 4)} | {(4, room, 2, 8)}


@pytest.mark.slow
def test_many_batches_are_decoded_side_by_side(trained, few_sizes):
    lines = [source for source, _ in phrases(count=20, held_out=0)[0]][:13]
    translator = Translator.load(trained, compiled=True, workers=2, batch_size=6)
    # Three batches; those of six are one of four and one of two, as there is no larger size.
    assert_equal(translator.n_best(lines), Translator.load(trained).n_best(lines))


@pytest.mark.parametrize("kind", ["rotary", "relative", "LSTM"])
def test_it_finds_what_the_search_finds(trained, few_sizes, kind):
    """Of models that have learned nothing, and end no sentence before its limit."""
    tokenizers = RunFolder(trained).tokenizers()
    vocab_size = tokenizers[0].vocab_size
    if kind == "LSTM":  # which has no cache, and so no way to enlarge it
        model = LstmEncoderDecoder(vocab_size, 16, max_length=64)
    else:
        model = Transformer(vocab_size, 16, 2, 16, 1, max_length=64, positions=kind)
    translation = Translation(model, tokenizers)
    ids = np.random.default_rng(0).integers(4, vocab_size, (3, 9)).tolist()
    sentences = [[*ids[0], END], [*ids[1][:4], END], [*ids[2], END]]
    source = np.zeros((3, 10), "int32")
    for row, sentence in zip(source, sentences, strict=True):
        row[: len(sentence)] = sentence
    wanted, scores = translation.search(source)
    greedy = CompiledGreedy(translation)
    for (ids, score), of_row, its_score in zip(greedy(sentences), wanted, scores, strict=True):
        assert [*ids, *[0] * (len(of_row) - len(ids))] == of_row.numpy().tolist()
        assert score == pytest.approx(float(its_score), rel=1e-4)
    assert (greedy.room(16) < greedy.most_room(16)) == (kind != "LSTM")


def test_padding_among_the_tokens_is_no_end(trained, few_sizes, monkeypatch):
    def choose(logits, position):
        written = ops.where(position == 1, 0, 5)
        return written + 0 * ops.argmax(logits, axis=-1), ops.max(logits, axis=-1)

    monkeypatch.setattr(compiled, "choose_likeliest", choose)
    greedy = Translator.load(trained, compiled=True).compiled
    for found, _ in greedy([[5, 6, END]]):
        assert found == [5, 0, *[5] * (2 + compiled.LONGER_BY - 2)]


def test_no_sentences_are_no_work_and_a_wrong_one_is_an_error(trained):
    greedy = Translator.load(trained, compiled=True).compiled
    assert greedy([]) == []
    longest = greedy.translation.longest
    for length in (0, longest + 1):
        with pytest.raises(ValueError, match=rf"1 to {longest} ids.*one of {length}$"):
            greedy([[5, END], [5] * length])


def test_a_beam_is_not_compiled(trained):
    with pytest.raises(ValueError, match=r"Only greedy decoding.*beam_size=2"):
        Translator.load(trained, beam_size=2, compiled=True)
