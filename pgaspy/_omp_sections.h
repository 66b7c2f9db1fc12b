/*
 * A section is a product of dimensions, each a list of ranges. Two sides describe where its elements
 * lie: by the ranges' own or other start and step, or packed, at the running position. A side is
 * (base, strides); it need not be memory: for random numbers one side is the elements' flat index.
 */
enum { OWN, OTHER, PACKED };
enum { LENGTH = 4, COLUMNS = 5 };

typedef struct {
    int64_t m;
    const int64_t *ranges;
    int64_t length;         /* of all ranges */
    int64_t stride[2];
} section_dim;

typedef struct {
    int ndim;
    int which[2];
    char *base[2];
    section_dim dim[MAX_DIMS];
} section;

/* A position in one dimension: element k of range r, and how many elements came before the range. */
typedef struct {
    int64_t r, k, before;
} position;

static int64_t range_start(const section *s, const section_dim *d, int side, int64_t r, int64_t before)
{
    return s->which[side] == PACKED ? before : d->ranges[r * COLUMNS + 2 * s->which[side]];
}

static int64_t range_step(const section *s, const section_dim *d, int side, int64_t r)
{
    return s->which[side] == PACKED ? 1 : d->ranges[r * COLUMNS + 2 * s->which[side] + 1];
}

static int64_t offset(const section *s, const section_dim *d, int side, const position *at)
{
    return d->stride[side]
        * (range_start(s, d, side, at->r, at->before) + at->k * range_step(s, d, side, at->r));
}

/* Move n elements on, n at most to the end of the range; false when that is the dimension's end. */
static int forward(const section_dim *d, position *at, int64_t n)
{
    at->k += n;
    while (at->r < d->m && at->k >= d->ranges[at->r * COLUMNS + LENGTH]) {
        at->before += d->ranges[at->r * COLUMNS + LENGTH];
        at->k -= d->ranges[at->r++ * COLUMNS + LENGTH];
    }
    return at->r < d->m;
}

/* Run the loop over elements [begin, end) of the section, one range or part of a range at a time. */
static void for_each_row(const section *s, loop_fn *loop, char *context, int64_t begin, int64_t end)
{
    const int inner = s->ndim - 1;
    const section_dim *last = &s->dim[inner];
    position at[MAX_DIMS];
    char *row[2][MAX_DIMS + 1];     /* the address that dimensions 0..d-1 determine */
    char *p[3] = {NULL, context, NULL};
    int64_t strides[3] = {0};
    int64_t index = begin;
    for (int d = inner; d >= 0; d--) {
        at[d] = (position){0};
        forward(&s->dim[d], &at[d], index % s->dim[d].length);
        index /= s->dim[d].length;
    }
    row[0][0] = s->base[0];
    row[1][0] = s->base[1];
    for (int changed = 0; begin < end;) {
        for (int d = changed; d < inner; d++)
            for (int side = 0; side < 2; side++)
                row[side][d + 1] = row[side][d] + offset(s, &s->dim[d], side, &at[d]);
        position *const a = &at[inner];
        int more = 1;
        while (more && begin < end) {
            const int64_t n = MIN(last->ranges[a->r * COLUMNS + LENGTH] - a->k, end - begin);
            for (int side = 0; side < 2; side++) {
                p[2 * side] = row[side][inner] + offset(s, last, side, a);
                strides[2 * side] = range_step(s, last, side, a->r) * last->stride[side];
            }
            loop(n, p, strides);
            begin += n;
            more = forward(last, a, n);
        }
        for (changed = inner; !more && changed > 0;) {
            at[changed] = (position){0};
            forward(&s->dim[changed], &at[changed], 0);
            changed--;
            more = forward(&s->dim[changed], &at[changed], 1);
        }
    }
}

/* One range of each dimension: a geometry like any other. */
static void describe_box(const section *s, const position at[], void *context, geometry *g)
{
    g->n_operands = 3;
    g->ndim = s->ndim;
    g->base[1] = context;
    for (int side = 0; side < 2; side++)
        g->base[2 * side] = s->base[side];
    for (int d = 0; d < s->ndim; d++) {
        const section_dim *dim = &s->dim[d];
        g->shape[d] = dim->ranges[at[d].r * COLUMNS + LENGTH];
        for (int side = 0; side < 2; side++) {
            g->base[2 * side] += range_start(s, dim, side, at[d].r, at[d].before) * dim->stride[side];
            STRIDES(g, d)[2 * side] = range_step(s, dim, side, at[d].r) * dim->stride[side];
        }
        STRIDES(g, d)[1] = 0;
    }
}

/* Go on to the next box; false after the last one. */
static int next_box(const section *s, position at[])
{
    for (int d = s->ndim - 1; d >= 0; d--) {
        if (forward(&s->dim[d], &at[d], s->dim[d].ranges[at[d].r * COLUMNS + LENGTH]))
            return 1;
        at[d] = (position){0};
        forward(&s->dim[d], &at[d], 0);
    }
    return 0;
}

/*
 * Apply a loop of the operands (side 0, context, side 1) to a section. Where the loop copies items, that is their size;
 * else it is 0. A section of few and large boxes is taken box by box: its rows may be short, as those of a roll along a
 * short dimension.
 */
#define MOST_BOXES 8
#define LARGE_BOX 1024
static void for_each_in_section(section *s, loop_fn *loop, void *context, int cost, int64_t copied_size)
{
    int64_t n = 1, n_boxes = 1;
    for (int d = 0; d < s->ndim; d++) {
        n_boxes = MIN(n_boxes * s->dim[d].m, MOST_BOXES + 1);
        n *= s->dim[d].length;
    }
    if (n == 0)
        return;
    if (n_boxes == 1 || (n_boxes <= MOST_BOXES && n >= n_boxes * LARGE_BOX)) {
        position at[MAX_DIMS];
        for (int d = 0; d < s->ndim; d++) {
            at[d] = (position){0};
            forward(&s->dim[d], &at[d], 0);
        }
        do {
            geometry g;
            describe_box(s, at, context, &g);
            if (!transpose(&g, copied_size))
                for_each(loop, &g, (packable){0}, cost);
        } while (next_box(s, at));
        return;
    }
    const int team = begin_team(n * cost);
    #pragma omp parallel num_threads(team) if (team > 1)
    {
        const int t = omp_get_thread_num(), parts = omp_get_num_threads();
        for_each_row(s, loop, context, cut(n, t, parts), cut(n, t + 1, parts));
        end_part();
    }
    end_team(team, n * cost);
}

static void describe_section(section *s, int ndim, const int64_t *n_ranges,
                             const int64_t *const *ranges, int64_t address0, const int64_t *strides0,
                             int which0, int64_t address1, const int64_t *strides1, int which1)
{
    s->ndim = ndim;
    s->base[0] = (char *)address0;
    s->base[1] = (char *)address1;
    s->which[0] = which0;
    s->which[1] = which1;
    for (int d = 0; d < ndim; d++) {
        section_dim *dim = &s->dim[d];
        *dim = (section_dim){n_ranges[d], ranges[d], 0, {strides0[d], strides1[d]}};
        for (int64_t r = 0; r < dim->m; r++)
            dim->length += dim->ranges[r * COLUMNS + LENGTH];
    }
}
