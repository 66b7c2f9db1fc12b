/*
 * Exchanges: items that lie where an array of indices says, on any process.
 *
 * An index counts the items of a section in row-major order; a negative one counts from the end. The
 * dimensions of the section say which process has an item, and where it lies in the memory of this one.
 */
enum { WHOLE, EVEN, CYCLIC };     /* how a dimension is dealt out */

/* Index i of the section is `start + step*i` of the dimension that is dealt out: all of it to one process;
 * `size` elements in even parts; or blocks of `size` in turn, the first of which misses some. In the memory of
 * this process, it lies `local_step` bytes per index (of a cyclic dimension, per local index) from `local_start`. */
typedef struct {
    int64_t extent, kind, start, step, n_procs, size, first_owner, missing, rank_stride, local_start, local_step;
} pg_place;

#define BATCH 512
#define EXACT (INT64_C(1) << 52)    /* below it, quotients of doubles are at most 1 away */

/* The quotient of a number that is not negative; `inverse` is 0 where numbers may be too large for doubles. */
static inline int64_t quotient(int64_t a, int64_t n, double inverse)
{
    if (inverse == 0)
        return a / n;
    const int64_t q = (int64_t)((double)a * inverse);
    const int64_t r = a - q * n;
    return q + (r >= n) - (r < 0);
}

static double inverse_of(int64_t n, int64_t largest)
{
    return largest < EXACT && n > 0 ? 1.0 / (double)n : 0;
}

/* The owners of a batch of indices along a dimension, times the distance of their ranks. */
static void add_owners(const pg_place *d, int64_t n, const int64_t *i, int64_t *rank)
{
    const int64_t start = d->start, step = d->step, procs = d->n_procs, size = d->size, stride = d->rank_stride;
    if (d->kind == EVEN && size < EXACT / procs) {
        const double inverse = inverse_of(size, size * procs);
        for (int64_t k = 0; k < n; k++)
            rank[k] += quotient((start + step * i[k] + 1) * procs - 1, size, inverse) * stride;
    } else if (d->kind == EVEN) {
        for (int64_t k = 0; k < n; k++)
            rank[k] += (int64_t)(((__int128)(start + step * i[k] + 1) * procs - 1) / size) * stride;
    } else if (d->kind == CYCLIC) {
        const int64_t shift = d->missing + d->first_owner * size;
        for (int64_t k = 0; k < n; k++)
            rank[k] += (start + step * i[k] + shift) / size % procs * stride;
    }
}

/* Where a batch of indices along a dimension lies in the memory of this process, which has them. */
static void add_offsets(const pg_place *d, int64_t n, const int64_t *i, int64_t *offset)
{
    const int64_t local_start = d->local_start, local_step = d->local_step;
    if (d->kind != CYCLIC) {
        for (int64_t k = 0; k < n; k++)
            offset[k] += local_start + local_step * i[k];
        return;
    }
    const int64_t size = d->size, procs = d->n_procs, missing = d->missing;
    for (int64_t k = 0; k < n; k++) {
        const int64_t index = d->start + d->step * i[k];
        const int64_t part = (index + missing) / size, round = part / procs;
        offset[k] += local_start + (index + (round - part) * size + (part != round * procs) * missing) * local_step;
    }
}

typedef void add_fn(const pg_place *, int64_t, const int64_t *, int64_t *);

/* What `add` finds of a batch of indices, which are overwritten. */
static void add_all(int ndim, const pg_place *places, add_fn *add, int64_t first, int64_t n, int64_t *indices,
                   int64_t largest, int64_t *found)
{
    int64_t along[BATCH];
    for (int64_t k = 0; k < n; k++)
        found[k] = first;
    for (int d = ndim - 1; d > 0; d--) {
        const int64_t extent = places[d].extent;
        const double inverse = inverse_of(extent, largest);
        for (int64_t k = 0; k < n; k++) {
            const int64_t rest = quotient(indices[k], extent, inverse);
            along[k] = indices[k] - rest * extent;
            indices[k] = rest;
        }
        add(&places[d], n, along, found);
    }
    if (ndim)
        add(&places[0], n, indices, found);
}

/* A batch of indices, as numbers that are not negative. */
static void load_indices(int64_t n, const void *indices, int width, int64_t total, int64_t *loaded)
{
    if (width == 4)
        for (int64_t k = 0; k < n; k++)
            loaded[k] = ((const uint32_t *)indices)[k];
    else
        for (int64_t k = 0; k < n; k++) {
            const int64_t i = ((const int64_t *)indices)[k];
            loaded[k] = i + (i < 0 ? total : 0);
        }
}

