"""Scores, counted by hand."""

import pytest

from keras_transformer.tasks.scores import (
    answer_scores,
    classification_scores,
    entities,
    tagging_scores,
)


def test_labels_are_counted():
    right = ["ham"] * 6 + ["spam"] * 4
    found = ["ham"] * 5 + ["spam"] * 4 + ["ham"]
    scores = classification_scores(right, found, ["ham", "spam"])
    assert scores["accuracy"] == pytest.approx(0.8)
    assert scores["confusion"] == [[5, 1], [1, 3]]
    assert scores["labels"]["spam"] == {"precision": 0.75, "recall": 0.75, "f1": 0.75, "count": 4}
    assert scores["f1"] == pytest.approx((5 / 6 + 0.75) / 2)


def test_a_label_that_is_never_found_has_no_score():
    scores = classification_scores(["a", "b"], ["a", "a"], ["a", "b"])
    assert scores["labels"]["b"]["f1"] == 0


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (["O", "O"], []),
        (["B-PER", "B-PER"], [("PER", 0, 1), ("PER", 1, 2)]),
        (["B-PER", "I-PER", "I-LOC"], [("LOC", 2, 3), ("PER", 0, 2)]),
        (["I-ORG", "I-ORG", "O", "B-ORG"], [("ORG", 0, 2), ("ORG", 3, 4)]),
    ],
)
def test_entities_are_runs_of_tags(tags, found):
    assert sorted(entities(tags)) == found


def test_an_entity_counts_if_all_of_it_is_right():
    right = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG"]]
    found = [["B-PER", "O", "O", "B-LOC"], ["B-LOC"]]
    scores = tagging_scores(right, found)
    # Three entities, three found, one of them right.
    assert (scores["precision"], scores["recall"]) == pytest.approx((1 / 3, 1 / 3))
    assert scores["accuracy"] == pytest.approx(3 / 5)
    assert scores["entities"]["LOC"]["precision"] == 0.5
    assert scores["entities"]["LOC"]["recall"] == 1


def test_answers_are_compared_as_squad_does():
    scores = answer_scores(
        [("The Eiffel Tower",), ("Ada", "Ada Lovelace"), (), ("1999",)],
        ["eiffel tower!", "Ada Lovelace", "", "in 1999"],
    )
    assert scores["exact_match"] == pytest.approx(3 / 4)
    assert scores["f1"] == pytest.approx((3 + 2 / 3) / 4)
