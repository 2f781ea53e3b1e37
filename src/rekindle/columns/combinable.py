"""Which folds may begin before records are sent. Pure."""

from __future__ import annotations

from rekindle.columns.expressions import Field
from rekindle.columns.folds import EXTREMES, SUMS, Fold, FoldKind
from rekindle.columns.kinds import Kind, kind_of


def may_combine(fold: Fold, kinds: tuple[Kind, ...], floats: bool) -> bool:
    """Return whether a fold gives the same in whatever portions records are folded.

    Args:
        fold: The fold.
        kinds: The kinds of the fields of records.
        floats: Whether sums of floats may be folded in portions.
    """
    if fold.initial is None and fold.shape != fold.record:
        return False  # one record that was never reduced is not what a reduction makes
    for place, each in enumerate(fold.fields):
        if fold.initial is None and (each.value not in (None, Field(place)) or each.kind is FoldKind.DIFFERENCE):
            return False  # the first record counts in another way than those that follow
        if (
            fold.initial is not None
            and each.kind in SUMS | EXTREMES
            and not isinstance(fold.initial[place], int | float)
        ):
            return False  # the function raises, and names the record
        if each.kind in SUMS and not floats:
            assert each.value is not None
            begins_float = fold.initial is not None and not isinstance(fold.initial[place], int)
            if begins_float or kind_of(each.value, kinds) is not Kind.INT:
                return False
    return True
