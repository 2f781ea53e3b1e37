"""Process a keyed stream in Arrow batches, with the state of many keys at once.

The function gets an Arrow batch of records, of any keys, and reads and writes the state of all of them with one call
each. State, checkpoints and rescaling are those of every other function. PyFlink has nothing of this kind.
"""

import pyarrow as pa
import pyarrow.compute as pc

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment, rows_of

sales = [("pear", 3), ("plum", 5), ("pear", 4), ("fig", 1), ("plum", 2), ("pear", 1)]


def running_totals(batch, totals):
    """Add up what was sold of each fruit; give the totals of those that are in the batch."""
    sold = pa.table(batch).group_by("f0", use_threads=False).aggregate([("f1", "sum")])
    fruit = sold["f0"].combine_chunks()
    total = pc.add(pc.fill_null(totals.get_all(fruit), 0), sold["f1_sum"].combine_chunks())
    totals.update_all(fruit, total)
    return pa.record_batch([fruit, total], names=["fruit", "total"])


def baskets(row):
    """Share a total out to baskets of at most four; the results are computed as a column."""
    full = pa.array([4] * (row.total // 4) + [row.total % 4])
    return rows_of(pa.record_batch([full.filter(pc.greater(full, 0))], names=["pieces"]))


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
totals = env.from_collection(sales).key_by(lambda sale: sale[0]).process_batches(running_totals, Types.LONG())
totals.map(lambda row: f"{row.fruit} {row.total}").print("total")
totals.flat_map(baskets).map(lambda row: str(row.pieces)).print("basket")
env.execute("totals by Arrow batches")
