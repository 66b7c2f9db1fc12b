/*
 * The element types, and the arithmetic C and libm lack.
 *
 * A type is named by its NumPy dtype.char; `t` ("truth") stands for '?', which is no identifier.
 */
#include <math.h>
#include <stdint.h>

#include <complex.h>

#ifndef CMPLX  /* by glibc for gcc alone */
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#endif

typedef _Bool T_t;          /* converting to _Bool is `!= 0`, exactly as NumPy casts to bool */
typedef int8_t T_b;
typedef uint8_t T_B;
typedef int16_t T_h;
typedef int32_t T_i;
typedef int64_t T_l;
typedef float T_f;
typedef double T_d;
typedef float complex T_F;
typedef double complex T_D;

#define CHAR_t "?"
#define CHAR_b "b"
#define CHAR_B "B"
#define CHAR_h "h"
#define CHAR_i "i"
#define CHAR_l "l"
#define CHAR_f "f"
#define CHAR_d "d"
#define CHAR_F "F"
#define CHAR_D "D"

/* Elements as they are read: any byte but 0 is true, and GCC vectorises what is done with bytes, but not with _Bool. */
typedef T_B M_t;
typedef T_b M_b;
typedef T_B M_B;
typedef T_h M_h;
typedef T_i M_i;
typedef T_l M_l;
typedef T_f M_f;
typedef T_d M_d;
typedef T_F M_F;
typedef T_D M_D;

/* Type classes: each applies the macro X to its types, passing the other arguments on. */
#define BOOL(X, ...)      X(t, __VA_ARGS__)
#define NARROW(X, ...)    X(b, __VA_ARGS__) X(B, __VA_ARGS__) X(h, __VA_ARGS__) X(i, __VA_ARGS__)
#define LONG(X, ...)      X(l, __VA_ARGS__)
#define INTEGERS(X, ...)  NARROW(X, __VA_ARGS__) X(l, __VA_ARGS__)
#define FLOATS(X, ...)    X(f, __VA_ARGS__) X(d, __VA_ARGS__)
#define COMPLEXES(X, ...) X(F, __VA_ARGS__) X(D, __VA_ARGS__)
#define BITS(X, ...)      BOOL(X, __VA_ARGS__) INTEGERS(X, __VA_ARGS__)
#define REALS(X, ...)     INTEGERS(X, __VA_ARGS__) FLOATS(X, __VA_ARGS__)
#define ORDERED(X, ...)   BOOL(X, __VA_ARGS__) REALS(X, __VA_ARGS__)
#define INEXACT(X, ...)   FLOATS(X, __VA_ARGS__) COMPLEXES(X, __VA_ARGS__)
#define NUMBERS(X, ...)   REALS(X, __VA_ARGS__) COMPLEXES(X, __VA_ARGS__)
#define ALL(X, ...)       BOOL(X, __VA_ARGS__) NUMBERS(X, __VA_ARGS__)

/*
 * glibc's vector maths library. <math.h> announces it under -ffast-math alone, which would also
 * give up NaNs and signed zeros, so it is announced here. A function missing from this list runs
 * through libm one element at a time.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#define VECTOR1(name) \
    __attribute__((simd("notinbranch"))) double name(double); \
    __attribute__((simd("notinbranch"))) float name##f(float);
#define VECTOR2(name) \
    __attribute__((simd("notinbranch"))) double name(double, double); \
    __attribute__((simd("notinbranch"))) float name##f(float, float);
VECTOR1(exp) VECTOR1(exp2) VECTOR1(expm1) VECTOR1(log) VECTOR1(log2) VECTOR1(log10) VECTOR1(log1p)
VECTOR1(sin) VECTOR1(cos) VECTOR1(tan) VECTOR1(asin) VECTOR1(acos) VECTOR1(atan)
VECTOR1(sinh) VECTOR1(cosh) VECTOR1(tanh) VECTOR1(asinh) VECTOR1(acosh) VECTOR1(atanh)
VECTOR1(cbrt) VECTOR2(pow) VECTOR2(atan2) VECTOR2(hypot)
#undef VECTOR1
#undef VECTOR2
#endif

/* From here on sin(a) is sinf, sin, csinf or csin, as the type of a asks. */
#include <tgmath.h>

/*
 * Complex arithmetic is spelled out: C's own treats infinities with a library call (Annex G),
 * NumPy's does not, and ours equals NumPy's to the bit.
 */
#ifdef __FMA__
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/*
 * A product that is rounded before it is added to: of products that are added in one part and
 * subtracted in the other, gcc's vectoriser makes fused operations whatever -ffp-contract says.
 */
