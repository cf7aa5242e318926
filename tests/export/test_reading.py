"""Fine-tuned models in the graph: what the host says, they say."""

import numpy as np
import pytest
import tensorflow as tf
from bert_inputs import SMALL
from minilm import MINILM

from keras_transformer import Bert
from keras_transformer.data.labelled import LabelledText, Question, TaggedWords
from keras_transformer.export.reading import Answering, Classification, Tagging
from keras_transformer.models import Classifier, SpanFinder, Tagger
from keras_transformer.tasks import check, export
from keras_transformer.tasks.export_reader import texts
from keras_transformer.tasks.finetune_kinds import KINDS
from keras_transformer.tasks.predict import Predictor, fill_up
from keras_transformer.tasks.reader import Reader
from keras_transformer.text import WordPieceTokenizer

LENGTH = 20
TEXTS = [
    "Ada Lovelace was born in London, and wrote the first program.",
    "x",
    "naïve café\u200b 中文 \u0301 unbelievable antidisestablishmentarianism",
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty",
    "  spaces   around  ",
]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer.load(MINILM)


def make_bert(tokenizer):
    bert = Bert(**{**SMALL, "vocab_size": tokenizer.vocab_size, "max_length": LENGTH})
    random = np.random.default_rng(0)
    bert.set_weights([w + random.normal(0, 0.3, w.shape) for w in bert.get_weights()])
    return bert


def on_host(kind, model, tokenizer, examples, labels):
    rows = KINDS[kind].rows(examples, tokenizer, LENGTH)
    logits = Predictor(model)(rows.ids, rows.seconds)
    return rows, KINDS[kind].answers(examples, rows, logits, labels)


def traced(function, **inputs):
    specs = {name: tf.TensorSpec([None], tf.string) for name in inputs}
    function = tf.function(function).get_concrete_function(**specs)
    return function(**{name: tf.constant(value) for name, value in inputs.items()})


def test_rows_and_labels_are_those_of_the_host(tokenizer):
    model, labels = Classifier(make_bert(tokenizer), 3, "mean"), ["a", "b", "c"]
    model.classify.kernel.assign(100 * model.classify.kernel)  # so that labels differ
    reading = Classification(model, tokenizer, labels, LENGTH)
    rows, expected = on_host(
        "classify", model, tokenizer, [LabelledText("", text) for text in TEXTS], labels
    )
    found = traced(reading.tokenize, text=TEXTS)
    token_ids, segment_ids = fill_up(rows.ids, rows.seconds)
    np.testing.assert_array_equal(found["token_ids"], token_ids)
    np.testing.assert_array_equal(found["segment_ids"], segment_ids)
    answer = traced(reading.classify, text=[*TEXTS, " ", ""])
    assert texts(answer["label"]) == [*expected, "", ""]
    assert len(set(expected)) > 1
    np.testing.assert_allclose(answer["probabilities"][:-2].numpy().sum(axis=1), 1, rtol=1e-5)
    assert not answer["probabilities"][-2:].numpy().any()
    assert traced(reading.classify, text=np.zeros(0, str))["label"].shape == (0,)


def test_rows_of_two_texts_are_those_of_the_host(tokenizer):
    model, labels = Classifier(make_bert(tokenizer), 2), ["a", "b"]
    reading = Classification(model, tokenizer, labels, LENGTH)
    pairs = [(one, other) for one in TEXTS for other in TEXTS]
    examples = [LabelledText("", one, other) for one, other in pairs]
    rows, expected = on_host("classify", model, tokenizer, examples, labels)
    first, second = ([pair[i] for pair in pairs] for i in (0, 1))
    ids = [tokenizer.tokenize(tf.constant(side)) for side in (first, second)]
    token_ids, segment_ids = fill_up(rows.ids, rows.seconds)
    np.testing.assert_array_equal(reading.rows(*ids)["token_ids"], token_ids)
    np.testing.assert_array_equal(reading.rows(*ids)["segment_ids"], segment_ids)
    answer = traced(reading.classify_pair, text=first, second=second)
    assert texts(answer["label"]) == expected


def test_tags_are_those_of_the_host(tokenizer):
    model, labels = Tagger(make_bert(tokenizer), 3), ["O", "B-PER", "I-PER"]
    reading = Tagging(model, tokenizer, labels, LENGTH)
    sentences = [TaggedWords(tuple(text.split()), ()) for text in TEXTS]
    _, expected = on_host("tag", model, tokenizer, sentences, labels)
    answer = traced(reading.tag, text=[*TEXTS, ""])
    for words, tags, sentence, wanted in zip(
        answer["words"].numpy(), answer["tags"].numpy(), sentences, expected, strict=False
    ):
        assert [word.decode() for word in words if word] == list(sentence.words)
        assert [tag.decode() for tag in tags if tag] == wanted
    assert not any(answer["tags"].numpy()[-1])
    assert len({tag for tags in expected for tag in tags}) > 1


def test_answers_are_those_of_the_host(tokenizer):
    model = SpanFinder(make_bert(tokenizer))
    reading = Answering(model, tokenizer, [], LENGTH)
    questions = ["who?", "when and where was that, and why, and who says so?", "x"]
    asked = [Question(question, text.strip()) for question in questions for text in TEXTS]
    _, expected = on_host("span", model, tokenizer, asked, [])
    answer = traced(
        reading.answer,
        question=[question.question for question in asked],
        text=[question.text for question in asked],
    )
    assert texts(answer["answer"]) == [" ".join(found.split()) for found in expected]
    assert any(expected)


@pytest.fixture(scope="module")
def served(classifier, once):
    return once("praise", lambda base: export(classifier, base))


def test_an_exported_classifier_passes_every_check(served, classifier):
    for finding in check(served):
        assert finding.passed, finding
    loaded = tf.saved_model.load(str(served / "1"))
    lines = ["eve saw a great cow in lima", "max saw a nasty pig in rome", ""]
    answer = loaded.signatures["serving_default"](text=tf.constant(lines))
    found = Reader.load(classifier).classify(lines)
    assert texts(answer["label"]) == [one.label for one in found]
    assert texts(answer["label"]) == ["good", "bad", ""]
    probabilities = answer["probability"].numpy()
    assert probabilities[0] == pytest.approx(found[0].probabilities["good"], abs=1e-5)
    assert "| `classify` | `text` |" in (served / "README.md").read_text()


def test_it_becomes_tflite_files(classifier, tmp_path):
    labelled = classifier.with_name("labelled.tsv")
    path, rows = export(
        classifier, tmp_path / "praise", format="tflite", quantize=("none", "int8"), data=labelled
    )
    assert [row.name for row in rows] == ["Keras", "TFLite none", "TFLite int8"]
    assert rows[1].equal == rows[0].equal
    assert rows[0].score_name == "accuracy"
    assert rows[0].score > 95
    assert {"model.tflite", "model.int8.tflite", "vocab.txt", "config.json"} <= {
        file.name for file in path.iterdir()
    }


def test_options_of_translation_are_refused(classifier, tmp_path, command):
    code, _, shown = command("export", classifier, "--out", tmp_path / "a", "--beam", "4")
    assert code == 2
    assert "has learned to classify, not to translate" in shown
