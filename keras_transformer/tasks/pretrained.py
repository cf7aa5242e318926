"""A trained BERT and its tokenizer, wherever they come from."""

import json
from pathlib import Path

from keras_transformer.models import Bert
from keras_transformer.models.bert_weights import bert_arguments
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.text import WordPieceTokenizer

LEARNED_BY_BERT = ("pretraining", "classify", "tag", "span")


def load_pretrained(path, fresh=False, **changes):
    """A BERT and its tokenizer.

    Args:
        path: of a run of `pretrain` or `finetune`, or of a folder in Hugging Face's layout.
        fresh: whether the weights are to be new ones, of the same shapes.
        **changes: arguments of `Bert`, such as `dtype`, `dropout`, or `pooler=False`.

    Returns:
        The `Bert` and the tokenizer.
    """
    path = Path(path)
    if not is_run(path):
        bert, tokenizer = Bert.from_huggingface(path, **changes), WordPieceTokenizer.load(path)
        return (Bert.from_config(bert.get_config()) if fresh else bert), tokenizer
    folder = RunFolder(path, *LEARNED_BY_BERT)
    trained = folder.load_model().bert
    has_pooler = trained.pooler is not None
    changes = {**changes, "pooler": has_pooler and changes.get("pooler", True)}
    bert = Bert(**{**trained.get_config(), **changes})
    if not fresh:
        learned = {tensor.names: tensor.variable for tensor in trained.huggingface_tensors()}
        for tensor in bert.huggingface_tensors():
            tensor.variable.assign(learned[tensor.names])
    return bert, folder.tokenizers()[0]


def positions_of(path):
    """How many tokens a trained BERT can read."""
    path = Path(path)
    if is_run(path):
        return RunFolder(path, *LEARNED_BY_BERT).config["model"]["bert"]["max_length"]
    return bert_arguments(json.loads((path / "config.json").read_text()), path)["max_length"]


def load_tokenizer(path):
    """The tokenizer alone."""
    path = Path(path)
    return RunFolder(path).tokenizers()[0] if is_run(path) else WordPieceTokenizer.load(path)


def is_run(path):
    """Whether a folder is a run of ours; else it may be one in Hugging Face's layout."""
    if not path.is_dir():
        raise ValueError(f"{path} is not a folder")
    try:
        return "format" in json.loads((path / "config.json").read_text())
    except FileNotFoundError:
        raise ValueError(f"{path} has no config.json: it is not the folder of a model") from None
    except ValueError:
        raise ValueError(f"{path / 'config.json'} is damaged") from None