/* The position of the first index that is not within [-total, total); -1 if there is none. */
static int64_t pg_find_beyond(int64_t n, int64_t address, int64_t total)
{
    const int64_t *indices = (const int64_t *)address;
    int64_t found = INT64_MAX;
    #pragma omp parallel for schedule(static) num_threads(team_for(n)) reduction(min: found)
    for (int64_t batch = 0; batch < (n + BATCH - 1) / BATCH; batch++) {
        const int64_t k = batch * BATCH, end = k + BATCH < n ? k + BATCH : n;
        int is_any = 0;
        for (int64_t j = k; j < end; j++)
            is_any |= (indices[j] >= total) | (indices[j] < -total);
        for (int64_t j = k; is_any && j < end; j++)
            if (indices[j] >= total || indices[j] < -total)
                found = j < found ? j : found;
    }
    return found == INT64_MAX ? -1 : found;
}

/* Sort indices by their owners, stably: how many each has; the positions in that order; and the indices, of
 * 4 or 8 bytes. Returns 0, or -1 where there is no memory for the counts. */
static int pg_bucket(int ndim, const pg_place *places, int64_t first_rank, int64_t n, int64_t indices_address,
                     int64_t total, int64_t n_ranks, int64_t *counts, int64_t positions_address,
                     int64_t wanted_address, int width)
{
    const int64_t *indices = (const int64_t *)indices_address;
    uint32_t *positions = (uint32_t *)positions_address;
    const int team = team_for(4 * n);
    int64_t *next = calloc(team * n_ranks, sizeof *next);
    uint32_t *owners = malloc((n + 1) * sizeof *owners);
    if (!next || !owners) {
        free(next);
        free(owners);
        return -1;
    }
    #pragma omp parallel num_threads(team)
    {
        #pragma omp for schedule(static, 1)
        for (int t = 0; t < team; t++) {
            int64_t *mine = next + t * n_ranks, loaded[BATCH], rank[BATCH];
            const int64_t stop = cut(n, t + 1, team);
            for (int64_t k = cut(n, t, team); k < stop; k += BATCH) {
                const int64_t m = k + BATCH < stop ? BATCH : stop - k;
                load_indices(m, indices + k, 8, total, loaded);
                add_all(ndim, places, add_owners, first_rank, m, loaded, total, rank);
                for (int64_t j = 0; j < m; j++) {
                    owners[k + j] = (uint32_t)rank[j];
                    mine[rank[j]]++;
                }
            }
        }
        #pragma omp single
        for (int64_t r = 0, at = 0; r < n_ranks; r++) {
            const int64_t start = at;
            for (int t = 0; t < team; t++) {
                const int64_t count = next[t * n_ranks + r];
                next[t * n_ranks + r] = at;
                at += count;
            }
            counts[r] = at - start;
        }
        #pragma omp for schedule(static, 1)
        for (int t = 0; t < team; t++) {
            int64_t *mine = next + t * n_ranks;
            const int64_t stop = cut(n, t + 1, team);
            for (int64_t k = cut(n, t, team); k < stop; k++) {
                const int64_t at = mine[owners[k]]++;
                const int64_t index = indices[k] + (indices[k] < 0 ? total : 0);
                positions[at] = (uint32_t)k;
                if (width == 4)
                    ((uint32_t *)wanted_address)[at] = (uint32_t)index;
                else
                    ((int64_t *)wanted_address)[at] = index;
            }
        }
    }
    free(next);
    free(owners);
    return 0;
}

/* Whether some indices are those that pg_bucket has sorted. */
static int pg_is_sorted(int64_t n, int64_t indices_address, int64_t total, int64_t positions_address,
                        int64_t wanted_address, int width)
{
    const int64_t *indices = (const int64_t *)indices_address;
    const uint32_t *positions = (const uint32_t *)positions_address;
    const int64_t n_batches = (n + BATCH - 1) / BATCH;
    int differs = 0;
    #pragma omp parallel num_threads(team_for(n))
    {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        int is_known = 0;
        for (int64_t batch = n_batches * t / team; batch < n_batches * (t + 1) / team && !is_known; batch++) {
            int64_t wanted[BATCH], k = batch * BATCH, found = 0;
            const int64_t m = MIN(BATCH, n - k);
            load_indices(m, (const char *)wanted_address + k * width, width, total, wanted);
            for (int64_t j = 0; j < m; j++) {
                const int64_t i = indices[positions[k + j]];
                found |= (i + (i < 0 ? total : 0)) ^ wanted[j];
            }
            if (found) {
                #pragma omp atomic write
                differs = 1;
            }
            #pragma omp atomic read
            is_known = differs;
        }
    }
    return !differs;
}

