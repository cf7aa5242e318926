"""Translation in one graph: equal to the host's, whatever comes in."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import phrases
from keras_transformer.export.saved_model import concrete, translation_signatures
from keras_transformer.export.translation import Translation, at_least_one_row, split_rows
from keras_transformer.tasks import RunFolder, Translator

ODD_LINES = ["", "   ", "🐕 الكلب", "the dog " * 1250, "a\u2028b", "\ufeffthe dog", "\x00"]


class Traced:
    """The functions of a `Translation` in graphs, each traced once for all shapes."""

    def __init__(self, translation):
        self.original, self.traces = translation, {}
        self.signatures = translation_signatures(translation)

    def __getattr__(self, name):
        if name not in self.signatures:
            return getattr(self.original, name)
        if name not in self.traces:
            self.traces[name] = concrete(self.signatures[name])
        inputs = self.signatures[name].inputs
        return lambda *values: self.traces[name](**dict(zip(inputs, values, strict=True)))


@pytest.fixture
def translation(trained):
    folder = RunFolder(trained)
    return Traced(Translation(folder.load_model(), folder.tokenizers()))


def texts(tensor):
    return [text.decode() for text in tensor.numpy().ravel()]


def test_the_graph_translates_as_the_host_does(trained, translation):
    lines = [source for source, _ in phrases(count=200, held_out=0)[0]][:100] + ODD_LINES
    answer = translation.translate(tf.constant(lines))
    expected = Translator.load(trained)(lines)
    assert texts(answer["translation"]) == expected
    assert len(set(expected)) > 2
    assert expected[-len(ODD_LINES)] == ""
    scores = answer["score"].numpy()
    assert (scores[[bool(text) for text in expected]] < 0).all()
    assert scores[-len(ODD_LINES)] == 0


def test_the_graph_gives_the_best_few_translations_of_a_beam(trained):
    folder, beam = RunFolder(trained), {"beam_size": 3, "alpha": 0.6}
    graph = Traced(Translation(folder.load_model(), folder.tokenizers(), **beam))
    lines = [*[source for source, _ in phrases(count=20, held_out=0)[0]], "the dog " * 200, ""]
    answer = graph.translate_nbest(tf.constant(lines))
    on_host = Translator.load(trained, n_best=3, **beam).n_best(lines)
    assert answer["translations"].shape == answer["scores"].shape == (len(lines), 3)
    for texts_, scores, wanted in zip(
        answer["translations"].numpy(), answer["scores"].numpy(), on_host, strict=True
    ):
        wanted = wanted or [(0.0, "")] * 3
        assert [text.decode() for text in texts_] == [text for _, text in wanted]
        np.testing.assert_allclose(scores, [score for score, _ in wanted], rtol=1e-4, atol=1e-5)
    assert len({text for _, text in on_host[0]}) > 1


def test_an_empty_batch_and_empty_lines_are_answered(translation):
    nothing = tf.zeros([0], tf.string)
    for function in ("translate", "tokenize", "encode", "attention"):
        for rows, text in ((0, nothing), (2, tf.constant(["", ""]))):
            for name, output in getattr(translation, function)(text).items():
                assert output.shape[0] == rows, name
    ids, lengths = tf.zeros([0, 0], tf.int32), tf.zeros([0], tf.int32)
    assert translation.translate_ids(ids, lengths)["ids"].shape[0] == 0
    assert translation.detokenize(ids, lengths)["text"].shape[0] == 0


def test_ids_give_the_same_translation_whatever_they_are_filled_up_with(translation):
    lines = tf.constant(["the dog sleeps", "he sees two big houses and a small dog"])
    expected = translation.translate(lines)
    tokens = translation.tokenize(lines)
    ids, lengths = tokens["ids"].numpy(), tokens["lengths"].numpy()
    columns = np.arange(ids.shape[1])
    filled = np.where(columns < lengths[:, None], ids, ids[:, :1])  # as TF Serving fills up
    for given in (ids, filled, np.pad(filled, ((0, 0), (0, 300)), constant_values=7)):
        answer = translation.translate_ids(tf.constant(given), tf.constant(lengths))
        np.testing.assert_allclose(answer["score"], expected["score"], rtol=1e-5)
        text = translation.detokenize(answer["ids"], answer["lengths"])["text"]
        assert texts(text) == texts(expected["translation"])


def test_more_ids_than_the_model_can_read_are_cut(translation):
    ids = tf.fill([1, 1000], 7)
    long = translation.translate_ids(ids, tf.constant([1000]))
    cut = translation.translate_ids(ids[:, :255], tf.constant([255]))
    np.testing.assert_array_equal(long["ids"], cut["ids"])


def test_a_vector_depends_on_its_sentence_alone(translation):
    lines = ["the dog sleeps", "he sees two big houses and a small dog", ""]
    together = translation.encode(tf.constant(lines))["vector"]
    alone = [translation.encode(tf.constant([line]))["vector"][0] for line in lines]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert np.abs(together[0] - together[1]).max() > 0.1
    # Without padding the vector is the plain mean over the tokens.
    memory, _ = translation.model.encode(translation.source_of(tf.constant(lines[:1])))
    np.testing.assert_allclose(together[0], np.mean(memory[0], axis=0), atol=1e-5)


def test_attention_is_that_of_the_translation(translation):
    lines = tf.constant(["the dog sleeps", "he sees two big houses and a small dog"])
    answer = translation.attention(lines)
    assert texts(answer["translation"]) == texts(translation.translate(lines)["translation"])
    weights = answer["attention"].numpy()
    source, target = answer["source_tokens"].numpy(), answer["target_tokens"].numpy()
    assert weights.shape == (2, 1, 2, target.shape[1], source.shape[1])
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert (weights[0][..., source[0] == b""] == 0).all()  # nobody looks at padding
    said = b"".join(source[0]).decode().replace("▁", " ").removesuffix("</s>").strip()
    assert said == "the dog sleeps"


def test_logits_are_the_models(translation):
    source, target = tf.constant([[5, 6, 2]]), tf.constant([[1, 7]])
    expected = translation.model({"source": source, "target": target})
    np.testing.assert_allclose(translation.logits(source, target)["logits"], expected, atol=1e-5)


def test_rows_are_split_in_their_order():
    rows = tf.ragged.constant([[1, 2, 3, 4, 5], [], [6, 7], [8, 9, 10, 11]], dtype=tf.int32)
    pieces, counts = split_rows(rows, 2)
    assert pieces.to_list() == [[1, 2], [3, 4], [5], [6, 7], [8, 9], [10, 11]]
    assert counts.numpy().tolist() == [3, 0, 1, 2]


def test_a_row_is_added_only_if_there_is_none():
    assert at_least_one_row(tf.zeros([0, 0], tf.int32)).numpy().tolist() == [[2]]
    assert at_least_one_row(tf.zeros([0, 3], tf.int32)).numpy().tolist() == [[2, 0, 0]]
    assert at_least_one_row(tf.constant([[5, 2]])).numpy().tolist() == [[5, 2]]
