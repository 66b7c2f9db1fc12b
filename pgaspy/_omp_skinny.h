/*
 * Products of a matrix with few columns, C = beta C + alpha A B, where the rows of A are contiguous: it passes through
 * once, while BLAS packs it first. Each element is summed in an order that follows from the shapes, and from the machine
 * that this is compiled for, not from the threads.
 */
#ifdef __AVX512F__
#define VECTOR_BYTES 64
#define SEVERAL 4                   /* rows that share what is loaded, as many as there are registers for */
#else
#define VECTOR_BYTES 32
#define SEVERAL 2
#endif
#define FEW_COLUMNS 4               /* at most */
#define PRODUCT_BYTES (1 << 17)     /* of B that all rows are multiplied by, before the rest is: it stays in the cache */

/* C has rows and columns, with these strides in bytes; those of A, and the columns of B, are contiguous. */
typedef struct {
    int64_t n_rows, n_inner, n_columns;
    const char *a, *b;
    char *c;
    int64_t a_stride, c_row_stride, c_column_stride;
    double alpha, beta;
} skinny;

/* Anywhere in memory. */
typedef double vector_double __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef float vector_float __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

/* The products of some rows and columns, which are so many items apart. */
#define SUMS_OF(type, words, n_rows, n_columns) \
static void sums_of_##words##_##n_columns##_##type(const type *a, int64_t a_step, const type *b, int64_t b_step, \
                                                   int64_t length, type sums[][FEW_COLUMNS]) \
{ \
    enum { ITEMS = sizeof(vector_##type) / sizeof(type) }; \
    vector_##type lanes[n_rows][n_columns] = {{{0}}}; \
    int64_t i = 0; \
    for (; i + ITEMS <= length; i += ITEMS) { \
        vector_##type columns[n_columns]; \
        for (int column = 0; column < n_columns; column++) \
            columns[column] = *(const vector_##type *)(b + column * b_step + i); \
        for (int row = 0; row < n_rows; row++) { \
            const vector_##type items = *(const vector_##type *)(a + row * a_step + i); \
            for (int column = 0; column < n_columns; column++) \
                lanes[row][column] += items * columns[column]; \
        } \
    } \
    for (int row = 0; row < n_rows; row++) \
        for (int column = 0; column < n_columns; column++) { \
            type sum = 0; \
            for (int lane = 0; lane < ITEMS; lane++) \
                sum += lanes[row][column][lane]; \
            for (int64_t k = i; k < length; k++) \
                sum += a[row * a_step + k] * b[column * b_step + k]; \
            sums[row][column] = sum; \
        } \
}

#define SKINNY(type) \
SUMS_OF(type, one, 1, 1) \
SUMS_OF(type, one, 1, 2) \
SUMS_OF(type, one, 1, 3) \
SUMS_OF(type, one, 1, 4) \
SUMS_OF(type, several, SEVERAL, 1) \
SUMS_OF(type, several, SEVERAL, 2) \
SUMS_OF(type, several, SEVERAL, 3) \
SUMS_OF(type, several, SEVERAL, 4) \
\
/* Rows [begin, end) of the product. */ \
static void skinny_##type(const skinny *s, int64_t begin, int64_t end) \
{ \
    static void (*const sums_of[2][FEW_COLUMNS])(const type *, int64_t, const type *, int64_t, int64_t, \
                                                 type [][FEW_COLUMNS]) = { \
        {sums_of_one_1_##type, sums_of_one_2_##type, sums_of_one_3_##type, sums_of_one_4_##type}, \
        {sums_of_several_1_##type, sums_of_several_2_##type, sums_of_several_3_##type, \
         sums_of_several_4_##type}}; \
    const type alpha = (type)s->alpha, beta = (type)s->beta; \
    const int64_t size = sizeof(type), n_columns = s->n_columns; \
    const int64_t most = PRODUCT_BYTES / n_columns / VECTOR_BYTES * VECTOR_BYTES / size; \
    for (int64_t first = 0; first < s->n_inner; first += most) \
        for (int64_t row = begin, rows; row < end; row += rows) { \
            const type *const a = (const type *)(s->a + row * s->a_stride) + first; \
            const type *const b = (const type *)s->b + first; \
            type sums[SEVERAL][FEW_COLUMNS]; \
            rows = row + SEVERAL <= end ? SEVERAL : 1; \
            sums_of[rows > 1][n_columns - 1](a, s->a_stride / size, b, s->n_inner, MIN(most, s->n_inner - first), \
                                             sums); \
            for (int64_t r = 0; r < rows; r++) \
                for (int64_t k = 0; k < n_columns; k++) { \
                    type *const c = (type *)(s->c + (row + r) * s->c_row_stride + k * s->c_column_stride); \
                    *c = (first ? *c : beta ? beta * *c : 0) + alpha * sums[r][k]; \
                } \
        } \
}
SKINNY(double)
SKINNY(float)

/* The product of matrices of doubles, or floats; rows are dealt out to the threads. */
static void pg_multiply_skinny(int is_double, const int64_t *shape, int64_t a_address, int64_t a_stride,
                               int64_t b_address, int64_t c_address, const int64_t *c_strides, double alpha,
                               double beta)
{
    const skinny s = {shape[0], shape[1], shape[2], (const char *)a_address, (const char *)b_address, (char *)c_address,
                      a_stride, c_strides[0], c_strides[1], alpha, beta};
    const int64_t work = s.n_rows * s.n_inner;
    const int team = begin_team(work);
    #pragma omp parallel num_threads(team)
    {
        const int64_t t = omp_get_thread_num(), n = omp_get_num_threads();
        (is_double ? skinny_double : skinny_float)(&s, s.n_rows * t / n, s.n_rows * (t + 1) / n);
        end_part();
    }
    end_team(team, work);
}
