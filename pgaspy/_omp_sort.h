/*
 * Sorts by radix, stable: keys become unsigned numbers in the same order, which go with their indices
 * through a pass per digit, from the last one to the first. Where numbers differ in more bits than it takes
 * to tell n of them apart, the digits behind these are left to insertions, which have little to do unless
 * many numbers begin with the same bits; if they have much, all digits are gone through. Each thread counts
 * the digits in its part, and so knows where it puts them. Keys that are in order are left so.
 */
typedef struct {
    uint64_t key;
    int64_t index;
} entry;

#define DIGIT 8             /* bits: so many places are written to at a time as the nearest cache has lines */
#define N_DIGITS (1 << DIGIT)
#define SPARE_BITS 12       /* beyond those of n: equal in all of them by chance are few */
#define MOVES 8             /* by insertions, per entry, that are as long as the passes that they save */

#define IS_NEGATIVE(x) (-((x) >> (8 * sizeof(x) - 1)))
#define CODE_OF_REAL(T, U)                                                                             \
    static inline U code_##T(T x)                                                                     \
    {                                                                                                 \
        U bits;                                                                                       \
        x += 0;                                          /* -0 is equal to 0 */                       \
        memcpy(&bits, &x, sizeof bits);                                                               \
        return x == x ? bits ^ (IS_NEGATIVE(bits) | (U)1 << (8 * sizeof(U) - 1)) : (U)-1;             \
    }
CODE_OF_REAL(float, uint32_t)
CODE_OF_REAL(double, uint64_t)
#undef CODE_OF_REAL
#define CODE_OF_UNSIGNED(x) (x)
#define CODE_OF_SIGNED(x) ((uint64_t)(x) ^ SIGN)
#define CODE_OF_TIME(x) (CODE_OF_SIGNED(x) - 1)          /* NaT is the least integer */

typedef struct {
    const char *keys;
    int64_t stride, first;  /* in bytes; the index of the first key */
} unsorted;

/* Make entries [begin, end); find the least and the greatest number. */
typedef void encode_fn(const unsorted *from, int64_t begin, int64_t end, entry *to, uint64_t *least, uint64_t *most);

#define ENCODES(T, CODE)                                                                              \
    static void encode_##T##_##CODE(const unsorted *from, int64_t begin, int64_t end, entry *to,      \
                                    uint64_t *least, uint64_t *most)                                  \
    {                                                                                                 \
        uint64_t low = UINT64_MAX, high = 0;                                                          \
        for (int64_t i = begin; i < end; i++) {                                                       \
            const uint64_t key = CODE(*(const T *)(from->keys + i * from->stride));                   \
            to[i] = (entry){key, from->first + i};                                                    \
            low = MIN(low, key);                                                                      \
            high = MAX(high, key);                                                                    \
        }                                                                                             \
        *least = low;                                                                                 \
        *most = high;                                                                                 \
    }
ENCODES(int8_t, CODE_OF_SIGNED)
ENCODES(uint8_t, CODE_OF_UNSIGNED)
ENCODES(int16_t, CODE_OF_SIGNED)
ENCODES(uint16_t, CODE_OF_UNSIGNED)
ENCODES(int32_t, CODE_OF_SIGNED)
ENCODES(uint32_t, CODE_OF_UNSIGNED)
ENCODES(int64_t, CODE_OF_SIGNED)
ENCODES(uint64_t, CODE_OF_UNSIGNED)
ENCODES(int64_t, CODE_OF_TIME)
ENCODES(float, code_float)
ENCODES(double, code_double)

static encode_fn *encode_of(char type)
{
    switch (type) {
    case 'b': return encode_int8_t_CODE_OF_SIGNED;
    case '?': case 'B': return encode_uint8_t_CODE_OF_UNSIGNED;
    case 'h': return encode_int16_t_CODE_OF_SIGNED;
    case 'H': return encode_uint16_t_CODE_OF_UNSIGNED;
    case 'i': return encode_int32_t_CODE_OF_SIGNED;
    case 'I': return encode_uint32_t_CODE_OF_UNSIGNED;
    case 'l': case 'q': return encode_int64_t_CODE_OF_SIGNED;
    case 'L': case 'Q': return encode_uint64_t_CODE_OF_UNSIGNED;
    case 'f': return encode_float_code_float;
    case 'd': return encode_double_code_double;
    case 'm': case 'M': return encode_int64_t_CODE_OF_TIME;
    default: return NULL;
    }
}

typedef struct {
    entry *entries, *others;
    int64_t n;
    uint64_t least;
    int team;
} sorting;

