/*
 * What is left of a reduction when all pieces are done: leaves whose elements were kept, and the trees.
 */

/* The results of leaf `leaf`, of the only outer index, whose elements are in a slot. */
static void reduce_slot(const reduce_row *row, const pg_leaves *t, int64_t leaf, char *slot,
                        int64_t leaves)
{
    const int64_t n = leaf_end(&t->of, leaf) - leaf_begin(&t->of, leaf);
    char *to = leaf_result(t, leaves, row->out_size, 0, leaf, 0);
    if (t->across)
        for (int64_t i = 0; i < n; i++)
            fold_row(row, i, t->width, slot + i * t->width * row->in_size, row->in_size, to);
    else
        for (int64_t j = 0; j < t->width; j++) {
            const char *x = slot + j * MIN(t->of.rows, t->reduced) * row->in_size;
            row->leaf(n, x, to + j * row->out_size);
        }
}

/*
 * The results of a reduction, when all pieces are done, from those of the leaves. The
 * tree is that of tree(), level by level, in the place of the leaves, which may be that of the results
 * if each is that of one leaf.
 */
static void finish_trees(const reduce_row *row, const pg_leaves *t, int64_t leaves, int64_t out_address)
{
    const int64_t size = row->out_size, n_results = t->outer * t->width;
    char *const out = (char *)out_address;
    if (t->of.n_leaves == 0)
        for (int64_t i = 0; i < n_results; i++)
            memcpy(out + i * size, row->empty, size);
    if (t->of.n_leaves == 0 || leaves == out_address)
        return;
    if (n_results == 1) {
        char *x = (char *)leaves;
        for (int64_t n = t->of.n_leaves; n > 1; n = (n + 1) / 2) {
            row->pair(n / 2, x);
            if (n % 2)
                memmove(x + n / 2 * size, x + (n - 1) * size, size);
        }
        memcpy(out, x, size);
        return;
    }
    const int64_t n_tiles = (t->width + MAX_WIDTH - 1) / MAX_WIDTH;
    const int team = team_for(n_results * t->of.n_leaves);
    #pragma omp parallel for num_threads(team) if (team > 1)
    for (int64_t i = 0; i < t->outer * n_tiles; i++) {
        const int64_t outer = i / n_tiles, column = i % n_tiles * MAX_WIDTH;
        const int64_t width = MIN(t->width - column, MAX_WIDTH);
        for (int64_t step = 1; step < t->of.n_leaves; step *= 2)
            for (int64_t leaf = 0; leaf + step < t->of.n_leaves; leaf += 2 * step)
                row->merge(width, leaf_result(t, leaves, size, outer, leaf, column),
                           leaf_result(t, leaves, size, outer, leaf + step, column));
        memcpy(out + (outer * t->width + column) * size,
               leaf_result(t, leaves, size, outer, 0, column), width * size);
    }
}

static void pg_finish_leaves(int reduction, const pg_leaves *t, int64_t leaves, int n_slots,
                             const int64_t *slot_leaves, const int64_t *slots, int64_t out_address)
{
    const reduce_row *row = &reduce_rows[reduction];
    for (int i = 0; i < n_slots; i++)
        reduce_slot(row, t, slot_leaves[i], (char *)slots[i], leaves);
    finish_trees(row, t, leaves, out_address);
    n_completed++;
}
