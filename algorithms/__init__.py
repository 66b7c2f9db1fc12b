"""Algorithms on the public names of pgaspy only, each a page that reads like its source.

Those that users call are programs, too: `python -m pgaspy.algorithms.summa --help`, alone or under any launcher; and a
copy of a file runs as `python summa.py 1000`, with what else it needs from here.

A temporary's name says where it lies, as in Elemental: after the name of the matrix come the rows, then the columns.
`MC` is dealt out over the columns of a grid (axis 0), `MR` over its rows (axis 1), as the matrix that is worked on;
`STAR` is whole on every process. So `L21_MC_STAR` is in every grid column, next to the rows of A22, and `U12_STAR_MR`
in every grid row, next to its columns. What has no such ending lies as the matrix does.
"""
