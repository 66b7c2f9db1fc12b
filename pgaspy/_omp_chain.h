/*
 * A chain: programs that meet in memory, of which row i of one has to come after rows up to i + d of
 * another, for some d. Each is a stage. The stages take turns in bands of rows, which stay in the cache
 * meanwhile. Row i of a stage belongs to front i + lag; what it has to come after belongs to its front or
 * an earlier one, and to an earlier stage. This is loop fusion by shifting: Manjikian and Abdelrahman,
 * IEEE Trans. Parallel Distrib. Syst. 8(2), 1997.
 */
typedef struct {
    const pg_program *program;
    const int *reductions;      /* NULL: nothing is reduced; else the last stage, which has one result */
    const pg_piece *piece;
    int first_dim, end_dim;
    int64_t n_rows, lag, address;           /* `address` is the number of its first one */
} pg_stage;

/* The first unit with an element of a row, or of one behind it. */
static int64_t unit_from_row(const pg_stage *s, int64_t i)
{
    const pg_piece *p = s->piece;
    return i == s->n_rows ? p->n_units : leaf_of(&p->whole.of, p->row + i * (p->n_rows / s->n_rows)) - p->first_leaf;
}

/* Rows [begin, end) of a stage, by this thread alone; none of it goes past the caches. */
static void run_rows(const pg_stage *s, const reducing *r, const int64_t *addresses, int64_t loop_address,
                     int64_t begin, int64_t end)
{
    if (begin >= end)
        return;
    if (s->reductions) {
        reduce_units(r, unit_from_row(s, begin), unit_from_row(s, end));
        return;
    }
    const pg_program *p = s->program;
    geometry g;
    loop_fn *const loop = describe_program(p, &g, addresses, begin, end, (loop_fn *)loop_address);
    for_each(loop == p->only_loop ? p->steps[0].loop : loop, &g, 0);
}

/* Fronts [begin, end) of a chain, in bands of so many rows for each thread. */
static void pg_run_chain(int n_stages, const pg_stage *stages, const int64_t *addresses,
                         const int64_t *loops, int64_t band, int64_t begin, int64_t end)
{
    const pg_stage *const last = &stages[n_stages - 1];
    reducing r;
    if (last->reductions)
        describe_reduction(&r, last->program, last->reductions, last->piece, last->first_dim, last->end_dim,
                           addresses + last->address, loops[n_stages - 1]);
    int64_t work = 0;
    for (int k = 0; k < n_stages; k++) {
        const pg_stage *s = &stages[k];
        const pg_program *p = s->program;
        int64_t size = p->cost + p->n_operands - p->n_stored;
        for (int d = 0; d < p->ndim; d++)
            size *= p->shape[d];
        work += size / s->n_rows * band;
    }
    const int team = team_for(work);
    #pragma omp parallel num_threads(team) if (team > 1)
    {
        const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads();
        for (int64_t front = begin; front < end; front += band * parts)
            for (int k = 0; k < n_stages; k++) {
                const pg_stage *s = &stages[k];
                const int64_t next = MIN(front + band * parts, end);
                const int64_t first = MIN(MAX(front - s->lag, 0), s->n_rows);
                const int64_t n = MIN(MAX(next - s->lag, 0), s->n_rows) - first;
                run_rows(s, &r, addresses + s->address, loops[k],
                         first + n * t / parts, first + n * (t + 1) / parts);
                #pragma omp barrier
            }
    }
    n_completed++;
}
