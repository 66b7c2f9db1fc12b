/*
 * Merges of sorted runs, stable, with an index that goes with each key. The threads have as much to do
 * each, whatever the keys are: where a part of what is merged begins in both runs is found by bisection
 * (Green, McColl and Bader, GPU merge path, ICS 2012). Each part is merged from both ends at once, as
 * either side waits for what it compares.
 */
typedef struct {
    const void *keys;
    const int64_t *indices; /* NULL: there are none */
    void *merged_keys;
    int64_t *merged_indices;
} pg_runs;

/* Merge runs [start, middle) and [middle, stop): elements [begin, end) of the result. */
typedef void merge_fn(const pg_runs *runs, int64_t start, int64_t middle, int64_t stop, int64_t begin, int64_t end);

#define IN_ORDER(x, y) ((x) < (y))
#define NAN_LAST(x, y) (!((y) <= (x)) & ((x) == (x)))
#define NAT_LAST(x, y) (((uint64_t)(x) ^ SIGN) - 1 < ((uint64_t)(y) ^ SIGN) - 1)
#define SIGN (UINT64_C(1) << 63)

#define MERGES(T, COMES_BEFORE)                                                                       \
    /* How many of the first d elements of the result are from the first run. */                      \
    static int64_t split_##T##_##COMES_BEFORE(const T *a, int64_t n_a, const T *b, int64_t n_b,       \
                                              int64_t d)                                              \
    {                                                                                                 \
        int64_t low = MAX(d - n_b, 0), high = MIN(d, n_a);                                            \
        while (low < high) {                                                                          \
            const int64_t half = low + (high - low) / 2;                                              \
            if (COMES_BEFORE(b[d - half - 1], a[half]))                                               \
                high = half;                                                                          \
            else                                                                                      \
                low = half + 1;                                                                       \
        }                                                                                             \
        return low;                                                                                   \
    }                                                                                                 \
    static inline __attribute__((always_inline)) void join_##T##_##COMES_BEFORE(                      \
        const pg_runs *runs, int64_t i, int64_t i_end, int64_t j, int64_t j_end, int64_t at,          \
        int has_indices)                                                                              \
    {                                                                                                 \
        const T *keys = runs->keys;                                                                   \
        T *merged = runs->merged_keys;                                                                \
        int64_t end = at + i_end - i + j_end - j;                                                     \
        for (int64_t n; (n = MIN(i_end - i, j_end - j)) > 0;)                                         \
            for (; n > 0; n--) {                                                                      \
                const int64_t is_second = COMES_BEFORE(keys[j], keys[i]), first = i + (-is_second & (j - i));\
                const int64_t is_first = COMES_BEFORE(keys[j_end - 1], keys[i_end - 1]);              \
                const int64_t last = j_end - 1 + (-is_first & (i_end - j_end));                       \
                end--;                                                                                \
                merged[at] = keys[first];                                                             \
                merged[end] = keys[last];                                                             \
                if (has_indices) {                                                                    \
                    runs->merged_indices[at] = runs->indices[first];                                  \
                    runs->merged_indices[end] = runs->indices[last];                                  \
                }                                                                                     \
                at++;                                                                                 \
                j += is_second;                                                                       \
                i += 1 - is_second;                                                                   \
                i_end -= is_first;                                                                    \
                j_end -= 1 - is_first;                                                                \
            }                                                                                         \
        const int64_t rest = i < i_end ? i : j;                                                       \
        memcpy(merged + at, keys + rest, (size_t)(end - at) * sizeof(T));                             \
        if (has_indices)                                                                              \
            memcpy(runs->merged_indices + at, runs->indices + rest, (size_t)(end - at) * 8);          \
    }                                                                                                 \
    static void merge_##T##_##COMES_BEFORE(const pg_runs *runs, int64_t start, int64_t middle,        \
                                           int64_t stop, int64_t begin, int64_t end)                  \
    {                                                                                                 \
        const T *a = (const T *)runs->keys + start, *b = (const T *)runs->keys + middle;              \
        const int64_t n_a = middle - start, n_b = stop - middle;                                      \
        const int64_t first = split_##T##_##COMES_BEFORE(a, n_a, b, n_b, begin);                      \
        const int64_t last = split_##T##_##COMES_BEFORE(a, n_a, b, n_b, end);                         \
        const int64_t i = start + first, i_end = start + last, j = middle + begin - first;            \
        const int64_t j_end = middle + end - last, at = start + begin;                                \
        if (runs->indices)                                                                            \
            join_##T##_##COMES_BEFORE(runs, i, i_end, j, j_end, at, 1);                               \
        else                                                                                          \
            join_##T##_##COMES_BEFORE(runs, i, i_end, j, j_end, at, 0);                               \
    }

MERGES(int8_t, IN_ORDER)
MERGES(uint8_t, IN_ORDER)
MERGES(int16_t, IN_ORDER)
MERGES(uint16_t, IN_ORDER)
MERGES(int32_t, IN_ORDER)
MERGES(uint32_t, IN_ORDER)
MERGES(int64_t, IN_ORDER)
MERGES(uint64_t, IN_ORDER)
MERGES(float, NAN_LAST)
MERGES(double, NAN_LAST)
MERGES(int64_t, NAT_LAST)

/* What merges keys of a type; NULL where nothing does. */
static merge_fn *merge_of(char type)
{
    switch (type) {
    case 'b': return merge_int8_t_IN_ORDER;
    case '?': case 'B': return merge_uint8_t_IN_ORDER;
    case 'h': return merge_int16_t_IN_ORDER;
    case 'H': return merge_uint16_t_IN_ORDER;
    case 'i': return merge_int32_t_IN_ORDER;
    case 'I': return merge_uint32_t_IN_ORDER;
    case 'l': case 'q': return merge_int64_t_IN_ORDER;
    case 'L': case 'Q': return merge_uint64_t_IN_ORDER;
    case 'f': return merge_float_NAN_LAST;
    case 'd': return merge_double_NAN_LAST;
    case 'm': case 'M': return merge_int64_t_NAT_LAST;
    default: return NULL;
    }
}

static int pg_merges(char type)
{
    return merge_of(type) != NULL;
}

/* Merge each run with the next one, of those between n_runs + 1 edges; what is left over is copied. */
static void pg_merge(char type, int64_t n_runs, const int64_t *edges, int64_t keys_address, int64_t indices_address,
                     int64_t merged_keys_address, int64_t merged_indices_address)
{
    const pg_runs runs = {(const void *)keys_address, (const int64_t *)indices_address, (void *)merged_keys_address,
                          (int64_t *)merged_indices_address};
    const int64_t n = edges[n_runs];
    const int team = team_for(4 * n);
    merge_fn *merge = merge_of(type);
    #pragma omp parallel for schedule(static, 1) num_threads(team)
    for (int t = 0; t < team; t++) {
        const int64_t begin = n / team * t, end = t == team - 1 ? n : n / team * (t + 1);
        for (int64_t r = 0; r < n_runs; r += 2) {
            const int64_t start = edges[r], middle = edges[r + 1], stop = edges[MIN(r + 2, n_runs)];
            if (MAX(begin, start) < MIN(end, stop))
                merge(&runs, start, middle, stop, MAX(begin, start) - start, MIN(end, stop) - start);
        }
    }
}