/* One item for each of a batch, from and to where two arrays say, or one after the other where one is NULL; `size` is 0
 * where it is no literal. */
static inline __attribute__((always_inline)) void move_items(int64_t n, int64_t size, int64_t itemsize,
    char *to, const int64_t *to_offsets, const char *from, const int64_t *from_offsets)
{
    const int64_t step = size ? size : itemsize;
    if (!to_offsets)
        for (int64_t k = 0; k < n; k++)
            memcpy(to + k * step, from + from_offsets[k], step);
    else if (!from_offsets)
        for (int64_t k = 0; k < n; k++)
            memcpy(to + to_offsets[k], from + k * step, step);
    else
        for (int64_t k = 0; k < n; k++)
            memcpy(to + to_offsets[k], from + from_offsets[k], step);
}

static void move_batch(int64_t n, int64_t itemsize, char *to, const int64_t *to_offsets, const char *from,
                       const int64_t *from_offsets)
{
    switch (itemsize) {
    case 1: move_items(n, 1, itemsize, to, to_offsets, from, from_offsets); break;
    case 2: move_items(n, 2, itemsize, to, to_offsets, from, from_offsets); break;
    case 4: move_items(n, 4, itemsize, to, to_offsets, from, from_offsets); break;
    case 8: move_items(n, 8, itemsize, to, to_offsets, from, from_offsets); break;
    case 16: move_items(n, 16, itemsize, to, to_offsets, from, from_offsets); break;
    default: move_items(n, 0, itemsize, to, to_offsets, from, from_offsets);
    }
}

/* Where items are that have these positions in a packed array. */
static void packed_offsets(int64_t n, int64_t itemsize, const uint32_t *positions, int64_t *offsets)
{
    for (int64_t k = 0; k < n; k++)
        offsets[k] = positions[k] * itemsize;
}

static void indexed_offsets(int ndim, const pg_place *places, int64_t first, int64_t k, int64_t n, int64_t address,
                            int width, int64_t total, int64_t *offsets)
{
    int64_t loaded[BATCH];
    load_indices(n, (const char *)address + k * width, width, total, loaded);
    add_all(ndim, places, add_offsets, first, n, loaded, total, offsets);
}

/* Copy the items of a batch that lie `step` bytes from each other, one after the other; whether all are there. */
static inline __attribute__((always_inline)) int take_items(int64_t n, int64_t size, char *to, const char *from,
                                                            int64_t step, const int64_t *indices, int64_t total)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = indices[k] + (indices[k] < 0 ? total : 0);
        if ((uint64_t)i >= (uint64_t)total)
            return 0;
        memcpy(to + k * size, from + step * i, size);
    }
    return 1;
}

static int take_batch(int64_t n, int64_t itemsize, char *to, const char *from, int64_t step, const int64_t *indices,
                      int64_t total)
{
    switch (itemsize) {
    case 1: return take_items(n, 1, to, from, step, indices, total);
    case 2: return take_items(n, 2, to, from, step, indices, total);
    case 4: return take_items(n, 4, to, from, step, indices, total);
    case 8: return take_items(n, 8, to, from, step, indices, total);
    case 16: return take_items(n, 16, to, from, step, indices, total);
    default: return take_items(n, itemsize, to, from, step, indices, total);
    }
}

/*
 * packed[k] = memory[indices[k]], for indices of a section that lies in this memory; those beyond it are found on the
 * way. Returns the position of the first one, or -1 if there is none.
 */
