/*
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11). A number is
 * a function of key, call and the element's global index, whoever computes it and in what order.
 */
typedef struct {
    uint64_t low, high;
} random_bits;

static inline random_bits philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                                 uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (random_bits){(uint64_t)c1 << 32 | c0, (uint64_t)c3 << 32 | c2};
}

static void pg_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t block[4])
{
    const random_bits bits = philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    memcpy(block, &bits, sizeof bits);
}

typedef struct {
    uint64_t key, call;     /* of the seed; the number of the call */
    double a, b;
    int64_t low;
    uint64_t span;
} random_context;

/* The counter's upper words are the call's number, of 48 bits, and above it that of the attempt. */
static inline random_bits draw(const random_context *c, int64_t e, uint32_t attempt)
{
    const uint64_t upper = (c->call & 0xFFFFFFFFFFFFull) | (uint64_t)attempt << 48;
    return philox((uint32_t)e, (uint32_t)((uint64_t)e >> 32), (uint32_t)upper,
                  (uint32_t)(upper >> 32), (uint32_t)c->key, (uint32_t)(c->key >> 32));
}

/*
 * As many counters side by side as a vector has words of 64 bits, of which the lower halves count: no word of 32 bits
 * ever has to change its place. Compilers have no such product of what they make vectors of themselves.
 */
#if defined __AVX512F__
#define WORDS 8
#define PRODUCTS(x, y) (words)_mm512_mul_epu32((__m512i)(x), (__m512i)(y))
#elif defined __AVX2__
#define WORDS 4
#define PRODUCTS(x, y) (words)_mm256_mul_epu32((__m256i)(x), (__m256i)(y))
#elif defined __SSE2__
#define WORDS 2
#define PRODUCTS(x, y) (words)_mm_mul_epu32((__m128i)(x), (__m128i)(y))
#else
#define WORDS 2
#define PRODUCTS(x, y) (((x) & 0xFFFFFFFFu) * (y))
#endif
typedef uint64_t words __attribute__((vector_size(8 * WORDS)));
typedef struct {
    words low, high;
} random_words;

static inline random_words draw_words(const random_context *c, words e, uint32_t attempt)
{
    const uint64_t upper = (c->call & 0xFFFFFFFFFFFFull) | (uint64_t)attempt << 48;
    const words none = {0}, times0 = none + 0xD2511F53u, times2 = none + 0xCD9E8D57u;
    words c0 = e, c1 = e >> 32, c2 = none + upper, c3 = none + (upper >> 32);
    uint32_t k0 = (uint32_t)c->key, k1 = (uint32_t)(c->key >> 32);
    for (int round = 0; round < 10; round++) {
        const words p0 = PRODUCTS(c0, times0), p1 = PRODUCTS(c2, times2);
        c0 = (p1 >> 32) ^ (c1 ^ k0);
        c2 = (p0 >> 32) ^ (c3 ^ k1);
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (random_words){c1 << 32 | (c0 & 0xFFFFFFFFu), c3 << 32 | (c2 & 0xFFFFFFFFu)};
}

/* The two numbers of an attempt for some elements: first the lower ones of all. */
static void pg_random_bits(uint64_t key, uint64_t call, uint32_t attempt, int64_t n, int64_t indices_address,
                           int64_t to_address)
{
    const random_context c = {.key = key, .call = call};
    const int64_t *indices = (const int64_t *)indices_address;
    uint64_t *low = (uint64_t *)to_address, *high = low + n;
    for (int64_t i = 0; i < n; i += WORDS) {
        const size_t size = 8 * MIN(n - i, WORDS);
        words e = {0};
        memcpy(&e, indices + i, size);
        const random_words bits = draw_words(&c, e, attempt);
        memcpy(low + i, &bits.low, size);
        memcpy(high + i, &bits.high, size);
    }
}

/* Lemire's unbiased multiplication: x * span / 2**64, x drawn again if in the uneven remainder. */
static inline uint64_t below(const random_context *c, int64_t e, uint64_t x)
{
    if (c->span == 0)
        return x;
    unsigned __int128 product = (unsigned __int128)x * c->span;
    if ((uint64_t)product < c->span) {
        const uint64_t uneven = -c->span % c->span;
        for (uint32_t attempt = 1; (uint64_t)product < uneven; attempt++)
            product = (unsigned __int128)draw(c, e, attempt).low * c->span;
    }
    return product >> 64;
}

/* Integers of 53 bits as doubles: of either half 2^84 or 2^52 more, as bits, and less, as doubles. Nothing is rounded. */
static inline double as_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
#define DOUBLE(x) ((as_double((x) >> 32 | 0x4530000000000000u) - 0x1.00000001p84) \
                   + as_double(((x) & 0xFFFFFFFFu) | 0x4330000000000000u))

