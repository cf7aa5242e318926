"""Mistakes between a run and a server, and the tests that must notice them."""

from mutation import Mutation

MUTATIONS = [
    Mutation(
        "an empty batch is not filled up",
        "export/translation.py",
        "missing = tf.maximum(1 - tf.shape(ids)[0], 0)",
        "missing = 0",
        "export/test_translation.py::test_a_row_is_added_only_if_there_is_none",
    ),
    Mutation(
        "what a server fills rows up with is translated",
        "export/translation.py",
        "return tf.where(columns > lengths[:, None], 0, ids)",
        "return ids",
        "export/test_translation.py::test_ids_give_the_same_translation_whatever_they_are_filled_up_with",
    ),
    Mutation(
        "a sentence's vector depends on its company",
        "export/translation.py",
        "mask = tf.cast(mask, memory.dtype)[:, :, None]",
        "mask = tf.ones_like(memory[:, :, :1])",
        "export/test_translation.py::test_a_vector_depends_on_its_sentence_alone",
    ),
    Mutation(
        "attention is shown one token late",
        "export/translation.py",
        'attention_model(self.model)({"source": source, "target": before})',
        'attention_model(self.model)({"source": source[:, :-1], "target": target})',
        "export/test_translation.py::test_attention_is_that_of_the_translation",
    ),
    Mutation(
        "no-break spaces are no spaces in the graph",
        "export/text_ops.py",
        r"\x{a0}",
        "",
        "export/test_text_ops.py::test_the_graph_agrees_with_python",
    ),
    Mutation(
        "the newest version is the last by letter",
        "export/versions.py",
        "sorted(int(path.name) for path in base.iterdir() if is_version(path))",
        "[int(n) for n in sorted(path.name for path in base.iterdir() if is_version(path))]",
        "export/test_versions.py::test_versions_count_up_by_number_not_by_letter",
    ),
    Mutation(
        "a failed export leaves its files",
        "export/versions.py",
        "shutil.rmtree(base, ignore_errors=True)",
        "pass",
        "export/test_versions.py::test_a_failed_export_leaves_nothing",
    ),
    Mutation(
        "the check does not look into functions",
        "export/check.py",
        "yield from function.node_def",
        "yield from ()",
        "export/test_check.py::test_ops_of_the_compiler_are_found_in_functions_too",
    ),
    Mutation(
        "the check does not look for compiled functions",
        "export/check.py",
        "if any(key in attr and attr[key].b for key in MUST_COMPILE)",
        "if False",
        "export/test_check.py::test_compiled_functions_are_found",
    ),
    Mutation(
        "differing translations are within tolerance",
        "export/parity.py",
        "if row.equal < tolerance.equal * row.sentences:",
        "if row.equal < 0:",
        "export/test_parity.py::test_an_export_beyond_its_tolerance_is_not_written",
    ),
    Mutation(
        "undefined logits are within tolerance",
        "export/parity.py",
        "if not row.logits <= tolerance.logits:",
        "if row.logits > tolerance.logits:",
        "export/test_parity.py::test_logits_that_differ_are_a_problem",
    ),
    Mutation(
        "true is taken for a number",
        "server/predict.py",
        "and not isinstance(value, bool) ",
        "",
        "server/test_predict.py::test_wrong_requests_are_refused_in_words",
    ),
    Mutation(
        "a broken version takes the place of the old one",
        "server/served_model.py",
        "self.broken[number] = ",
        "self.current.signatures, self.broken[number] = {}, ",
        "server/test_server.py::test_a_new_version_is_taken_up_and_a_broken_one_refused",
    ),
]
