"""Algorithms on the public names of pgaspy only, each a page that reads like its source.

They are programs, too: `python -m pgaspy.algorithms.summa --help`, alone or under any launcher.
"""
