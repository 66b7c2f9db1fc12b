/*
 * Copies of more than the caches hold go past them, by streaming (non-temporal) stores: a store that is
 * not to a whole cache line reads the line first, which is a third of what moves.
 */
#define PAST_CACHES (1 << 25)   /* bytes */
#ifdef __SSE2__
static void stream_bytes(char *to, const char *from, int64_t n)
{
    const int64_t head = -(intptr_t)to & 63;
    if (to == from || n < head + 1024) {
        memmove(to, from, n);
        return;
    }
    memcpy(to, from, head);
    for (n -= head, to += head, from += head; n >= 64; n -= 64, to += 64, from += 64)
        for (int k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(to + k), _mm_loadu_si128((const __m128i *)(from + k)));
    _mm_sfence();
    memcpy(to, from, n);
}
#define STREAM(A, ...) \
static void stream_##A(int64_t n, char *const p[], const int64_t s[]) \
{ \
    if (s[0] == sizeof(T_##A) && s[1] == sizeof(T_##A)) \
        stream_bytes(p[1], p[0], n * sizeof(T_##A)); \
    else \
        copy_##A##A(n, p, s); \
}
ALL(STREAM)
#undef STREAM
#define STREAM(A, ...) \
    if (loop == stream_##A) \
        return sizeof(T_##A);
#else
static void stream_bytes(char *to, const char *from, int64_t n)
{
    memmove(to, from, n);
}
#define STREAM(A, ...)
#endif

/* The size of the elements that a loop copies past the caches; 0 if it does not. */
static int64_t streamed_size(loop_fn *loop)
{
    ALL(STREAM)
    return 0;
}
#undef STREAM

#ifdef __SSE2__
#define STREAM(A, ...) \
    if (loop == copy_##A##A && n > PAST_CACHES / (int64_t)sizeof(T_##A)) \
        return stream_##A;
#else
#define STREAM(A, ...)
#endif

/* The loop to use in place of `loop` for n elements in all. */
static loop_fn *loop_for(loop_fn *loop, int64_t n)
{
    ALL(STREAM)
    return loop;
}
#undef STREAM
