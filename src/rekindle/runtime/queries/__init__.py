"""Queries of state: the protocol between clients, proxies and state servers, and both of its ends."""
