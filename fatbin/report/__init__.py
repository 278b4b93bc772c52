"""Inventories and verdicts as documents; no judgement is made here."""
