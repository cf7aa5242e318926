"""A BERT of ours as a folder that Hugging Face's classes read."""

from pathlib import Path

from keras_transformer.tasks.pretrained import LEARNED_BY_BERT
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.text import WordPieceTokenizer


def export_huggingface(run, out):
    """Writes `config.json`, `model.safetensors` and the vocabulary.

    Args:
        run: path of a run of `pretrain` or `finetune`.
        out: the folder; it must not exist yet, or be empty.

    Returns:
        The path of the folder.
    """
    folder, out = RunFolder(run, *LEARNED_BY_BERT), Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} exists already, and is not an empty folder")
    tokenizer = folder.tokenizers()[0]
    if not isinstance(tokenizer, WordPieceTokenizer):
        raise ValueError(
            f"{run} has a vocabulary of SentencePiece; Hugging Face's BERT reads word pieces"
        )
    model = folder.load_model()
    labels = dict(enumerate(folder.config["data"].get("labels", [])))
    more = {"id2label": labels, "label2id": {label: i for i, label in labels.items()}}
    model.to_huggingface(out, tokenizer.files(), more if labels else None)
    return out
