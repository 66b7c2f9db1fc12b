/*
 * How many elements are taken at a time, by the kernels and by generated loops alike, so that they give
 * the same bits; and the loops over them, which the compiler makes vector instructions of.
 */
#define BLOCK 16            /* elements that maths functions and random numbers take at a time */
#define LANES 32            /* accumulators of a leaf: enough to hide the latency of an addition */
#define LEAF 512            /* the most elements of a leaf */
#define GROUP 8             /* leaves along memory that are reduced, and merged, by one call */
#define REDUCED (-1)        /* the stride of outputs that are results of leaves of LANES elements or more */

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SIMD_FOR(i, n) _Pragma("omp simd") for (int64_t i = 0; i < (n); i++)
