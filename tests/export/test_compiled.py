"""Single sentences by compiled code: the same translations as in a graph."""

import numpy as np
import pytest

from keras_transformer.data import phrases
from keras_transformer.export import CompiledGreedy, Translation
from keras_transformer.tasks import RunFolder, Translator


@pytest.fixture
def lines():
    short = [source for source, _ in phrases(count=20, held_out=0)[0]][:4]
    return [*short, ""]


def test_a_line_alone_is_translated_as_in_a_graph(trained, lines):
    compiled, graph = Translator.load(trained, compiled=True), Translator.load(trained)
    alone = [compiled.n_best([line])[0] for line in lines]
    for found, wanted in zip(alone, [graph.n_best([line])[0] for line in lines], strict=True):
        assert [text for _, text in found] == [text for _, text in wanted]
        np.testing.assert_allclose([s for s, _ in found], [s for s, _ in wanted], rtol=1e-4)
    lengths = [len(ids) + 1 for ids in compiled.tokenizers[0].encode(lines) if ids]
    padded = {compiled.decode_alone.padded_length(length) for length in lengths}
    assert set(compiled.decode_alone.compiled) == padded
    # The graph was not needed.
    assert compiled.decode.experimental_get_tracing_count() == 0
    assert len({text for best in alone for _, text in best}) > 2


def test_a_translation_that_does_not_fit_is_left_to_the_graph(trained, lines, monkeypatch):
    wanted = Translator.load(trained)(lines[:1])
    monkeypatch.setattr(CompiledGreedy, "room", lambda self, length: 2)
    compiled = Translator.load(trained, compiled=True)
    assert compiled.decode_alone(compiled.tokenizers[0].encode(lines[:1])[0] + [2]) is None
    assert compiled(lines[:1]) == wanted


def test_lengths_are_few_and_within_what_the_model_can_read(trained, monkeypatch):
    monkeypatch.setattr(CompiledGreedy, "_compile", lambda self, length: f"for {length}")
    folder = RunFolder(trained)
    compiled = CompiledGreedy(Translation(folder.load_model(), folder.tokenizers()))
    assert [compiled.padded_length(n) for n in (1, 8, 9, 64, 65)] == [8, 8, 16, 64, 128]
    longest = compiled.translation.longest
    assert compiled.padded_length(longest) == compiled.room(longest) == longest
    compiled.warm_up(9)
    assert compiled.compiled == {8: "for 8", 16: "for 16"}


def test_a_beam_is_not_compiled(trained):
    with pytest.raises(ValueError, match=r"Only greedy decoding.*beam_size=2"):
        Translator.load(trained, beam_size=2, compiled=True)
