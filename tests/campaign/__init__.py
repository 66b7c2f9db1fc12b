"""The campaign: endless random programs, compared with NumPy. `python -m tests.campaign --minutes N -n RANKS`.

A program is lines of text, and a line is a statement of a user's program. `writing` chooses them, from the rows of the
table in `rows`; `model` is NumPy under pgaspy's names, on which each line is executed when it is written, so that the
next ones can follow from what is there. `running` executes the lines on global arrays, and compares what both sides
observed. `settings` are those of the library under which a program runs. `jobs` starts jobs of some programs each,
`reducing` drops lines from what fails while it still fails. `interrupts`, `failing` and `losing` are campaigns of their
own: of signals, of failures that are injected, of processes that are lost. `tools/campaign.py` runs all of them, with
several Pythons, up to given totals.
"""
