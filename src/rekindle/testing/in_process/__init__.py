"""A cluster in this process: the job master, its slots and their exchanges as they are, without Spark and its JVM."""
