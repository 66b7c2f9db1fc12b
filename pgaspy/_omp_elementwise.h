/*
 * The table of the elementwise kernels, and the calls of one.
 */
#define CHEAP 1
#define MATHS 16            /* the cost of a maths function, in additions */
#define ROW1(A, R, name, cost) \
    {#name " " CHAR_##A "->" CHAR_##R, "pg_" #name "_" #A "_" #R, name##_##A##R, 1, cost, \
     {sizeof(T_##A)}},
#define ROW2(A, R, name, cost) \
    {#name " " CHAR_##A CHAR_##A "->" CHAR_##R, "pg_" #name "_" #A #A "_" #R, name##_##A##R, 2, cost, \
     {sizeof(T_##A), sizeof(T_##A)}},
#define LOOP1(A, R, name, ...)   ROW1(A, R, name, CHEAP)
#define LOOP2(A, R, name, ...)   ROW2(A, R, name, CHEAP)
#define LOOP3(C, A, name, ...) \
    {#name " " CHAR_##C CHAR_##A CHAR_##A "->" CHAR_##A, "pg_" #name "_" #C #A #A "_" #A, name##_##C##A, 3, CHEAP, \
     {sizeof(T_##C), sizeof(T_##A), sizeof(T_##A)}},
#define BLOCKS1(A, R, name, ...) ROW1(A, R, name, MATHS)
#define BLOCKS2(A, R, name, ...) ROW2(A, R, name, MATHS)

typedef struct {
    const char *name;       /* as in "add dd->d" */
    const char *function;   /* of an element, for generated code: "pg_add_dd_d" */
    loop_fn *loop;
    int n_inputs, cost;
    uint8_t item_size[4];   /* the inputs', then 0 */
} elementwise_row;

static const elementwise_row elementwise_rows[] = {
#include "_omp_table.h"
};
#undef CAST

/* A row of the table, NULL past its end. */
static const elementwise_row *pg_elementwise_row(int row)
{
    const int n = sizeof elementwise_rows / sizeof *elementwise_rows;
    return row < n ? &elementwise_rows[row] : NULL;
}

static void pg_elementwise(int row, int ndim, const int64_t *shape, const int64_t *addresses,
                           const int64_t *strides)
{
    geometry g;
    describe(&g, ndim, shape, elementwise_rows[row].n_inputs + 1, addresses,
             (const int64_t *const[]){strides, strides + ndim, strides + 2 * ndim, strides + 3 * ndim});
    const int64_t n = count(&g, ndim);
    loop_fn *const loop = loop_for(elementwise_rows[row].loop, n);
    if (n > 0 && !transpose(&g, streamed_size(loop)))
        for_each(loop, &g, (packable){elementwise_rows[row].item_size, 1}, elementwise_rows[row].cost);
}

/*
 * Kernels, programs, chains and the ends of reductions that are complete. They overwrite what they read, so
 * that who is interrupted when one returns has to know that it must not run again.
 */
static int64_t n_completed;

static int64_t pg_n_completed(void)
{
    return n_completed;
}

/* The same, counted. */
static void pg_run_elementwise(int row, int ndim, const int64_t *shape, const int64_t *addresses,
                               const int64_t *strides)
{
    pg_elementwise(row, ndim, shape, addresses, strides);
    n_completed++;
}
