/*
 * Geometries: the operands of a loop nest, in any number of dimensions and with any strides; brought to
 * the fewest dimensions, in the order of memory.
 */
#define MAX_DIMS 65         /* NumPy's 64, and one that tiling adds */
#define MAX_OPERANDS 256
#define MAX_STRIDES 2048    /* operands times dimensions, and one that tiling adds: `most_operands` keeps to it. With all
                               operands in all dimensions, two geometries were a quarter of a megabyte of the stack. */

typedef void loop_fn(int64_t n, char *const p[], const int64_t s[]);

/* The operands of a loop nest. The last operand is an output. */
typedef struct {
    int n_operands, ndim;
    int64_t shape[MAX_DIMS];
    char *base[MAX_OPERANDS];
    int64_t stride[MAX_STRIDES];
} geometry;

/* The operands' strides along a dimension: what a loop along it is called with. */
#define STRIDES(g, d) ((g)->stride + (d) * (g)->n_operands)

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

static void describe(geometry *g, int ndim, const int64_t *shape, int n_operands,
                     const int64_t *addresses, const int64_t *const *strides)
{
    g->n_operands = n_operands;
    g->ndim = ndim;
    for (int d = 0; d < ndim; d++)
        g->shape[d] = shape[d];
    for (int o = 0; o < n_operands; o++) {
        g->base[o] = (char *)addresses[o];
        for (int d = 0; d < ndim; d++)
            STRIDES(g, d)[o] = strides[o][d];
    }
}

static void move_dim(geometry *g, int to, const geometry *from, int dim)
{
    g->shape[to] = from->shape[dim];
    for (int o = 0; o < g->n_operands; o++)
        STRIDES(g, to)[o] = STRIDES(from, dim)[o];
}

/* The same in other memory: what there is of it, where its arrays have room for more. */
static void copy_geometry(geometry *to, const geometry *from)
{
    to->n_operands = from->n_operands;
    to->ndim = from->ndim;
    memcpy(to->base, from->base, from->n_operands * sizeof *from->base);
    for (int d = 0; d < from->ndim; d++)
        move_dim(to, d, from, d);
}

/* Take dimension `dim` out and put it back as dimension `to`, before it. */
static void insert_dim(geometry *g, int to, int dim)
{
    for (; dim > to; dim--) {
        int64_t swap = g->shape[dim];
        g->shape[dim] = g->shape[dim - 1];
        g->shape[dim - 1] = swap;
        for (int o = 0; o < g->n_operands; o++) {
            swap = STRIDES(g, dim)[o];
            STRIDES(g, dim)[o] = STRIDES(g, dim - 1)[o];
            STRIDES(g, dim - 1)[o] = swap;
        }
    }
}

/*
 * The same elements in the order in which operand `key` has them in memory: extents of 1 dropped,
 * negative strides of the key turned.
 */
static void order(geometry *g, int key)
{
    int ndim = 0;
    for (int d = 0; d < g->ndim; d++) {
        if (g->shape[d] == 1)
            continue;
        if (STRIDES(g, d)[key] < 0)
            for (int o = 0; o < g->n_operands; o++) {
                g->base[o] += (g->shape[d] - 1) * STRIDES(g, d)[o];
                STRIDES(g, d)[o] = -STRIDES(g, d)[o];
            }
        move_dim(g, ndim, g, d);
        int to = ndim++;
        while (to > 0 && STRIDES(g, to - 1)[key] < STRIDES(g, ndim - 1)[key])
            to--;
        insert_dim(g, to, ndim - 1);
    }
    g->ndim = ndim;
}

/* The same elements in the fewest dimensions: neighbours are joined. */
static void join_dims(geometry *g)
{
    const int ndim = g->ndim;
    g->ndim = MIN(ndim, 1);
    for (int d = 1; d < ndim; d++) {
        const int outer = g->ndim - 1;
        int fuse = 1;
        for (int o = 0; o < g->n_operands; o++)
            fuse &= STRIDES(g, outer)[o] == g->shape[d] * STRIDES(g, d)[o];
        const int64_t extent = g->shape[outer];
        move_dim(g, fuse ? outer : g->ndim++, g, d);
        if (fuse)
            g->shape[outer] *= extent;
    }
}

static void normalise(geometry *g, int key)
{
    order(g, key);
    join_dims(g);
}

static int64_t count(const geometry *g, int ndim)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= g->shape[d];
    return n;
}

/* The operands' addresses at a flat index into the first `ndim` dimensions. */
static void locate(const geometry *g, int ndim, int64_t index, char *p[])
{
    for (int o = 0; o < g->n_operands; o++)
        p[o] = g->base[o];
    for (int d = ndim; d-- > 0;) {
        const int64_t outer = d > 0 ? index / g->shape[d] : 0;
        for (int o = 0; o < g->n_operands; o++)
            p[o] += (index - outer * g->shape[d]) * STRIDES(g, d)[o];
        index = outer;
    }
}

/* A row: an index into every dimension but the innermost, and the operands' addresses there. */
typedef struct {
    int64_t index[MAX_DIMS];
    char *p[MAX_OPERANDS];
} row;

static void find_row(const geometry *g, int64_t flat, row *r)
{
    locate(g, g->ndim - 1, flat, r->p);
    for (int d = g->ndim - 1; d-- > 0; flat /= g->shape[d])
        r->index[d] = flat % g->shape[d];
}

static void next_row(const geometry *g, row *r)
{
    for (int d = g->ndim - 1; d-- > 0;) {
        const int64_t back = ++r->index[d] < g->shape[d] ? 0 : g->shape[d];
        for (int o = 0; o < g->n_operands; o++)
            r->p[o] += (1 - back) * STRIDES(g, d)[o];
        if (!back)
            return;
        r->index[d] = 0;
    }
}
