/*
 * Programs: elementwise operations in one pass over memory, as a loop whose operands are the context, the
 * inputs and the outputs. It is either compiled elsewhere (see `_omp_program.h`), or interpreted: step by
 * step on blocks so short that the registers, the values which are never stored, stay in the L1 cache.
 */
#define MAX_PROGRAM_OPERANDS (MAX_OPERANDS - 1)
#define MAX_STEPS 512
#define MAX_REDUCTIONS 32   /* of a program: each thread has a leaf of each on its stack */
#define PROGRAM_BLOCK 256   /* a multiple of BLOCK, so that maths functions see full blocks */

/* Values are numbered as the loop's operands, context among them, and then the registers. */
typedef struct {
    loop_fn *loop;
    int value[4];           /* the inputs, then the output */
} step;

/* A program and the geometry it runs on: byte strides of the operands but the context. */
typedef struct {
    int n_inputs, n_stored, n_operands, n_registers, n_steps, cost, prefetches;
    loop_fn *only_loop;     /* that of the only step, if it is from all inputs to the only output */
    int ndim, row_dim;
    const int64_t *shape, *strides;
    int64_t *place;         /* of registers, in bytes per element of a block: behind the steps */
    uint8_t item_size[MAX_OPERANDS];        /* the inputs'; 0 of context and outputs */
    step steps[];
} pg_program;

/* The bytes of a program of so many steps and registers. */
static int64_t pg_program_size(int n_steps, int n_registers)
{
    return sizeof(pg_program) + n_steps * sizeof(step) + (n_registers + 1) * sizeof(int64_t);
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
    const prefetched t = find_prefetched(g->prefetches && n > TILE ? g->n_stored : 0, p, s);
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

/*
 * A program in memory of `pg_program_size`. A step is described by its row and, inputs first, the numbers of
 * its values, without context.
 */
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
    g->prefetches = n * (g->n_stored - 1) > PREFETCH_FROM;
    g->place = (int64_t *)(g->steps + n_steps);
    g->place[0] = 0;
    for (int r = 0; r < n_registers; r++)
        g->place[r + 1] = g->place[r] + register_sizes[r];
    int in_order = n_steps == 1 && n_outputs == 1;
    for (int t = 0; t < n_steps; t++, steps += 5) {
        const int n_values = elementwise_rows[*steps].n_inputs + 1;
        g->cost += elementwise_rows[*steps].cost;
        g->steps[t].loop = elementwise_rows[*steps].loop;
        for (int k = 0; k < n_values; k++) {
            g->steps[t].value[k] = steps[1 + k] + 1;
            if (steps[1 + k] < n_inputs)
                g->item_size[steps[1 + k] + 1] = elementwise_rows[*steps].item_size[k];
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
            STRIDES(g, d)[o] = strides[d];
        if (start)
            g->base[o] += start * strides[p->row_dim];
    }
    if (context) {
        g->base[0] = (char *)p;
        for (int d = 0; d < p->ndim; d++)
            STRIDES(g, d)[0] = 0;
    }
    return loop ? loop : p->only_loop ? p->only_loop : run_interpreted;
}

/* What may be packed of a program, in its geometry. */
static packable packable_of(const pg_program *p, const geometry *g)
{
    return (packable){p->item_size + (g->n_operands < p->n_operands), p->n_steps};
}

static void pg_run_program(const pg_program *p, const int64_t *addresses, int64_t start,
                           int64_t stop, int64_t loop_address)
{
    geometry g;
    loop_fn *const loop = describe_program(p, &g, addresses, start, stop, (loop_fn *)loop_address);
    if (start < stop && count(&g, g.ndim) > 0 && !transpose(&g, streamed_size(loop)))
        for_each(loop, &g, packable_of(p, &g), p->cost);
    n_completed++;
}