static int64_t pg_take_checked(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t address,
                               int64_t total, int64_t itemsize, int64_t memory_address, int64_t packed_address)
{
    const int64_t *indices = (const int64_t *)address;
    const int past_caches = itemsize <= 16 && n * itemsize > PAST_CACHES;
    const int is_even = ndim == 0 || (ndim == 1 && places->kind != CYCLIC);
    const int64_t start = first + (ndim ? places->local_start : 0), step = ndim ? places->local_step : 0;
    int64_t found = INT64_MAX;
    #pragma omp parallel for schedule(static) num_threads(team_for(n * (4 + itemsize / 64))) reduction(min: found)
    for (int64_t batch = 0; batch < (n + BATCH - 1) / BATCH; batch++) {
        const int64_t k = batch * BATCH, m = MIN(BATCH, n - k);
        char items[BATCH * 16], *packed = (char *)packed_address + k * itemsize, *to = past_caches ? items : packed;
        const char *memory = (const char *)memory_address;
        int64_t from[BATCH];
        int is_right = 1;
        if (is_even)
            is_right = take_batch(m, itemsize, to, memory + start, step, indices + k, total);
        else {
            for (int64_t j = 0; j < m; j++)
                is_right &= (indices[k + j] < total) & (indices[k + j] >= -total);
            if (is_right) {
                indexed_offsets(ndim, places, first, k, m, address, 8, total, from);
                move_batch(m, itemsize, to, NULL, memory, from);
            }
        }
        for (int64_t j = k; !is_right && j < k + m; j++)
            if (indices[j] >= total || indices[j] < -total)
                found = MIN(found, j);
        if (past_caches)
            stream_bytes(packed, items, m * itemsize);
    }
    return found == INT64_MAX ? -1 : found;
}

/* packed[k], or packed[positions[k]], = memory[indices[k]]. */
static void pg_take(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t indices_address, int width,
                    int64_t total, int64_t itemsize, int64_t memory_address, int64_t packed_address,
                    int64_t positions_address)
{
    const int past_caches = itemsize <= 16 && n * itemsize > PAST_CACHES;
    #pragma omp parallel for schedule(static) num_threads(team_for(n * (4 + itemsize / 64)))
    for (int64_t batch = 0; batch < (n + BATCH - 1) / BATCH; batch++) {
        int64_t from[BATCH], to[BATCH], k = batch * BATCH;
        const int64_t m = MIN(BATCH, n - k);
        const char *memory = (const char *)memory_address;
        char *packed = (char *)packed_address;
        indexed_offsets(ndim, places, first, k, m, indices_address, width, total, from);
        if (positions_address) {
            packed_offsets(m, itemsize, (const uint32_t *)positions_address + k, to);
            move_batch(m, itemsize, packed, to, memory, from);
        } else if (past_caches) {
            char items[BATCH * 16];
            move_batch(m, itemsize, items, NULL, memory, from);
            stream_bytes(packed + k * itemsize, items, m * itemsize);
        } else
            move_batch(m, itemsize, packed + k * itemsize, NULL, memory, from);
    }
}

#define STAGE 1024          /* so many batches that threads store in together, the offsets of which they have in common */

typedef struct {
    int64_t low, high;
} bounds;

static bounds bounds_of(int64_t n, const int64_t *offsets)
{
    bounds found = {INT64_MAX, INT64_MIN};
    for (int64_t k = 0; k < n; k++) {
        found.low = MIN(found.low, offsets[k]);
        found.high = MAX(found.high, offsets[k]);
    }
    return found;
}

/* Store those of a batch whose offsets are within [low, high), in their order: each from its position, if these are
 * given, or one after the other. */
static void put_batch(int64_t n, int64_t itemsize, char *memory, const int64_t *offsets, bounds theirs, int64_t low,
                      int64_t high, const char *packed, int64_t packed_step, const uint32_t *positions)
{
    int64_t from[BATCH], to[BATCH], kept = 0;
    if (theirs.high < low || theirs.low >= high)
        return;
    if (theirs.low >= low && theirs.high < high && packed_step == itemsize) {
        if (positions)
            packed_offsets(n, itemsize, positions, from);
        move_batch(n, itemsize, memory, offsets, packed, positions ? from : NULL);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        to[kept] = offsets[k];
        from[kept] = (positions ? positions[k] : k) * packed_step;
        kept += (offsets[k] >= low) & (offsets[k] < high);
    }
    move_batch(kept, itemsize, memory, to, packed, from);
}

/* Store all items of pg_put by one thread, in their order. */
static void put_in_order(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t indices_address, int width,
                         int64_t total, int64_t itemsize, char *memory, const char *packed, int64_t packed_step,
                         const uint32_t *positions)
{
    for (int64_t k = 0; k < n; k += BATCH) {
        int64_t to[BATCH], from[BATCH];
        const int64_t m = MIN(BATCH, n - k);
        indexed_offsets(ndim, places, first, k, m, indices_address, width, total, to);
        if (positions)
            packed_offsets(m, packed_step, positions + k, from);
        else
            for (int64_t j = 0; j < m; j++)
                from[j] = (k + j) * packed_step;
        move_batch(m, itemsize, memory, to, packed, from);
    }
}

