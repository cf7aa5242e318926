"""Translate on a device: a TFLite model and its tokenizer, without TensorFlow or Keras.

keras-transformer export runs/phrases --out tflite/phrases --format tflite --quantize int8
pip install ai-edge-litert sentencepiece numpy
python examples/translate_on_device.py tflite/phrases/1/model.int8.tflite "he sees the red house"
"""

import json
import sys
from pathlib import Path

import numpy as np
import sentencepiece
from ai_edge_litert.interpreter import Interpreter


class Translator:
    """A TFLite file and what stands beside it.

    Args:
        path: of the file.
    """

    def __init__(self, path):
        folder = Path(path).parent
        config = json.loads((folder / "config.json").read_text())
        self.end, self.room = config["end"], config["max_length"] - 1
        self.source = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
        of_target = folder / "target_tokenizer.model"
        self.target = self.source
        if of_target.exists():
            self.target = sentencepiece.SentencePieceProcessor(str(of_target))
        self.interpreter = Interpreter(str(path), num_threads=2)
        self.run = self.interpreter.get_signature_runner("translate")

    def __call__(self, text):
        """Translates a line; one that is too long for the model, in pieces."""
        ids = self.source.encode(text.strip())
        pieces = [ids[i : i + self.room] for i in range(0, len(ids), self.room)]
        translation = " ".join(self.translate_ids(piece) for piece in pieces)
        return " ".join(translation.split())  # one line in, one line out

    def translate_ids(self, ids):
        """Translates as many ids as the model can read."""
        written = self.run(source=np.array([[*ids, self.end]], "int32"))["ids"][0].tolist()
        if self.end in written:
            written = written[: written.index(self.end)]
        return self.target.decode([i for i in written if i > self.end])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    translator = Translator(sys.argv[1])
    lines = sys.argv[2:] or (line.rstrip("\n") for line in sys.stdin)
    for line in lines:
        print(translator(line))


if __name__ == "__main__":
    main()
