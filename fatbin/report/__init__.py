"""Inventories as documents for people; no judgement is made here."""