#ifdef __has_builtin
#if __has_builtin(__builtin_assoc_barrier)
#define ROUNDED(x) __builtin_assoc_barrier(x)
#endif
#endif
#ifndef ROUNDED
#define ROUNDED(x) (x)
#endif

#define COMPLEX_ARITHMETIC(C, R, MAKE) \
/* Part by part: GCC makes vectors of parts, but not of pairs. */ \
static inline T_##C move_##C(T_##C a) \
{ \
    return MAKE(ROUNDED(creal(a)), ROUNDED(cimag(a))); \
} \
static inline T_##C where_##C(T_t c, T_##C a, T_##C b) \
{ \
    return MAKE(c ? creal(a) : creal(b), c ? cimag(a) : cimag(b)); \
} \
static inline T_##C multiply_##C(T_##C a, T_##C b) \
{ \
    const T_##R ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b); \
    return MAKE(MULTIPLY_ADD(ar, br, -(ai * bi)), MULTIPLY_ADD(ar, bi, ai * br)); \
} \
/* Smith's algorithm: scaled by the larger part of the divisor, it does not overflow early. */ \
static inline T_##C divide_##C(T_##C a, T_##C b) \
{ \
    const T_##R ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b); \
    if (fabs(br) >= fabs(bi)) { \
        if (br == 0 && bi == 0) \
            return MAKE(ar / fabs(br), ai / fabs(br)); \
        const T_##R ratio = bi / br, scale = 1 / (br + bi * ratio); \
        return MAKE((ar + ROUNDED(ai * ratio)) * scale, (ai - ROUNDED(ar * ratio)) * scale); \
    } \
    const T_##R ratio = br / bi, scale = 1 / (bi + br * ratio); \
    return MAKE((ROUNDED(ar * ratio) + ai) * scale, (ROUNDED(ai * ratio) - ar) * scale); \
}
COMPLEX_ARITHMETIC(F, f, CMPLXF)
COMPLEX_ARITHMETIC(D, d, CMPLX)

#define complex_where(c, a, b) _Generic((a), T_F: where_F, T_D: where_D)(c, a, b)
#define complex_multiply(a, b) _Generic((a), T_F: multiply_F, T_D: multiply_D)(a, b)
#define complex_divide(a, b)   _Generic((a), T_F: divide_F, T_D: divide_D)(a, b)

/* As it is; of a bool an int, of which GCC makes vectors of floats. */
#define moved(a) _Generic((a), T_F: move_F(a), T_D: move_D(a), default: +(a))

/*
 * Remainders of truncated quotients. Where the quotient is that of two numbers with fewer digits than a float has, a
 * fused operation gives the remainder by it, or by the next one, exactly; libm goes through the digits.
 */
#ifdef __FMA__
#define REMAINDER(R, limit) \
static inline T_##R remainder_##R(T_##R a, T_##R b) \
{ \
    const T_##R quotient = trunc(a / b), size = fabs(b); \
    if (!(fabs(quotient) < limit && size < INFINITY)) \
        return fmod(a, b); \
    const T_##R rest = copysign((T_##R)1, a) * fma(-quotient, b, a); \
    return copysign(rest < 0 ? rest + size : rest >= size ? rest - size : rest, a); \
}
REMAINDER(f, 0x1p22f)
REMAINDER(d, 0x1p51)
#else
static inline T_f remainder_f(T_f a, T_f b) { return fmod(a, b); }
static inline T_d remainder_d(T_d a, T_d b) { return fmod(a, b); }
#endif

/*
 * Python's // and % of floats (CPython's float_divmod): the remainder takes the divisor's sign, and
 * the quotient is corrected to be the integer that belongs to that remainder.
 */
