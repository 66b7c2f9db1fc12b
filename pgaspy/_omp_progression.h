/*
 * Arithmetic progressions: elements that follow from their indices alone. Each is computed in its own type from its
 * index, and not from the one before, so that it has the same bits wherever a part begins.
 */
typedef void progression_fn(int64_t n, int64_t index, const void *terms, void *to);

#define PROGRESSION(A, ...)                                                                             \
    static void progression_##A(int64_t n, int64_t index, const void *terms, void *to)                  \
    {                                                                                                   \
        const T_##A first = ((const T_##A *)terms)[0], step = ((const T_##A *)terms)[1];                \
        T_##A *out = to;                                                                                \
        for (int64_t k = 0; k < n; k++)                                                                 \
            out[k] = (T_##A)(first + (T_##A)(index + k) * step);                                        \
    }
REALS(PROGRESSION)
#undef PROGRESSION

static progression_fn *progression_of(char type)
{
#define FIND(A, ...)           \
    if (type == *CHAR_##A)     \
        return progression_##A;
    REALS(FIND)
#undef FIND
    return NULL;
}

static int pg_has_progression(char type)
{
    return progression_of(type) != NULL;
}

/*
 * Store `first + i * step` for the indices i of segments, each of which has a start and a length; n elements in all. The
 * two terms are of the elements' type.
 */
static void pg_progression(char type, int64_t itemsize, int64_t n_segments, int64_t starts_address,
                           int64_t lengths_address, int64_t n, int64_t terms_address, int64_t to_address)
{
    progression_fn *loop = progression_of(type);
    const int64_t *starts = (const int64_t *)starts_address, *lengths = (const int64_t *)lengths_address;
    const int team = team_for(n);
    #pragma omp parallel num_threads(team) if (team > 1)
    {
        const int t = omp_get_thread_num(), parts = omp_get_num_threads();
        const int64_t begin = cut(n, t, parts), end = cut(n, t + 1, parts);
        for (int64_t s = 0, before = 0; s < n_segments && before < end; before += lengths[s++]) {
            const int64_t from = MAX(begin, before), stop = MIN(end, before + lengths[s]);
            if (from < stop)
                loop(stop - from, starts[s] + from - before, (const void *)terms_address,
                     (char *)to_address + from * itemsize);
        }
    }
}