/* One pass: the entries in the order of the bits from `shift` on, and else as they were. */
static void sort_by_digit(sorting *s, int shift)
{
    int64_t places[s->team][N_DIGITS];
    const entry *from = s->entries;
    entry *to = s->others;
    const uint64_t least = s->least;
#define DIGIT_OF(e) ((e).key - least) >> shift & (N_DIGITS - 1)
    #pragma omp parallel for schedule(static, 1) num_threads(s->team)
    for (int t = 0; t < s->team; t++) {
        int64_t counts[N_DIGITS] = {0};
        for (int64_t i = cut(s->n, t, s->team); i < cut(s->n, t + 1, s->team); i++)
            counts[DIGIT_OF(from[i])]++;
        memcpy(places[t], counts, sizeof counts);
    }
    int64_t place = 0;
    for (int digit = 0; digit < N_DIGITS; digit++) {
        const int64_t start = place;
        for (int t = 0; t < s->team; t++) {
            const int64_t count = places[t][digit];
            places[t][digit] = place;
            place += count;
        }
        if (place - start == s->n) /* of all */
            return;
    }
    #pragma omp parallel for schedule(static, 1) num_threads(s->team)
    for (int t = 0; t < s->team; t++)
        for (int64_t i = cut(s->n, t, s->team); i < cut(s->n, t + 1, s->team); i++)
            to[places[t][DIGIT_OF(from[i])]++] = from[i];
#undef DIGIT_OF
    s->others = s->entries;
    s->entries = to;
}

static void sort_by_digits(sorting *s, int first_bit, int n_bits)
{
    for (int shift = first_bit; shift < n_bits; shift += DIGIT)
        sort_by_digit(s, shift);
}

/* Sort entries that are in the order of all but so many bits; whether this took few moves. */
static int sort_by_insertions(const sorting *s, int n_bits)
{
    int64_t edges[s->team + 1];
    for (int t = 0; t <= s->team; t++) {
        const int64_t start = t ? edges[t - 1] : 0;
        int64_t i = MAX(cut(s->n, t, s->team), start);
        while (i > 0 && i < s->n && !(((s->entries[i].key - s->least) ^ (s->entries[i - 1].key - s->least)) >> n_bits))
            i++;
        edges[t] = i;
    }
    int is_sorted = 1;
    #pragma omp parallel for schedule(static, 1) num_threads(s->team) reduction(&& : is_sorted)
    for (int t = 0; t < s->team; t++) {
        int64_t moves = MOVES * (edges[t + 1] - edges[t]);
        for (int64_t i = edges[t] + 1; i < edges[t + 1] && moves >= 0; i++) {
            const entry e = s->entries[i];
            int64_t k = i;
            for (; k > edges[t] && s->entries[k - 1].key > e.key; k--)
                s->entries[k] = s->entries[k - 1];
            s->entries[k] = e;
            moves -= i - k;
        }
        is_sorted = is_sorted && moves >= 0;
    }
    return is_sorted;
}

/* Whether the entries are in order as they are: each thread looks at its part up to the first that is not. */
static int are_sorted(const sorting *s)
{
    int are = 1;
    #pragma omp parallel for schedule(static, 1) num_threads(s->team) reduction(&& : are)
    for (int t = 0; t < s->team; t++) {
        int64_t i = MAX(cut(s->n, t, s->team), 1);
        const int64_t end = cut(s->n, t + 1, s->team);
        while (i < end && s->entries[i - 1].key <= s->entries[i].key)
            i++;
        are = are && i >= end;
    }
    return are;
}

static int n_bits_of(uint64_t x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

static int pg_sorts(char type)
{
    return encode_of(type) != NULL;
}

/* Sort n keys, with memory for twice as many entries: to their indices, from `first` on, and where wanted to keys. */
static void pg_sort(char type, int64_t n, int64_t itemsize, int64_t keys_address, int64_t stride, int64_t first,
                    int64_t entries_address, int64_t sorted_keys_address, int64_t indices_address, int team)
{
    const unsorted from = {(const char *)keys_address, stride, first};
    sorting s = {(entry *)entries_address, (entry *)entries_address + n, n, UINT64_MAX, team};
    encode_fn *encode = encode_of(type);
    uint64_t least = UINT64_MAX, most = 0;
    #pragma omp parallel for schedule(static, 1) num_threads(s.team) reduction(min : least) reduction(max : most)
    for (int t = 0; t < s.team; t++)
        encode(&from, cut(n, t, s.team), cut(n, t + 1, s.team), s.entries, &least, &most);
    s.least = least;
    const int n_bits = n_bits_of(n ? most - least : 0);
    const int n_digits = (MIN(n_bits, n_bits_of((uint64_t)n) + SPARE_BITS) + DIGIT - 1) / DIGIT;
    const int left = MAX(n_bits - n_digits * DIGIT, 0);
    if (!are_sorted(&s)) {
        sort_by_digits(&s, left, n_bits);
        if (left && !sort_by_insertions(&s, left))
            sort_by_digits(&s, 0, n_bits);
    }

    char *sorted_keys = (char *)sorted_keys_address;
    int64_t *indices = (int64_t *)indices_address;
    #pragma omp parallel for schedule(static, 1) num_threads(s.team)
    for (int t = 0; t < s.team; t++)
        for (int64_t i = cut(n, t, s.team); i < cut(n, t + 1, s.team); i++) {
            const int64_t index = s.entries[i].index;
            if (indices)
                indices[i] = index;
            if (!sorted_keys)
                continue;
            /* Not decoded: this may be either zero, and any NaN. */
            const char *key = from.keys + (index - first) * stride;
            switch (itemsize) {
            case 1: memcpy(sorted_keys + i, key, 1); break;
            case 2: memcpy(sorted_keys + 2 * i, key, 2); break;
            case 4: memcpy(sorted_keys + 4 * i, key, 4); break;
            default: memcpy(sorted_keys + 8 * i, key, 8);
            }
        }
}
