"""Published weights give the published models' numbers, as PyTorch computes them."""

import json
import os
import random
from pathlib import Path

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import pytest
import torch
import transformers
from minilm import MINILM
from safetensors.torch import save_file

from keras_transformer.data import phrases
from keras_transformer.models import Bert, MaskedLanguageModel, SentenceEncoder
from keras_transformer.tasks.predict import fill_up
from keras_transformer.text import WordPieceTokenizer

LONGEST = 256
# Fetched by `make test-slow`; a pickle, which is opened here and nowhere in the package.
RXNFP = Path(__file__).parents[2] / "build/rxnfp/rxnfp/models/transformers/bert_pretrained"
ODD = [
    "",
    "a",
    "Ünïcödé ﬁ 中文字 日本語 한국어 Привет мир مرحبا שלום नमस्ते สวัสดี 😀",
    "don't $9.99 + 3% = ~10 (or so); http://example.org/a?b=c&d [MASK] x^2",
    "word " * 400,
    "supercalifragilisticexpialidocious" * 3,
]


def varied_sentences():
    """Two hundred, from one token to more than there is room for."""
    draw = random.Random(0)
    pairs, _ = phrases(count=400, held_out=0)
    sides = [side for pair in pairs for side in pair]
    found = dict.fromkeys(ODD)
    while len(found) < 200:
        found[" ".join(draw.sample(sides, draw.choice((1, 1, 2, 5, 12, 30))))] = None
    return list(found)


def rows_of(tokenizer, sentences):
    special = tokenizer.special
    return [
        [special.start, *ids[: LONGEST - 2], special.end] for ids in tokenizer.encode(sentences)
    ]


@pytest.fixture(scope="module")
def sentences():
    return varied_sentences()


def test_two_hundred_sentences_have_the_vectors_of_the_reference(sentences):
    assert len(set(sentences)) == 200
    reference = transformers.BertModel.from_pretrained(MINILM, attn_implementation="eager").eval()
    tokenize = transformers.AutoTokenizer.from_pretrained(MINILM)
    ours = WordPieceTokenizer.load(MINILM)
    bert = Bert.from_huggingface(MINILM)
    rows = rows_of(ours, sentences)
    encoder = SentenceEncoder(bert)
    assert max(map(len, rows)) == LONGEST
    order = sorted(range(200), key=lambda i: len(rows[i]))
    worst = 0.0
    for first in range(0, 200, 20):
        batch = order[first : first + 20]
        theirs = tokenize(
            [sentences[i] for i in batch],
            padding=True,
            truncation=True,
            max_length=LONGEST,
            return_tensors="pt",
        )
        token_ids, segment_ids = fill_up([rows[i] for i in batch], [LONGEST] * 20)
        np.testing.assert_array_equal(token_ids, theirs["input_ids"].numpy())
        with torch.no_grad():
            expected = reference(**theirs, output_hidden_states=True)
        inputs = {"token_ids": token_ids, "segment_ids": segment_ids}
        found, vectors = bert(inputs), np.array(encoder(inputs))
        real = token_ids != 0
        for i, state in enumerate(expected.hidden_states):
            difference = np.abs(np.array(found[f"hidden_{i}"]) - state.numpy())[real]
            worst = max(worst, difference.max())
        mask = theirs["attention_mask"][:, :, None].float()
        mean = (expected.last_hidden_state * mask).sum(1) / mask.sum(1)
        unit = torch.nn.functional.normalize(mean).numpy()
        worst = max(worst, np.abs(unit - vectors).max())
    assert worst < 1e-4


@pytest.mark.slow
def test_masked_tokens_are_guessed_as_the_reference_does(tmp_path):
    assert RXNFP.exists(), "make test-slow fetches it"
    weights = torch.load(RXNFP / "pytorch_model.bin", weights_only=True, map_location="cpu")
    save_file(
        {name: x.clone().contiguous() for name, x in weights.items()},
        tmp_path / "model.safetensors",
    )
    config = json.loads((RXNFP / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))
    (tmp_path / "vocab.txt").write_bytes((RXNFP / "vocab.txt").read_bytes())
    model = MaskedLanguageModel.from_huggingface(tmp_path)
    assert model.follows is not None
    reference = transformers.BertForPreTraining.from_pretrained(
        tmp_path, attn_implementation="eager"
    ).eval()
    vocabulary = (RXNFP / "vocab.txt").read_text().splitlines()
    # A reaction in the notation that the model was trained on: acid and amine to an amide.
    reaction = "C C ( = O ) O . N C C >> C C ( = O ) N C C".split()
    ids = [vocabulary.index(token) for token in ["[CLS]", *reaction, "[SEP]"]]
    hidden = range(1, len(ids) - 1)
    token_ids = np.array(
        [[vocabulary.index("[MASK]") if i == h else x for i, x in enumerate(ids)] for h in hidden]
    )
    found = model({"token_ids": token_ids, "segment_ids": np.zeros_like(token_ids)})
    with torch.no_grad():
        expected = reference(torch.tensor(token_ids))
    logits, wanted = np.array(found["masked"]), expected.prediction_logits.numpy()
    np.testing.assert_allclose(logits, wanted, atol=1e-4)
    np.testing.assert_allclose(
        np.array(found["next"]), expected.seq_relationship_logits.numpy(), atol=1e-4
    )
    rows = np.arange(len(token_ids))
    guesses = logits[rows, list(hidden)].argmax(axis=-1)
    assert (guesses == wanted[rows, list(hidden)].argmax(axis=-1)).all()
    # And it knows its chemistry: most of them are right.
    assert np.mean(guesses == ids[1:-1]) > 0.6
