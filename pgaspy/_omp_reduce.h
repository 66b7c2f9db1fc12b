/*
 * Reductions of an array that lies in memory.
 */
typedef struct {
    const reduce_row *row;
    geometry kept, reduced;
    int across;             /* whether rows of results are accumulated, or single results */
    int64_t width;          /* results per tile */
    division leaves;
} reduction;

/* A tile is `width` results next to each other; the last one of a row of results may be less. */
static int64_t locate_tile(const reduction *r, int64_t tile, char *p[])
{
    const geometry *g = &r->kept;
    if (!r->across) {
        locate(g, g->ndim, tile, p);
        return 1;
    }
    const int inner = g->ndim - 1;
    const int64_t per_row = (g->shape[inner] + r->width - 1) / r->width;
    const int64_t first = tile % per_row * r->width;
    locate(g, inner, tile / per_row, p);
    for (int o = 0; o < 2; o++)
        p[o] += first * STRIDES(g, inner)[o];
    return MIN(r->width, g->shape[inner] - first);
}

/*
 * A leaf adds the n elements of a short row one after the other: so do many results side by side, along the longest
 * dimension of these.
 */
static void lay_side_by_side(reduction *r, int64_t n)
{
    geometry *g = &r->kept;
    int longest = 0;
    for (int d = 1; d < g->ndim; d++)
        longest = g->shape[d] >= g->shape[longest] ? d : longest;
    if (g->shape[longest] < ACROSS_FROM)
        return;
    r->across = 1;
    r->width = MIN(g->shape[longest], SIDE_BY_SIDE / n);
    for (int d = longest + 1; d < g->ndim; d++)
        insert_dim(g, d - 1, d);
}

static void leaf_along(const reduction *r, const char *tile, int64_t leaf, char *to)
{
    const reduce_row *row = r->row;
    const geometry *g = &r->reduced;
    int64_t begin = leaf_begin(&r->leaves, leaf);
    const int64_t end = leaf_end(&r->leaves, leaf), n = end - begin;
    const int inner = MAX(g->ndim - 1, 0);
    const int64_t extent = g->ndim ? g->shape[inner] : 1;
    const int64_t stride = g->ndim ? STRIDES(g, inner)[0] : row->in_size;
    int64_t line = g->ndim > 1 ? begin / extent : 0, column = begin - line * extent;
    char *p[2];
    if (stride == row->in_size && column + n <= extent) {
        locate(g, inner, line, p);
        const char *x = tile + (p[0] - g->base[0]) + column * stride;
        row->leaf(n, x, to);
        return;
    }
    char buffer[LEAF * sizeof(T_D)] __attribute__((aligned(64)));
    for (char *b = buffer; begin < end; column = 0) {
        const int64_t m = MIN(extent - column, end - begin);
        locate(g, inner, line++, p);
        row->copy_in(m, (char *[]){(char *)tile + (p[0] - g->base[0]) + column * stride, b},
                     (int64_t[]){stride, row->in_size});
        begin += m;
        b += m * row->in_size;
    }
    row->leaf(n, buffer, to);
}

/* GROUP leaves from `leaf` on, merged, where they are whole and lie one behind the other; whether they do. */
static int group_along(const reduction *r, const char *tile, int64_t leaf, char *to)
{
    const geometry *g = &r->reduced;
    const int inner = g->ndim - 1;
    if (inner < 0 || STRIDES(g, inner)[0] != r->row->in_size)
        return 0;
    const int64_t begin = leaf_begin(&r->leaves, leaf), end = leaf_end(&r->leaves, leaf + GROUP - 1);
    const int64_t extent = g->shape[inner], line = begin / extent, column = begin - line * extent;
    if (end - begin != GROUP * LEAF || column + GROUP * LEAF > extent)
        return 0;
    char *p[2];
    locate(g, inner, line, p);
    r->row->group(tile + (p[0] - g->base[0]) + column * r->row->in_size, to);
    return 1;
}

static void leaf_across(const reduction *r, const char *tile, int64_t width, int64_t leaf, char *to)
{
    const geometry *g = &r->reduced;
    const int64_t stride = STRIDES(&r->kept, r->kept.ndim - 1)[0];
    const int64_t begin = leaf_begin(&r->leaves, leaf), end = leaf_end(&r->leaves, leaf);
    for (int64_t i = begin; i < end; i++) {
        char *p[2];
        locate(g, g->ndim, i, p);
        fold_row(r->row, i - begin, width, (char *)tile + (p[0] - g->base[0]), stride, to);
    }
}

/*
 * The tree over n leaves, or over n results of chunks if `partials` is given. The stack holds the
 * finished subtrees, as a binary counter holds its digits; the result is left at its bottom.
 */
static void tree(const reduction *r, const char *tile, int64_t width, int64_t first, int64_t n,
                 const char *partials, char *stack)
{
    const int64_t size = r->width * r->row->out_size;
    char *top = stack;
    const int in_groups = !partials && !r->across;      /* `first` is a multiple of GROUP, as chunks are */
    for (int64_t i = 0, digits; i < n; top += size) {
        digits = i++;
        if (in_groups && digits % GROUP == 0 && digits + GROUP <= n && group_along(r, tile, first + digits, top)) {
            i = digits + GROUP;
            digits /= GROUP;
        } else if (partials)
            memcpy(top, partials + digits * size, width * r->row->out_size);
        else if (r->across)
            leaf_across(r, tile, width, first + digits, top);
        else
            leaf_along(r, tile, first + digits, top);
        for (; digits & 1; digits >>= 1, top -= size)
            r->row->merge(width, top - size, top);
    }
    for (top -= size; top > stack; top -= size)
        r->row->merge(width, top - size, top);
}

