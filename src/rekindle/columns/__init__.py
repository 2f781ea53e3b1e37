"""Programs by columns: what functions do to records, found by tracing them, and done to whole Arrow batches.

Every result is the one that the functions would have given record by record, to the bit; where that cannot be known,
the functions run.
"""
