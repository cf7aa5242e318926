"""Whether an exported model translates a whole test set as the run does, whoever runs it.

    keras-transformer export runs/ende --out saved_models/ende
    python benchmarks/export_parity.py runs/ende saved_models/ende test.en
    python benchmarks/export_parity.py runs/ende saved_models/ende test.en \
        --libraries build/serving-2.20.0    # after `make test-serving-skew`

Through Python, and through TensorFlow's C library in a process without Python TensorFlow.
"""

import argparse

from keras_transformer.data.pairs import read_lines
from keras_transformer.export.check import newest_version
from keras_transformer.export.native import NativeModel
from keras_transformer.export.parity import BATCH
from keras_transformer.export.runtimes import SavedModel
from keras_transformer.tasks import Translator


def main():
    """Translates and compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("model")
    parser.add_argument("source", help="text file, one sentence a line, or .gz")
    parser.add_argument("--libraries", help="folder of unpacked wheels of another TensorFlow")
    arguments = parser.parse_args()
    lines = [line.decode() for line in read_lines(arguments.source)]
    version = newest_version(arguments.model)
    expected = Translator.load(arguments.run)(lines)
    report("Python", SavedModel(version).answer(lines), expected)
    for libraries in dict.fromkeys((None, arguments.libraries)):
        native = NativeModel(version, libraries)
        batches = [lines[i : i + BATCH] for i in range(0, len(lines), BATCH)]
        answers = native.run([("translate", {"text": batch}) for batch in batches])
        translations = [text.decode() for answer in answers for text in answer["translation"]]
        report(f"TensorFlow's C library {native.version}", translations, expected)


def report(who, translations, expected):
    """Prints how many are the same."""
    same = sum(t == e for t, e in zip(translations, expected, strict=True))
    print(f"{who}: {same:,} of {len(expected):,} translations are the Keras model's")


if __name__ == "__main__":
    main()
