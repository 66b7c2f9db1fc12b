/*
 * Copies of sections, of items of any size and no type.
 */

typedef char vector __attribute__((vector_size(64), aligned(1), may_alias));

/*
 * A row of so many bytes. What a processor copies by its string instructions, as glibc has some do, takes three times
 * as long, or more, on AMD's where the target is less than a line behind the source in its page.
 */
static void copy_row(char *to, const char *from, int64_t n)
{
    const int64_t behind = (to - from) & 4095;
    if (behind > 0 && behind < 64 && n >= 1024)
        for (; n >= 64; n -= 64, to += 64, from += 64) {
            *(vector *)to = *(const vector *)from;
            __asm__ volatile("");   /* else GCC makes it a call of memcpy again */
        }
    memcpy(to, from, n);
}

/* Elements as they lie in memory: of a size, of no type and no alignment. */
#define MOVE(size, type) \
typedef type item_##size __attribute__((aligned(1), may_alias)); \
static void move_##size(int64_t n, char *const p[], const int64_t s[]) \
{ \
    const char *x = p[0]; \
    char *r = p[2]; \
    const int64_t xs = s[0], rs = s[2]; \
    if (n == 1) \
        *(item_##size *)r = *(const item_##size *)x; \
    else if (xs == size && rs == size) \
        copy_row(r, x, n * size); \
    else \
        for (int64_t i = 0; i < n; i++) \
            *(item_##size *)(r + i * rs) = *(const item_##size *)(x + i * xs); \
}
MOVE(1, uint8_t)
MOVE(2, uint16_t)
MOVE(4, uint32_t)
MOVE(8, uint64_t)
MOVE(16, unsigned __int128)

/* Of any size: the context is the size. */
static void move_any(int64_t n, char *const p[], const int64_t s[])
{
    const int64_t size = *(const int64_t *)p[1];
    if (s[0] == size && s[2] == size)
        copy_row(p[2], p[0], n * size);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(p[2] + i * s[2], p[0] + i * s[0], size);
}

static void pg_copy_section(int64_t itemsize, int ndim, const int64_t *n_ranges,
                            const int64_t *const *ranges, int64_t dst_address,
                            const int64_t *dst_strides, int dst_side, int64_t src_address,
                            const int64_t *src_strides, int src_side)
{
    section s;
    describe_section(&s, ndim, n_ranges, ranges, src_address, src_strides, src_side, dst_address,
                     dst_strides, dst_side);
    /* A contiguous innermost dimension below others is but a larger item. */
    while (s.ndim > 1) {
        const section_dim *d = &s.dim[s.ndim - 1];
        if (d->m != 1 || d->length == 0 || range_step(&s, d, 0, 0) * d->stride[0] != itemsize
            || range_step(&s, d, 1, 0) * d->stride[1] != itemsize)
            break;
        for (int side = 0; side < 2; side++)
            s.base[side] += range_start(&s, d, side, 0, 0) * d->stride[side];
        itemsize *= d->length;
        s.ndim--;
    }
    int64_t length = 1;
    for (int d = 0; d < s.ndim; d++)
        length *= s.dim[d].length;
    loop_fn *const loop = itemsize == 1 ? move_1 : itemsize == 2 ? move_2 : itemsize == 4 ? move_4
                        : itemsize == 8 ? move_8 : itemsize == 16 ? move_16 : move_any;
    for_each_in_section(&s, loop, &itemsize, 1 + itemsize / 64, length * itemsize > PAST_CACHES ? itemsize : 0);
}
