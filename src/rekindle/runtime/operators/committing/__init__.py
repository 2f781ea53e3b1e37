"""Sink functions whose output becomes visible when a checkpoint is complete, as writers of a two-phase sink."""
