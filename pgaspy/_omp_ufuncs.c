/*
 * The C kernels: elementwise operations, reductions, copies of sections and random numbers, with
 * OpenMP over the cores of a process. They see addresses, shapes and byte strides, nothing else.
 *
 * Everything strided runs through one driver. A loop (`loop_fn`) treats n elements, one stride per
 * operand; the driver (`for_each`) brings any geometry to the fewest and longest such loops and
 * deals them out to the threads.
 */
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "_omp_functions.h"

#define MAX_DIMS 65         /* NumPy's 64, and one that tiling adds */
#define MAX_OPERANDS 128
#define GRAIN 32768         /* the least work, in additions, that is worth a parallel region */
#define BLOCK 16            /* elements that maths functions and random numbers take at a time */

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef void loop_fn(int64_t n, char *const p[], const int64_t s[]);

/* ---- threads ------------------------------------------------------------------------------- */

static int n_threads;       /* 0: as OpenMP's environment says */

static void pg_set_threads(int n)
{
    n_threads = n;
}

static int pg_get_threads(void)
{
    return n_threads > 0 ? n_threads : omp_get_max_threads();
}

static int team_for(int64_t work)
{
    return work < GRAIN ? 1 : pg_get_threads();
}

/*
 * Where part t of `parts` of n elements begins. Elementwise drivers cut with this, so that the thread
 * which first touches a page of an array is the one that works on it ever after.
 */
static int64_t cut(int64_t n, int t, int parts)
{
    return t == parts ? n : n / parts * t / 1024 * 1024;
}

/* ---- geometries ---------------------------------------------------------------------------- */

/* The operands of a loop nest. The last operand is an output. */
typedef struct {
    int n_operands, ndim;
    int64_t shape[MAX_DIMS];
    char *base[MAX_OPERANDS];
    int64_t stride[MAX_DIMS][MAX_OPERANDS];     /* those of a dimension are what a loop is called with */
} geometry;

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
            g->stride[d][o] = strides[o][d];
    }
}

static void move_dim(geometry *g, int to, const geometry *from, int dim)
{
    g->shape[to] = from->shape[dim];
    for (int o = 0; o < g->n_operands; o++)
        g->stride[to][o] = from->stride[dim][o];
}

/* Take dimension `dim` out and put it back as dimension `to`, before it. */
static void insert_dim(geometry *g, int to, int dim)
{
    for (; dim > to; dim--) {
        int64_t swap = g->shape[dim];
        g->shape[dim] = g->shape[dim - 1];
        g->shape[dim - 1] = swap;
        for (int o = 0; o < g->n_operands; o++) {
            swap = g->stride[dim][o];
            g->stride[dim][o] = g->stride[dim - 1][o];
            g->stride[dim - 1][o] = swap;
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
        if (g->stride[d][key] < 0)
            for (int o = 0; o < g->n_operands; o++) {
                g->base[o] += (g->shape[d] - 1) * g->stride[d][o];
                g->stride[d][o] = -g->stride[d][o];
            }
        move_dim(g, ndim, g, d);
        int to = ndim++;
        while (to > 0 && g->stride[to - 1][key] < g->stride[ndim - 1][key])
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
            fuse &= g->stride[outer][o] == g->shape[d] * g->stride[d][o];
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
            p[o] += (index - outer * g->shape[d]) * g->stride[d][o];
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
            r->p[o] += (1 - back) * g->stride[d][o];
        if (!back)
            return;
        r->index[d] = 0;
    }
}

/* Run the loop over elements [begin, end) of the geometry. */
static void run_range(loop_fn *loop, const geometry *g, int64_t begin, int64_t end)
{
    const int64_t extent = g->shape[g->ndim - 1], *s = g->stride[g->ndim - 1];
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
            loop(n, p, g->stride[outer]);
            for (int o = 0; o < g->n_operands; o++)
                p[o] += g->stride[inner][o];
        }
        begin += n;
    }
}

/* Run the loop over part t of the geometry. */
static void run_part(loop_fn *loop, const geometry *g, int64_t n, int t, int parts)
{
    const int64_t begin = cut(n, t, parts), end = cut(n, t + 1, parts);
    const int64_t extent = g->shape[g->ndim - 1];
    if (g->ndim > 1 && extent < THIN)
        run_thin(loop, g, begin / extent, end / extent);
    else
        run_range(loop, g, begin, end);
}

