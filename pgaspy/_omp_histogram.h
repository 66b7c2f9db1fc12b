/*
 * Histograms: how many elements fall into each bin, or the sum of their weights. Elements are dealt
 * out in chunks whose number follows from that of the elements and of the bins alone, so that sums do
 * not depend on the threads.
 */
#define MAX_CHUNKS 16
#define ROWS 4              /* chunks that a thread counts together, */
#define MAX_ROW_BINS 512    /* if they have no more bins than this, so that their counts stay in the L1 cache */

typedef struct {
    int64_t n_bins;
    int is_uniform;
    double first, last;
    const double *edges;    /* n_bins + 1 of them */
    int64_t n_cells;        /* of one width, between the first and the last edge; 0: none */
    double cells_per_unit;
    int32_t *n_edges;       /* per cell and one more: how many left edges lie in those before it */
} bins;

static inline int64_t cell_of(double x, const bins *b)
{
    return MIN((int64_t)((x - b->first) * b->cells_per_unit), b->n_cells - 1);
}

/*
 * The bin of a number, or -1. Of bins of one width it is guessed as NumPy does, and compared with the
 * edges. Else it is searched for among those whose left edge is in the same cell, and the one before:
 * by one comparison, where that cell has no more than one edge.
 */
static inline int64_t bin_of(double x, const bins *b)
{
    if (!(x >= b->first && x <= b->last))
        return -1;
    if (b->is_uniform) {
        int64_t k = (int64_t)((x - b->first) / (b->last - b->first) * (double)b->n_bins);
        k -= k == b->n_bins;
        k -= x < b->edges[k];
        return k + (k != b->n_bins - 1 && x >= b->edges[k + 1]);
    }
    const double *low = b->edges;
    int64_t length = b->n_bins;
    if (b->n_cells) {
        const int64_t c = cell_of(x, b), first = b->n_edges[c];
        if (b->n_edges[c + 1] - first <= 1)
            return MIN(first + (x >= b->edges[first]), b->n_bins) - 1;
        const int64_t before = MAX(first - 1, 0);
        low += before;
        length = b->n_edges[c + 1] - before;
    }
    while (length > 1) {
        const int64_t half = length / 2;
        low += x >= low[half] ? half : 0;
        length -= half;
    }
    return low - b->edges;
}

/* Find how many left edges lie in each cell; there are none where edges are too far apart, or memory short. */
#define CELLS_PER_BIN 4
static void make_cells(bins *b)
{
    const int64_t n_cells = CELLS_PER_BIN * b->n_bins;
    const double cells_per_unit = (double)n_cells / (b->last - b->first);
    if (!(cells_per_unit >= 1e-300 && cells_per_unit <= 1e300) || b->n_bins > INT32_MAX)
        return;
    b->n_edges = calloc((size_t)n_cells + 1, sizeof *b->n_edges);
    if (!b->n_edges)
        return;
    b->n_cells = n_cells;
    b->cells_per_unit = cells_per_unit;
    for (int64_t k = 0; k < b->n_bins; k++)
        b->n_edges[cell_of(b->edges[k], b) + 1]++;
    for (int64_t c = 0; c < n_cells; c++)
        b->n_edges[c + 1] += b->n_edges[c];
}

/* Count numbers [begin, end), or sum their weights. */
static void count_numbers(const bins *b, const double *numbers, const double *weights, int64_t begin, int64_t end,
                          char *table)
{
    for (int64_t i = begin; i < end; i++) {
        const int64_t k = bin_of(numbers[i], b);
        if (k < 0)
            continue;
        if (weights)
            ((double *)table)[k] += weights[i];
        else
            ((int64_t *)table)[k]++;
    }
}

/*
 * Count integers, which are bins themselves, or sum their weights, of as many rows as there are tables: an element of
 * each row after the other, for additions to one number wait for each other. Returns how many bins they need, or
 * INT64_MAX if any is negative; those beyond n_bins are not counted.
 */
