/*
 * Programs on a piece of the array, which reduce their last outputs: units are computed into short buffers
 * and reduced from there, or by the loop itself where whole leaves lie in a row.
 */

/* A program on a piece; what it reduces has addresses of leaves' results and of the piece's slots. */
typedef struct {
    const pg_piece *piece;
    loop_fn *loop;
    geometry g;
    prefetched prefetched;
    int64_t longest;        /* the elements of a loop, before which is prefetched */
    int thin;
    int whole;              /* the loop reduces whole leaves, where they lie in a row */
    int n;
    const reduce_row *row[MAX_REDUCTIONS];
    const int64_t *leaves, *head, *tail;
} reducing;

/* Where the loops of a thread are in a piece: the next element's number; and what they fill. */
typedef struct {
    int64_t number, column;
    row at;
    char *buffer[MAX_REDUCTIONS];
} cursor;

/* Whole rows of a few elements, n elements at most, as run_thin does; returns how many there were. */
static int64_t run_thin_rows(loop_fn *loop, const geometry *g, row *at, char *p[], int64_t n)
{
    const int inner = g->ndim - 1, outer = inner - 1;
    const int64_t extent = g->shape[inner];
    const int64_t rows = MIN(n / extent, g->shape[outer] - at->index[outer]);
    if (rows == 0)
        return 0;
    for (int64_t column = 0; column < extent; column++) {
        loop(rows, p, STRIDES(g, outer));
        for (int o = 0; o < g->n_operands; o++)
            p[o] += STRIDES(g, inner)[o];
    }
    for (int o = 0; o < g->n_operands; o++)
        at->p[o] += (rows - 1) * STRIDES(g, outer)[o];
    at->index[outer] += rows - 1;
    next_row(g, at);
    return rows * extent;
}

/* Go to element `number` of a piece, unless the cursor is there. */
static void seek(const geometry *g, cursor *c, int64_t number)
{
    const int64_t extent = g->shape[g->ndim - 1];
    if (number != c->number) {
        c->number = number;
        c->column = number % extent;
        find_row(g, number / extent, &c->at);
    }
}

/* Go on by m elements of a row. */
static void advance(const geometry *g, cursor *c, int64_t m)
{
    c->number += m;
    c->column += m;
    if (c->column == g->shape[g->ndim - 1]) {
        next_row(g, &c->at);
        c->column = 0;
    }
}

/*
 * Compute n elements of a piece, LEAF at most, from `number` on, into the buffers: short ones stay in
 * the L1 cache beside the operands that pass through it. Each loop is preceded by its prefetch window.
 */
static void fill_buffers(const reducing *r, cursor *c, int64_t number, int64_t n)
{
    const geometry *g = &r->g;
    const int inner = g->ndim - 1, stored = g->n_operands - r->n;
    const int64_t extent = g->shape[inner], *s = STRIDES(g, inner);
    seek(g, c, number);
    for (int64_t done = 0, m; done < n; done += m) {
        char *p[MAX_OPERANDS];
        for (int o = 0; o < stored; o++)
            p[o] = c->at.p[o] + c->column * s[o];
        for (int k = 0; k < r->n; k++)
            p[stored + k] = c->buffer[k] + done * s[stored + k];
        m = r->thin && c->column == 0 ? run_thin_rows(r->loop, g, &c->at, p, n - done) : 0;
        c->number += m;
        if (m)
            continue;
        m = MIN(MIN(n - done, extent - c->column), r->longest);
        prefetch(&r->prefetched, p, WINDOW_BEGIN, WINDOW_BEGIN + m * r->prefetched.size);
        r->loop(m, p, s);
        advance(g, c, m);
    }
}

/* The slot for a leaf of reduced output k; NULL if it is reduced at once. */
static char *slot_of(const reducing *r, int k, int64_t leaf)
{
    return leaf == r->piece->head ? (char *)r->head[k]
         : leaf == r->piece->tail ? (char *)r->tail[k] : NULL;
}

/* Reduce or keep unit u of reduced output k: elements of one result, that is reduced along. */
static void reduce_unit(const reducing *r, int k, const unit *u, const char *x)
{
    const pg_leaves *t = &r->piece->whole;
    const reduce_row *row = r->row[k];
    char *slot = slot_of(r, k, u->leaf);
    if (slot)
        memcpy(slot + (u->column * MIN(t->of.rows, t->reduced) + u->row - leaf_begin(&t->of, u->leaf))
                   * row->in_size, x, u->n_rows * row->in_size);
    else
        row->leaf(u->n_rows, x,
                  leaf_result(t, r->leaves[k], row->out_size, u->outer, u->leaf, u->column));
}

