"""A whole job in one function."""

from keras_transformer.export.parity import format_report
from keras_transformer.tasks.average import average
from keras_transformer.tasks.check import check
from keras_transformer.tasks.evaluate import evaluate
from keras_transformer.tasks.export import export
from keras_transformer.tasks.export_huggingface import export_huggingface
from keras_transformer.tasks.features import FeatureReader, features, write_features
from keras_transformer.tasks.finetune import finetune
from keras_transformer.tasks.generate import generate, generate_stream
from keras_transformer.tasks.guess import guess
from keras_transformer.tasks.pretrain import pretrain
from keras_transformer.tasks.reader import Reader, answer, classify, read_stream, tag
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.tasks.score import Scorer, score, score_stream
from keras_transformer.tasks.settings import Settings
from keras_transformer.tasks.train import train
from keras_transformer.tasks.train_language import train_language
from keras_transformer.tasks.translate import Translator, translate, translate_stream
from keras_transformer.tasks.writer import Writer

__all__ = [
    "FeatureReader",
    "Reader",
    "RunFolder",
    "Scorer",
    "Settings",
    "Translator",
    "Writer",
    "answer",
    "average",
    "check",
    "classify",
    "evaluate",
    "export",
    "export_huggingface",
    "features",
    "finetune",
    "format_report",
    "generate",
    "generate_stream",
    "guess",
    "pretrain",
    "read_stream",
    "score",
    "score_stream",
    "tag",
    "train",
    "train_language",
    "translate",
    "translate_stream",
    "write_features",
]
