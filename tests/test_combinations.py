from itertools import combinations, product

from combinations import OPTIONS, full_product, pairwise


def test_the_chosen_combinations_cover_every_pair_of_options():
    chosen = pairwise(OPTIONS)
    for (first, firsts), (second, seconds) in combinations(OPTIONS.items(), 2):
        seen = {(c[first], c[second]) for c in chosen}
        assert seen == set(product(firsts, seconds))


def test_the_chosen_combinations_are_few():
    assert len(full_product(OPTIONS)) == 192
    assert len(pairwise(OPTIONS)) <= 15
