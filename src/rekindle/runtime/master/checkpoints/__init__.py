"""Checkpoints and savepoints as the job master writes, keeps and deletes them."""