static inline __attribute__((always_inline)) int64_t count_rows(int n_rows, int64_t n_bins, const int64_t *integers,
    const double *weights, int64_t n, int64_t row_stride, char *const *tables)
{
    int64_t n_needed = n_bins;
    for (int64_t i = 0; i < n; i++)
        for (int row = 0; row < n_rows; row++) {
            const int64_t at = i + row * row_stride, k = integers[at];
            if ((uint64_t)k >= (uint64_t)n_bins)
                n_needed = MAX(n_needed, k < 0 ? INT64_MAX : MIN(k, INT64_MAX - 2) + 1);
            else if (weights)
                ((double *)tables[row])[k] += weights[at];
            else
                ((int64_t *)tables[row])[k]++;
        }
    return n_needed;
}

static int64_t count_integers(int n_rows, int64_t n_bins, const int64_t *integers, const double *weights, int64_t n,
                              int64_t row_stride, char *const *tables)
{
#define COUNT(n_rows) (weights ? count_rows(n_rows, n_bins, integers, weights, n, row_stride, tables) \
                               : count_rows(n_rows, n_bins, integers, NULL, n, row_stride, tables))
    return n_rows == 1 ? COUNT(1) : n_rows == ROWS ? COUNT(ROWS) : COUNT(n_rows);
#undef COUNT
}

static void add_counts(int64_t n_bins, int are_sums, char *to, const char *from)
{
    if (are_sums)
        for (int64_t k = 0; k < n_bins; k++)
            ((double *)to)[k] += ((const double *)from)[k];
    else
        for (int64_t k = 0; k < n_bins; k++)
            ((int64_t *)to)[k] += ((const int64_t *)from)[k];
}

/*
 * Count n elements into n_bins, or sum their weights: `found` are n_bins integers, or doubles where
 * there are weights. Returns how many bins the integers need, or INT64_MAX if any is negative; those beyond n_bins are
 * not counted. -1: there is no memory.
 */
static int64_t pg_histogram(int64_t n, int64_t integers_address, int64_t numbers_address,
                        int64_t weights_address, int64_t n_bins, int is_uniform,
                        int64_t edges_address, int64_t found_address)
{
    const int64_t *integers = (const int64_t *)integers_address;
    const double *numbers = (const double *)numbers_address, *edges = (const double *)edges_address;
    const double *weights = (const double *)weights_address;
    bins b = {n_bins, is_uniform, edges ? edges[0] : 0, edges ? edges[n_bins] : 0, edges, 0, 0, NULL};
    const int chunks = (int)MAX(MIN(MIN(n / GRAIN, n / (4 * MAX(n_bins, 1))), MAX_CHUNKS), 1);
    char *parts = calloc((size_t)((chunks - 1) * n_bins) + 1, 8);
    int64_t n_needed = n_bins;
    if (!parts)
        return -1;
    memset((char *)found_address, 0, n_bins * 8);
    if (edges && !is_uniform)
        make_cells(&b);
    const int64_t length = n / chunks;
    const int n_rows = integers && n_bins <= MAX_ROW_BINS ? ROWS : 1;
    #pragma omp parallel for schedule(static) num_threads(MIN(team_for(n), chunks)) reduction(max: n_needed)
    for (int first = 0; first < chunks; first += n_rows) {
        const int stop = MIN(first + n_rows, chunks);
        const int64_t begin = first * length, rest = stop == chunks ? n - chunks * length : 0;
        char *tables[ROWS];
        for (int c = first; c < stop; c++)
            tables[c - first] = c ? parts + (c - 1) * n_bins * 8 : (char *)found_address;
        if (!integers) {
            count_numbers(&b, numbers, weights, begin, begin + length + rest, tables[0]);
            continue;
        }
        const double *own = weights ? weights + begin : NULL;
        int64_t needed = count_integers(stop - first, n_bins, integers + begin, own, length, length, tables);
        n_needed = MAX(n_needed, needed);
        needed = count_integers(1, n_bins, integers + n - rest, weights ? weights + n - rest : NULL, rest, 0,
                                tables + stop - first - 1);
        n_needed = MAX(n_needed, needed);
    }
    for (int c = 1; c < chunks; c++)
        add_counts(n_bins, weights != NULL, (char *)found_address, parts + (c - 1) * n_bins * 8);
    free(b.n_edges);
    free(parts);
    return n_needed;
}
