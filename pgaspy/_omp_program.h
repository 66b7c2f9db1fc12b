/*
 * What the generated loops of programs share. A chunk is `m` elements from element i of a row on,
 * taken as arrays of `full` elements, which is m or m rounded up to full blocks.
 */
#include "_omp_functions.h"

#define FULL_BLOCKS(m) (((m) + BLOCK - 1) / BLOCK * BLOCK)
#define FOR_BLOCKS(block, i, n) \
    _Pragma("GCC unroll 1") for (int64_t block = 0; block < (n); block += BLOCK) SIMD_FOR(i, BLOCK)
/* Whether a leaf ends before element i of a row of n. */
#define ENDS_LEAF(i) (reduces && ((i) % LEAF == 0 || (i) == n))

/* Elements n of a leaf from a multiple of LANES on, for accumulators i that are to stay in registers. */
#define FOR_LANES(block, i, n, ...) do { \
    int64_t block = 0; \
    _Pragma("GCC unroll 1") for (; block + LANES <= (n); block += LANES) SIMD_FOR(i, LANES) { __VA_ARGS__ } \
    SIMD_FOR(i, (n) - block) { __VA_ARGS__ } \
} while (0)

/* An operand of a chunk, as an array: where it lies, if it is one there, or else its buffer. */
#define INPUT(A, buffer, address, stride) \
    ((stride) == sizeof(T_##A) && m == full ? (const T_##A *)((address) + i * (stride)) \
     : (gather_##A(buffer, (address) + i * (stride), stride, m, full), buffer))
#define OUTPUT(A, buffer, address, stride) \
    ((stride) == sizeof(T_##A) ? (T_##A *)((address) + i * (stride)) : (buffer))
#define STORE(A, array, address, stride) \
    if ((char *)(array) != (address) + i * (stride)) \
        scatter_##A(array, (address) + i * (stride), stride, m)

/* A last block is filled up with copies of its first element. */
#define ARRAYS(A) \
static __attribute__((noinline, unused)) \
void gather_##A(T_##A *buffer, const char *x, int64_t stride, int64_t m, int64_t full) \
{ \
    if (stride == 0) { \
        const T_##A value = *(const M_##A *)x; \
        SIMD_FOR(k, full) \
            buffer[k] = value; \
        return; \
    } \
    SIMD_FOR(k, m) \
        buffer[k] = *(const M_##A *)(x + k * stride); \
    for (int64_t k = m; k < full; k++) \
        buffer[k] = buffer[m / BLOCK * BLOCK]; \
} \
static __attribute__((noinline, unused)) \
void scatter_##A(const T_##A *array, char *r, int64_t stride, int64_t m) \
{ \
    if (stride == sizeof(T_##A)) \
        SIMD_FOR(k, m) \
            ((T_##A *)r)[k] = array[k]; \
    else \
        SIMD_FOR(k, m) \
            *(T_##A *)(r + k * stride) = array[k]; \
}
