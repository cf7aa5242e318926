"""What a BERT learns before it learns anything else: to guess hidden words."""

import keras
from keras import ops

from keras_transformer.layers import Norm
from keras_transformer.layers.activations import ACTIVATIONS
from keras_transformer.layers.serialization import register
from keras_transformer.models.bert_heads import BertWithHead, head_layer
from keras_transformer.models.bert_weights import ENCODER_PREFIX, dense, norm
from keras_transformer.models.huggingface import Tensor


@register
class MaskedLanguageModel(BertWithHead):
    """Guesses what stands behind [MASK]: logits (B, T, V) of every token.

    The output matrix is the embedding's. With `next_sentence`, the output is a dict: `masked`, and
    `next`, (B, 2), of which the first is the logit of "the second sentence follows the first".

    Args:
        bert: the `Bert`.
        next_sentence: whether to guess that, too; needs a pooler.

    >>> from keras_transformer.models.bert import Bert
    >>> model = MaskedLanguageModel(Bert.from_size("tiny", vocab_size=100))
    >>> ids = ops.ones((2, 5), "int32")
    >>> ops.shape(model({"token_ids": ids, "segment_ids": ops.zeros_like(ids)}))
    (2, 5, 100)
    """

    def __init__(self, bert, next_sentence=False, name=None):
        if next_sentence and bert.pooler is None:
            raise ValueError("`next_sentence` needs a Bert with a pooler")
        dtype = bert.dtype_policy
        transform = head_layer(
            bert.dim, dtype, "transform", ACTIVATIONS.get(*2 * (bert.arguments["activation"],))
        )
        transform_norm = Norm(
            epsilon=bert.arguments["norm_epsilon"], dtype=dtype, name="transform_norm"
        )
        output = TiedOutput(bert.embedding, dtype=dtype, name="output")
        follows = head_layer(2, dtype, "next_sentence") if next_sentence else None

        def outputs(states, token_ids):
            hidden = states[f"hidden_{bert.num_layers}"]
            logits = output(transform_norm(transform(hidden)))
            return {"masked": logits, "next": follows(states["pooled"])} if follows else logits

        super().__init__(bert, outputs, name, next_sentence=next_sentence)
        self.transform, self.transform_norm = transform, transform_norm
        self.output_layer, self.follows = output, follows

    architecture = "BertForPreTraining"

    @classmethod
    def head_arguments(cls, tensors, folder):
        """Whether the file has a head for the next sentence."""
        matrix = tensors.get("cls.predictions.decoder.weight")
        if matrix is not None:
            name = "embeddings.word_embeddings.weight"
            embedding = tensors.get(name, tensors.get(ENCODER_PREFIX + name))
            if embedding is None or (matrix != embedding).any():
                raise ValueError(
                    f"{folder}: cls.predictions.decoder.weight is not the embedding's matrix, and "
                    "here it has to be"
                )
        pooler = any(name.endswith("pooler.dense.weight") for name in tensors)
        return {"next_sentence": pooler and "cls.seq_relationship.weight" in tensors}

    def head_tensors(self):
        """The weights of the head, as `huggingface.Tensor`s."""
        follows = dense("cls.seq_relationship", self.follows) if self.follows else []
        return [
            *dense("cls.predictions.transform.dense", self.transform),
            *norm("cls.predictions.transform.LayerNorm", self.transform_norm),
            Tensor(("cls.predictions.bias",), self.output_layer.bias),
            *follows,
        ]


@register
class TiedOutput(keras.layers.Layer):
    """Logits by the matrix of an embedding, and a bias for each token of the vocabulary.

    Args:
        embedding: a `PositionalEmbedding`.

    Call arguments:
        x: (B, T, D).

    Returns:
        (B, T, V).
    """

    def __init__(self, embedding, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.supports_masking = True

    def build(self, x_shape):
        self.bias = self.add_weight((self.embedding.vocab_size,), "zeros", name="bias")

    def call(self, x):
        return self.embedding(x, reverse=True) + ops.cast(self.bias, self.compute_dtype)

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.embedding.vocab_size)
