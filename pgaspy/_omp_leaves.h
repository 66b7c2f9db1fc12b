/*
 * The leaves of a reduction, which is a tree over them: LEAF elements of a row, or of short rows joined,
 * when it runs along memory, LEAF_ROWS rows of elements that reduce to a row when it runs across. Leaves i
 * and i+1, i even, are merged, then pairs of leaves, and so on. The tree belongs to the shape. Chunks of
 * 2**k leaves are whole subtrees of it, so chunks, and the threads they go to, do not show in the result.
 */
#define SHORT_ROW (LEAF / 2)
#define LEAF_ROWS 16
#define MAX_WIDTH 8192      /* results reduced side by side across memory: they fit in the L2 cache */
#define SIDE_BY_SIDE 2048   /* elements of short rows whose results are made side by side: they fit in the L1 cache */
#define ACROSS_FROM 16      /* so many results next to each other are reduced across */

/* What is reduced to one result, in leaves of `rows` elements at most: the same number in each stretch. */
typedef struct {
    int64_t stretch, n_of_stretch, rows, n_leaves;
} division;

/* Of n elements, in rows of `extent` elements. */
static division divide(int across, int64_t n, int64_t extent)
{
    const int64_t stretch = across || extent < SHORT_ROW ? MAX(n, 1) : extent;
    const int64_t rows = across ? LEAF_ROWS : LEAF, n_of_stretch = (stretch + rows - 1) / rows;
    return (division){stretch, n_of_stretch, rows, n / stretch * n_of_stretch};
}

static int64_t leaf_begin(const division *d, int64_t leaf)
{
    return leaf / d->n_of_stretch * d->stretch + leaf % d->n_of_stretch * d->rows;
}

static int64_t leaf_end(const division *d, int64_t leaf)
{
    return leaf / d->n_of_stretch * d->stretch + MIN((leaf % d->n_of_stretch + 1) * d->rows, d->stretch);
}

/* The leaf that element i belongs to. */
static int64_t leaf_of(const division *d, int64_t i)
{
    return i / d->stretch * d->n_of_stretch + i % d->stretch / d->rows;
}
