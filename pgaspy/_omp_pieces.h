/*
 * Programs whose last outputs are reduced, over dimensions next to each other: as an array of
 * outer * reduced * width elements, of which the middle ones are reduced. It is computed in pieces,
 * each a box of these three. What is reduced is never stored, but its tree is that of pg_reduce on
 * the array in memory: rows of at least ACROSS_FROM results are reduced across, others along.
 *
 * The results of a leaf are `width` items; those of all leaves are an array of (outer, n_leaves,
 * width). A leaf that lies in one piece is reduced at once; of one that does not, which belongs to the
 * only outer index, the elements are kept, in a slot of its size, until all pieces are there. In a
 * slot, results that are reduced along have their elements next to each other.
 */
typedef struct {
    int64_t outer, reduced, width;
    int across;
    division of;            /* each result's */
} pg_leaves;

/* `extent` is that of the innermost dimension of more than one element that is reduced. */
static void pg_leaves_init(pg_leaves *t, int64_t outer, int64_t reduced, int64_t extent, int64_t width)
{
    const int across = width >= ACROSS_FROM;
    *t = (pg_leaves){outer, reduced, width, across, divide(across, reduced, extent)};
}

/*
 * A piece is computed in units: a leaf of one outer index, or what the piece has of it, in a tile of
 * results, a single one if they are reduced along. They are numbered as (outer, leaf, tile).
 */
typedef struct {
    pg_leaves whole;
    int64_t outer, row, column;             /* where it begins */
    int64_t n_outer, n_rows, n_columns;
    int64_t first_leaf, n_leaves, tile, n_tiles, n_units;
    int64_t head, tail;     /* leaves that belong to other pieces as well, or -1 */
    int is_short;           /* results of fewer elements than a leaf has lanes, next to each other */
} pg_piece;

static void pg_piece_init(pg_piece *p, const pg_leaves *whole, const int64_t *first,
                          const int64_t *extents)
{
    *p = (pg_piece){.whole = *whole, .outer = first[0], .row = first[1], .column = first[2],
                    .n_outer = extents[0], .n_rows = extents[1], .n_columns = extents[2],
                    .tile = 1, .head = -1, .tail = -1};
    const int64_t end = p->row + p->n_rows;
    if (p->n_outer * p->n_rows * p->n_columns == 0)
        return;
    p->n_tiles = p->n_columns;
    if (whole->across) {
        p->n_tiles = (p->n_columns + MAX_WIDTH - 1) / MAX_WIDTH;
        p->tile = (p->n_columns + p->n_tiles - 1) / p->n_tiles;
    }
    const int64_t last = leaf_of(&whole->of, end - 1);
    p->first_leaf = leaf_of(&whole->of, p->row);
    p->n_leaves = last + 1 - p->first_leaf;
    p->n_units = p->n_outer * p->n_leaves * p->n_tiles;
    if (p->row != leaf_begin(&whole->of, p->first_leaf))
        p->head = p->first_leaf;
    if (end != leaf_end(&whole->of, last) && last != p->head)
        p->tail = last;
    p->is_short = !whole->across && whole->reduced < LANES && p->n_rows == whole->reduced
        && p->n_columns == whole->width;
}

typedef struct {
    int64_t number, outer, leaf, tile;
    int64_t row, n_rows, column, n_columns; /* in the whole array */
} unit;

static void bound_unit(const pg_piece *p, unit *u)
{
    u->row = MAX(leaf_begin(&p->whole.of, u->leaf), p->row);
    u->n_rows = MIN(leaf_end(&p->whole.of, u->leaf), p->row + p->n_rows) - u->row;
    u->column = p->column + u->tile * p->tile;
    u->n_columns = MIN(p->tile, p->column + p->n_columns - u->column);
}

static unit find_unit(const pg_piece *p, int64_t number)
{
    const int64_t row = number / p->n_tiles;
    unit u = {.number = number, .outer = p->outer + row / p->n_leaves, .leaf = p->first_leaf + row % p->n_leaves,
              .tile = number % p->n_tiles};
    bound_unit(p, &u);
    return u;
}

static void next_unit(const pg_piece *p, unit *u)
{
    u->number++;
    if (++u->tile == p->n_tiles) {
        u->tile = 0;
        if (++u->leaf == p->first_leaf + p->n_leaves) {
            u->leaf = p->first_leaf;
            u->outer++;
        }
    }
    bound_unit(p, u);
}

/*
 * The number of a unit's first element in the piece. They are numbered in row-major order; but for
 * results that are reduced along, the elements of each come one after the other.
 */
static int64_t first_element(const pg_piece *p, const unit *u)
{
    const int64_t outer = u->outer - p->outer, row = u->row - p->row, column = u->column - p->column;
    return p->whole.across ? (outer * p->n_rows + row) * p->n_columns + column
                           : (outer * p->n_columns + column) * p->n_rows + row;
}

/* The address of one result of a leaf. */
static char *leaf_result(const pg_leaves *t, int64_t leaves, int64_t size, int64_t outer,
                         int64_t leaf, int64_t column)
{
    return (char *)leaves + ((outer * t->of.n_leaves + leaf) * t->width + column) * size;
}
