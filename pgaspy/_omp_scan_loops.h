/*
 * The loops of the scans (running sums and the like), and their table, whose rows are those of the reductions.
 *
 * A chunk is scanned in lanes, one stretch of it after the other: the results of each alone are found side by side,
 * and joined to what comes before its lane. So no addition waits for the one before in another lane; the last result
 * of a lane is, to the bit, what comes before the next one.
 */
#define SCAN_LANES 4
#define SCAN_CHUNK 4160     /* the elements of a chunk */
#define MIN_IN_LANES 64     /* fewer are one lane, and their results those of one step after the other */

/* The elements of each lane of a chunk of n elements but the last one, and of that. */
typedef struct {
    int lanes;
    int64_t length, last;
} lane_division;

static lane_division divide_chunk(int64_t n)
{
    if (n < MIN_IN_LANES)
        return (lane_division){1, n, n};
    int64_t length = (n + SCAN_LANES - 1) / SCAN_LANES;
    if (length % 64 == 0)
        length += 8;        /* lest all lanes use the same lines of the cache */
    return (lane_division){SCAN_LANES, length, n - (SCAN_LANES - 1) * length};
}

#define REDUCE(A, R, name, if_empty, ...) \
PG_FUNCTION T_##R join_##name##_##A##R(T_##R a, T_##R b) { return (T_##R)(__VA_ARGS__); } \
/* What the lanes of a chunk come to. */ \
static void totals_##name##_##A##R(int64_t n, const char *x, int64_t stride, void *totals) \
{ \
    const lane_division d = divide_chunk(n); \
    const int64_t lane = d.length * stride; \
    T_##R *t = totals; \
    for (int k = 0; k < d.lanes; k++) \
        t[k] = (T_##R)(T_##A)*(const M_##A *)(x + k * lane); \
    int64_t i = 1; \
    if (d.lanes > 1) { \
        T_##R a[SCAN_LANES]; \
        for (int k = 0; k < SCAN_LANES; k++) \
            a[k] = t[k]; \
        for (; i < d.last; i++) \
            _Pragma("GCC unroll 8") for (int k = 0; k < SCAN_LANES; k++) \
                a[k] = pg_reduce_##name##_##A##_##R(a[k], *(const M_##A *)(x + k * lane + i * stride)); \
        for (int k = 0; k < SCAN_LANES; k++) \
            t[k] = a[k]; \
    } \
    for (int k = 0; k < MAX(d.lanes - 1, 1); k++) \
        for (int64_t j = i; j < d.length; j++) \
            t[k] = pg_reduce_##name##_##A##_##R(t[k], *(const M_##A *)(x + k * lane + j * stride)); \
} \
/* The totals of lanes become what comes before each; `carry`, if it `is_there`, what comes before the first. */ \
static void before_##name##_##A##R(int lanes, void *totals, void *carry, int is_there) \
{ \
    T_##R *t = totals, c = is_there ? *(T_##R *)carry : t[0]; \
    for (int k = 0; k < lanes; k++) { \
        const T_##R own = t[k]; \
        t[k] = c; \
        c = is_there ? join_##name##_##A##R(c, own) : own; \
        is_there = 1; \
    } \
    *(T_##R *)carry = c; \
} \
PG_FUNCTION T_##R put_##name##_##A##R(char *to, T_##R before, T_##R a, int is_first) \
{ \
    *(T_##R *)to = is_first ? a : join_##name##_##A##R(before, a); \
    return a; \
} \
PG_FUNCTION void lanes_##name##_##A##R(int64_t n, const char *x, int64_t stride, char *to, int64_t to_stride, \
                                       const T_##R *before, int is_first) \
{ \
    const lane_division d = divide_chunk(n); \
    const int64_t lane = d.length * stride, to_lane = d.length * to_stride; \
    T_##R a[SCAN_LANES]; \
    for (int k = 0; k < d.lanes; k++) \
        a[k] = put_##name##_##A##R(to + k * to_lane, before[k], (T_##R)(T_##A)*(const M_##A *)(x + k * lane), \
                                   is_first && k == 0); \
    int64_t i = 1; \
    if (d.lanes > 1) \
        for (; i < d.last; i++) \
            _Pragma("GCC unroll 8") for (int k = 0; k < SCAN_LANES; k++) { \
                a[k] = pg_reduce_##name##_##A##_##R(a[k], *(const M_##A *)(x + k * lane + i * stride)); \
                put_##name##_##A##R(to + k * to_lane + i * to_stride, before[k], a[k], is_first && k == 0); \
            } \
    for (int k = 0; k < MAX(d.lanes - 1, 1); k++) \
        for (int64_t j = i; j < d.length; j++) { \
            a[k] = pg_reduce_##name##_##A##_##R(a[k], *(const M_##A *)(x + k * lane + j * stride)); \
            put_##name##_##A##R(to + k * to_lane + j * to_stride, before[k], a[k], is_first && k == 0); \
        } \
} \
static void scan_##name##_##A##R(int64_t n, const char *x, int64_t stride, char *to, int64_t to_stride, \
                                 const void *before, int is_first) \
{ \
    if (stride == sizeof(T_##A) && to_stride == sizeof(T_##R)) \
        lanes_##name##_##A##R(n, x, sizeof(T_##A), to, sizeof(T_##R), before, is_first); \
    else \
        lanes_##name##_##A##R(n, x, stride, to, to_stride, before, is_first); \
} \
static void next_##name##_##A##R(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *a = p[0], *b = p[1]; \
    char *to = p[2]; \
    if (s[0] == sizeof(T_##R) && s[1] == sizeof(T_##A) && s[2] == sizeof(T_##R)) \
        SIMD_FOR(i, n) \
            ((T_##R *)to)[i] = pg_reduce_##name##_##A##_##R(((const T_##R *)a)[i], ((const M_##A *)b)[i]); \
    else \
        for (int64_t i = 0; i < n; i++) \
            *(T_##R *)(to + i * s[2]) = pg_reduce_##name##_##A##_##R( \
                *(const T_##R *)(a + i * s[0]), *(const M_##A *)(b + i * s[1])); \
}
#define SUM(A, L) REDUCE(A, l, add, 0, a + b)
#define TRUTH(A, ...) REDUCE(A, t, __VA_ARGS__)
#include "_omp_table.h"
#undef TRUTH
#undef SUM
#undef REDUCE

typedef struct {
    int64_t out_size;
    void (*totals)(int64_t n, const char *x, int64_t stride, void *totals);
    void (*before)(int lanes, void *totals, void *carry, int is_there);
    void (*scan)(int64_t n, const char *x, int64_t stride, char *to, int64_t to_stride, const void *before,
                 int is_first);
    loop_fn *convert, *next;        /* a row of results from the row before and a row of elements */
} scan_row;

#define REDUCE(A, R, name, ...) {sizeof(T_##R), totals_##name##_##A##R, before_##name##_##A##R, \
    scan_##name##_##A##R, copy_##A##R, next_##name##_##A##R},
#define SUM(A, L) REDUCE(A, l, add)
#define TRUTH(A, ...) REDUCE(A, t, __VA_ARGS__)
static const scan_row scan_rows[] = {
#include "_omp_table.h"
};
#undef TRUTH
#undef SUM
#undef REDUCE
