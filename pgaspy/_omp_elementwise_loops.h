/*
 * The loops of the elementwise operations, one for each row of the table.
 *
 * A loop exists once for contiguous operands, once for each input being a scalar and once for any
 * strides. `omp simd` holds although the output may be an input: it is then so element by element.
 */
#define FOR1(A, R, xs, rs, function) \
    SIMD_FOR(i, n) \
        *(T_##R *)(r + i * (rs)) = function(*(const M_##A *)(x + i * (xs)));

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
        const T_##R value = pg_##name##_##A##_##R(*(const M_##A *)x); \
        SIMD_FOR(i, n) \
            ((T_##R *)r)[i] = value; \
    } else \
        FOR1(A, R, xs, rs, pg_##name##_##A##_##R) \
}

#define FOR2(A, R, a_address, b_address, rs, function) \
    SIMD_FOR(i, n) \
        *(T_##R *)(r + i * (rs)) = \
            function(*(const M_##A *)(a_address), *(const M_##A *)(b_address));

#define LOOP2(A, R, name, ...) \
static void name##_##A##R(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *x = p[0], *y = p[1]; \
    char *r = p[2]; \
    const int64_t xs = s[0], ys = s[1], rs = s[2]; \
    const int64_t c = sizeof(T_##A), rc = sizeof(T_##R); \
    const M_##A x0 = *(const M_##A *)x, y0 = *(const M_##A *)y; \
    if (xs == c && ys == c && rs == rc) \
        FOR2(A, R, x + i * c, y + i * c, rc, pg_##name##_##A##A##_##R) \
    else if (xs == c && ys == 0 && rs == rc) \
        FOR2(A, R, x + i * c, &y0, rc, pg_##name##_##A##A##_##R) \
    else if (xs == 0 && ys == c && rs == rc) \
        FOR2(A, R, &x0, y + i * c, rc, pg_##name##_##A##A##_##R) \
    else \
        FOR2(A, R, x + i * xs, y + i * ys, rs, pg_##name##_##A##A##_##R) \
}

/* What a mask of one element selects is copied, but where it lies already. */
#define IS_MASK_t 1
#define IS_MASK_l 0

#define FOR3(C, A, cs, a_address, b_address, rs, function) \
    SIMD_FOR(i, n) \
        *(T_##A *)(r + i * (rs)) = \
            function(*(const M_##C *)(w + i * (cs)), *(const M_##A *)(a_address), *(const M_##A *)(b_address));

#define LOOP3(C, A, name, ...) \
static void name##_##C##A(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *w = p[0], *x = p[1], *y = p[2]; \
    char *r = p[3]; \
    const int64_t cs = s[0], xs = s[1], ys = s[2], rs = s[3]; \
    const int64_t cc = sizeof(T_##C), c = sizeof(T_##A); \
    if (IS_MASK_##C && cs == 0) { \
        const int k = *(const M_##C *)w ? 1 : 2; \
        if (p[k] != r || s[k] != rs) \
            copy_##A##A(n, (char *[]){p[k], r}, (int64_t[]){s[k], rs}); \
        return; \
    } \
    const M_##A x0 = *(const M_##A *)x, y0 = *(const M_##A *)y; \
    if (cs == cc && xs == c && ys == c && rs == c) \
        FOR3(C, A, cc, x + i * c, y + i * c, c, pg_##name##_##C##A##A##_##A) \
    else if (cs == cc && xs == c && ys == 0 && rs == c) \
        FOR3(C, A, cc, x + i * c, &y0, c, pg_##name##_##C##A##A##_##A) \
    else if (cs == cc && xs == 0 && ys == c && rs == c) \
        FOR3(C, A, cc, &x0, y + i * c, c, pg_##name##_##C##A##A##_##A) \
    else \
        FOR3(C, A, cs, x + i * xs, y + i * ys, rs, pg_##name##_##C##A##A##_##A) \
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
#undef IS_MASK_t
#undef IS_MASK_l
#undef BLOCKS1
#undef BLOCKS2