static void run(loop_fn *loop, const geometry *g, int cost)
{
    const int64_t n = count(g, g->ndim);
    const int team = team_for(n * cost);
    if (team == 1)
        run_part(loop, g, n, 0, 1);
    else {
        #pragma omp parallel num_threads(team)
        run_part(loop, g, n, omp_get_thread_num(), omp_get_num_threads());
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
        if (magnitude(g->stride[inner][o]) >= 64)
            for (int d = 0; d < inner; d++)
                if (g->stride[d][o] != 0 && magnitude(g->stride[d][o]) < 64 && g->shape[d] >= 8)
                    return d;
    return -1;
}

/*
 * Apply the loop to a whole geometry. A transposed input is taken in strips TILE elements wide: the
 * loops sweep along the input with TILE of its cache lines in use, so that each is loaded once.
 */
#define TILE 64
static void for_each(loop_fn *loop, geometry *g, int cost)
{
    normalise(g, g->n_operands - 1);
    if (g->ndim == 0) {
        const int64_t s[MAX_OPERANDS] = {0};
        loop(1, g->base, s);
        return;
    }
    const int dim = g->ndim > 1 ? transposed_dim(g) : -1;
    if (dim < 0 || g->shape[g->ndim - 1] < 2 * TILE) {
        run(loop, g, cost);
        return;
    }
    const int inner = g->ndim - 1;
    const int64_t strips = g->shape[inner] / TILE, rest = g->shape[inner] % TILE;
    geometry strip = *g;
    for (int d = dim; d < inner - 1; d++)
        move_dim(&strip, d, g, d + 1);
    strip.ndim = g->ndim + 1;
    move_dim(&strip, inner, g, dim);
    move_dim(&strip, inner + 1, g, inner);
    move_dim(&strip, inner - 1, g, inner);
    strip.shape[inner + 1] = TILE;
    strip.shape[inner - 1] = strips;
    for (int o = 0; o < g->n_operands; o++)
        strip.stride[inner - 1][o] *= TILE;
    run(loop, &strip, cost);
    if (rest) {
        for (int o = 0; o < g->n_operands; o++)
            g->base[o] += strips * TILE * g->stride[inner][o];
        g->shape[inner] = rest;
        run(loop, g, cost);
    }
}

/* ---- elementwise operations ---------------------------------------------------------------- */

/*
 * A loop exists once for contiguous operands, once for each input being a scalar and once for any
 * strides. `omp simd` holds although the output may be an input: it is then so element by element.
 */
#define SIMD_FOR(i, n) _Pragma("omp simd") for (int64_t i = 0; i < (n); i++)

#define FOR1(A, R, xs, rs, function) \
    SIMD_FOR(i, n) \
        *(T_##R *)(r + i * (rs)) = function(*(const T_##A *)(x + i * (xs)));

#define LOOP1(A, R, name, ...) \
static void name##_##A##R(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *x = p[0]; \
    char *r = p[1]; \
    const int64_t xs = s[0], rs = s[1]; \
    const int64_t xc = sizeof(T_##A), rc = sizeof(T_##R); \
    if (xs == xc && rs == rc) \
        FOR1(A, R, xc, rc, pg_##name##_##A##_##R) \
    else if (xs == 0 && rs == rc) { \
        const T_##R value = pg_##name##_##A##_##R(*(const T_##A *)x); \
        SIMD_FOR(i, n) \
            ((T_##R *)r)[i] = value; \
    } else \
        FOR1(A, R, xs, rs, pg_##name##_##A##_##R) \
}

#define FOR2(A, R, a_address, b_address, rs, function) \
    SIMD_FOR(i, n) \
        *(T_##R *)(r + i * (rs)) = \
            function(*(const T_##A *)(a_address), *(const T_##A *)(b_address));

#define LOOP2(A, R, name, ...) \
static void name##_##A##R(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *x = p[0], *y = p[1]; \
    char *r = p[2]; \
    const int64_t xs = s[0], ys = s[1], rs = s[2]; \
    const int64_t c = sizeof(T_##A), rc = sizeof(T_##R); \
    const T_##A x0 = *(const T_##A *)x, y0 = *(const T_##A *)y; \
    if (xs == c && ys == c && rs == rc) \
        FOR2(A, R, x + i * c, y + i * c, rc, pg_##name##_##A##A##_##R) \
    else if (xs == c && ys == 0 && rs == rc) \
        FOR2(A, R, x + i * c, &y0, rc, pg_##name##_##A##A##_##R) \
    else if (xs == 0 && ys == c && rs == rc) \
        FOR2(A, R, &x0, y + i * c, rc, pg_##name##_##A##A##_##R) \
    else \
        FOR2(A, R, x + i * xs, y + i * ys, rs, pg_##name##_##A##A##_##R) \
}

/* GCC vectorises a choice by a byte, but not by a _Bool. */
#define FOR3(A, cs, a_address, b_address, rs, function) \
    SIMD_FOR(i, n) \
        *(T_##A *)(r + i * (rs)) = \
            function(*(const T_B *)(condition + i * (cs)) != 0, *(const T_##A *)(a_address), \
                     *(const T_##A *)(b_address));

#define LOOP3(A, name, ...) \
static void name##_##A(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *condition = p[0], *x = p[1], *y = p[2]; \
    char *r = p[3]; \
    const int64_t cs = s[0], xs = s[1], ys = s[2], rs = s[3]; \
    const int64_t cc = sizeof(T_t), c = sizeof(T_##A); \
    const T_##A x0 = *(const T_##A *)x, y0 = *(const T_##A *)y; \
    if (cs == cc && xs == c && ys == c && rs == c) \
        FOR3(A, cc, x + i * c, y + i * c, c, pg_##name##_t##A##A##_##A) \
    else if (cs == cc && xs == c && ys == 0 && rs == c) \
        FOR3(A, cc, x + i * c, &y0, c, pg_##name##_t##A##A##_##A) \
    else if (cs == cc && xs == 0 && ys == c && rs == c) \
        FOR3(A, cc, &x0, y + i * c, c, pg_##name##_t##A##A##_##A) \
    else \
        FOR3(A, cs, x + i * xs, y + i * ys, rs, pg_##name##_t##A##A##_##A) \
}

/*
 * Maths functions see full blocks only: strided elements are gathered, a tail is filled up with
 * copies of its first element. Every element thus goes through the same vector code, and its result
 * does not depend on where it lies, how it is strided or which thread computes it.
 */
#define GATHER(A, buffer, x, xs) \
    (m == BLOCK && (xs) == sizeof(T_##A) ? (const T_##A *)(x) : ({ \
        for (int k = 0; k < BLOCK; k++) \
            (buffer)[k] = *(const T_##A *)((x) + (k < m ? k * (xs) : 0)); \
        (const T_##A *)(buffer); \
    }))

#define BLOCKS(A, R, name, n_inputs, inputs, element) \
static void name##_##A##R(int64_t n, char *const p[], const int64_t s[]) \
{ \
    char *r = p[n_inputs]; \
    const int64_t rs = s[n_inputs]; \
    for (int64_t i = 0; i < n; i += BLOCK) { \
        const int64_t m = MIN(n - i, BLOCK); \
        T_##R results[BLOCK]; \
        inputs \
        T_##R *const to = m == BLOCK && rs == sizeof(T_##R) ? (T_##R *)(r + i * rs) : results; \
        SIMD_FOR(k, BLOCK) \
            to[k] = element; \
        if (to == results) \
            for (int64_t k = 0; k < m; k++) \
                *(T_##R *)(r + (i + k) * rs) = results[k]; \
    } \
}

#define BLOCKS1(A, R, name, ...) \
    BLOCKS(A, R, name, 1, \
        T_##A x[BLOCK]; const T_##A *const xb = GATHER(A, x, p[0] + i * s[0], s[0]);, \
        pg_##name##_##A##_##R(xb[k]))

#define BLOCKS2(A, R, name, ...) \
    BLOCKS(A, R, name, 2, \
        T_##A x[BLOCK] COMMA y[BLOCK]; \
        const T_##A *const xb = GATHER(A, x, p[0] + i * s[0], s[0]); \
        const T_##A *const yb = GATHER(A, y, p[1] + i * s[1], s[1]);, \
        pg_##name##_##A##A##_##R(xb[k] COMMA yb[k]))
#define COMMA ,

#include "_omp_table.h"

#undef LOOP1
#undef LOOP2
#undef LOOP3
#undef BLOCKS1
#undef BLOCKS2
#define CHEAP 1
#define MATHS 16            /* the cost of a maths function, in additions */
#define LOOP1(A, R, name, ...)   {#name " " CHAR_##A "->" CHAR_##R, name##_##A##R, 1, CHEAP},
#define LOOP2(A, R, name, ...)   {#name " " CHAR_##A CHAR_##A "->" CHAR_##R, name##_##A##R, 2, CHEAP},
#define LOOP3(A, name, ...)      {#name " ?" CHAR_##A CHAR_##A "->" CHAR_##A, name##_##A, 3, CHEAP},
#define BLOCKS1(A, R, name, ...) {#name " " CHAR_##A "->" CHAR_##R, name##_##A##R, 1, MATHS},
#define BLOCKS2(A, R, name, ...) {#name " " CHAR_##A CHAR_##A "->" CHAR_##R, name##_##A##R, 2, MATHS},

static const struct {
    const char *name;       /* as in "add dd->d" */
    loop_fn *loop;
    int n_inputs, cost;
} elementwise_rows[] = {
#include "_omp_table.h"
};
#undef CAST

/*
 * Copies of more than the caches hold go past them: a store that is not to a whole cache line reads the
 * line first, which is a third of what moves.
 */
#define PAST_CACHES (1 << 25)   /* bytes */
#ifdef __SSE2__
static void stream_bytes(char *to, const char *from, int64_t n)
{
    const int64_t head = -(intptr_t)to & 63;
    if (to == from || n < head + 1024) {
        memmove(to, from, n);
        return;
    }
    memcpy(to, from, head);
    for (n -= head, to += head, from += head; n >= 64; n -= 64, to += 64, from += 64)
        for (int k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(to + k), _mm_loadu_si128((const __m128i *)(from + k)));
    _mm_sfence();
    memcpy(to, from, n);
}
#define STREAM(A, ...) \
static void stream_##A(int64_t n, char *const p[], const int64_t s[]) \
{ \
    if (s[0] == sizeof(T_##A) && s[1] == sizeof(T_##A)) \
        stream_bytes(p[1], p[0], n * sizeof(T_##A)); \
    else \
        copy_##A##A(n, p, s); \
}
ALL(STREAM)
#undef STREAM
#define STREAM(A, ...) \
    if (loop == copy_##A##A && n > PAST_CACHES / (int64_t)sizeof(T_##A)) \
        return stream_##A;
#else
#define STREAM(A, ...)
#endif

/* The loop to use in place of `loop` for n elements in all. */
static loop_fn *loop_for(loop_fn *loop, int64_t n)
{
    ALL(STREAM)
    return loop;
}
#undef STREAM

/* The name of a row of the elementwise table, NULL past its end. */
static const char *pg_elementwise_row(int row)
{
    const int n = sizeof elementwise_rows / sizeof *elementwise_rows;
    return row < n ? elementwise_rows[row].name : NULL;
}

static void pg_elementwise(int row, int ndim, const int64_t *shape, const int64_t *addresses,
                           const int64_t *strides)
{
    geometry g;
    describe(&g, ndim, shape, elementwise_rows[row].n_inputs + 1, addresses,
             (const int64_t *const[]){strides, strides + ndim, strides + 2 * ndim, strides + 3 * ndim});
    const int64_t n = count(&g, ndim);
    if (n > 0)
        for_each(loop_for(elementwise_rows[row].loop, n), &g, elementwise_rows[row].cost);
}

/* ---- reductions ---------------------------------------------------------------------------- */

/*
 * A reduction is a tree over leaves: LEAF elements of a row, or of short rows joined, when it runs along
 * memory, LEAF_ROWS rows of elements that reduce to a row when it runs across. Leaves i and i+1, i even,
 * are merged, then pairs of leaves, and so on. The tree belongs to the shape. Chunks of 2**k leaves are
 * whole subtrees of it, so chunks, and the threads they go to, do not show in the result.
 *
 * A leaf along memory prefetches what comes next: folding its lanes would else interrupt the stream.
 */
#define LEAF_ROWS 16
#define MAX_WIDTH 8192      /* results reduced side by side across memory: they fit in the L2 cache */
#define ACROSS_FROM 16      /* so many results next to each other are reduced across */

#define REDUCE(A, R, name, if_empty, ...) \
static void leaf_##name##_##A##R(int64_t n, const void *from, const void *next, void *to) \
{ \
    const T_##A *x = from; \
    if (n < LANES) { \
        T_##R a = (T_##R)x[0]; \
        for (int64_t i = 1; i < n; i++) { \
            const T_##A b = x[i]; \
            a = (__VA_ARGS__); \
        } \
        *(T_##R *)to = a; \
        return; \
    } \
    T_##R lanes[LANES]; \
    SIMD_FOR(k, LANES) \
        lanes[k] = (T_##R)x[k]; \
    int64_t i = LANES; \
    for (; i + LANES <= n; i += LANES) { \
        for (int k = 0; k < LANES; k += 64 / sizeof(T_##A)) \
            __builtin_prefetch((const T_##A *)next + i + k); \
        SIMD_FOR(k, LANES) { \
            const T_##R a = lanes[k]; \
            const T_##A b = x[i + k]; \
            lanes[k] = (__VA_ARGS__); \
        } \
    } \
    for (int64_t k = 0; i + k < n; k++) { \
        const T_##R a = lanes[k]; \
        const T_##A b = x[i + k]; \
        lanes[k] = (__VA_ARGS__); \
    } \
    *(T_##R *)to = pg_join_##name##_##A##_##R(lanes); \
} \
static void fold_##name##_##A##R(int64_t n, const void *from, int64_t stride, void *to) \
{ \
    const char *x = from; \
    T_##R *r = to; \
    if (stride == sizeof(T_##A)) \
        SIMD_FOR(k, n) { \
            const T_##R a = r[k]; \
            const T_##A b = ((const T_##A *)x)[k]; \
            r[k] = (__VA_ARGS__); \
        } \
    else \
        SIMD_FOR(k, n) { \
            const T_##R a = r[k]; \
            const T_##A b = *(const T_##A *)(x + k * stride); \
            r[k] = (__VA_ARGS__); \
        } \
} \
static void merge_##name##_##A##R(int64_t n, void *to, const void *from) \
{ \
    T_##R *r = to; \
    SIMD_FOR(k, n) { \
        const T_##R a = r[k], b = ((const T_##R *)from)[k]; \
        r[k] = (__VA_ARGS__); \
    } \
} \
static void pair_##name##_##A##R(int64_t n, void *results) \
{ \
    T_##R *r = results; \
    SIMD_FOR(k, n) { \
        const T_##R a = r[2 * k], b = r[2 * k + 1]; \
        r[k] = (__VA_ARGS__); \
    } \
} \
static const T_##R empty_##name##_##A##R = if_empty;
#include "_omp_table.h"
#undef REDUCE

typedef struct {
    const char *name;
    int64_t in_size, out_size;
    loop_fn *copy_in, *convert, *copy_out;
    void (*leaf)(int64_t n, const void *from, const void *next, void *to);
    void (*fold)(int64_t n, const void *from, int64_t stride, void *to);
    void (*merge)(int64_t n, void *to, const void *from);
    void (*pair)(int64_t n, void *results);
    const void *empty;
} reduce_row;

#define REDUCE(A, R, name, ...) { \
    #name " " CHAR_##A "->" CHAR_##R, sizeof(T_##A), sizeof(T_##R), \
    copy_##A##A, copy_##A##R, copy_##R##R, \
    leaf_##name##_##A##R, fold_##name##_##A##R, merge_##name##_##A##R, \
    pair_##name##_##A##R, &empty_##name##_##A##R},
static const reduce_row reduce_rows[] = {
#include "_omp_table.h"
};
#undef REDUCE

static const char *pg_reduce_row(int row)
{
    const int n = sizeof reduce_rows / sizeof *reduce_rows;
    return row < n ? reduce_rows[row].name : NULL;
}

/* What is reduced to one result, in leaves of `rows` elements at most: the same number in each run. */
typedef struct {
    int64_t run, n_of_run, rows, n_leaves;
} division;

/* Of n elements, in rows of `extent` elements. */
static division divide(int across, int64_t n, int64_t extent)
{
    const int64_t run = across || extent < SHORT_ROW ? MAX(n, 1) : extent;
    const int64_t rows = across ? LEAF_ROWS : LEAF, n_of_run = (run + rows - 1) / rows;
    return (division){run, n_of_run, rows, n / run * n_of_run};
}

static int64_t leaf_begin(const division *d, int64_t leaf)
{
    return leaf / d->n_of_run * d->run + leaf % d->n_of_run * d->rows;
}

static int64_t leaf_end(const division *d, int64_t leaf)
{
    return leaf / d->n_of_run * d->run + MIN((leaf % d->n_of_run + 1) * d->rows, d->run);
}

/* The leaf that element i belongs to. */
static int64_t leaf_of(const division *d, int64_t i)
{
    return i / d->run * d->n_of_run + i % d->run / d->rows;
}

typedef struct {
    const reduce_row *row;
    geometry kept, reduced;
    int across;             /* whether rows of results are accumulated, or single results */
    int64_t width;          /* results per tile */
    division leaves;
} reduction;

/* Row i of a leaf across: `width` elements, to as many results. */
static void fold_row(const reduce_row *row, int64_t i, int64_t width, char *x, int64_t stride,
                     char *to)
{
    if (i == 0)
        row->convert(width, (char *[]){x, to}, (int64_t[]){stride, row->out_size});
    else
        row->fold(width, x, stride, to);
}

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
        p[o] += first * g->stride[inner][o];
    return MIN(r->width, g->shape[inner] - first);
}

static void leaf_along(const reduction *r, const char *tile, int64_t leaf, char *to)
{
    const reduce_row *row = r->row;
    const geometry *g = &r->reduced;
    int64_t begin = leaf_begin(&r->leaves, leaf);
    const int64_t end = leaf_end(&r->leaves, leaf), n = end - begin;
    const int inner = MAX(g->ndim - 1, 0);
    const int64_t extent = g->ndim ? g->shape[inner] : 1;
    const int64_t stride = g->ndim ? g->stride[inner][0] : row->in_size;
    int64_t line = g->ndim > 1 ? begin / extent : 0, column = begin - line * extent;
    char *p[2];
    if (stride == row->in_size && column + n <= extent) {
        locate(g, inner, line, p);
        const char *x = tile + (p[0] - g->base[0]) + column * stride;
        row->leaf(n, x, x + n * stride, to);
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
    row->leaf(n, buffer, buffer, to);
}

static void leaf_across(const reduction *r, const char *tile, int64_t width, int64_t leaf, char *to)
{
    const geometry *g = &r->reduced;
    const int64_t stride = r->kept.stride[r->kept.ndim - 1][0];
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
    for (int64_t i = 0; i < n; i++, top += size) {
        if (partials)
            memcpy(top, partials + i * size, width * r->row->out_size);
        else if (r->across)
            leaf_across(r, tile, width, first + i, top);
        else
            leaf_along(r, tile, first + i, top);
        for (int64_t digits = i; digits & 1; digits >>= 1, top -= size)
            r->row->merge(width, top - size, top);
    }
    for (top -= size; top > stack; top -= size)
        r->row->merge(width, top - size, top);
}

static void store_tile(const reduction *r, int64_t width, char *result, char *to)
{
    const geometry *g = &r->kept;
    const int64_t stride = g->ndim ? g->stride[g->ndim - 1][1] : 0;
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
    const int team = team_for(work);
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
        #pragma omp for schedule(static)
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
        if (n_chunks > 1) {
            #pragma omp for schedule(static)
            for (int64_t tile = 0; tile < n_tiles; tile++) {
                const int64_t width = locate_tile(r, tile, p);
                tree(r, NULL, width, 0, n_chunks, partials + tile * n_chunks * size, stack);
                store_tile(r, width, stack, p[1]);
            }
        }
    }
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
            r.kept.stride[d][0] = 0;
        r.kept.base[0] = (char *)r.row->empty;
        for_each(r.row->copy_out, &r.kept, 1);
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
                && r.kept.stride[inner][0] < r.reduced.stride[r.reduced.ndim - 1][0]));
    r.width = r.across ? MIN(r.kept.shape[inner], MAX_WIDTH) : 1;
    r.leaves = divide(r.across, n, extent);
    int64_t n_tiles = results;
    if (r.across)
        n_tiles = results / r.kept.shape[inner] * ((r.kept.shape[inner] + r.width - 1) / r.width);
    return reduce_tiles(&r, n_tiles, results * n);
}

/* ---- programs ------------------------------------------------------------------------------ */

/*
 * A program is elementwise operations in one pass over memory: a loop whose operands are the context,
 * the inputs and the outputs. It is either compiled elsewhere, or interpreted: step by step on
 * blocks so short that the registers, the values which are never stored, stay in the L1 cache.
 */
#define MAX_PROGRAM_OPERANDS (MAX_OPERANDS - 1)
#define MAX_STEPS 192
#define MAX_REDUCTIONS 32   /* of a program: each thread has a leaf of each on its stack */
#define PROGRAM_BLOCK 256   /* a multiple of BLOCK, so that maths functions see full blocks */
#define STREAMING (1 << 17) /* the least items of all operands that come from memory, not the L2 cache */

/* Values are numbered as the loop's operands, context among them, and then the registers. */
typedef struct {
    loop_fn *loop;
    int value[4];           /* the inputs, then the output */
} step;

/* A program and the geometry it runs on: byte strides of the operands but the context. */
typedef struct {
    int n_inputs, n_stored, n_operands, n_registers, n_steps, cost, streaming;
    loop_fn *only_loop;     /* that of the only step, if it is from all inputs to the only output */
    step steps[MAX_STEPS];
    int64_t place[MAX_STEPS + 1];       /* of registers, in bytes per element of a block */
    int ndim, row_dim;
    const int64_t *shape, *strides;
} pg_program;

/*
 * Streams are operands that neither are scalars nor lie within a cache line of another. The steps
 * and reductions of a block interrupt them, so that the processor's own prefetching falls behind.
 */
typedef struct {
    int n, operand[MAX_OPERANDS];
    int64_t size;           /* of the largest item */
} streams;

static streams find_streams(int n_operands, char *const p[], const int64_t s[])
{
    streams t = {.n = 0, .size = 1};
    for (int o = 0; o < n_operands; o++) {
        int is_new = s[o] > 0 && s[o] <= (int64_t)sizeof(T_D);
        for (int k = 0; k < t.n; k++)
            is_new &= magnitude(p[o] - p[t.operand[k]]) >= 64;
        if (is_new) {
            t.operand[t.n++] = o;
            t.size = MAX(t.size, s[o]);
        }
    }
    return t;
}

/* The cache lines that lie from `begin` to `end` bytes ahead, in the order in which they are needed. */
static void prefetch(const streams *t, char *const p[], int64_t begin, int64_t end)
{
    for (int64_t line = begin; line < end; line += 64)
        for (int k = 0; k < t->n; k++)
            __builtin_prefetch(p[t->operand[k]] + line);
}

/* Every step prefetches its share of the next block, unless the next is elsewhere (in a strip). */
static void interpret(const pg_program *g, int64_t n, char *const p[], const int64_t s[])
{
    const int64_t block = MIN((n + BLOCK - 1) / BLOCK * BLOCK, PROGRAM_BLOCK);
    char scratch[block * g->place[g->n_registers] + 64] __attribute__((aligned(64)));
    char *at[MAX_OPERANDS + MAX_STEPS];
    int64_t stride[MAX_OPERANDS + MAX_STEPS];
    for (int o = 0; o < g->n_operands; o++) {
        at[o] = p[o];
        stride[o] = s[o];
    }
    for (int r = 0; r < g->n_registers; r++) {
        at[g->n_operands + r] = scratch + block * g->place[r];
        stride[g->n_operands + r] = g->place[r + 1] - g->place[r];
    }
    const streams t = find_streams(g->streaming && n > TILE ? g->n_stored : 0, p, s);
    const int64_t bytes = block * t.size, share = (bytes / MAX(g->n_steps, 1) + 63) / 64 * 64;
    for (int64_t i = 0; i < n; i += block) {
        const int64_t m = MIN(n - i, block);
        int64_t ahead = bytes;
        for (const step *f = g->steps; f < g->steps + g->n_steps; f++, ahead += share) {
            char *q[4];
            int64_t u[4];
            for (int k = 0; k < 4; k++) {
                q[k] = at[f->value[k]];
                u[k] = stride[f->value[k]];
            }
            prefetch(&t, at, ahead, MIN(ahead + share, 2 * bytes));
            f->loop(m, q, u);
        }
        for (int o = 0; o < g->n_operands; o++)
            at[o] += m * stride[o];
    }
}

static void run_interpreted(int64_t n, char *const p[], const int64_t s[])
{
    interpret((const pg_program *)p[0], n, p, s);
}

/* A step is described by its row and, inputs first, the numbers of its values, without context. */
static void pg_program_init(pg_program *g, int n_inputs, int n_outputs, int n_reduced,
                            int n_registers, const int64_t *register_sizes, int n_steps,
                            const int *steps, int ndim, const int64_t *shape,
                            const int64_t *strides)
{
    *g = (pg_program){.n_inputs = n_inputs, .n_operands = n_inputs + 1 + n_outputs,
                      .n_stored = n_inputs + 1 + n_outputs - n_reduced,
                      .n_registers = n_registers, .n_steps = n_steps,
                      .ndim = ndim, .shape = shape, .strides = strides};
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    g->streaming = n * (g->n_stored - 1) > STREAMING;
    for (int r = 0; r < n_registers; r++)
        g->place[r + 1] = g->place[r] + register_sizes[r];
    int in_order = n_steps == 1 && n_outputs == 1;
    for (int t = 0; t < n_steps; t++, steps += 5) {
        const int n_values = elementwise_rows[*steps].n_inputs + 1;
        g->cost += elementwise_rows[*steps].cost;
        g->steps[t].loop = elementwise_rows[*steps].loop;
        for (int k = 0; k < n_values; k++) {
            g->steps[t].value[k] = steps[1 + k] + 1;
            in_order &= steps[1 + k] == k;
        }
        in_order &= n_values == n_inputs + 1;
    }
    if (in_order)
        g->only_loop = n_reduced ? g->steps[0].loop : loop_for(g->steps[0].loop, n);
    while (g->row_dim < ndim - 1 && shape[g->row_dim] == 1)
        g->row_dim++;
}

/*
 * Rows [start, stop) of a program as a geometry, with the loop to run it: the given one or, if 0,
 * that of the only step, which needs no context, or the interpreter. Reduced outputs come last, and
 * are left to be described.
 */
static loop_fn *describe_program(const pg_program *p, geometry *g, const int64_t *addresses,
                                 int64_t start, int64_t stop, loop_fn *loop)
{
    const int context = loop || !p->only_loop;
    const int n_stored = p->n_stored - 1;
    const int64_t *strides = p->strides;
    g->n_operands = p->n_operands - 1 + context;
    g->ndim = p->ndim;
    for (int d = 0; d < p->ndim; d++)
        g->shape[d] = p->shape[d];
    if (p->ndim)
        g->shape[p->row_dim] = stop - start;
    for (int v = 0; v < n_stored; v++, strides += p->ndim) {
        const int o = v + context;
        g->base[o] = (char *)addresses[v];
        for (int d = 0; d < p->ndim; d++)
            g->stride[d][o] = strides[d];
        if (start)
            g->base[o] += start * strides[p->row_dim];
    }
    if (context) {
        g->base[0] = (char *)p;
        for (int d = 0; d < p->ndim; d++)
            g->stride[d][0] = 0;
    }
    return loop ? loop : p->only_loop ? p->only_loop : run_interpreted;
}

/*
 * Programs, chains and the ends of reductions that are complete. They overwrite what they read, so that
 * who is interrupted when one returns has to know that it must not run again.
 */
static int64_t n_completed;

static int64_t pg_n_completed(void)
{
    return n_completed;
}

static void pg_run_program(const pg_program *p, const int64_t *addresses, int64_t start,
                           int64_t stop, int64_t loop_address)
{
    geometry g;
    loop_fn *const loop = describe_program(p, &g, addresses, start, stop, (loop_fn *)loop_address);
    if (start < stop && count(&g, g.ndim) > 0)
        for_each(loop, &g, p->cost);
    n_completed++;
}

/*
 * Programs whose last outputs are reduced, over dimensions next to each other: as an array of
 * outer * reduced * width elements, of which the middle ones are reduced. It is computed in pieces,
 * each a box of these three. What is reduced is never stored, but its tree is that of pg_reduce on
 * the array in memory: rows of at least ACROSS_FROM results are reduced across, others along.
 *
 * The results of a leaf are `width` items; those of all leaves are an array of (outer, n_leaves,
 * width). A leaf that lies in one piece is reduced at once; of one that does not, which belongs to the
 * only outer index, the elements are kept, in a slot of its size, until all pieces are there. In a
 * slot, results that are reduced along have their elements next to each other.
 */
typedef struct {
    int64_t outer, reduced, width;
    int across;
    division of;            /* each result's */
} pg_leaves;

/* `extent` is that of the innermost dimension of more than one element that is reduced. */
static void pg_leaves_init(pg_leaves *t, int64_t outer, int64_t reduced, int64_t extent, int64_t width)
{
    const int across = width >= ACROSS_FROM;
    *t = (pg_leaves){outer, reduced, width, across, divide(across, reduced, extent)};
}

/*
 * A piece is computed in units: a leaf of one outer index, or what the piece has of it, in a tile of
 * results, a single one if they are reduced along. They are numbered as (outer, leaf, tile).
 */
typedef struct {
    pg_leaves whole;
    int64_t outer, row, column;             /* where it begins */
    int64_t n_outer, n_rows, n_columns;
    int64_t first_leaf, n_leaves, tile, n_tiles, n_units;
    int64_t head, tail;     /* leaves that belong to other pieces as well, or -1 */
    int is_short;           /* results of fewer elements than a leaf has lanes, next to each other */
} pg_piece;

static void pg_piece_init(pg_piece *p, const pg_leaves *whole, const int64_t *first,
                          const int64_t *extents)
{
    *p = (pg_piece){.whole = *whole, .outer = first[0], .row = first[1], .column = first[2],
                    .n_outer = extents[0], .n_rows = extents[1], .n_columns = extents[2],
                    .tile = 1, .head = -1, .tail = -1};
    const int64_t end = p->row + p->n_rows;
    if (p->n_outer * p->n_rows * p->n_columns == 0)
        return;
    p->n_tiles = p->n_columns;
    if (whole->across) {
        p->n_tiles = (p->n_columns + MAX_WIDTH - 1) / MAX_WIDTH;
        p->tile = (p->n_columns + p->n_tiles - 1) / p->n_tiles;
    }
    const int64_t last = leaf_of(&whole->of, end - 1);
    p->first_leaf = leaf_of(&whole->of, p->row);
    p->n_leaves = last + 1 - p->first_leaf;
    p->n_units = p->n_outer * p->n_leaves * p->n_tiles;
    if (p->row != leaf_begin(&whole->of, p->first_leaf))
        p->head = p->first_leaf;
    if (end != leaf_end(&whole->of, last) && last != p->head)
        p->tail = last;
    p->is_short = !whole->across && whole->reduced < LANES && p->n_rows == whole->reduced
        && p->n_columns == whole->width;
}

typedef struct {
    int64_t number, outer, leaf, tile;
    int64_t row, n_rows, column, n_columns; /* in the whole array */
} unit;

static void bound_unit(const pg_piece *p, unit *u)
{
    u->row = MAX(leaf_begin(&p->whole.of, u->leaf), p->row);
    u->n_rows = MIN(leaf_end(&p->whole.of, u->leaf), p->row + p->n_rows) - u->row;
    u->column = p->column + u->tile * p->tile;
    u->n_columns = MIN(p->tile, p->column + p->n_columns - u->column);
}

static unit find_unit(const pg_piece *p, int64_t number)
{
    const int64_t row = number / p->n_tiles;
    unit u = {.number = number, .outer = p->outer + row / p->n_leaves, .leaf = p->first_leaf + row % p->n_leaves,
              .tile = number % p->n_tiles};
    bound_unit(p, &u);
    return u;
}

static void next_unit(const pg_piece *p, unit *u)
{
    u->number++;
    if (++u->tile == p->n_tiles) {
        u->tile = 0;
        if (++u->leaf == p->first_leaf + p->n_leaves) {
            u->leaf = p->first_leaf;
            u->outer++;
        }
    }
    bound_unit(p, u);
}

/*
 * The number of a unit's first element in the piece. They are numbered in row-major order; but for
 * results that are reduced along, the elements of each come one after the other.
 */
static int64_t first_element(const pg_piece *p, const unit *u)
{
    const int64_t outer = u->outer - p->outer, row = u->row - p->row, column = u->column - p->column;
    return p->whole.across ? (outer * p->n_rows + row) * p->n_columns + column
                           : (outer * p->n_columns + column) * p->n_rows + row;
}

/* A program on a piece; what it reduces has addresses of leaves' results and of the piece's slots. */
typedef struct {
    const pg_piece *piece;
    loop_fn *loop;
    geometry g;
    streams streams;
    int64_t longest;        /* the elements of a loop, between which is prefetched */
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
        loop(rows, p, g->stride[outer]);
        for (int o = 0; o < g->n_operands; o++)
            p[o] += g->stride[inner][o];
    }
    for (int o = 0; o < g->n_operands; o++)
        at->p[o] += (rows - 1) * g->stride[outer][o];
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
 * the L1 cache beside what streams through it. What streams is prefetched, as reducing and storing to
 * buffers would interrupt it: before each BATCH bytes, those that are AHEAD.
 */
#define BATCH 512
#define AHEAD 1024
#define FAR (1 << 21)       /* elements of a piece; fewer may be in a cache, where prefetching costs */
static void fill_buffers(const reducing *r, cursor *c, int64_t number, int64_t n)
{
    const geometry *g = &r->g;
    const int inner = g->ndim - 1, stored = g->n_operands - r->n;
    const int64_t extent = g->shape[inner], *s = g->stride[inner];
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
        prefetch(&r->streams, p, AHEAD, AHEAD + m * r->streams.size);
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

/* The address of one result of a leaf. */
static char *leaf_result(const pg_leaves *t, int64_t leaves, int64_t size, int64_t outer,
                         int64_t leaf, int64_t column)
{
    return (char *)leaves + ((outer * t->of.n_leaves + leaf) * t->width + column) * size;
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
        row->leaf(u->n_rows, x, x,
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
    const int64_t extent = g->shape[inner], *s = g->stride[inner];
    if (!r->whole || of->run < SHORT_ROW || u->leaf == piece->head)
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
    const int64_t whole = of->n_of_run - (of->run - (of->n_of_run - 1) * of->rows < LANES);
    int64_t done = 0, first = u->leaf % of->n_of_run;       /* in its row */
    while (done < n) {
        int64_t end = MIN(first + n - done, whole);
        end -= u->leaf + done + end - first - 1 == piece->tail;
        const int64_t n_elements = MIN(end * of->rows, of->run) - first * of->rows;
        if (end <= first || c->column + n_elements > extent)
            break;
        for (int o = 0; o < stored; o++)
            p[o] = c->at.p[o] + c->column * s[o];
        r->loop(n_elements, p, strides);
        advance(g, c, n_elements);
        for (int k = 0; k < r->n; k++)
            p[stored + k] += (end - first) * r->row[k]->out_size;
        done += end - first;
        if (end < of->n_of_run)
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
            g->stride[d][o] = size;
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
    r->streams = (streams){0};
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
        memset(g->stride[0], 0, sizeof g->stride[0]);
    }
    for (int k = 0; k < r->n; k++)
        for (int d = 0; d < g->ndim; d++)
            g->stride[d][g->n_operands - r->n + k] *= r->row[k]->in_size;
    r->longest = LEAF;
    r->thin = g->ndim > 1 && g->shape[g->ndim - 1] < THIN;
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
    if (p->streaming && size > FAR && (loop_address || p->only_loop)) {
        r.streams = find_streams(r.g.n_operands - r.n, r.g.base, r.g.stride[r.g.ndim - 1]);
        r.longest = BATCH / r.streams.size;
    }
    const int team = team_for(size / piece->n_units * (end - begin) * (p->cost + r.n));
    #pragma omp parallel num_threads(team) if (team > 1)
    {
        const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads();
        reduce_units(&r, begin + (end - begin) * t / parts,
                     begin + (end - begin) * (t + 1) / parts);
    }
    n_completed++;
}

/*
 * A chain: programs one after the other that meet in memory, of which row i of one has to come after
 * rows up to i + d of another, for some d. Not one after the other has passed all of the memory, but
 * in bands of rows that stay in the cache meanwhile: row i of a stage belongs to front i + lag, and all
 * that a row has to come after is of its front or an earlier one, and of an earlier stage (this is loop
 * fusion by shifting: Manjikian and Abdelrahman, IEEE Trans. Parallel Distrib. Syst. 8(2), 1997).
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

/* The results of leaf `leaf`, of the only outer index, whose elements are in a slot. */
static void reduce_slot(const reduce_row *row, const pg_leaves *t, int64_t leaf, char *slot,
                        int64_t leaves)
{
    const int64_t n = leaf_end(&t->of, leaf) - leaf_begin(&t->of, leaf);
    char *to = leaf_result(t, leaves, row->out_size, 0, leaf, 0);
    if (t->across)
        for (int64_t i = 0; i < n; i++)
            fold_row(row, i, t->width, slot + i * t->width * row->in_size, row->in_size, to);
    else
        for (int64_t j = 0; j < t->width; j++) {
            const char *x = slot + j * MIN(t->of.rows, t->reduced) * row->in_size;
            row->leaf(n, x, x, to + j * row->out_size);
        }
}

/*
 * The results of a reduction, when all pieces are done, from those of the leaves. The
 * tree is that of tree(), level by level, in the place of the leaves, which may be that of the results
 * if each is that of one leaf.
 */
static void finish_trees(const reduce_row *row, const pg_leaves *t, int64_t leaves, int64_t out_address)
{
    const int64_t size = row->out_size, n_results = t->outer * t->width;
    char *const out = (char *)out_address;
    if (t->of.n_leaves == 0)
        for (int64_t i = 0; i < n_results; i++)
            memcpy(out + i * size, row->empty, size);
    if (t->of.n_leaves == 0 || leaves == out_address)
        return;
    if (n_results == 1) {
        char *x = (char *)leaves;
        for (int64_t n = t->of.n_leaves; n > 1; n = (n + 1) / 2) {
            row->pair(n / 2, x);
            if (n % 2)
                memmove(x + n / 2 * size, x + (n - 1) * size, size);
        }
        memcpy(out, x, size);
        return;
    }
    const int64_t n_tiles = (t->width + MAX_WIDTH - 1) / MAX_WIDTH;
    const int team = team_for(n_results * t->of.n_leaves);
    #pragma omp parallel for num_threads(team) if (team > 1)
    for (int64_t i = 0; i < t->outer * n_tiles; i++) {
        const int64_t outer = i / n_tiles, column = i % n_tiles * MAX_WIDTH;
        const int64_t width = MIN(t->width - column, MAX_WIDTH);
        for (int64_t step = 1; step < t->of.n_leaves; step *= 2)
            for (int64_t leaf = 0; leaf + step < t->of.n_leaves; leaf += 2 * step)
                row->merge(width, leaf_result(t, leaves, size, outer, leaf, column),
                           leaf_result(t, leaves, size, outer, leaf + step, column));
        memcpy(out + (outer * t->width + column) * size,
               leaf_result(t, leaves, size, outer, 0, column), width * size);
    }
}

static void pg_finish_leaves(int reduction, const pg_leaves *t, int64_t leaves, int n_slots,
                             const int64_t *slot_leaves, const int64_t *slots, int64_t out_address)
{
    const reduce_row *row = &reduce_rows[reduction];
    for (int i = 0; i < n_slots; i++)
        reduce_slot(row, t, slot_leaves[i], (char *)slots[i], leaves);
    finish_trees(row, t, leaves, out_address);
    n_completed++;
}

/* ---- sections ------------------------------------------------------------------------------ */

/*
 * A section is a product of dimensions, each a list of ranges. Two sides describe where its elements
 * lie: by the ranges' own or other start and step, or packed, at the running position. A side is
 * (base, strides); it need not be memory: for random numbers one side is the elements' flat index.
 */
enum { OWN, OTHER, PACKED };
enum { LENGTH = 4, COLUMNS = 5 };

typedef struct {
    int64_t m;
    const int64_t *ranges;
    int64_t length;         /* of all ranges */
    int64_t stride[2];
} section_dim;

typedef struct {
    int ndim;
    int which[2];
    char *base[2];
    section_dim dim[MAX_DIMS];
} section;

/* A position in one dimension: element k of run r, and how many elements came before the run. */
typedef struct {
    int64_t r, k, before;
} position;

static int64_t run_start(const section *s, const section_dim *d, int side, int64_t r, int64_t before)
{
    return s->which[side] == PACKED ? before : d->ranges[r * COLUMNS + 2 * s->which[side]];
}

static int64_t run_step(const section *s, const section_dim *d, int side, int64_t r)
{
    return s->which[side] == PACKED ? 1 : d->ranges[r * COLUMNS + 2 * s->which[side] + 1];
}

static int64_t offset(const section *s, const section_dim *d, int side, const position *at)
{
    return d->stride[side]
        * (run_start(s, d, side, at->r, at->before) + at->k * run_step(s, d, side, at->r));
}

/* Move n elements on, n at most to the end of the run; false when that is the dimension's end. */
static int forward(const section_dim *d, position *at, int64_t n)
{
    at->k += n;
    while (at->r < d->m && at->k >= d->ranges[at->r * COLUMNS + LENGTH]) {
        at->before += d->ranges[at->r * COLUMNS + LENGTH];
        at->k -= d->ranges[at->r++ * COLUMNS + LENGTH];
    }
    return at->r < d->m;
}

/* Run the loop over elements [begin, end) of the section, one run or part of a run at a time. */
static void for_each_row(const section *s, loop_fn *loop, char *context, int64_t begin, int64_t end)
{
    const int inner = s->ndim - 1;
    const section_dim *last = &s->dim[inner];
    position at[MAX_DIMS];
    char *row[2][MAX_DIMS + 1];     /* the address that dimensions 0..d-1 determine */
    char *p[3] = {NULL, context, NULL};
    int64_t strides[3] = {0};
    int64_t index = begin;
    for (int d = inner; d >= 0; d--) {
        at[d] = (position){0};
        forward(&s->dim[d], &at[d], index % s->dim[d].length);
        index /= s->dim[d].length;
    }
    row[0][0] = s->base[0];
    row[1][0] = s->base[1];
    for (int changed = 0; begin < end;) {
        for (int d = changed; d < inner; d++)
            for (int side = 0; side < 2; side++)
                row[side][d + 1] = row[side][d] + offset(s, &s->dim[d], side, &at[d]);
        position *const a = &at[inner];
        int more = 1;
        while (more && begin < end) {
            const int64_t n = MIN(last->ranges[a->r * COLUMNS + LENGTH] - a->k, end - begin);
            for (int side = 0; side < 2; side++) {
                p[2 * side] = row[side][inner] + offset(s, last, side, a);
                strides[2 * side] = run_step(s, last, side, a->r) * last->stride[side];
            }
            loop(n, p, strides);
            begin += n;
            more = forward(last, a, n);
        }
        for (changed = inner; !more && changed > 0;) {
            at[changed] = (position){0};
            forward(&s->dim[changed], &at[changed], 0);
            changed--;
            more = forward(&s->dim[changed], &at[changed], 1);
        }
    }
}

/*
 * Apply a loop of the operands (side 0, context, side 1) to a section. Of single ranges, that is a
 * geometry like any other.
 */
static void for_each_in_section(section *s, loop_fn *loop, void *context, int cost)
{
    int plain = 1;
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++) {
        plain &= s->dim[d].m == 1;
        n *= s->dim[d].length;
    }
    if (n == 0)
        return;
    if (plain) {
        geometry g;
        g.n_operands = 3;
        g.ndim = s->ndim;
        g.base[1] = context;
        for (int side = 0; side < 2; side++) {
            g.base[2 * side] = s->base[side];
            for (int d = 0; d < s->ndim; d++) {
                const section_dim *dim = &s->dim[d];
                g.base[2 * side] += run_start(s, dim, side, 0, 0) * dim->stride[side];
                g.stride[d][2 * side] = run_step(s, dim, side, 0) * dim->stride[side];
            }
        }
        for (int d = 0; d < s->ndim; d++) {
            g.shape[d] = s->dim[d].length;
            g.stride[d][1] = 0;
        }
        for_each(loop, &g, cost);
        return;
    }
    const int team = team_for(n * cost);
    #pragma omp parallel num_threads(team) if (team > 1)
    {
        const int t = omp_get_thread_num(), parts = omp_get_num_threads();
        for_each_row(s, loop, context, cut(n, t, parts), cut(n, t + 1, parts));
    }
}

static void describe_section(section *s, int ndim, const int64_t *n_ranges,
                             const int64_t *const *ranges, int64_t address0, const int64_t *strides0,
                             int which0, int64_t address1, const int64_t *strides1, int which1)
{
    s->ndim = ndim;
    s->base[0] = (char *)address0;
    s->base[1] = (char *)address1;
    s->which[0] = which0;
    s->which[1] = which1;
    for (int d = 0; d < ndim; d++) {
        section_dim *dim = &s->dim[d];
        *dim = (section_dim){n_ranges[d], ranges[d], 0, {strides0[d], strides1[d]}};
        for (int64_t r = 0; r < dim->m; r++)
            dim->length += dim->ranges[r * COLUMNS + LENGTH];
    }
}

/* Elements as they lie in memory: of a size, of no type and no alignment. */
#define MOVE(size, type) \
typedef type item_##size __attribute__((aligned(1), may_alias)); \
static void move_##size(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *x = p[0]; \
    char *r = p[2]; \
    const int64_t xs = s[0], rs = s[2]; \
    if (n == 1) \
        *(item_##size *)r = *(const item_##size *)x; \
    else if (xs == size && rs == size) \
        memcpy(r, x, n * size); \
    else \
        for (int64_t i = 0; i < n; i++) \
            *(item_##size *)(r + i * rs) = *(const item_##size *)(x + i * xs); \
}
MOVE(1, uint8_t)
MOVE(2, uint16_t)
MOVE(4, uint32_t)
MOVE(8, uint64_t)
MOVE(16, unsigned __int128)

/* Of any size: the context is the size. */
static void move_any(int64_t n, char *const p[], const int64_t s[])
{
    const int64_t size = *(const int64_t *)p[1];
    if (s[0] == size && s[2] == size)
        memcpy(p[2], p[0], n * size);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(p[2] + i * s[2], p[0] + i * s[0], size);
}

static void pg_copy_section(int64_t itemsize, int ndim, const int64_t *n_ranges,
                            const int64_t *const *ranges, int64_t dst_address,
                            const int64_t *dst_strides, int dst_side, int64_t src_address,
                            const int64_t *src_strides, int src_side)
{
    section s;
    describe_section(&s, ndim, n_ranges, ranges, src_address, src_strides, src_side, dst_address,
                     dst_strides, dst_side);
    /* A contiguous innermost dimension below others is but a larger item. */
    while (s.ndim > 1) {
        const section_dim *d = &s.dim[s.ndim - 1];
        if (d->m != 1 || d->length == 0 || run_step(&s, d, 0, 0) * d->stride[0] != itemsize
            || run_step(&s, d, 1, 0) * d->stride[1] != itemsize)
            break;
        for (int side = 0; side < 2; side++)
            s.base[side] += run_start(&s, d, side, 0, 0) * d->stride[side];
        itemsize *= d->length;
        s.ndim--;
    }
    loop_fn *const loop = itemsize == 1 ? move_1 : itemsize == 2 ? move_2 : itemsize == 4 ? move_4
                        : itemsize == 8 ? move_8 : itemsize == 16 ? move_16 : move_any;
    for_each_in_section(&s, loop, &itemsize, 1 + itemsize / 64);
}

/* ---- random numbers ------------------------------------------------------------------------ */

/*
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11). A number is
 * a function of key, stream and the element's global index, whoever computes it and in what order.
 */
typedef struct {
    uint64_t low, high;
} random_bits;

static inline random_bits philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                                 uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (random_bits){(uint64_t)c1 << 32 | c0, (uint64_t)c3 << 32 | c2};
}

static void pg_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t block[4])
{
    const random_bits bits = philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    memcpy(block, &bits, sizeof bits);
}

typedef struct {
    uint64_t key, stream;
    double a, b;
    int64_t low;
    uint64_t span;
} random_context;

/* Attempts are counted above the 48 bits of the stream. */
static inline random_bits draw(const random_context *c, int64_t e, uint32_t attempt)
{
    const uint64_t stream = (c->stream & 0xFFFFFFFFFFFFull) | (uint64_t)attempt << 48;
    return philox((uint32_t)e, (uint32_t)((uint64_t)e >> 32), (uint32_t)stream,
                  (uint32_t)(stream >> 32), (uint32_t)c->key, (uint32_t)(c->key >> 32));
}

/* Lemire's unbiased multiplication: x * span / 2**64, x drawn again if in the uneven remainder. */
static inline uint64_t below(const random_context *c, int64_t e, uint64_t x)
{
    if (c->span == 0)
        return x;
    unsigned __int128 product = (unsigned __int128)x * c->span;
    if ((uint64_t)product < c->span) {
        const uint64_t uneven = -c->span % c->span;
        for (uint32_t attempt = 1; (uint64_t)product < uneven; attempt++)
            product = (unsigned __int128)draw(c, e, attempt).low * c->span;
    }
    return product >> 64;
}

#define UNIT_f(x) ((T_f)((x) >> 40) * 0x1p-24f)
#define UNIT_d(x) ((T_d)((x) >> 11) * 0x1p-53)
/* Box-Muller; 1 - u is in (0, 1], so its logarithm is finite. */
#define NORMAL(x, y) (sqrt(-2 * log(1 - UNIT_d(x))) * cos(6.283185307179586 * UNIT_d(y)))

enum { RANDOM, UNIFORM, NORMAL_KIND, INTEGERS_KIND };

#define RANDOM_ROWS(X) \
    X(RANDOM, f, random, UNIT_f(x)) \
    X(RANDOM, d, random, UNIT_d(x)) \
    X(UNIFORM, f, uniform, c.a + (c.b - c.a) * UNIT_f(x)) \
    X(UNIFORM, d, uniform, c.a + (c.b - c.a) * UNIT_d(x)) \
    X(NORMAL_KIND, f, normal, NORMAL(x, y)) \
    X(NORMAL_KIND, d, normal, NORMAL(x, y)) \
    X(INTEGERS_KIND, t, integers, (c.low + below(&c, e, x)) != 0) \
    X(INTEGERS_KIND, B, integers, c.low + below(&c, e, x)) \
    X(INTEGERS_KIND, i, integers, c.low + below(&c, e, x)) \
    X(INTEGERS_KIND, l, integers, c.low + below(&c, e, x))

/* Full blocks as in maths functions; side 0 is the index, in elements. */
#define RANDOM_LOOP(kind, R, name, ...) \
static void random_##name##_##R(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const random_context c = *(const random_context *)p[1]; \
    const int64_t index = (int64_t)p[0], step = s[0], rs = s[2]; \
    char *r = p[2]; \
    for (int64_t i = 0; i < n; i += BLOCK) { \
        uint64_t low[BLOCK], high[BLOCK]; \
        T_##R results[BLOCK]; \
        SIMD_FOR(k, BLOCK) { \
            const random_bits bits = draw(&c, index + (i + k) * step, 0); \
            low[k] = bits.low; \
            high[k] = bits.high; \
        } \
        SIMD_FOR(k, BLOCK) { \
            const int64_t e __attribute__((unused)) = index + (i + k) * step; \
            const uint64_t x = low[k], y __attribute__((unused)) = high[k]; \
            results[k] = (T_##R)(__VA_ARGS__); \
        } \
        const int64_t m = MIN(n - i, BLOCK); \
        if (m == BLOCK && rs == sizeof(T_##R)) \
            memcpy(r + i * rs, results, sizeof results); \
        else \
            for (int64_t k = 0; k < m; k++) \
                *(T_##R *)(r + (i + k) * rs) = results[k]; \
    } \
}
RANDOM_ROWS(RANDOM_LOOP)

/* Returns -1 if there are no such numbers of that type. */
static int pg_random(int kind, char type, uint64_t key, uint64_t stream, double a, double b,
                     int64_t low, uint64_t span, int ndim, const int64_t *n_ranges,
                     const int64_t *const *ranges, int64_t dst_address, const int64_t *dst_strides,
                     int dst_side, const int64_t *index_strides, int index_side)
{
    random_context context = {key, stream, a, b, low, span};
    loop_fn *loop = NULL;
#define FIND(row_kind, R, name, ...) \
    if (kind == row_kind && type == *CHAR_##R) \
        loop = random_##name##_##R;
    RANDOM_ROWS(FIND)
#undef FIND
    if (!loop)
        return -1;
    section s;
    describe_section(&s, ndim, n_ranges, ranges, 0, index_strides, index_side, dst_address, dst_strides,
                     dst_side);
    for_each_in_section(&s, loop, &context, MATHS);
    return 0;
}

/* ---- the machine --------------------------------------------------------------------------- */

/* The first instruction set that this file was compiled for and this CPU lacks, or NULL. */
static const char *pg_missing_cpu_features(void)
{
#define NEED(feature) if (!__builtin_cpu_supports(feature)) return feature;
#ifdef __SSE4_2__
    NEED("sse4.2")
#endif
#ifdef __AVX__
    NEED("avx")
#endif
#ifdef __AVX2__
    NEED("avx2")
#endif
#ifdef __FMA__
    NEED("fma")
#endif
#ifdef __BMI2__
    NEED("bmi2")
#endif
#ifdef __AVX512F__
    NEED("avx512f")
#endif
#ifdef __AVX512DQ__
    NEED("avx512dq")
#endif
#ifdef __AVX512BW__
    NEED("avx512bw")
#endif
#ifdef __AVX512VL__
    NEED("avx512vl")
#endif
#undef NEED
    return NULL;
}

/* The address of an ndarray's data: the first field after the object's head. */
static int64_t pg_address(int64_t ndarray)
{
    return ((const int64_t *)(ndarray + (int64_t)sizeof(PyObject)))[0];
}
