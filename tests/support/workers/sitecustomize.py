"""Lets Spark's Python workers import the installed pyspark.

Spark puts the same code first on their path as a zip, which holds no bytecode: each of them would compile it anew.
"""

import sys

sys.path[:] = [entry for entry in sys.path if not entry.endswith("pyspark.zip")]