/* Reduce or keep `width` elements of row i of unit u, of results that are reduced across. */
static void reduce_row_of(const reducing *r, int k, const unit *u, int64_t i, int64_t column,
                          int64_t width, char *x)
{
    const pg_leaves *t = &r->piece->whole;
    const reduce_row *row = r->row[k];
    char *slot = slot_of(r, k, u->leaf);
    i += u->row - leaf_begin(&t->of, u->leaf);
    if (slot)
        memcpy(slot + (i * t->width + column) * row->in_size, x, width * row->in_size);
    else
        fold_row(row, i, width, x, row->in_size,
                 leaf_result(t, r->leaves[k], row->out_size, u->outer, u->leaf, column));
}

/*
 * Have the loop reduce units from u on, n at most, that are leaves in rows of at least SHORT_ROW
 * elements; returns how many these were. All leaves of a row are one call.
 */
static int64_t reduce_whole(const reducing *r, cursor *c, const unit *u, int64_t n)
{
    const geometry *g = &r->g;
    const pg_piece *piece = r->piece;
    const pg_leaves *t = &piece->whole;
    const division *of = &t->of;
    const int inner = g->ndim - 1, stored = g->n_operands - r->n;
    const int64_t extent = g->shape[inner], *s = STRIDES(g, inner);
    if (!r->whole || of->stretch < SHORT_ROW || u->leaf == piece->head)
        return 0;
    seek(g, c, first_element(piece, u));
    char *p[MAX_OPERANDS];
    int64_t strides[MAX_OPERANDS];
    for (int o = 0; o < stored; o++)
        strides[o] = s[o];
    for (int k = 0; k < r->n; k++) {
        p[stored + k] = leaf_result(t, r->leaves[k], r->row[k]->out_size, u->outer, u->leaf, u->column);
        strides[stored + k] = REDUCED;
    }
    n = t->width > 1 ? 1 : MIN(n, piece->first_leaf + piece->n_leaves - u->leaf);
    const int64_t whole = of->n_of_stretch - (of->stretch - (of->n_of_stretch - 1) * of->rows < LANES);
    int64_t done = 0, first = u->leaf % of->n_of_stretch;       /* in its row */
    while (done < n) {
        int64_t end = MIN(first + n - done, whole);
        end -= u->leaf + done + end - first - 1 == piece->tail;
        const int64_t n_elements = MIN(end * of->rows, of->stretch) - first * of->rows;
        if (end <= first || c->column + n_elements > extent)
            break;
        for (int o = 0; o < stored; o++)
            p[o] = c->at.p[o] + c->column * s[o];
        r->loop(n_elements, p, strides);
        advance(g, c, n_elements);
        for (int k = 0; k < r->n; k++)
            p[stored + k] += (end - first) * r->row[k]->out_size;
        done += end - first;
        if (end < of->n_of_stretch)
            break;
        first = 0;
    }
    return done;
}

/* Reduce along, from unit u on, as many of n units as a buffer takes; returns how many these were. */
static int64_t reduce_along(const reducing *r, cursor *c, unit *u, int64_t n)
{
    int64_t m = reduce_whole(r, c, u, n);
    if (m > 0) {
        *u = find_unit(r->piece, u->number + m);
        return m;
    }
    const int64_t begin = first_element(r->piece, u);
    int64_t end = begin;
    unit next = *u;
    do {
        end += next.n_rows;
        next_unit(r->piece, &next);
    } while (++m < n && end + next.n_rows <= begin + LEAF && first_element(r->piece, &next) == end);
    fill_buffers(r, c, begin, end - begin);
    int64_t done = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int k = 0; k < r->n; k++)
            reduce_unit(r, k, u, c->buffer[k] + done * r->row[k]->in_size);
        done += u->n_rows;
        next_unit(r->piece, u);
    }
    return m;
}

/*
 * Results of a few elements each, of as many of n units from `first` on as a buffer takes: a leaf adds
 * so few one after the other, and so all results do it side by side.
 */
static int64_t reduce_short(const reducing *r, cursor *c, int64_t first, int64_t n)
{
    const pg_leaves *t = &r->piece->whole;
    const int64_t m = MIN(n, LEAF / t->reduced), result = r->piece->outer * t->width + first;
    fill_buffers(r, c, first * t->reduced, m * t->reduced);
    for (int k = 0; k < r->n; k++) {
        const reduce_row *row = r->row[k];
        for (int64_t i = 0; i < t->reduced; i++)
            fold_row(row, i, m, c->buffer[k] + i * row->in_size, t->reduced * row->in_size,
                     (char *)r->leaves[k] + result * row->out_size);
    }
    return m;
}

/* Reduce unit u across: rows at a time that follow each other in the piece, or parts of one. */
static int64_t reduce_across(const reducing *r, cursor *c, unit *u)
{
    const int64_t width = MIN(u->n_columns, LEAF), n_columns = r->piece->n_columns;
    const int64_t rows = u->n_columns == n_columns ? LEAF / width : 1;
    const int64_t begin = first_element(r->piece, u);
    for (int64_t i = 0; i < u->n_rows; i += rows)
        for (int64_t j = 0; j < u->n_columns; j += width) {
            const int64_t m = MIN(rows, u->n_rows - i), n = MIN(width, u->n_columns - j);
            fill_buffers(r, c, begin + i * n_columns + j, m * n);
            for (int k = 0; k < r->n; k++)
                for (int64_t l = 0; l < m; l++)
                    reduce_row_of(r, k, u, i + l, u->column + j, n,
                                  c->buffer[k] + l * n * r->row[k]->in_size);
        }
    next_unit(r->piece, u);
    return 1;
}

