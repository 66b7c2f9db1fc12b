/*
 * Prefetching of operands: the steps and reductions of a block interrupt what the processor prefetches by
 * itself. The prefetch window is what is asked for at a time, as bytes ahead of where the operands are.
 */
#define PREFETCH_FROM (1 << 17)     /* the least items of all operands that come from memory, not the L2 cache */
#define FAR (1 << 21)               /* elements of a piece; fewer may be in a cache, where prefetching costs */
#define WINDOW 512                  /* bytes, for programs that are reduced */
#define WINDOW_BEGIN 1024

/* Operands that neither are scalars nor lie within a cache line of another. */
typedef struct {
    int n, operand[MAX_OPERANDS];
    int64_t size;           /* of the largest item */
} prefetched;

static prefetched find_prefetched(int n_operands, char *const p[], const int64_t s[])
{
    prefetched t = {.n = 0, .size = 1};
    for (int o = 0; o < n_operands; o++) {
        int is_new = s[o] > 0 && s[o] <= (int64_t)sizeof(T_D);
        for (int k = 0; k < t.n; k++)
            is_new &= magnitude(p[o] - p[t.operand[k]]) >= 64;
        if (is_new) {
            t.operand[t.n++] = o;
            t.size = MAX(t.size, s[o]);
        }
    }
    return t;
}

/* The window's cache lines, from `begin` to `end` bytes ahead, in the order in which they are needed. */
static void prefetch(const prefetched *t, char *const p[], int64_t begin, int64_t end)
{
    for (int64_t line = begin; line < end; line += 64)
        for (int k = 0; k < t->n; k++)
            __builtin_prefetch(p[t->operand[k]] + line);
}
