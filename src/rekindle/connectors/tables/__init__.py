"""Functions for ``sink_to_data_frame`` that write each commit once."""
