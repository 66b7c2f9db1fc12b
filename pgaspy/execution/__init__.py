"""Execution: operations are recorded, and their schedules run, hiding messages behind computing."""
