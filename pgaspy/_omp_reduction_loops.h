/*
 * The loops of the reductions, and their table: of a leaf along memory, of a row onto a row of results, and
 * of results with results. Whole leaves that lie one behind the other in memory are reduced by one call; of integers,
 * whose results are the same in any order, as one.
 */
#define IS_INTEGER(R) ((T_##R)0.5 == 0)     /* what wraps round; lanes of sums, which are narrower, might overflow */
#define LEAF_ALONG(A, L, R, name, joined, ...) \
static inline void along_##name##_##A##R(int64_t n, const void *from, void *to) \
{ \
    const M_##A *x = from; \
    if (n < LANES) { \
        T_##R a = (T_##R)(T_##A)x[0]; \
        for (int64_t i = 1; i < n; i++) { \
            const T_##A b = x[i]; \
            a = (__VA_ARGS__); \
        } \
        *(T_##R *)to = a; \
        return; \
    } \
    T_##L lanes[LANES]; \
    SIMD_FOR(k, LANES) \
        lanes[k] = (T_##L)(T_##R)(T_##A)x[k]; \
    int64_t i = LANES; \
    for (; i + LANES <= n; i += LANES) { \
        __asm__ volatile("");   /* else GCC takes the vectors of complex lanes apart */ \
        SIMD_FOR(k, LANES) { \
            const T_##L a = lanes[k]; \
            const T_##A b = x[i + k]; \
            lanes[k] = (__VA_ARGS__); \
        } \
    } \
    for (int64_t k = 0; i + k < n; k++) { \
        const T_##L a = lanes[k]; \
        const T_##A b = x[i + k]; \
        lanes[k] = (__VA_ARGS__); \
    } \
    *(T_##R *)to = joined; \
} \
static void leaf_##name##_##A##R(int64_t n, const void *from, void *to) \
{ \
    along_##name##_##A##R(n, from, to); \
}

#define AFTER_LEAVES(A, R, name, if_empty, in_any_order, ...) \
static void fold_##name##_##A##R(int64_t n, const void *from, int64_t stride, void *to) \
{ \
    const char *x = from; \
    M_##R *r = to; \
    if (stride == sizeof(T_##A)) \
        SIMD_FOR(k, n) { \
            const M_##R a = r[k]; \
            const T_##A b = ((const M_##A *)x)[k]; \
            r[k] = (__VA_ARGS__); \
        } \
    else \
        SIMD_FOR(k, n) { \
            const M_##R a = r[k]; \
            const T_##A b = *(const M_##A *)(x + k * stride); \
            r[k] = (__VA_ARGS__); \
        } \
} \
static void merge_##name##_##A##R(int64_t n, void *to, const void *from) \
{ \
    M_##R *r = to; \
    SIMD_FOR(k, n) { \
        const M_##R a = r[k], b = ((const M_##R *)from)[k]; \
        r[k] = (__VA_ARGS__); \
    } \
} \
static void pair_##name##_##A##R(int64_t n, void *results) \
{ \
    M_##R *r = results; \
    SIMD_FOR(k, n) { \
        const M_##R a = r[2 * k], b = r[2 * k + 1]; \
        r[k] = (__VA_ARGS__); \
    } \
} \
static void group_##name##_##A##R(const void *from, void *to) \
{ \
    if (in_any_order) { \
        along_##name##_##A##R(GROUP * LEAF, from, to); \
        return; \
    } \
    T_##R results[GROUP]; \
    for (int k = 0; k < GROUP; k++) \
        along_##name##_##A##R(LEAF, (const M_##A *)from + k * LEAF, results + k); \
    for (int n = GROUP / 2; n > 0; n /= 2) \
        for (int k = 0; k < n; k++) { \
            const T_##R a = results[2 * k], b = results[2 * k + 1]; \
            results[k] = (__VA_ARGS__); \
        } \
    *(T_##R *)to = results[0]; \
} \
static const T_##R empty_##name##_##A##R = if_empty;

#define REDUCE(A, R, name, if_empty, ...) \
    LEAF_ALONG(A, R, R, name, pg_join_##name##_##A##_##R(lanes), __VA_ARGS__) \
    AFTER_LEAVES(A, R, name, if_empty, IS_INTEGER(R), __VA_ARGS__)
#define SUM(A, L) \
    LEAF_ALONG(A, L, l, add, pg_join_sums_##L(lanes), a + b) \
    AFTER_LEAVES(A, l, add, 0, 0, a + b)
#define TRUTH(A, name, if_empty, ...) \
    LEAF_ALONG(A, B, t, name, pg_join_##name##_##A##_t((T_t *)lanes), __VA_ARGS__) \
    AFTER_LEAVES(A, t, name, if_empty, 0, __VA_ARGS__)
#include "_omp_table.h"
#undef TRUTH
#undef SUM
#undef REDUCE
#undef LEAF_ALONG
#undef IS_INTEGER
#undef AFTER_LEAVES

typedef struct {
    const char *name;           /* as in "add t->l" */
    const char *step, *join;    /* the functions that generated code calls: "pg_reduce_add_t_l" ... */
    const char *lane;           /* the type of a leaf's accumulators, where it is not the result's; else "" */
    int64_t in_size, out_size;
    loop_fn *copy_in, *convert, *copy_out;
    void (*leaf)(int64_t n, const void *from, void *to);
    void (*group)(const void *from, void *to);      /* GROUP leaves of LEAF elements each, merged */
    void (*fold)(int64_t n, const void *from, int64_t stride, void *to);
    void (*merge)(int64_t n, void *to, const void *from);
    void (*pair)(int64_t n, void *results);
    const void *empty;
} reduce_row;

#define ROW(A, R, name, lane) { \
    #name " " CHAR_##A "->" CHAR_##R, "pg_reduce_" #name "_" #A "_" #R, "pg_join_" #name "_" #A "_" #R, lane, \
    sizeof(T_##A), sizeof(T_##R), \
    copy_##A##A, copy_##A##R, copy_##R##R, \
    leaf_##name##_##A##R, group_##name##_##A##R, fold_##name##_##A##R, merge_##name##_##A##R, \
    pair_##name##_##A##R, &empty_##name##_##A##R},
#define REDUCE(A, R, name, ...) ROW(A, R, name, "")
#define SUM(A, L) ROW(A, l, add, CHAR_##L)
#define TRUTH(A, name, ...) REDUCE(A, t, name)
static const reduce_row reduce_rows[] = {
#include "_omp_table.h"
};
#undef TRUTH
#undef SUM
#undef REDUCE
#undef ROW

/* A row of the table, NULL past its end. */
static const reduce_row *pg_reduce_row(int row)
{
    const int n = sizeof reduce_rows / sizeof *reduce_rows;
    return row < n ? &reduce_rows[row] : NULL;
}

/* Row i of a leaf across: `width` elements, to as many results. */
static void fold_row(const reduce_row *row, int64_t i, int64_t width, char *x, int64_t stride,
                     char *to)
{
    if (i == 0)
        row->convert(width, (char *[]){x, to}, (int64_t[]){stride, row->out_size});
    else
        row->fold(width, x, stride, to);
}