static void reduce_units(const reducing *r, int64_t begin, int64_t end)
{
    char buffers[r->n][LEAF * sizeof(T_D)] __attribute__((aligned(64)));
    cursor c = {.number = -1};
    for (int k = 0; k < r->n; k++)
        c.buffer[k] = buffers[k];
    unit u = find_unit(r->piece, begin);
    while (begin < end)
        begin += r->piece->is_short ? reduce_short(r, &c, begin, end - begin)
               : r->piece->whole.across ? reduce_across(r, &c, &u)
                                        : reduce_along(r, &c, &u, end - begin);
}

/* Number elements over dimensions [begin, end), by strides of the reduced outputs from `size` on. */
static int64_t number_dims(geometry *g, int n_reduced, int begin, int end, int64_t size)
{
    for (int d = end; d-- > begin; size *= g->shape[d])
        for (int o = g->n_operands - n_reduced; o < g->n_operands; o++)
            STRIDES(g, d)[o] = size;
    return size;
}

/*
 * A program on a piece. Dimensions [first_dim, end_dim) of the program are reduced: the outer ones are
 * those before, the results next to each other those behind them. The addresses are those of the
 * operands that are stored, and then of each reduced output's leaves, head slots, and tail slots.
 */
static void describe_reduction(reducing *r, const pg_program *p, const int *reductions, const pg_piece *piece,
                               int first_dim, int end_dim, const int64_t *addresses, int64_t loop_address)
{
    geometry *const g = &r->g;
    r->piece = piece;
    r->n = p->n_operands - p->n_stored;
    r->leaves = addresses + p->n_stored - 1;    /* the context has none */
    r->head = r->leaves + r->n;
    r->tail = r->head + r->n;
    r->prefetched = (prefetched){0};
    r->loop = describe_program(p, g, addresses, 0, p->ndim ? p->shape[p->row_dim] : 1,
                              (loop_fn *)loop_address);
    /* The order in which the elements are numbered, for a reduced output is the key to it. */
    const int low = piece->whole.across ? 0 : first_dim;
    const int high = piece->whole.across ? g->ndim : end_dim;
    int64_t size = number_dims(g, r->n, low, high, 1);
    size = number_dims(g, r->n, high, g->ndim, size);
    number_dims(g, r->n, 0, low, size);
    for (int k = 0; k < r->n; k++) {
        r->row[k] = &reduce_rows[reductions[k]];
        g->base[g->n_operands - r->n + k] = NULL;
    }
    normalise(g, g->n_operands - 1);
    if (g->ndim == 0) {
        g->ndim = 1;
        g->shape[0] = 1;
        memset(STRIDES(g, 0), 0, g->n_operands * sizeof *STRIDES(g, 0));
    }
    for (int k = 0; k < r->n; k++)
        for (int d = 0; d < g->ndim; d++)
            STRIDES(g, d)[g->n_operands - r->n + k] *= r->row[k]->in_size;
    r->longest = LEAF;
    r->thin = g->ndim > 1 && g->shape[g->ndim - 1] < (r->loop == run_interpreted ? 2 * THIN : THIN)
        && g->shape[g->ndim - 2] > g->shape[g->ndim - 1];
    r->whole = loop_address != 0;
}

/* Units [begin, end) of a piece. */
static void pg_reduce_program(const pg_program *p, const int *reductions, const pg_piece *piece,
                              int first_dim, int end_dim, const int64_t *addresses,
                              int64_t begin, int64_t end, int64_t loop_address)
{
    n_completed += begin >= end;
    if (begin >= end)
        return;
    reducing r;
    describe_reduction(&r, p, reductions, piece, first_dim, end_dim, addresses, loop_address);
    const int64_t size = count(&r.g, r.g.ndim);
    if (p->prefetches && size > FAR && (loop_address || p->only_loop)) {
        r.prefetched = find_prefetched(r.g.n_operands - r.n, r.g.base, STRIDES(&r.g, r.g.ndim - 1));
        r.longest = WINDOW / r.prefetched.size;
    }
    const int64_t work = size / piece->n_units * (end - begin) * (p->cost + r.n);
    const int team = begin_team(work);
    #pragma omp parallel num_threads(team) if (team > 1)
    {
        const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads();
        reduce_units(&r, begin + (end - begin) * t / parts,
                     begin + (end - begin) * (t + 1) / parts);
        end_part();
    }
    end_team(team, work);
    n_completed++;
}
