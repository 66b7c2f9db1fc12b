/*
 * A chain: programs that meet in memory, of which row i of one has to come after rows up to i + d of
 * another, for some d. Each is a stage. The stages take turns in bands of rows, which stay in the cache
 * meanwhile. Row i of a stage belongs to front i + lag; what it has to come after belongs to its front or
 * an earlier one, and to an earlier stage.
 *
 * Each thread has fronts that follow each other. The first ones of a stage, which may have to come after
 * fronts of the thread before, are peeled off, and computed when all threads have done the others. This is
 * loop fusion by shifting and peeling: Manjikian and Abdelrahman, IEEE Trans. Parallel Distrib. Syst.
 * 8(2), 1997.
 */
typedef struct {
    const pg_program *program;
    const int *reductions;      /* NULL: nothing is reduced; else the last stage, which has one result */
    const pg_piece *piece;
    int first_dim, end_dim;
    int64_t n_rows, lag, peel, address;     /* `address` is the number of its first one */
} pg_stage;

/* The first unit with an element of a row, or of one behind it. */
static int64_t unit_from_row(const pg_stage *s, int64_t i)
{
    const pg_piece *p = s->piece;
    return i == s->n_rows ? p->n_units : leaf_of(&p->whole.of, p->row + i * (p->n_rows / s->n_rows)) - p->first_leaf;
}

/* Fronts [begin, end) of a stage, by this thread alone; none of it goes past the caches. */
static void run_fronts(const pg_stage *s, const reducing *r, const int64_t *addresses, int64_t loop_address,
                       int64_t begin, int64_t end)
{
    begin = MIN(MAX(begin - s->lag, 0), s->n_rows);
    end = MIN(MAX(end - s->lag, 0), s->n_rows);
    if (begin >= end)
        return;
    if (s->reductions) {
        reduce_units(r, unit_from_row(s, begin), unit_from_row(s, end));
        return;
    }
    const pg_program *p = s->program;
    geometry g;
    loop_fn *const loop = describe_program(p, &g, addresses + s->address, begin, end, (loop_fn *)loop_address);
    for_each(loop == p->only_loop ? p->steps[0].loop : loop, &g, packable_of(p, &g), 0);
}

/* The fronts at the beginning of a thread's that a stage leaves for the end. */
static int64_t peeled(const pg_stage *s)
{
    int64_t n_of_row = 1;
    for (int d = 0; d < s->program->ndim; d++)
        n_of_row *= s->program->shape[d];
    n_of_row /= s->n_rows;
    return s->peel + (s->reductions ? LEAF / n_of_row + 1 : 0);     /* leaves begin in earlier rows */
}

/* Fronts [begin, end) of a chain, in bands of so many rows. */
static void pg_run_chain(int n_stages, const pg_stage *stages, const int64_t *addresses,
                         const int64_t *loops, int64_t band, int64_t begin, int64_t end)
{
    const pg_stage *const last = &stages[n_stages - 1];
    reducing r;
    if (last->reductions)
        describe_reduction(&r, last->program, last->reductions, last->piece, last->first_dim, last->end_dim,
                           addresses + last->address, loops[n_stages - 1]);
    int64_t work = 0, most_peeled = 1;
    for (int k = 0; k < n_stages; k++) {
        const pg_stage *s = &stages[k];
        const pg_program *p = s->program;
        int64_t size = p->cost + p->n_operands - p->n_stored;
        for (int d = 0; d < p->ndim; d++)
            size *= p->shape[d];
        work += size / s->n_rows * (end - begin);
        most_peeled = MAX(most_peeled, peeled(s));
    }
    const int team = MAX(MIN(begin_team(work), (end - begin) / most_peeled), 1);
    #pragma omp parallel num_threads(team) if (team > 1)
    {
        const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads(), n = end - begin;
        const int64_t own = begin + n * t / parts, next = begin + n * (t + 1) / parts;
        for (int64_t front = own; front < next; front += band)
            for (int k = 0; k < n_stages; k++)
                run_fronts(&stages[k], &r, addresses, loops[k],
                           t > 0 ? MAX(front, own + peeled(&stages[k])) : front, MIN(front + band, next));
        end_part();
        #pragma omp barrier
        for (int k = 0; k < n_stages && t > 0; k++)
            run_fronts(&stages[k], &r, addresses, loops[k], own, own + peeled(&stages[k]));
    }
    end_team(team, work);
    n_completed++;
}
