"""What a `Bert` is used for: small heads on its vectors, each a functional model of its own."""

import keras
from keras import ops

from keras_transformer.layers import padding_mask
from keras_transformer.layers.arguments import check_choice, check_positive
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.serialization import register
from keras_transformer.models.bert import INITIALIZER_RANGE, INPUTS, Bert
from keras_transformer.models.bert_weights import (
    ENCODER_PREFIX,
    bert_arguments,
    bert_config,
    dense,
    set_bert_weights,
)
from keras_transformer.models.huggingface import read_folder, write_folder

POOLINGS = ("first", "mean")


class BertWithHead(keras.Model):
    """What all models with a head have in common; see those below.

    Args:
        bert: the `Bert`.
        outputs: a function of the bert's outputs and the token ids.
        name: of the model.
        **arguments: of the subclass's constructor, besides these.
    """

    architecture = None  # what Hugging Face calls such a model

    def __init__(self, bert, outputs, name, **arguments):
        inputs = {key: keras.Input((None,), dtype="int32", name=key) for key in INPUTS}
        super().__init__(inputs, outputs(bert(inputs), inputs["token_ids"]), name=name)
        self.bert, self.arguments = bert, {**arguments, "name": self.name}

    def get_config(self):
        return {"bert": self.bert.get_config(), **self.arguments}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Makes the bert first, then the model around it."""
        return cls(**{**config, "bert": Bert.from_config(config["bert"])})

    @classmethod
    def from_huggingface(cls, folder, skip_unknown=False, **changes):
        """A model with published weights, those of its head included; see `Bert.from_huggingface`.

        Args:
            folder: with `config.json` and `model.safetensors`.
            skip_unknown: whether tensors that no BERT has are left out, not an error.
            **changes: arguments of `Bert`, such as `dropout`.
        """
        config, tensors = read_folder(folder)
        has_pooler = any(name.endswith("pooler.dense.weight") for name in tensors)
        bert = Bert(**{**bert_arguments(config, folder), "pooler": has_pooler, **changes})
        model = cls(bert, **cls.head_arguments(tensors, folder))
        set_bert_weights(model.huggingface_tensors(), tensors, folder, skip_unknown)
        return model

    @classmethod
    def head_arguments(cls, tensors, folder):
        """Arguments of the constructor that the tensors of a file tell."""
        return {}

    def head_tensors(self):
        """The weights of the head, as `huggingface.Tensor`s."""
        return []

    def huggingface_tensors(self, prefix=""):
        """The names of all weights in Hugging Face's files."""
        return [*self.bert.huggingface_tensors(prefix), *self.head_tensors()]

    def to_huggingface(self, folder, files=None, more=None):
        """Writes `config.json` and `model.safetensors`, see `Bert.to_huggingface`.

        Args:
            folder: where to.
            files: what else to write, a dict from names to bytes.
            more: what else to say in `config.json`, such as the names of labels.
        """
        config = bert_config(self.bert.arguments, self.architecture, more)
        write_folder(folder, config, self.huggingface_tensors(ENCODER_PREFIX), files)


@register
class Classifier(BertWithHead):
    """One label for the whole text: logits (B, num_labels).

    Args:
        bert: the `Bert`.
        num_labels: how many labels there are.
        pooling: what the label is read from: "first", the pooled vector of the first token, as
            Devlin et al. 2019 have it; or "mean", the mean of all tokens' last vectors.
        dropout: rate on that vector.

    >>> model = Classifier(Bert.from_size("tiny", vocab_size=100), num_labels=3)
    >>> ids = ops.ones((2, 5), "int32")
    >>> ops.shape(model({"token_ids": ids, "segment_ids": ops.zeros_like(ids)}))
    (2, 3)
    """

    architecture = "BertForSequenceClassification"

    def __init__(self, bert, num_labels, pooling="first", dropout=0.1, name=None):
        check_positive(num_labels=num_labels)
        check_choice(POOLINGS, pooling=pooling)
        if pooling == "first" and bert.pooler is None:
            raise ValueError(
                '`pooling="first"` needs a Bert with a pooler, this one has none: take "mean"'
            )
        drop = Dropout(dropout, dtype=bert.dtype_policy, name="dropout")
        classify = head_layer(num_labels, bert.dtype_policy, "classifier")

        def outputs(states, token_ids):
            if pooling == "first":
                return classify(drop(states["pooled"]))
            return classify(drop(mean_vector(states[f"hidden_{bert.num_layers}"], token_ids)))

        super().__init__(
            bert, outputs, name, num_labels=num_labels, pooling=pooling, dropout=dropout
        )
        self.classify, self.pooling = classify, pooling

    @classmethod
    def head_arguments(cls, tensors, folder):
        """How many labels the file's head has."""
        return {"num_labels": len(of_head(tensors, "classifier.weight", folder))}

    def head_tensors(self):
        """The weights of the head, as `huggingface.Tensor`s."""
        if self.pooling != "first":
            raise ValueError('Hugging Face\'s layout has no classifier with `pooling="mean"`')
        return dense("classifier", self.classify)


