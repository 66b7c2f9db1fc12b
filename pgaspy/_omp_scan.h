/*
 * Scans of an array that lies in memory, along one dimension.
 *
 * Along memory, chunk by chunk: the totals of a chunk's lanes, what comes before each, and the results while the
 * elements are in the cache. Several threads on one row do so with a block of chunks each, and wait once per block.
 * Across memory, a row of results is made of the row before. Both depend on the shape and the strides alone.
 */
#define SCAN_ACROSS_FROM 4      /* so many rows next to each other are scanned across */
#define SCAN_WIDTH 1024         /* results of a row that are made together: the row before is in the cache */
#define SCAN_TILE 4096          /* elements of short rows that are scanned side by side: they fit in the L1 cache */
#define CHUNKS_AT_ONCE 16       /* of a thread, between two waits */

typedef union {
    T_D largest;
    char bytes[sizeof(T_D)];
} result;

typedef struct {
    const scan_row *row;
    int64_t n, stride, to_stride;       /* along the dimension */
    geometry others;                    /* of elements, of what comes before their rows, and of results */
    int has_carry;
} scan;

static int64_t n_chunks_of(const scan *s)
{
    return (s->n + SCAN_CHUNK - 1) / SCAN_CHUNK;
}

static int64_t chunk_length(const scan *s, int64_t chunk)
{
    return MIN(SCAN_CHUNK, s->n - chunk * SCAN_CHUNK);
}

static void chunk_totals(const scan *s, char *const p[], int64_t chunk, void *totals)
{
    s->row->totals(chunk_length(s, chunk), p[0] + chunk * SCAN_CHUNK * s->stride, s->stride, totals);
}

/* Have the results of a chunk, whose lanes' totals are given; they are lost, and `carry` is that of the next one. */
static void scan_chunk(const scan *s, char *const p[], int64_t chunk, void *totals, result *carry)
{
    const int64_t n = chunk_length(s, chunk), first = chunk * SCAN_CHUNK;
    const int is_there = s->has_carry || chunk > 0;
    s->row->before(divide_chunk(n).lanes, totals, carry, is_there);
    s->row->scan(n, p[0] + first * s->stride, s->stride, p[2] + first * s->to_stride, s->to_stride, totals,
                 !is_there);
}

static void begin_carry(const scan *s, char *const p[], result *carry)
{
    if (s->has_carry)
        memcpy(carry, p[1], s->row->out_size);
}

static void scan_alone(const scan *s, char *const p[])
{
    result totals[SCAN_LANES], carry;
    begin_carry(s, p, &carry);
    for (int64_t chunk = 0; chunk < n_chunks_of(s); chunk++) {
        chunk_totals(s, p, chunk, totals);
        scan_chunk(s, p, chunk, totals, &carry);
    }
}

/* By all threads of a team. `totals` has room for those of two blocks. */
static void scan_together(const scan *s, char *const p[], result *totals)
{
    const int team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t n_chunks = n_chunks_of(s), per_block = (int64_t)team * CHUNKS_AT_ONCE;
    result before[SCAN_LANES], carry;
    begin_carry(s, p, &carry);
    for (int64_t block = 0; block * per_block < n_chunks; block++) {
        const int64_t first = block * per_block, end = MIN(first + per_block, n_chunks);
        const int64_t own = first + me * CHUNKS_AT_ONCE, own_end = MIN(own + CHUNKS_AT_ONCE, end);
        result *found = totals + block % 2 * per_block * SCAN_LANES;
        for (int64_t chunk = own; chunk < own_end; chunk++)
            chunk_totals(s, p, chunk, found + (chunk - first) * SCAN_LANES);
        #pragma omp barrier
        for (int64_t chunk = first; chunk < end; chunk++) {
            memcpy(before, found + (chunk - first) * SCAN_LANES, sizeof before);
            if (own <= chunk && chunk < own_end)
                scan_chunk(s, p, chunk, before, &carry);
            else
                s->row->before(divide_chunk(chunk_length(s, chunk)).lanes, before, &carry,
                               s->has_carry || chunk > 0);
        }
    }
    #pragma omp barrier
}

