"""Mistakes in language models, from their text to their weights, and the tests that must notice."""

from mutation import Mutation

MUTATIONS = [
    Mutation(
        "a language model takes id 0 for padding",
        "models/gpt.py",
        "mask_zero=False",
        "mask_zero=True",
        "models/test_gpt.py::test_no_id_is_padding_and_the_past_does_not_see_the_future",
    ),
    Mutation(
        "packed texts go on with the positions of the one before",
        "models/gpt.py",
        "start, mask = segment_positions(segments), segment_mask(segments)",
        "start, mask = 0, segment_mask(segments)",
        "models/test_gpt.py::test_packed_texts_have_the_logits_they_have_alone",
    ),
    Mutation(
        "packed texts see each other",
        "models/gpt.py",
        "start, mask = segment_positions(segments), segment_mask(segments)",
        "start, mask = segment_positions(segments), None",
        "models/test_gpt.py::test_packed_texts_have_the_logits_they_have_alone",
    ),
    Mutation(
        "a cached language model forgets its last norm",
        "models/gpt.py",
        "        x = self.last_norm(x)\n        if output is None:",
        "        if output is None:",
        "models/test_gpt.py::test_cached_steps_equal_one_pass",
    ),
    Mutation(
        "gated networks are counted as plain ones",
        "models/gpt_sizes.py",
        "ffn_dim * (2 if gated else 1)",
        "ffn_dim",
        "models/test_gpt.py::test_parameters_are_counted_without_the_model",
    ),
    Mutation(
        "keys of grouped heads are as wide as queries",
        "models/gpt_weights.py",
        "widths=(heads.num_heads * heads.head_dim, keys, keys)",
        "widths=None",
        "models/test_gpt_weights.py::test_their_weights_give_their_logits_and_ours_go_back",
    ),
    Mutation(
        "a published base of rotary positions is ignored",
        "models/gpt_weights.py",
        'rotary.get("rope_theta", config.get("rope_theta", 10_000.0))',
        "10_000.0",
        "models/test_gpt_weights.py::test_their_weights_give_their_logits_and_ours_go_back",
    ),
    Mutation(
        "heads of any width are merged as if they had their share",
        "layers/heads.py",
        "self.merge.build((None, None, self.num_heads * self.head_dim))",
        "self.merge.build((None, None, self.dim))",
        "layers/test_self_attention.py::test_heads_may_be_wider_than_their_share",
    ),
    Mutation(
        "blocks always begin at the same places",
        "data/text_blocks.py",
        "starts + np.sort(draw.integers(room, size=self.blocks))",
        "starts",
        "data/test_language_batches.py::test_shuffled_no_token_is_asked_for_twice_and_all_are_in_time",
    ),
    Mutation(
        "the end of a text is not asked for",
        "data/text_blocks.py",
        "else -(-labels // length)",
        "else labels // length",
        "data/test_language_batches.py::test_in_order_every_token_is_asked_for_exactly_once",
    ),
    Mutation(
        "a long text begins anew in every row",
        "data/packed_texts.py",
        "token_ids[i, here] = ids[first : first + count]",
        "token_ids[i, here] = ids[:count]",
        "data/test_language_batches.py::test_texts_are_packed_and_long_ones_go_on_where_they_ended",
    ),
    Mutation(
        "unknown characters become known ones in the graph",
        "text/characters.py",
        "return tf.ragged.boolean_mask(codes.with_flat_values(ids), known)",
        "return codes.with_flat_values(ids)",
        "text/test_small_vocabularies.py::"
        "test_unknown_characters_are_named_on_the_host_and_left_out_in_the_graph",
    ),
]
