"""Breaks the layers on purpose, a line at a time, and sees whether the tests notice.

    python tests/mutations.py            # all, about ten minutes
    python tests/mutations.py rotary     # those whose description has the word

Each mutation is tried in a copy of the tree; the test named beside it must fail there.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LAYERS = "keras_transformer/layers/"


class Mutation(NamedTuple):
    """A line, what it becomes, and the test that must notice."""

    what: str
    file: str
    line: str
    broken: str
    noticed_by: str


MUTATIONS = [
    Mutation(
        "scores are not scaled",
        "attention.py",
        "scale = 1 / math.sqrt(query.shape[-1])",
        "scale = 1.0",
        "test_attention.py::test_the_scale_is_one_over_the_root_of_the_width_unless_given",
    ),
    Mutation(
        "the mask is dropped",
        "attention.py",
        "scores = ops.where(mask, scores, MASKED_SCORE)",
        "pass",
        "test_attention.py::test_a_masked_key_gets_no_weight_at_all",
    ),
    Mutation(
        "the softmax runs over the queries",
        "attention.py",
        "weights = ops.softmax(scores, axis=-1)",
        "weights = ops.softmax(scores, axis=-2)",
        "test_attention.py::test_unlearned_attention_mixes_vectors_by_their_dot_products",
    ),
    Mutation(
        "the softmax is taken in half precision",
        "attention.py",
        'scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))',
        "pass",
        "test_attention.py::test_the_softmax_of_half_precision_scores_is_taken_in_float32",
    ),
    Mutation(
        "the scores are scaled after the product",
        "attention.py",
        "query * ops.cast(scale, query.dtype), ops.swapaxes(key, -1, -2))",
        "query, ops.swapaxes(key, -1, -2)) * ops.cast(scale, query.dtype)",
        "test_attention.py::test_scores_that_only_fit_float16_when_scaled_are_finite",
    ),
    Mutation(
        "a token does not see itself",
        "masks.py",
        "return ops.greater_equal(",
        "return ops.greater(",
        "test_masks.py::test_the_past_does_not_see_the_future",
    ),
    Mutation(
        "padding is a segment like the others",
        "masks.py",
        "ops.logical_and(ops.equal(query_segments, key_segments), padding_mask(key_segments))",
        "ops.equal(query_segments, key_segments)",
        "test_masks.py::test_segments_see_themselves_and_nobody_sees_padding",
    ),
    Mutation(
        "an attention mask replaces the padding mask",
        "masks.py",
        "return combine_masks(key_mask, attention_mask)",
        "return key_mask if attention_mask is None else attention_mask",
        "test_self_attention.py::test_padding_and_an_attention_mask_combine",
    ),
    Mutation(
        "the mask under its second name is ignored",
        "self_attention.py",
        "mask = x_mask if mask is None else mask",
        "pass",
        "test_self_attention.py::test_padding_and_an_attention_mask_combine",
    ),
    Mutation(
        "the block ignores the mask under its second name",
        "encoder_block.py",
        "mask = x_mask if mask is None else mask",
        "pass",
        "test_blocks.py::test_explicit_masks_do_what_implicit_ones_do[encoder]",
    ),
    Mutation(
        "the block does not hand on its mask",
        "encoder_block.py",
        "self.self_attention(x, mask=mask, attention_mask=attention_mask)",
        "self.self_attention(x, attention_mask=attention_mask)",
        "test_blocks.py::test_explicit_masks_do_what_implicit_ones_do[encoder]",
    ),
    Mutation(
        "the decoder does not see the memory's padding",
        "decoder_block.py",
        "x, memory, memory_mask=memory_mask, attention_mask=memory_attention_mask",
        "x, memory, attention_mask=memory_attention_mask",
        "test_blocks.py::test_explicit_masks_do_what_implicit_ones_do[decoder]",
    ),
    Mutation(
        "the decoder sees the future",
        "decoder_block.py",
        "block_parts.self_attention(self, causal=True)",
        "block_parts.self_attention(self, causal=False)",
        "test_parity.py::test_the_decoder_block_equals_pytorch",
    ),
    Mutation(
        "the causal mask is dropped when there is an attention mask",
        "self_attention.py",
        "attention_mask = masks.combine_masks(causal, attention_mask)",
        "attention_mask = causal if attention_mask is None else attention_mask",
        "test_self_attention.py::test_causal_holds_with_dropout_and_an_attention_mask",
    ),
    Mutation(
        "the norm stands before the sum instead of after",
        "residual.py",
        "return self.normalize(x + self._branch(sublayer, x))",
        "return self.normalize(x) + self._branch(sublayer, x)",
        "test_residual.py::test_the_norm_stands_after_the_sum_or_before_the_sublayer",
    ),
    Mutation(
        "the norm's sum starts from the normalised stream",
        "residual.py",
        "return x + self._branch(sublayer, self.normalize(x))",
        "return self.normalize(x) + self._branch(sublayer, self.normalize(x))",
        "test_residual.py::test_the_norm_stands_after_the_sum_or_before_the_sublayer",
    ),
    Mutation(
        "the residual's dropout is not applied",
        "residual.py",
        "return self.skip_branch(self.branch_dropout(sublayer(x)))",
        "return self.skip_branch(sublayer(x))",
        "test_residual.py::test_dropout_falls_on_the_branch_and_not_on_the_stream",
    ),
    Mutation(
        "stochastic depth falls on single numbers",
        "residual.py",
        "noise_shape=(None, 1, 1)",
        "noise_shape=None",
        "test_residual.py::test_stochastic_depth_skips_whole_samples",
    ),
    Mutation(
        "`dropout` is not passed on to the feed-forward network",
        "block_parts.py",
        "gated=block.gated,\n        dropout=block.dropout,",
        "gated=block.gated,",
        "test_blocks.py::test_every_argument_reaches_every_part_that_takes_it",
    ),
    Mutation(
        "attention's dropout is not applied",
        "heads.py",
        "return ops.matmul(self.weight_dropout(scores), values), scores",
        "return ops.matmul(scores, values), scores",
        "test_self_attention.py::test_dropout_falls_on_the_weights_and_not_on_the_scores",
    ),
    Mutation(
        "groups of query heads are dealt out in the wrong order",
        "heads.py",
        "groups = (self.num_kv_heads, self.num_heads // self.num_kv_heads)",
        "groups = (self.num_heads // self.num_kv_heads, self.num_kv_heads)",
        "test_self_attention.py::test_grouped_heads_equal_full_heads_with_repeated_keys_and_values",
    ),
    Mutation(
        "dropout is not applied where heads share keys",
        "heads.py",
        "heads = ops.matmul(self.weight_dropout(scores), values)\n",
        "heads = ops.matmul(scores, values)\n",
        "test_self_attention.py::test_dropout_falls_on_the_weights_and_not_on_the_scores",
    ),
    Mutation(
        "`gated` is not passed on to the feed-forward network",
        "block_parts.py",
        "gated=block.gated,",
        "",
        "test_blocks.py::test_every_argument_reaches_every_part_that_takes_it",
    ),
    Mutation(
        "`norm_epsilon` is not passed on to the residual",
        "block_parts.py",
        "norm_epsilon=block.norm_epsilon,",
        "",
        "test_blocks.py::test_every_argument_reaches_every_part_that_takes_it",
    ),
    Mutation(
        "relative positions do not know that there is no future",
        "self_attention.py",
        "RelativePositionBias(num_heads, causal, dtype=dtype",
        "RelativePositionBias(num_heads, dtype=dtype",
        "test_self_attention.py::test_relative_positions_know_whether_there_is_a_future",
    ),
    Mutation(
        "the tied output is computed in float32",
        "positional_embedding.py",
        "reverse_dtype=self.compute_dtype,",
        "",
        "test_positional_embedding.py::test_the_tied_output_is_computed_in_the_layers_dtype",
    ),
    Mutation(
        "parts are not quantised again when a file is loaded",
        "serialization.py",
        'part.quantize(config["quantized"][path])',
        "pass",
        "../test_training.py::test_a_quantised_block_inside_an_inner_model_is_loaded_too",
    ),
    Mutation(
        "decoding forgets the mask that came with the memory",
        "cross_attention.py",
        'memory_mask = getattr(memory, "_keras_mask", None)',
        "pass",
        "test_cross_attention.py::test_steps_take_the_mask_that_keras_attached_to_the_memory",
    ),
    Mutation(
        "embeddings are not scaled",
        "positional_embedding.py",
        "x = x * ops.cast(math.sqrt(self.dim), x.dtype)",
        "pass",
        "test_positional_embedding.py::test_tokens_are_scaled_by_the_root_of_the_width",
    ),
    Mutation(
        "positions begin at 1",
        "positions.py",
        "return ops.expand_dims(start, -1) + ops.arange(length)",
        "return ops.expand_dims(start, -1) + 1 + ops.arange(length)",
        "test_positional_embedding.py::test_sine_positions_by_hand",
    ),
    Mutation(
        "every feature has a wave of its own",
        "positional_embedding.py",
        "10_000.0 ** -(feature // 2 * 2 / dim)",
        "10_000.0 ** -(feature / dim)",
        "test_positional_embedding.py::test_sine_positions_are_the_papers_for_every_feature_of_the_first_2048",
    ),
    Mutation(
        "the sine table is built in float32",
        "positional_embedding.py",
        "angles = np.arange(length)[:, None] * frequencies",
        'angles = (np.arange(length)[:, None] * frequencies.astype("float32")).astype("float32")',
        "test_positional_embedding.py::test_sine_positions_are_the_papers_for_every_feature_of_the_first_2048",
    ),
    Mutation(
        "the tied output loses the mask",
        "positional_embedding.py",
        "return previous_mask",
        "return None",
        "test_positional_embedding.py::test_ids_are_masked_by_zero_and_vectors_keep_their_mask",
    ),
    Mutation(
        "rotary positions turn the queries alone",
        "self_attention.py",
        "queries, keys = rotate(queries, positions), rotate(keys, positions)",
        "queries = rotate(queries, positions)",
        "test_self_attention.py::test_rotary_scores_depend_on_distance_alone",
    ),
    Mutation(
        "rotary positions pair neighbouring features with the wrong sign",
        "rotary.py",
        "second * cos + first * sin",
        "second * cos - first * sin",
        "test_rotary.py::test_it_equals_keras_hubs_rotary_embedding",
    ),
    Mutation(
        "ALiBi rewards distance",
        "position_bias.py",
        "return -slopes * ops.expand_dims(distance, -3)",
        "return slopes * ops.expand_dims(distance, -3)",
        "test_position_bias.py::test_alibi_is_a_slope_times_the_distance",
    ),
    Mutation(
        "T5's directions are mixed up",
        "position_bias.py",
        "first = ops.where(distance < 0, buckets, 0)",
        "first = ops.where(distance > 0, buckets, 0)",
        "test_position_bias.py::test_t5_buckets_by_hand",
    ),
    Mutation(
        "the cache is written one slot too late",
        "kv_cache.py",
        "return ops.slice_update(slots, (0, 0, position, 0), new)",
        "return ops.slice_update(slots, (0, 0, position + 1, 0), new)",
        "test_blocks.py::test_a_block_keeps_every_promise[True-rms-rotary-2-relu-language_model]",
    ),
    Mutation(
        "rows of mixed length are written at the first row's position",
        "kv_cache.py",
        "targets = ops.expand_dims(positions_from(position, length), 1)",
        "targets = ops.expand_dims(positions_from(0 * position + position[0], length), 1)",
        "test_self_attention.py::test_prompts_of_mixed_length_continue_where_each_one_ends",
    ),
    Mutation(
        "cached cross-attention forgets the memory's padding",
        "cross_attention.py",
        'return cache if memory_mask is None else {**cache, "mask": memory_mask}',
        "return cache",
        "test_cross_attention.py::test_steps_with_a_mask_equal_the_whole",
    ),
    Mutation(
        "the gate is activated instead of the value",
        "feed_forward.py",
        "x = self.activate(x) * gate",
        "x = x * self.activate(gate)",
        "test_feed_forward.py::test_gated_with_silu_is_swiglu",
    ),
    Mutation(
        "the feed-forward network's dropout is not applied",
        "feed_forward.py",
        "return self.narrow(self.inner_dropout(x))",
        "return self.narrow(x)",
        "test_feed_forward.py::test_dropout_reaches_the_inner_activations",
    ),
    Mutation(
        "a part does not get the layer's dtype",
        "feed_forward.py",
        'self.narrow = keras.layers.Dense(dim, use_bias=use_bias, dtype=dtype, name="narrow")',
        'self.narrow = keras.layers.Dense(dim, use_bias=use_bias, name="narrow")',
        "test_blocks.py::test_a_per_layer_dtype_reaches_every_part",
    ),
    Mutation(
        "a layer's second call overwrites the record of the first",
        "recording.py",
        'records[f"{layer.path}:{calls}" if calls else layer.path] = tensor',
        "records[layer.path] = tensor",
        "../models/test_inspection.py::test_a_layer_that_is_called_twice_is_shown_twice",
    ),
]


def noticed(mutation, tree):
    """Whether the named test fails in that tree once it is broken; the tree is mended again."""
    path = tree / LAYERS / mutation.file
    text = path.read_text()
    if text.count(mutation.line) != 1:
        sys.exit(f"{mutation.file} must have exactly once: {mutation.line}")
    path.write_text(text.replace(mutation.line, mutation.broken))
    test = f"tests/layers/{mutation.noticed_by}"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "--no-header", test]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    path.write_text(text)
    if done.returncode not in (0, 1) or " error" in done.stdout.splitlines()[-1]:
        sys.exit(f"{test} could not be run:\n{done.stdout}{done.stderr}")
    return done.returncode == 1


def main():
    words = " ".join(sys.argv[1:])
    chosen = [mutation for mutation in MUTATIONS if words in mutation.what]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "build", "runs"))
        for number, mutation in enumerate(chosen, 1):
            found = noticed(mutation, tree)
            missed += not found
            mark = "noticed" if found else "MISSED "
            print(f"{number:>3}/{len(chosen)} {mark}  {mutation.what}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} noticed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
