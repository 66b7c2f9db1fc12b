/*
 * The driver: a loop (`loop_fn`) over the rows of a geometry, which are dealt out to the threads.
 */

/* Run the loop over elements [begin, end) of the geometry. */
static void run_range(loop_fn *loop, const geometry *g, int64_t begin, int64_t end)
{
    const int64_t extent = g->shape[g->ndim - 1], *s = STRIDES(g, g->ndim - 1);
    int64_t column = begin % extent;
    row r;
    for (find_row(g, begin / extent, &r); begin < end; next_row(g, &r)) {
        const int64_t n = MIN(extent - column, end - begin);
        char *p[MAX_OPERANDS];
        for (int o = 0; o < g->n_operands; o++)
            p[o] = r.p[o] + column * s[o];
        loop(n, p, s);
        begin += n;
        column = 0;
    }
}

/*
 * The same over rows [begin, end) of a few elements each: not a loop per row, but a loop per column
 * of as many rows as stay in the L1 cache meanwhile.
 */
#define THIN 8
static void run_thin(loop_fn *loop, const geometry *g, int64_t begin, int64_t end)
{
    const int inner = g->ndim - 1, outer = inner - 1;
    while (begin < end) {
        const int64_t n = MIN(MIN(g->shape[outer] - begin % g->shape[outer], end - begin), 256);
        char *p[MAX_OPERANDS];
        locate(g, inner, begin, p);
        for (int64_t column = 0; column < g->shape[inner]; column++) {
            loop(n, p, STRIDES(g, outer));
            for (int o = 0; o < g->n_operands; o++)
                p[o] += STRIDES(g, inner)[o];
        }
        begin += n;
    }
}

/* Run the loop over part t of the geometry. */
static void run_part(loop_fn *loop, const geometry *g, packable items, int64_t n, int t, int parts)
{
    const int64_t begin = cut(n, t, parts), end = cut(n, t + 1, parts);
    const int64_t extent = g->shape[g->ndim - 1];
    const joined_rows rows = join_rows(g, items);
    if (rows.n_rows > 1)
        run_joined(loop, g, items, &rows, begin / rows.n_of_row, end / rows.n_of_row);
    else if (g->ndim > 1 && extent < THIN)
        run_thin(loop, g, begin / extent, end / extent);
    else
        run_range(loop, g, begin, end);
}

static void run(loop_fn *loop, const geometry *g, packable items, int cost)
{
    const int64_t n = count(g, g->ndim);
    const int team = begin_team(n * cost);
    if (team == 1)
        run_part(loop, g, items, n, 0, 1);
    else {
        #pragma omp parallel num_threads(team)
        {
            run_part(loop, g, items, n, omp_get_thread_num(), omp_get_num_threads());
            end_part();
        }
        end_team(team, n * cost);
    }
}

/*
 * The dimension along which an input is contiguous while the output is not (a transposed input),
 * or -1. A loop along the output then visits a cache line of the input per element.
 */
static int transposed_dim(const geometry *g)
{
    const int inner = g->ndim - 1;
    for (int o = 0; o < g->n_operands - 1; o++)
        if (magnitude(STRIDES(g, inner)[o]) >= 64)
            for (int d = 0; d < inner; d++)
                if (STRIDES(g, d)[o] != 0 && magnitude(STRIDES(g, d)[o]) < 64 && g->shape[d] >= 8)
                    return d;
    return -1;
}

/*
 * Apply the loop to a whole geometry. A transposed input is taken in strips TILE elements wide: the
 * loops sweep along the input with TILE of its cache lines in use, so that each is loaded once. Short
 * rows are joined if the inputs may be packed.
 */
#define TILE 64
static void for_each(loop_fn *loop, geometry *g, packable items, int cost)
{
    normalise(g, g->n_operands - 1);
    if (g->ndim == 0) {
        const int64_t s[MAX_OPERANDS] = {0};
        loop(1, g->base, s);
        return;
    }
    const int dim = g->ndim > 1 ? transposed_dim(g) : -1;
    if (dim < 0 || g->shape[g->ndim - 1] < 2 * TILE) {
        run(loop, g, items, cost);
        return;
    }
    const int inner = g->ndim - 1;
    const int64_t strips = g->shape[inner] / TILE, rest = g->shape[inner] % TILE;
    geometry strip;
    copy_geometry(&strip, g);
    for (int d = dim; d < inner - 1; d++)
        move_dim(&strip, d, g, d + 1);
    strip.ndim = g->ndim + 1;
    move_dim(&strip, inner, g, dim);
    move_dim(&strip, inner + 1, g, inner);
    move_dim(&strip, inner - 1, g, inner);
    strip.shape[inner + 1] = TILE;
    strip.shape[inner - 1] = strips;
    for (int o = 0; o < g->n_operands; o++)
        STRIDES(&strip, inner - 1)[o] *= TILE;
    run(loop, &strip, items, cost);
    if (rest) {
        for (int o = 0; o < g->n_operands; o++)
            g->base[o] += strips * TILE * STRIDES(g, inner)[o];
        g->shape[inner] = rest;
        run(loop, g, items, cost);
    }
}
