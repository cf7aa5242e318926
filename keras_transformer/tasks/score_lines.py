"""What a fine-tuned model is worth, as lines to read."""


def classification_lines(scores, labels):
    """Accuracy, a table of the labels, and which were taken for which."""
    width = max(map(len, [*labels, "label"]))
    yield f"Accuracy {scores['accuracy']:.2%}, macro F1 {scores['f1']:.4f}"
    yield f"{'label':{width}}  precision  recall      F1   count"
    for label, of_label in scores["labels"].items():
        yield (
            f"{label:{width}}  {of_label['precision']:9.4f}  {of_label['recall']:6.4f}  "
            f"{of_label['f1']:6.4f}  {of_label['count']:6,}"
        )
    if len(labels) <= 12:
        column = max(6, *map(len, labels))
        yield "Right label down, found label across:"
        yield " " * width + "".join(f"  {label:>{column}}" for label in labels)
        for label, counts in zip(labels, scores["confusion"], strict=True):
            yield f"{label:{width}}" + "".join(f"  {count:>{column},}" for count in counts)


def tagging_lines(scores):
    """F1 of all entities, and of each kind."""
    yield (
        f"Entities: F1 {scores['f1']:.2%}, precision {scores['precision']:.2%}, "
        f"recall {scores['recall']:.2%}; tags right {scores['accuracy']:.2%}"
    )
    for kind, of_kind in scores["entities"].items():
        yield f"  {kind:8} F1 {of_kind['f1']:.2%}  ({of_kind['count']:,})"
