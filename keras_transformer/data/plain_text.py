"""Text files as they are, to the letter: what a language model learns from."""

from keras_transformer.data.pairs import read_whole_lines

AT_ONCE = 2**20  # bytes


def iterate_text(path):
    """A text file, plain or gzip, in pieces of whole lines; all of them together are the text.

    A carriage return before a line feed is left out, and so is a byte order mark.
    """
    waiting, size = [], 0
    for line in decoded_lines(path):
        waiting.append(line)
        size += len(line)
        if size >= AT_ONCE:
            yield "".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting)


def iterate_texts(path):
    """The texts of a file, between which there are blank lines, one by one."""
    waiting = []
    for line in decoded_lines(path):
        if line.strip():
            waiting.append(line)
        elif waiting:
            yield "".join(waiting).removesuffix("\n")
            waiting = []
    if waiting:
        yield "".join(waiting).removesuffix("\n")


def decoded_lines(path):
    """The lines of a file as text, with line feeds at their ends."""
    for number, line in enumerate(read_whole_lines(path), start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise ValueError(
                f"{path}, line {number} is not UTF-8: mend it, or convert the file"
            ) from None
        yield text.removesuffix("\r\n") + "\n" if text.endswith("\r\n") else text
