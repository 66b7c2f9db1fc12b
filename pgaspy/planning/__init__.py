"""Planning: what two views and a rank say about messages, copies and pieces. Pure: no data, no MPI, no C."""
