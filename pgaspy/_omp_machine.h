/*
 * The machine and the interpreter: what the CPU lacks, and where the data of an ndarray lies.
 */

/* The first instruction set that this file was compiled for and this CPU lacks, or NULL. */
static const char *pg_missing_cpu_features(void)
{
#define NEED(feature) if (!__builtin_cpu_supports(feature)) return feature;
#ifdef __SSE4_2__
    NEED("sse4.2")
#endif
#ifdef __AVX__
    NEED("avx")
#endif
#ifdef __AVX2__
    NEED("avx2")
#endif
#ifdef __FMA__
    NEED("fma")
#endif
#ifdef __BMI2__
    NEED("bmi2")
#endif
#ifdef __AVX512F__
    NEED("avx512f")
#endif
#ifdef __AVX512DQ__
    NEED("avx512dq")
#endif
#ifdef __AVX512BW__
    NEED("avx512bw")
#endif
#ifdef __AVX512VL__
    NEED("avx512vl")
#endif
#undef NEED
    return NULL;
}

/* The address of an ndarray's data: the first field after the object's head. */
static int64_t pg_address(int64_t ndarray)
{
    return ((const int64_t *)(ndarray + (int64_t)sizeof(PyObject)))[0];
}