static void store_tile(const reduction *r, int64_t width, char *result, char *to)
{
    const geometry *g = &r->kept;
    const int64_t stride = g->ndim ? STRIDES(g, g->ndim - 1)[1] : 0;
    r->row->copy_out(width, (char *[]){result, to}, (int64_t[]){r->row->out_size, stride});
}

static int levels(int64_t n)
{
    return 65 - __builtin_clzll(n);
}

/* Returns -1 when memory is exhausted. */
static int reduce_tiles(const reduction *r, int64_t n_tiles, int64_t work)
{
    enum { SMALL = 64 * sizeof(T_D) + 128 };
    const int team = begin_team(work);
    const int64_t n_leaves = r->leaves.n_leaves;
    int64_t chunk = n_leaves;               /* leaves per chunk */
    if (team > 1 && n_tiles < 16 * team)
        for (chunk = 8; chunk * 16 * team < n_leaves * n_tiles && chunk < n_leaves;)
            chunk *= 2;
    const int64_t n_chunks = (n_leaves + chunk - 1) / chunk;
    const int64_t size = r->width * r->row->out_size;
    /* Whole cache lines, lest threads share one. */
    const int64_t stack_size = (MAX(levels(chunk), levels(n_chunks)) * size + 127) / 64 * 64;
    const int64_t partials_size = n_chunks > 1 ? n_chunks * n_tiles * size : 0;

    char small[SMALL] __attribute__((aligned(16)));
    char *memory = small;
    if (team * stack_size + partials_size > SMALL)
        memory = malloc(team * stack_size + partials_size);
    if (!memory)
        return -1;
    char *partials = memory + team * stack_size;

    #pragma omp parallel num_threads(team) if (team > 1)
    {
        char *stack = memory + omp_get_thread_num() * stack_size;
        char *p[2];
        #pragma omp for schedule(static) nowait
        for (int64_t task = 0; task < n_tiles * n_chunks; task++) {
            const int64_t tile = n_chunks == 1 ? task : task / n_chunks;
            const int64_t first = (task - tile * n_chunks) * chunk;
            const int64_t width = locate_tile(r, tile, p);
            tree(r, p[0], width, first, MIN(chunk, n_leaves - first), NULL, stack);
            if (n_chunks == 1)
                store_tile(r, width, stack, p[1]);
            else
                memcpy(partials + task * size, stack, width * r->row->out_size);
        }
        end_part();
        #pragma omp barrier
        if (n_chunks > 1) {
            #pragma omp for schedule(static)
            for (int64_t tile = 0; tile < n_tiles; tile++) {
                const int64_t width = locate_tile(r, tile, p);
                tree(r, NULL, width, 0, n_chunks, partials + tile * n_chunks * size, stack);
                store_tile(r, width, stack, p[1]);
            }
        }
    }
    end_team(team, work);
    if (memory != small)
        free(memory);
    return 0;
}

static int pg_reduce(int row, int n_kept, const int64_t *kept_shape, const int64_t *in_kept_strides,
                     const int64_t *out_strides, int n_reduced, const int64_t *reduced_shape,
                     const int64_t *in_reduced_strides, int64_t in_address, int64_t out_address)
{
    reduction r;
    r.row = &reduce_rows[row];
    describe(&r.kept, n_kept, kept_shape, 2, (int64_t[]){in_address, out_address},
             (const int64_t *const[]){in_kept_strides, out_strides});
    describe(&r.reduced, n_reduced, reduced_shape, 1, &in_address, &in_reduced_strides);
    const int64_t results = count(&r.kept, n_kept);
    const int64_t n = count(&r.reduced, n_reduced);
    if (results == 0)
        return 0;
    if (n == 0) {
        for (int d = 0; d < n_kept; d++)
            STRIDES(&r.kept, d)[0] = 0;
        r.kept.base[0] = (char *)r.row->empty;
        for_each(r.row->copy_out, &r.kept, (packable){0}, 1);
        return 0;
    }
    normalise(&r.kept, 0);
    order(&r.reduced, 0);
    const int64_t extent = r.reduced.ndim ? r.reduced.shape[r.reduced.ndim - 1] : 1;
    join_dims(&r.reduced);
    /* Turning a reduced dimension moves its base; the kept side alone carries the address. */
    r.kept.base[0] += r.reduced.base[0] - (char *)in_address;

    const int inner = r.kept.ndim - 1;
    r.across = r.kept.ndim > 0
        && (r.reduced.ndim == 0
            || (r.kept.shape[inner] >= ACROSS_FROM
                && STRIDES(&r.kept, inner)[0] < STRIDES(&r.reduced, r.reduced.ndim - 1)[0]));
    r.leaves = divide(r.across, n, extent);     /* of rows, also where these are short, and lie side by side */
    r.width = r.across ? MIN(r.kept.shape[inner], MAX_WIDTH) : 1;
    if (!r.across && n < LANES && r.kept.ndim > 0)
        lay_side_by_side(&r, n);
    int64_t n_tiles = results;
    if (r.across)
        n_tiles = results / r.kept.shape[inner] * ((r.kept.shape[inner] + r.width - 1) / r.width);
    return reduce_tiles(&r, n_tiles, results * n);
}
