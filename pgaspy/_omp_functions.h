/*
 * The elementwise operations as inline functions, one for each row of the table, named by its types:
 *
 *     static inline T_d pg_add_dd_d(T_d a, T_d b) { return (T_d)(a + b); }
 *
 * The kernels' loops call them, and so does code that is generated at run time. A leaf of a reduction
 * has LANES accumulators, of which the one for elements k, k + LANES, ... begins as the first of them.
 * The step to the next, here of bools, and what joins the accumulators at the end:
 *
 *     static inline T_l pg_reduce_add_t_l(T_l a, T_t b) { return (T_l)(a + b); }
 *     static inline T_l pg_join_add_t_l(T_l *lanes);
 */
#include "_omp_math.h"
#include "_omp_blocks.h"

/* The table's rows of any class, by their inputs. Whoever includes the table defines the loops. */
#define UNARY(class, name, ...)  class(UNARY_ROW, name, __VA_ARGS__)
#define BINARY(class, name, ...) class(BINARY_ROW, name, __VA_ARGS__)
#define SELECT(class, name, ...) class(SELECT_ROW, name, __VA_ARGS__)
#define TERNARY(class, name, ...) class(TERNARY_ROW, name, __VA_ARGS__)
#define TEST1(class, name, ...)  class(TEST1_ROW, name, __VA_ARGS__)
#define TEST2(class, name, ...)  class(TEST2_ROW, name, __VA_ARGS__)
#define MATHS1(class, name, ...) class(MATHS1_ROW, name, __VA_ARGS__)
#define MATHS2(class, name, ...) class(MATHS2_ROW, name, __VA_ARGS__)

#define UNARY_ROW(A, name, ...)  LOOP1(A, A, name, __VA_ARGS__)
#define BINARY_ROW(A, name, ...) LOOP2(A, A, name, __VA_ARGS__)
#define SELECT_ROW(A, name, ...) LOOP3(t, A, name, __VA_ARGS__)
#define TERNARY_ROW(A, name, ...) LOOP3(A, A, name, __VA_ARGS__)
#define TEST1_ROW(A, name, ...)  LOOP1(A, t, name, __VA_ARGS__)
#define TEST2_ROW(A, name, ...)  LOOP2(A, t, name, __VA_ARGS__)
#define MATHS1_ROW(A, name, ...) BLOCKS1(A, A, name, __VA_ARGS__)
#define MATHS2_ROW(A, name, ...) BLOCKS2(A, A, name, __VA_ARGS__)
#define CAST(A, R, name, ...)    LOOP1(A, R, name, __VA_ARGS__)
#define MATHS_CAST(A, R, name, ...) BLOCKS1(A, R, name, __VA_ARGS__)

/* Inlined for sure: a loop vectorises only what it sees. */
#define PG_FUNCTION static inline __attribute__((always_inline))

#define LOOP1(A, R, name, ...) \
PG_FUNCTION T_##R pg_##name##_##A##_##R(T_##A a) { return (T_##R)(__VA_ARGS__); }
#define LOOP2(A, R, name, ...) \
PG_FUNCTION T_##R pg_##name##_##A##A##_##R(T_##A a, T_##A b) { return (T_##R)(__VA_ARGS__); }
#define LOOP3(C, A, name, ...) \
PG_FUNCTION T_##A pg_##name##_##C##A##A##_##A(T_##C c, T_##A a, T_##A b) { return (T_##A)(__VA_ARGS__); }
#define BLOCKS1 LOOP1
#define BLOCKS2 LOOP2
#define REDUCE(A, R, name, if_empty, ...) \
PG_FUNCTION T_##R pg_reduce_##name##_##A##_##R(T_##R a, T_##A b) { return (T_##R)(__VA_ARGS__); } \
PG_FUNCTION T_##R pg_join_##name##_##A##_##R(T_##R *lanes) \
{ \
    _Pragma("GCC unroll 8") for (int half = LANES / 2; half > 0; half /= 2) \
        _Pragma("omp simd") for (int k = 0; k < half; k++) { \
            const T_##R a = lanes[k], b = lanes[k + half]; \
            lanes[k] = (__VA_ARGS__); \
        } \
    return lanes[0]; \
}

#define SUM(A, L) REDUCE(A, l, add, 0, a + b)
#define TRUTH(A, ...) REDUCE(A, t, __VA_ARGS__)
#include "_omp_table.h"
#undef TRUTH
#undef SUM

/* What joins the accumulators of a sum that are narrower than it. */
#define JOIN_SUMS(L) \
PG_FUNCTION T_l pg_join_sums_##L(const T_##L *lanes) \
{ \
    T_l sums[LANES]; \
    SIMD_FOR(k, LANES) \
        sums[k] = lanes[k]; \
    return pg_join_add_l_l(sums); \
}
JOIN_SUMS(b)
JOIN_SUMS(h)
JOIN_SUMS(i)
#undef JOIN_SUMS

#undef REDUCE
#undef LOOP1
#undef LOOP2
#undef LOOP3
#undef BLOCKS1
#undef BLOCKS2