@register
class Tagger(BertWithHead):
    """A label for every token: logits (B, T, num_labels).

    Args:
        bert: the `Bert`.
        num_labels: how many labels there are.
        dropout: rate on the tokens' last vectors.
    """

    architecture = "BertForTokenClassification"

    def __init__(self, bert, num_labels, dropout=0.1, name=None):
        check_positive(num_labels=num_labels)
        drop = Dropout(dropout, dtype=bert.dtype_policy, name="dropout")
        classify = head_layer(num_labels, bert.dtype_policy, "classifier")

        def outputs(states, token_ids):
            return classify(drop(states[f"hidden_{bert.num_layers}"]))

        super().__init__(bert, outputs, name, num_labels=num_labels, dropout=dropout)
        self.classify = classify

    @classmethod
    def head_arguments(cls, tensors, folder):
        """How many labels the file's head has."""
        return {"num_labels": len(of_head(tensors, "classifier.weight", folder))}

    def head_tensors(self):
        """The weights of the head, as `huggingface.Tensor`s."""
        return dense("classifier", self.classify)


@register
class SpanFinder(BertWithHead):
    """Where an answer begins and ends: logits (B, T, 2) of either for every token.

    A row is `[CLS] question [SEP] text [SEP]`; the first token stands for "there is no answer".

    Args:
        bert: the `Bert`.
    """

    architecture = "BertForQuestionAnswering"

    def __init__(self, bert, name=None):
        ends = head_layer(2, bert.dtype_policy, "ends")
        super().__init__(
            bert, lambda states, token_ids: ends(states[f"hidden_{bert.num_layers}"]), name
        )
        self.ends = ends

    @classmethod
    def head_arguments(cls, tensors, folder):
        """Nothing; but the file must have such a head."""
        of_head(tensors, "qa_outputs.weight", folder)
        return {}

    def head_tensors(self):
        """The weights of the head, as `huggingface.Tensor`s."""
        return dense("qa_outputs", self.ends)


@register
class SentenceEncoder(BertWithHead):
    """A vector for the whole text, the mean of its tokens' last vectors: (B, D).

    Args:
        bert: the `Bert`.
        normalize: whether vectors have the length 1, so that their products are cosines.
    """

    architecture = "BertModel"

    def __init__(self, bert, normalize=True, name=None):
        def outputs(states, token_ids):
            vectors = mean_vector(states[f"hidden_{bert.num_layers}"], token_ids)
            return ops.normalize(vectors, axis=-1, epsilon=1e-12) if normalize else vectors

        super().__init__(bert, outputs, name, normalize=normalize)


def mean_vector(hidden, token_ids):
    """The mean over real tokens of vectors (B, T, D): (B, D), in float32; of none, zeros."""
    real = ops.expand_dims(ops.cast(padding_mask(token_ids), "float32"), -1)
    total = ops.sum(ops.cast(hidden, "float32") * real, axis=1)
    return total / ops.maximum(ops.sum(real, axis=1), 1.0)


def head_layer(units, dtype, name, activation=None):
    """A new layer on a trained model, small enough to change little at first."""
    return keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=INITIALIZER_RANGE),
        dtype=dtype,
        name=name,
    )


def of_head(tensors, name, folder):
    """A tensor that the head of such a model has."""
    if name not in tensors:
        raise ValueError(f"{folder} has no such head: it lacks {name}")
    return tensors[name]