#define FLOAT_DIVMOD(R) \
static inline T_##R modulo_##R(T_##R a, T_##R b) \
{ \
    const T_##R mod = remainder_##R(a, b); \
    if (b == 0) \
        return mod; \
    if (mod == 0) \
        return copysign((T_##R)0, b); \
    return (b < 0) != (mod < 0) ? mod + b : mod; \
} \
static inline T_##R floor_divide_##R(T_##R a, T_##R b) \
{ \
    if (b == 0) \
        return a / b; \
    const T_##R mod = remainder_##R(a, b); \
    T_##R quotient = (a - mod) / b; \
    if (mod != 0 && (b < 0) != (mod < 0)) \
        quotient -= 1; \
    if (quotient == 0) \
        return copysign((T_##R)0, a / b); \
    const T_##R whole = floor(quotient); \
    return quotient - whole > (T_##R)0.5 ? whole + 1 : whole; \
}
FLOAT_DIVMOD(f)
FLOAT_DIVMOD(d)

#define float_modulo(a, b)       _Generic((a), T_f: modulo_f, T_d: modulo_d)(a, b)
#define float_floor_divide(a, b) _Generic((a), T_f: floor_divide_f, T_d: floor_divide_d)(a, b)

/*
 * Quotients of integers, rounded down; 0 by 0. Processors divide vectors of floats, but not of integers. The quotient of
 * integers that floats have exactly is rounded to no integer that it is less than, as it is apart from that by more.
 */
#define INTEGER_QUOTIENT(A) \
static inline T_##A quotient_##A(T_##A a, T_##A b) \
{ \
    return b == 0 ? 0 : b == -1 ? -a : a / b - (a % b != 0 && (a ^ b) < 0); \
}
#ifdef __SSE4_1__           /* which rounds down */
#define SHORT_QUOTIENT(A) \
static inline T_##A quotient_##A(T_##A a, T_##A b) \
{ \
    const int32_t floor_ = (int32_t)floorf((float)a / (float)(b == 0 ? 1 : b)); \
    return b == 0 ? 0 : floor_; \
}
SHORT_QUOTIENT(b)
SHORT_QUOTIENT(B)
SHORT_QUOTIENT(h)
static inline T_i quotient_i(T_i a, T_i b)
{
    const T_i floor_ = (T_i)floor((double)a / (double)(b == 0 || b == -1 ? 1 : b));
    return b == 0 ? 0 : b == -1 ? -a : floor_;
}
#else
INTEGER_QUOTIENT(b)
INTEGER_QUOTIENT(B)
INTEGER_QUOTIENT(h)
INTEGER_QUOTIENT(i)
#endif
#ifdef __AVX512DQ__         /* which converts int64 */
/*
 * A quotient of floats is off by 2**11 at most, and that of what is left by 1, up or down. Masks take the place of
 * choices, which GCC makes branches of.
 */
static inline T_l quotient_l(T_l a, T_l b)
{
    const T_l by_one = -(T_l)((uint64_t)b + 1 <= 2);    /* -1, 0 or 1: the quotient is the product */
    const T_l by = (2 & by_one) | (b & ~by_one);
    T_l quotient = (T_l)((double)a / (double)by), rest = a - quotient * by;
    const T_l more = (T_l)((double)rest / (double)by);
    quotient += more;
    rest -= more * by;
    const T_l below = -(T_l)((rest != 0) & ((rest ^ by) < 0));
    quotient += below + (rest + (by & below) == by);
    return (a * b & by_one) | (quotient & ~by_one);
}
#else
INTEGER_QUOTIENT(l)
#endif

#define integer_quotient(a, b) _Generic((a), T_b: quotient_b, T_B: quotient_B, T_h: quotient_h, T_i: quotient_i, \
                                        T_l: quotient_l)(a, b)

/*
 * The number, in row-major order, of an element that several indices name, of which this one is along the next
 * dimension. An index beyond it becomes a number that no element has, which says what the index is (of those beyond
 * 2^55, that they are), and how many dimensions came after it. See `flat_indices` in Python.
 */
static inline int64_t flat_index(int64_t number, int64_t index, int64_t extent)
{
    const int64_t far = INT64_C(1) << 55, near = index < -far ? -far : index >= far ? far - 1 : index;
    return number < 0 ? number + 1
         : index >= extent || index < -extent ? INT64_MIN + 64 * (near + far)
         : number * extent + (index < 0 ? index + extent : index);
}

/* Logarithms of sums of powers of e and of 2, of which the larger one may be beyond all floats. */
#define LOGADDEXP(R) \
static inline T_##R log_add_exp_##R(T_##R a, T_##R b) \
{ \
    const T_##R below = -fabs(a - b), more = log1p(exp(below)); \
    return a == b ? a + (T_##R)M_LN2 : below == below ? (a > b ? a : b) + more : below; \
} \
static inline T_##R log_add_exp2_##R(T_##R a, T_##R b) \
{ \
    const T_##R below = -fabs(a - b), more = (T_##R)M_LOG2E * log1p(exp2(below)); \
    return a == b ? a + 1 : below == below ? (a > b ? a : b) + more : below; \
}
LOGADDEXP(f)
LOGADDEXP(d)

#define log_add_exp(a, b)  _Generic((a), T_f: log_add_exp_f, T_d: log_add_exp_d)(a, b)
#define log_add_exp2(a, b) _Generic((a), T_f: log_add_exp2_f, T_d: log_add_exp2_d)(a, b)
