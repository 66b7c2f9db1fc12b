/*
 * Positions: which element of a row is the first least or greatest one, or the first NaN, of many rows side by side.
 */
#define ROWS_TOGETHER 256

/* Along the rows. */
typedef struct {
    int64_t n, stride;
} row_dim;

#define LOOK(A, xs, better) \
    for (int64_t i = 1; i < d->n; i++) { \
        x += d->stride; \
        SIMD_FOR(k, m) { \
            const T_##A a = best[k], b = *(const T_##A *)(x + k * (xs)); \
            best[k] = (better) ? b : a; \
            at[k] = (better) ? i : at[k]; \
        } \
    }
#define POSITION(A, name, better) \
static void name##_##A(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const row_dim *d = (const row_dim *)p[0]; \
    for (int64_t begin = 0; begin < n; begin += ROWS_TOGETHER) { \
        const int64_t m = MIN(n - begin, ROWS_TOGETHER), xs = s[1]; \
        const char *x = p[1] + begin * xs; \
        T_##A best[ROWS_TOGETHER]; \
        T_l at[ROWS_TOGETHER]; \
        SIMD_FOR(k, m) { \
            best[k] = *(const T_##A *)(x + k * xs); \
            at[k] = 0; \
        } \
        if (xs == sizeof(T_##A)) \
            LOOK(A, (int64_t)sizeof(T_##A), better) \
        else \
            LOOK(A, xs, better) \
        for (int64_t k = 0; k < m; k++) \
            *(T_l *)(p[2] + (begin + k) * s[2]) = at[k]; \
    } \
}
#define POSITIONS(A, ...) \
    POSITION(A, argmin, !(a <= b) & (a == a)) \
    POSITION(A, argmax, !(a >= b) & (a == a))
REALS(POSITIONS)
#undef POSITIONS
#undef POSITION
#undef LOOK

/*
 * Store the positions in rows of n elements, of a shape of rows whose byte strides are given, and those of the
 * positions. Returns -1 if there are no such elements, or rows of none.
 */
static int pg_find_positions(char type, int is_greatest, int64_t n, int64_t stride, int ndim, const int64_t *shape,
                             const int64_t *strides, int64_t x_address, int64_t out_address)
{
    loop_fn *loop = NULL;
#define CASE(A, ...) \
    if (type == *CHAR_##A) \
        loop = is_greatest ? argmax_##A : argmin_##A;
    REALS(CASE)
#undef CASE
    if (!loop || n < 1)
        return -1;
    const row_dim along = {n, stride};
    int64_t none[MAX_DIMS] = {0};
    geometry g;
    describe(&g, ndim, shape, 3, (int64_t[]){(int64_t)&along, x_address, out_address},
             (const int64_t *const[]){none, strides, strides + ndim});
    if (count(&g, ndim) > 0)
        for_each(loop, &g, (packable){0}, (int)MIN(n, 1 << 20));
    return 0;
}
