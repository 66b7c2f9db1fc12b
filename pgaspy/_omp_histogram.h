/*
 * Histograms: how many elements fall into each bin, or the sum of their weights. Elements are dealt
 * out in chunks whose number follows from that of the elements and of the bins alone, so that sums do
 * not depend on the threads.
 */
#define MAX_CHUNKS 16

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

/*
 * Count elements [begin, end) into `counts`, or sum their weights into `sums`: of integers, which are
 * bins themselves, or of numbers.
 */
static void count_chunk(const bins *b, const int64_t *integers, const double *numbers,
                        const double *weights, int64_t begin, int64_t end, int64_t *counts,
                        double *sums)
{
    for (int64_t i = begin; i < end; i++) {
        const int64_t k = integers ? integers[i] : bin_of(numbers[i], b);
        if (k < 0)
            continue;
        if (weights)
            sums[k] += weights[i];
        else
            counts[k]++;
    }
}

/*
 * Count n elements into n_bins, or sum their weights: `found` are n_bins integers, or doubles where
 * there are weights. Integers are in [0, n_bins). Returns 0, or -1 if there is no memory.
 */
static int pg_histogram(int64_t n, int64_t integers_address, int64_t numbers_address,
                        int64_t weights_address, int64_t n_bins, int is_uniform,
                        int64_t edges_address, int64_t found_address)
{
    const int64_t *integers = (const int64_t *)integers_address;
    const double *numbers = (const double *)numbers_address, *edges = (const double *)edges_address;
    const double *weights = (const double *)weights_address;
    bins b = {n_bins, is_uniform, edges ? edges[0] : 0, edges ? edges[n_bins] : 0, edges, 0, 0, NULL};
    const int chunks = (int)MAX(MIN(MIN(n / GRAIN, n / (4 * MAX(n_bins, 1))), MAX_CHUNKS), 1);
    char *parts = calloc((size_t)(chunks * n_bins) + 1, 8);
    if (!parts)
        return -1;
    if (edges && !is_uniform)
        make_cells(&b);
    #pragma omp parallel for schedule(static) num_threads(MIN(team_for(n), chunks))
    for (int c = 0; c < chunks; c++) {
        char *part = parts + c * n_bins * 8;
        count_chunk(&b, integers, numbers, weights, n / chunks * c,
                    c == chunks - 1 ? n : n / chunks * (c + 1), (int64_t *)part, (double *)part);
    }
    for (int64_t k = 0; k < n_bins; k++) {
        int64_t count = 0;
        double sum = 0;
        for (int c = 0; c < chunks; c++) {
            count += ((int64_t *)parts)[c * n_bins + k];
            sum += weights ? ((double *)parts)[c * n_bins + k] : 0;
        }
        if (weights)
            ((double *)found_address)[k] = sum;
        else
            ((int64_t *)found_address)[k] = count;
    }
    free(b.n_edges);
    free(parts);
    return 0;
}
