"""Files beyond this machine's disk: HDFS and object stores, with one interface."""