#define UNIT_f(x) ((T_f)(int32_t)((x) >> 40) * 0x1p-24f)
#define UNIT_d(x) (DOUBLE((x) >> 11) * 0x1p-53)
/* Box-Muller; 1 - u is in (0, 1], so its logarithm is finite. */
#define NORMAL(x, y) (sqrt(-2 * log(1 - UNIT_d(x))) * cos(6.283185307179586 * UNIT_d(y)))

enum { RANDOM, UNIFORM, NORMAL_KIND, INTEGERS_KIND };

#define RANDOM_ROWS(X) \
    X(RANDOM, f, random, UNIT_f(x)) \
    X(RANDOM, d, random, UNIT_d(x)) \
    X(UNIFORM, f, uniform, c.a + (c.b - c.a) * UNIT_f(x)) \
    X(UNIFORM, d, uniform, c.a + (c.b - c.a) * UNIT_d(x)) \
    X(NORMAL_KIND, f, normal, NORMAL(x, y)) \
    X(NORMAL_KIND, d, normal, NORMAL(x, y)) \
    X(INTEGERS_KIND, t, integers, (c.low + below(&c, e, x)) != 0) \
    X(INTEGERS_KIND, B, integers, c.low + below(&c, e, x)) \
    X(INTEGERS_KIND, i, integers, c.low + below(&c, e, x)) \
    X(INTEGERS_KIND, l, integers, c.low + below(&c, e, x))

/* Full blocks as in maths functions; side 0 is the index, in elements. */
#define RANDOM_LOOP(kind, R, name, ...) \
static void random_##name##_##R(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const random_context c = *(const random_context *)p[1]; \
    const int64_t index = (int64_t)p[0], step = s[0], rs = s[2]; \
    char *r = p[2]; \
    words elements; \
    for (int k = 0; k < WORDS; k++) \
        elements[k] = index + k * step; \
    for (int64_t i = 0; i < n; i += BLOCK) { \
        uint64_t low[BLOCK], high[BLOCK]; \
        T_##R results[BLOCK]; \
        for (int64_t k = 0; k < BLOCK; k += WORDS, elements += WORDS * step) { \
            const random_words bits = draw_words(&c, elements, 0); \
            memcpy(low + k, &bits.low, sizeof bits.low); \
            memcpy(high + k, &bits.high, sizeof bits.high); \
        } \
        SIMD_FOR(k, BLOCK) { \
            const int64_t e __attribute__((unused)) = index + (i + k) * step; \
            const uint64_t x = low[k], y __attribute__((unused)) = high[k]; \
            results[k] = (T_##R)(__VA_ARGS__); \
        } \
        const int64_t m = MIN(n - i, BLOCK); \
        if (m == BLOCK && rs == sizeof(T_##R)) \
            memcpy(r + i * rs, results, sizeof results); \
        else \
            for (int64_t k = 0; k < m; k++) \
                *(T_##R *)(r + (i + k) * rs) = results[k]; \
    } \
}
RANDOM_ROWS(RANDOM_LOOP)

/* Returns -1 if there are no such numbers of that type. */
static int pg_random(int kind, char type, uint64_t key, uint64_t call, double a, double b,
                     int64_t low, uint64_t span, int ndim, const int64_t *n_ranges,
                     const int64_t *const *ranges, int64_t dst_address, const int64_t *dst_strides,
                     int dst_side, const int64_t *index_strides, int index_side)
{
    random_context context = {key, call, a, b, low, span};
    loop_fn *loop = NULL;
#define FIND(row_kind, R, name, ...) \
    if (kind == row_kind && type == *CHAR_##R) \
        loop = random_##name##_##R;
    RANDOM_ROWS(FIND)
#undef FIND
    if (!loop)
        return -1;
    section s;
    describe_section(&s, ndim, n_ranges, ranges, 0, index_strides, index_side, dst_address, dst_strides,
                     dst_side);
    for_each_in_section(&s, loop, &context, MATHS, 0);
    return 0;
}
