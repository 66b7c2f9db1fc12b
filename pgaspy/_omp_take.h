/*
 * Takes along dimensions: elements of an array in memory, each where an offset says, for all others of its dimensions.
 */
#define TAKE(T) \
static void take_##T(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *offset = p[0], *x = p[1]; \
    char *r = p[2]; \
    if (s[0] == sizeof(int64_t) && s[1] == 0 && s[2] == sizeof(T)) \
        for (int64_t k = 0; k < n; k++) \
            ((T *)r)[k] = *(const T *)(x + ((const int64_t *)offset)[k]); \
    else if (s[0] == 0 && s[1] == sizeof(T) && s[2] == sizeof(T)) \
        memcpy(r, x + *(const int64_t *)offset, (size_t)n * sizeof(T)); \
    else \
        for (int64_t k = 0; k < n; k++) \
            *(T *)(r + k * s[2]) = *(const T *)(x + k * s[1] + *(const int64_t *)(offset + k * s[0])); \
}
TAKE(uint8_t)
TAKE(uint16_t)
TAKE(uint32_t)
TAKE(uint64_t)
TAKE(two_words)
#undef TAKE

/*
 * Store `source[i + offset[i]]`, whose byte strides are 0 where those of the offsets are not, for all i of a shape.
 * Returns -1 if there are no elements of such a size.
 */
static int pg_take_along(int64_t itemsize, int ndim, const int64_t *shape, const int64_t *addresses,
                         const int64_t *strides)
{
    loop_fn *const loop = itemsize == 1 ? take_uint8_t : itemsize == 2 ? take_uint16_t : itemsize == 4 ? take_uint32_t
        : itemsize == 8 ? take_uint64_t : itemsize == 16 ? take_two_words : NULL;
    geometry g;
    if (!loop)
        return -1;
    describe(&g, ndim, shape, 3, addresses,
             (const int64_t *const[]){strides, strides + ndim, strides + 2 * ndim});
    if (count(&g, ndim) > 0)
        for_each(loop, &g, (packable){0}, 1);
    return 0;
}
