/*
 * The table of the elementwise kernels, and the calls of one.
 */
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
