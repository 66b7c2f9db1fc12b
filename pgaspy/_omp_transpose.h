/*
 * Transposing copies of more than the caches hold: a cache line of the output at a time is put together, from as many
 * rows of the input, and goes past the caches, as copies of rows do (_omp_streaming.h).
 */
#ifdef __SSE2__
#define LINE 64
#define LINES_AT_ONCE 4         /* of a row of the output */
#define ROWS_AT_ONCE 512        /* of the output: with those of the input, so many pages as address buffers hold */

/* A line of the output, and the items of the input that are for it. */
typedef void line_fn(char *to, const char *from, int64_t step);

#define LINE_OF(size) \
static void line_of_##size(char *to, const char *from, int64_t step) \
{ \
    for (int k = 0; k < LINE; k += 16) { \
        __m128i part; \
        for (int i = 0; i < 16; i += size, from += step) \
            memcpy((char *)&part + i, from, size); \
        _mm_stream_si128((__m128i *)(to + k), part); \
    } \
}
LINE_OF(1)
LINE_OF(2)
LINE_OF(4)
LINE_OF(8)
LINE_OF(16)

/* Rows [begin, end) of one matrix of the output, which are columns of the input. */
static void transpose_rows(const geometry *g, int64_t size, char *to, const char *from, int64_t begin, int64_t end)
{
    line_fn *const line_of = size == 1 ? line_of_1 : size == 2 ? line_of_2 : size == 4 ? line_of_4
                           : size == 8 ? line_of_8 : line_of_16;
    const int inner = g->ndim - 1, out = g->n_operands - 1;
    const int64_t n = g->shape[inner], per_line = LINE / size, step = STRIDES(g, inner)[0];
    const int64_t row_step = STRIDES(g, inner - 1)[out], column_step = STRIDES(g, inner - 1)[0];
    for (int64_t first = 0; first < n; first += LINES_AT_ONCE * per_line)
        for (int64_t row = begin; row < end; row += ROWS_AT_ONCE)
            for (int64_t line = first; line < first + LINES_AT_ONCE * per_line; line += per_line)
                for (int64_t r = row; r < MIN(row + ROWS_AT_ONCE, end); r++) {
                    char *const start = to + r * row_step;
                    const int64_t i = line + (-(intptr_t)start & (LINE - 1)) / size;
                    if (i + per_line <= n)
                        line_of(start + i * size, from + r * column_step + i * step, step);
                }
    for (int64_t r = begin; r < end; r++) {     /* what is before the first whole line, and after the last one */
        const int64_t head = (-(intptr_t)(to + r * row_step) & (LINE - 1)) / size;
        const int64_t edges[2][2] = {{0, head}, {n - (n - head) % per_line, n}};
        for (int edge = 0; edge < 2; edge++)
            for (int64_t i = edges[edge][0]; i < edges[edge][1]; i++)
                memcpy(to + r * row_step + i * size, from + r * column_step + i * step, size);
    }
    _mm_sfence();
}

/* Copy the first operand to the last one, of items of a size, if that is a transposing copy; whether it was. A size of
 * 0 is that of what is not to be copied past the caches. */
static int transpose(geometry *g, int64_t size)
{
    const int out = g->n_operands - 1;
    if (size == 0)
        return 0;
    normalise(g, out);
    const int inner = g->ndim - 1, dim = g->ndim > 1 ? transposed_dim(g) : -1;
    if (dim < 0 || size > 16 || (size & (size - 1)) || STRIDES(g, inner)[out] != size
        || g->shape[inner] * size < 2 * LINE || (intptr_t)g->base[out] % size)
        return 0;
    for (int d = 0; d < inner; d++)
        if (STRIDES(g, d)[out] % size)
            return 0;
    geometry matrices;
    copy_geometry(&matrices, g);
    for (int d = dim; d < inner - 1; d++)
        move_dim(&matrices, d, g, d + 1);
    move_dim(&matrices, inner - 1, g, dim);
    const int64_t rows = count(g, inner), in_one = g->shape[dim];
    #pragma omp parallel num_threads(team_for(rows * g->shape[inner]))
    {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t end = cut(rows, t + 1, team);
        for (int64_t begin = cut(rows, t, team), stop; begin < end; begin = stop) {
            const int64_t matrix = begin / in_one, first = matrix * in_one;
            char *p[MAX_OPERANDS];
            stop = MIN(first + in_one, end);
            locate(&matrices, inner - 1, matrix, p);
            transpose_rows(&matrices, size, p[out], p[0], begin - first, stop - first);
        }
    }
    return 1;
}
#else
static int transpose(geometry *g, int64_t size)
{
    return 0;
}
#endif