/* Returns -1 when memory is exhausted. */
static int scan_along(const scan *s, int64_t n_rows, int team)
{
    if (n_rows >= 4 * team || n_chunks_of(s) < 4) {
        #pragma omp parallel for num_threads(team) if (team > 1) schedule(static)
        for (int64_t i = 0; i < n_rows; i++) {
            char *p[3];
            locate(&s->others, s->others.ndim, i, p);
            scan_alone(s, p);
        }
        return 0;
    }
    result *totals = malloc(2 * team * CHUNKS_AT_ONCE * SCAN_LANES * sizeof(result));
    if (!totals)
        return -1;
    #pragma omp parallel num_threads(team) if (team > 1)
    for (int64_t i = 0; i < n_rows; i++) {
        char *p[3];
        locate(&s->others, s->others.ndim, i, p);
        scan_together(s, p, totals);
    }
    free(totals);
    return 0;
}

static void scan_across(const scan *s, int team)
{
    const geometry *g = &s->others;
    const int inner = g->ndim - 1;
    const int64_t extent = g->shape[inner];
    const int64_t longest = s->n < MIN_IN_LANES ? MIN(SCAN_WIDTH, SCAN_TILE / s->n) : SCAN_WIDTH;
    const int64_t width = MIN(longest, ((extent + team - 1) / team + 31) / 32 * 32);
    const int64_t per_row = (extent + width - 1) / width, n_tiles = count(g, inner) * per_row;
    #pragma omp parallel for num_threads(team) if (team > 1) schedule(static)
    for (int64_t tile = 0; tile < n_tiles; tile++) {
        const int64_t first = tile % per_row * width, n = MIN(width, extent - first);
        const int64_t *stride = STRIDES(g, inner);
        char *p[3];
        locate(g, inner, tile / per_row, p);
        char *x = p[0] + first * stride[0], *before = p[1] + first * stride[1], *to = p[2] + first * stride[2];
        int64_t before_stride = stride[1];
        for (int64_t i = 0; i < s->n; i++) {
            if (i == 0 && !s->has_carry)
                s->row->convert(n, (char *[]){x, to}, (int64_t[]){stride[0], stride[2]});
            else
                s->row->next(n, (char *[]){before, x, to}, (int64_t[]){before_stride, stride[0], stride[2]});
            before = to;
            before_stride = stride[2];
            x += s->stride;
            to += s->to_stride;
        }
    }
}

/*
 * Scan along a dimension of n elements; the other dimensions have a stride for elements, for what comes before the
 * first of them (at address 0: nothing), and for results. Returns -1 when memory is exhausted.
 */
static int pg_scan(int row, int64_t n, int64_t stride, int64_t to_stride, int ndim, const int64_t *shape,
                   const int64_t *x_strides, const int64_t *carry_strides, const int64_t *to_strides,
                   int64_t x_address, int64_t carry_address, int64_t to_address)
{
    scan s = {&scan_rows[row], n, stride, to_stride};
    s.has_carry = carry_address != 0;
    describe(&s.others, ndim, shape, 3, (int64_t[]){x_address, carry_address, to_address},
             (const int64_t *const[]){x_strides, carry_strides, to_strides});
    const int64_t n_rows = count(&s.others, ndim);
    if (n == 0 || n_rows == 0)
        return 0;
    normalise(&s.others, 2);
    const int team = team_for(n * n_rows), inner = s.others.ndim - 1;
    const int is_across = inner >= 0 && magnitude(STRIDES(&s.others, inner)[0]) < magnitude(stride);
    /* Few elements of a row are scanned one after the other, and so are those of many rows side by side; after a carry
       they are scanned by themselves first. */
    const int is_short = inner >= 0 && n < MIN_IN_LANES && !s.has_carry;
    if ((is_across || is_short) && s.others.shape[inner] >= SCAN_ACROSS_FROM) {
        scan_across(&s, team);
        return 0;
    }
    return scan_along(&s, n_rows, team);
}
