/*
 * Compactions: the elements that a mask is true for, one after the other; and expansions, which bring them back. How
 * many there are is counted in stretches, which the threads then copy each to its place; without a branch, as masks
 * may be anything.
 */
#define STRETCH 32768       /* elements: they and their mask are in a core's cache */

static int64_t count_true(int64_t n, const uint8_t *mask)
{
    int64_t found = 0;
    #pragma omp simd reduction(+ : found)
    for (int64_t i = 0; i < n; i++)
        found += mask[i] != 0;
    return found;
}

#define COMPACT(T)                                                                                      \
    static void compact_##T(int64_t n_true, const uint8_t *mask, const T *values, T *to)                \
    {                                                                                                   \
        for (int64_t i = 0, k = 0; k < n_true; i++) {                                                   \
            to[k] = values[i];                                                                          \
            k += mask[i] != 0;                                                                          \
        }                                                                                               \
    }                                                                                                   \
    static void expand_##T(int64_t n_true, const uint8_t *mask, const T *values, T *to)                 \
    {                                                                                                   \
        for (int64_t i = 0, k = 0; k < n_true; i++) {                                                   \
            const T *from[2] = {to + i, values + k};  /* in memory: of `?:` GCC makes a branch */        \
            to[i] = *from[mask[i] != 0];                                                                \
            k += mask[i] != 0;                                                                          \
        }                                                                                               \
    }
typedef struct { uint64_t words[2]; } two_words;
COMPACT(uint8_t)
COMPACT(uint16_t)
COMPACT(uint32_t)
COMPACT(uint64_t)
COMPACT(two_words)
#undef COMPACT

static void compact_numbers(int64_t n_true, const uint8_t *mask, int64_t first, int64_t *to)
{
    for (int64_t i = 0, k = 0; k < n_true; i++) {
        to[k] = first + i;
        k += mask[i] != 0;
    }
}

#define BY_SIZE(NAME) \
static void NAME##_stretch(int64_t itemsize, int64_t n_true, const uint8_t *mask, const char *values, char *to) \
{ \
    if (itemsize == 1) \
        NAME##_uint8_t(n_true, mask, (const uint8_t *)values, (uint8_t *)to); \
    else if (itemsize == 2) \
        NAME##_uint16_t(n_true, mask, (const uint16_t *)values, (uint16_t *)to); \
    else if (itemsize == 4) \
        NAME##_uint32_t(n_true, mask, (const uint32_t *)values, (uint32_t *)to); \
    else if (itemsize == 8) \
        NAME##_uint64_t(n_true, mask, (const uint64_t *)values, (uint64_t *)to); \
    else if (itemsize == 16) \
        NAME##_two_words(n_true, mask, (const two_words *)values, (two_words *)to); \
    else \
        NAME##_items(itemsize, n_true, mask, values, to); \
}

static void compact_items(int64_t itemsize, int64_t n_true, const uint8_t *mask, const char *values, char *to)
{
    for (int64_t i = 0, k = 0; k < n_true; i++)
        if (mask[i])
            memcpy(to + k++ * itemsize, values + i * itemsize, (size_t)itemsize);
}

static void expand_items(int64_t itemsize, int64_t n_true, const uint8_t *mask, const char *values, char *to)
{
    for (int64_t i = 0, k = 0; k < n_true; i++)
        if (mask[i])
            memcpy(to + i * itemsize, values + k++ * itemsize, (size_t)itemsize);
}

BY_SIZE(compact)
BY_SIZE(expand)
#undef BY_SIZE

/* How many elements a mask is true for before each stretch, and in all; NULL if there is no memory. */
static int64_t *count_stretches(int64_t n, const uint8_t *mask, int team)
{
    const int64_t n_stretches = (n + STRETCH - 1) / STRETCH;
    int64_t *before = malloc((size_t)(n_stretches + 1) * sizeof *before);
    if (!before)
        return NULL;
    before[0] = 0;
    #pragma omp parallel for num_threads(team) if (team > 1) schedule(static)
    for (int64_t s = 0; s < n_stretches; s++)
        before[s + 1] = count_true(MIN(STRETCH, n - s * STRETCH), mask + s * STRETCH);
    for (int64_t s = 0; s < n_stretches; s++)
        before[s + 1] += before[s];
    return before;
}

/*
 * What a mask of n bytes is true for: elements at `values_address`, or where that is 0 their numbers, as int64, from
 * `first` on. There is room for as many as it is true for. Returns 0, or -1 if there is no memory.
 */
static int pg_compact(int64_t n, int64_t itemsize, int64_t mask_address, int64_t values_address, int64_t first,
                      int64_t to_address)
{
    const uint8_t *mask = (const uint8_t *)mask_address;
    const int team = team_for(n);
    int64_t *before = count_stretches(n, mask, team);
    if (!before)
        return -1;
    #pragma omp parallel for num_threads(team) if (team > 1) schedule(dynamic)
    for (int64_t start = 0; start < n; start += STRETCH) {
        const int64_t s = start / STRETCH, n_true = before[s + 1] - before[s];
        const char *values = (const char *)values_address + start * itemsize;
        char *to = (char *)to_address + before[s] * itemsize;
        if (!values_address)
            compact_numbers(n_true, mask + start, first + start, (int64_t *)to);
        else if (n_true == MIN(STRETCH, n - start))
            memcpy(to, values, (size_t)(n_true * itemsize));
        else
            compact_stretch(itemsize, n_true, mask + start, values, to);
    }
    free(before);
    return 0;
}

/* Put values, one after the other, where a mask of n bytes is true. Returns 0, or -1 if there is no memory. */
static int pg_expand(int64_t n, int64_t itemsize, int64_t mask_address, int64_t values_address, int64_t to_address)
{
    const uint8_t *mask = (const uint8_t *)mask_address;
    const int team = team_for(n);
    int64_t *before = count_stretches(n, mask, team);
    if (!before)
        return -1;
    #pragma omp parallel for num_threads(team) if (team > 1) schedule(dynamic)
    for (int64_t start = 0; start < n; start += STRETCH) {
        const int64_t s = start / STRETCH, n_true = before[s + 1] - before[s];
        const char *values = (const char *)values_address + before[s] * itemsize;
        char *to = (char *)to_address + start * itemsize;
        if (n_true == MIN(STRETCH, n - start))
            memcpy(to, values, (size_t)(n_true * itemsize));
        else
            expand_stretch(itemsize, n_true, mask + start, values, to);
    }
    free(before);
    return 0;
}
