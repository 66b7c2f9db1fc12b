/*
 * Short rows. Operands whose rows do not follow each other in memory as those of the outputs do, as of a row or a
 * column that is broadcast, are packed into buffers, a block of rows at a time: then these are a single row.
 */
#define SHORT 128           /* elements: of more, a loop for each row takes no longer */
#define BLOCK_OF_ROWS 1024  /* elements */
#define PACKED_BYTES 16384  /* bytes of all that is packed of a block: it stays in the L1 cache */

/* What may be packed: the operands' items, of sizes that are 0 where an operand is not; by a loop of so many steps. */
typedef struct {
    const uint8_t *sizes;   /* NULL: nothing */
    int n_steps;
} packable;

/* Rows, of dimensions behind `outer`, that are joined to blocks. */
typedef struct {
    int outer, n_packed, packed[MAX_OPERANDS];
    int64_t size;           /* of all items that are packed of an element */
    int64_t n_of_row, n_rows;
} joined_rows;

static int follows(const geometry *g, int dim, int o)
{
    return STRIDES(g, dim - 1)[o] == g->shape[dim] * STRIDES(g, dim)[o];
}

/* Whether rows are joined over a dimension: a single step gains by it what is broadcast, not what is only copied. */
static int joins(const geometry *g, packable items, int dim)
{
    for (int o = 0; o < g->n_operands; o++)
        if (!follows(g, dim, o) && !(items.sizes[o] && (
                items.n_steps > 1 || STRIDES(g, dim)[o] == 0 || STRIDES(g, dim - 1)[o] == 0)))
            return 0;
    return 1;
}

/* There are none to be joined if n_rows is less than 2. */
static joined_rows join_rows(const geometry *g, packable items)
{
    joined_rows r = {.outer = g->ndim - 1, .n_of_row = 1};
    if (!items.sizes || g->ndim < 2 || g->shape[r.outer] >= SHORT)
        return r;
    for (int64_t n = g->shape[r.outer]; r.outer > 0 && n < BLOCK_OF_ROWS && joins(g, items, r.outer);)
        n *= g->shape[--r.outer];
    for (int d = r.outer + 1; d < g->ndim; d++)
        r.n_of_row *= g->shape[d];
    for (int o = 0; o < g->n_operands; o++)
        for (int d = g->ndim - 1; d > r.outer; d--)
            if (!follows(g, d, o)) {
                r.packed[r.n_packed++] = o;
                r.size += items.sizes[o];
                break;
            }
    if (r.n_packed)
        r.n_rows = MIN(BLOCK_OF_ROWS, PACKED_BYTES / r.size) / r.n_of_row;
    if (r.n_rows > BLOCK)
        r.n_rows -= r.n_rows % BLOCK;       /* maths functions see full blocks */
    return r;
}

/* The compiler knows the extents of the shortest rows. */
#define PACK_ROWS(T) \
PG_FUNCTION void pack_rows_of_##T(int64_t n, int64_t extent, const char *x, int64_t rs, int64_t s, T *to) \
{ \
    for (int64_t i = 0; i < n; i++, x += rs, to += extent) { \
        const T value = *(const T *)x; \
        for (int64_t k = 0; k < extent; k++) \
            to[k] = s == 0 ? value : *(const T *)(x + k * s); \
    } \
} \
static void pack_rows_##T(int64_t n, int64_t extent, const char *x, int64_t rs, int64_t s, char *to) \
{ \
    if (s == sizeof(T)) \
        for (int64_t i = 0; i < n; i++) \
            memcpy(to + i * extent * s, x + i * rs, extent * s); \
    else if (s != 0) \
        pack_rows_of_##T(n, extent, x, rs, s, (T *)to); \
    else switch (extent) { \
        case 2: pack_rows_of_##T(n, 2, x, rs, 0, (T *)to); break; \
        case 3: pack_rows_of_##T(n, 3, x, rs, 0, (T *)to); break; \
        case 4: pack_rows_of_##T(n, 4, x, rs, 0, (T *)to); break; \
        case 5: pack_rows_of_##T(n, 5, x, rs, 0, (T *)to); break; \
        case 6: pack_rows_of_##T(n, 6, x, rs, 0, (T *)to); break; \
        case 7: pack_rows_of_##T(n, 7, x, rs, 0, (T *)to); break; \
        case 8: pack_rows_of_##T(n, 8, x, rs, 0, (T *)to); break; \
        default: pack_rows_of_##T(n, extent, x, rs, 0, (T *)to); \
    } \
}
PACK_ROWS(T_B)
PACK_ROWS(T_h)
PACK_ROWS(T_i)
PACK_ROWS(T_l)
PACK_ROWS(T_D)
#undef PACK_ROWS

/* Pack an operand from dimension `dim` on, the last but one or before, of which it has n; returns how many bytes. */
static int64_t pack(const geometry *g, int o, int64_t size, int dim, int64_t n, const char *x, char *to)
{
    const int inner = g->ndim - 1;
    const int64_t s = STRIDES(g, dim)[o], extent = g->shape[dim + 1];
    int64_t nbytes = extent * size;
    if (dim < inner - 1) {
        nbytes = pack(g, o, size, dim + 1, extent, x, to);
        for (int64_t i = 1; s != 0 && i < n; i++)
            pack(g, o, size, dim + 1, extent, x + i * s, to + i * nbytes);
    } else
        (size == 1 ? pack_rows_T_B : size == 2 ? pack_rows_T_h : size == 4 ? pack_rows_T_i
         : size == 8 ? pack_rows_T_l : pack_rows_T_D)(s ? n : 1, extent, x, s, STRIDES(g, inner)[o], to);
    for (int64_t i = 1; s == 0 && i < n; i *= 2)
        memcpy(to + i * nbytes, to, MIN(i, n - i) * nbytes);
    return n * nbytes;
}

/* Run the loop over rows [begin, end). What is the same in all rows is packed once. */
static void run_joined(loop_fn *loop, const geometry *g, packable items, const joined_rows *r,
                       int64_t begin, int64_t end)
{
    char buffers[PACKED_BYTES + 64 * r->n_packed] __attribute__((aligned(64)));
    char *buffer[r->n_packed], *from[r->n_packed];
    int64_t s[MAX_OPERANDS];
    memcpy(s, STRIDES(g, g->ndim - 1), g->n_operands * sizeof *s);
    char *next = buffers;
    for (int k = 0; k < r->n_packed; k++) {
        const int64_t size = items.sizes[r->packed[k]];
        buffer[k] = next;
        from[k] = NULL;
        s[r->packed[k]] = size;
        next += (r->n_rows * r->n_of_row * size + 63) / 64 * 64;
    }
    for (int64_t n; begin < end; begin += n) {
        n = MIN(MIN(g->shape[r->outer] - begin % g->shape[r->outer], end - begin), r->n_rows);
        char *p[MAX_OPERANDS];
        locate(g, r->outer + 1, begin, p);
        for (int k = 0; k < r->n_packed; k++) {
            const int o = r->packed[k], is_same = STRIDES(g, r->outer)[o] == 0;
            if (p[o] != from[k] || !is_same)
                pack(g, o, items.sizes[o], r->outer, is_same ? r->n_rows : n, p[o], buffer[k]);
            from[k] = p[o];
            p[o] = buffer[k];
        }
        loop(n * r->n_of_row, p, s);
    }
}
