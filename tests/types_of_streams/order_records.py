"""The records of the programs that are checked here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Order:
    customer: str
    item: int
    price: float


@dataclass
class Bill:
    customer: str
    total: float


ORDERS = [Order("Ann", 1, 9.5), Order("Bob", 2, 3.0), Order("Ann", 3, 0.5)]
