"""Training a few numbers beside each matrix instead of the matrix (Hu et al. 2021)."""

import keras


def add_lora(model, rank):
    """Leaves a BERT as it is but for a product of two small matrices added to each large one.

    The head is trained as a whole. When the model is saved, sums are saved: whoever loads it has an
    ordinary model.

    Args:
        model: a BERT with a head, see `models.bert_heads`.
        rank: the width of the small matrices.
    """
    for layer in model.bert._flatten_layers(include_self=False):
        if isinstance(layer, keras.layers.Dense) and layer.name != "pooler":
            layer.enable_lora(rank)
            layer.bias.trainable = False
        elif not list(layer._flatten_layers(include_self=False)):
            layer.trainable = False
