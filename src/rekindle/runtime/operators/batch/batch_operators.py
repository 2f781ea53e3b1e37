"""Which operator takes the place of another in a batch job."""

from __future__ import annotations

from rekindle.runtime.operators.batch.broadcast_first import BroadcastFirstOperator
from rekindle.runtime.operators.batch.final_reduce import FinalReduceOperator
from rekindle.runtime.operators.batch.key_by_key import KeyByKeyOperator
from rekindle.runtime.operators.broadcast import BroadcastOperator
from rekindle.runtime.operators.keyed import KeyedOperator, ReduceOperator
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.windows.window_operator import WindowOperator


def batch_operator(operator: Operator, memory_records: int) -> Operator:
    """Return the operator of a batch: one with keys gathers its input, and goes through it key by key.

    Args:
        operator: The operator of a streaming job.
        memory_records: How many records it may hold in memory, if it gathers its input.
    """
    if isinstance(operator, WindowOperator):
        operator.run_key_by_key()
    match operator:
        case ReduceOperator():
            return FinalReduceOperator(operator, memory_records)
        case KeyedOperator():
            return KeyByKeyOperator(operator, memory_records)
        case BroadcastOperator():
            return BroadcastFirstOperator(operator, memory_records)
    return operator