/* memory[indices[k]] = packed[k], or packed[positions[k]]: of several for one item the last, as each thread stores what
 * is for one part of the memory that a stage is for. A `packed_step` of 0 stores one item everywhere. Returns 0, or -1
 * where there is no memory for the offsets. */
static int pg_put(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t indices_address, int width,
                  int64_t total, int64_t itemsize, int64_t memory_address, int64_t packed_address, int64_t packed_step,
                  int64_t positions_address)
{
    const uint32_t *positions = (const uint32_t *)positions_address;
    const int team = team_for(n * (4 + itemsize / 64));
    if (team == 1) {
        put_in_order(ndim, places, first, n, indices_address, width, total, itemsize, (char *)memory_address,
                     (const char *)packed_address, packed_step, positions);
        return 0;
    }
    const int64_t n_batches = (n + BATCH - 1) / BATCH, stage = MIN(STAGE, n_batches);
    int64_t *offsets = malloc(stage * BATCH * sizeof *offsets);
    bounds *bounds_at = malloc(stage * sizeof *bounds_at);
    const int failed = n && !(offsets && bounds_at);
    #pragma omp parallel num_threads(team) if(!failed)
    for (int64_t start = 0; start < n_batches && !failed; start += stage) {
        const int64_t stop = MIN(start + stage, n_batches);
        #pragma omp for schedule(static)
        for (int64_t b = start; b < stop; b++) {
            int64_t *at = offsets + (b - start) * BATCH;
            const int64_t m = MIN(BATCH, n - b * BATCH);
            indexed_offsets(ndim, places, first, b * BATCH, m, indices_address, width, total, at);
            bounds_at[b - start] = bounds_of(m, at);
        }
        bounds all = bounds_at[0];
        for (int64_t b = 1; b < stop - start; b++) {
            all.low = MIN(all.low, bounds_at[b].low);
            all.high = MAX(all.high, bounds_at[b].high);
        }
        const int t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int64_t part = (all.high - all.low) / n_threads + 1, low = all.low + t * part;
        for (int64_t b = start; b < stop; b++)
            put_batch(MIN(BATCH, n - b * BATCH), itemsize, (char *)memory_address, offsets + (b - start) * BATCH,
                      bounds_at[b - start], low, low + part,
                      (const char *)packed_address + (positions ? 0 : b * BATCH * packed_step), packed_step,
                      positions ? positions + b * BATCH : NULL);
        #pragma omp barrier
    }
    free(offsets);
    free(bounds_at);
    return failed ? -1 : 0;
}

/* to[k] = from[positions[k]]; or to[positions[k]] = from[k], of positions that are all different. */
static void pg_permute(int64_t n, int64_t itemsize, int64_t to_address, int64_t from_address,
                       int64_t positions_address, int packs)
{
    #pragma omp parallel for schedule(static) num_threads(team_for(n * (2 + itemsize / 64)))
    for (int64_t batch = 0; batch < (n + BATCH - 1) / BATCH; batch++) {
        int64_t at[BATCH], k = batch * BATCH, done = k * itemsize;
        const int64_t m = MIN(BATCH, n - k);
        packed_offsets(m, itemsize, (const uint32_t *)positions_address + k, at);
        move_batch(m, itemsize, (char *)to_address + (packs ? done : 0), packs ? NULL : at,
                   (const char *)from_address + (packs ? 0 : done), packs ? at : NULL);
    }
}

/* The offsets in memory, in units of items, which are no less than a byte, of some indices. */
static void pg_locate(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t indices_address, int width,
                      int64_t total, int64_t itemsize, int64_t offsets_address)
{
    #pragma omp parallel for schedule(static) num_threads(team_for(n * 4))
    for (int64_t batch = 0; batch < (n + BATCH - 1) / BATCH; batch++) {
        int64_t *offsets = (int64_t *)offsets_address + batch * BATCH;
        const int64_t k = batch * BATCH, m = k + BATCH < n ? BATCH : n - k;
        indexed_offsets(ndim, places, first, k, m, indices_address, width, total, offsets);
        if (itemsize & (itemsize - 1))
            for (int64_t j = 0; j < m; j++)
                offsets[j] /= itemsize;
        else
            for (int64_t j = 0; j < m; j++)
                offsets[j] >>= __builtin_ctzll(itemsize);
    }
}
