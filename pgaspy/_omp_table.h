/*
 * The tables of operations: adding an operation is adding a line.
 *
 * Included several times, with the row macros defined to generate the loops and then to list them.
 * Names are NumPy's ufunc names, where it has them; expressions are in the inputs a and b.
 *
 *   UNARY  (class, name, expression)   x -> x for each type x of the class
 *   BINARY (class, name, expression)   xx -> x
 *   SELECT (class, name, expression)   ?xx -> x, the bool being c
 *   TERNARY (class, name, expression)  xxx -> x, the first being c
 *   TEST1  (class, name, expression)   x -> ?
 *   TEST2  (class, name, expression)   xx -> ?
 *   MATHS1, MATHS2                     as UNARY and BINARY, for expressions that call libm
 *   CAST, MATHS_CAST (from, to, name, expression)
 *   REDUCE (from, to, name, value if empty, expression in the accumulator a and the element b)
 *   SUM    (from, lanes)               REDUCE to l by adding; sums of LEAF / LANES elements fit into `lanes`
 *   TRUTH  (from, name, value if empty, expression)  REDUCE to t
 */
#ifdef CAST
#define COPY_TO(to) ALL(COPY_FROM, to)
#define COPY_FROM(from, to) CAST(from, to, copy, a)
COPY_TO(t) COPY_TO(b) COPY_TO(B) COPY_TO(h) COPY_TO(i) COPY_TO(l) COPY_TO(f) COPY_TO(d) COPY_TO(F) COPY_TO(D)
#undef COPY_TO
#undef COPY_FROM

BINARY(ALL, add, a + b)                         /* of bools: or, by the conversion to _Bool */
BINARY(NUMBERS, subtract, a - b)
BINARY(BOOL, multiply, a & b)
BINARY(REALS, multiply, a * b)
BINARY(COMPLEXES, multiply, complex_multiply(a, b))
BINARY(FLOATS, divide, a / b)
BINARY(COMPLEXES, divide, complex_divide(a, b))
BINARY(INTEGERS, floor_divide, integer_quotient(a, b))
BINARY(INTEGERS, remainder, b == 0 ? 0 : a - b * integer_quotient(a, b))
MATHS2(FLOATS, floor_divide, float_floor_divide(a, b))
MATHS2(FLOATS, remainder, float_modulo(a, b))

UNARY(NUMBERS, negative, -a)
UNARY(NUMBERS, positive, a)
UNARY(BOOL, absolute, a)
UNARY(INTEGERS, absolute, a < 0 ? -a : a)
UNARY(FLOATS, absolute, fabs(a))
UNARY(REALS, square, a * a)
UNARY(COMPLEXES, square, complex_multiply(a, a))
UNARY(FLOATS, reciprocal, 1 / a)
UNARY(INTEGERS, sign, (a > 0) - (a < 0))
UNARY(FLOATS, sign, a != a ? a : (a > 0) - (a < 0))
UNARY(FLOATS, sqrt, sqrt(a))
UNARY(FLOATS, floor, floor(a))
UNARY(FLOATS, ceil, ceil(a))
UNARY(FLOATS, trunc, trunc(a))
UNARY(FLOATS, rint, rint(a))
UNARY(FLOATS, conjugate, a)
UNARY(COMPLEXES, conjugate, conj(a))
CAST(F, f, real, creal(a))
CAST(D, d, real, creal(a))
CAST(F, f, imag, cimag(a))
CAST(D, d, imag, cimag(a))

SELECT(ALL, where, c ? a : b)
TERNARY(LONG, flat_index, flat_index(c, a, b))
BINARY(BITS, maximum, a >= b ? a : b)
BINARY(BITS, minimum, a <= b ? a : b)
BINARY(FLOATS, maximum, a >= b || a != a ? a : b)
BINARY(FLOATS, minimum, a <= b || a != a ? a : b)
BINARY(FLOATS, fmax, a >= b || b != b ? a : b)
BINARY(FLOATS, fmin, a <= b || b != b ? a : b)
BINARY(FLOATS, copysign, copysign(a, b))

TEST2(ALL, equal, a == b)
TEST2(ALL, not_equal, a != b)
TEST2(ORDERED, less, a < b)
TEST2(ORDERED, less_equal, a <= b)
TEST2(ORDERED, greater, a > b)
TEST2(ORDERED, greater_equal, a >= b)
TEST2(ALL, logical_and, (a != 0) & (b != 0))
TEST2(ALL, logical_or, (a != 0) | (b != 0))
TEST2(ALL, logical_xor, (a != 0) ^ (b != 0))
TEST1(ALL, logical_not, a == 0)
TEST1(FLOATS, isnan, a != a)
TEST1(FLOATS, isinf, fabs(a) == INFINITY)
TEST1(FLOATS, isfinite, fabs(a) < INFINITY)
TEST1(FLOATS, signbit, copysign((__typeof__(a))1, a) < 0)
TEST1(COMPLEXES, isnan, a != a)
TEST1(COMPLEXES, isinf, (fabs(creal(a)) == INFINITY) | (fabs(cimag(a)) == INFINITY))
TEST1(COMPLEXES, isfinite, (fabs(creal(a)) < INFINITY) & (fabs(cimag(a)) < INFINITY))

BINARY(BITS, bitwise_and, a & b)
BINARY(BITS, bitwise_or, a | b)
BINARY(BITS, bitwise_xor, a ^ b)
UNARY(BOOL, invert, !a)
UNARY(INTEGERS, invert, ~a)
BINARY(INTEGERS, left_shift, (uint64_t)b < 8 * sizeof a ? a << b : 0)
BINARY(INTEGERS, right_shift, (uint64_t)b < 8 * sizeof a ? a >> b : -(a < 0))

MATHS1(FLOATS, exp, exp(a))
MATHS1(FLOATS, exp2, exp2(a))
MATHS1(FLOATS, expm1, expm1(a))
MATHS1(FLOATS, log, log(a))
MATHS1(FLOATS, log2, log2(a))
MATHS1(FLOATS, log10, log10(a))
MATHS1(FLOATS, log1p, log1p(a))
MATHS1(FLOATS, sin, sin(a))
MATHS1(FLOATS, cos, cos(a))
MATHS1(FLOATS, tan, tan(a))
MATHS1(FLOATS, arcsin, asin(a))
MATHS1(FLOATS, arccos, acos(a))
MATHS1(FLOATS, arctan, atan(a))
MATHS1(FLOATS, sinh, sinh(a))
MATHS1(FLOATS, cosh, cosh(a))
MATHS1(FLOATS, tanh, tanh(a))
MATHS1(FLOATS, arcsinh, asinh(a))
MATHS1(FLOATS, arccosh, acosh(a))
MATHS1(FLOATS, arctanh, atanh(a))
MATHS1(FLOATS, cbrt, cbrt(a))
MATHS2(FLOATS, power, pow(a, b))
MATHS2(FLOATS, arctan2, atan2(a, b))
MATHS2(FLOATS, hypot, hypot(a, b))
MATHS2(FLOATS, logaddexp, log_add_exp(a, b))
MATHS2(FLOATS, logaddexp2, log_add_exp2(a, b))

MATHS_CAST(F, f, absolute, hypot(creal(a), cimag(a)))
MATHS_CAST(D, d, absolute, hypot(creal(a), cimag(a)))
MATHS1(COMPLEXES, exp, exp(a))
MATHS1(COMPLEXES, log, log(a))
MATHS1(COMPLEXES, sqrt, sqrt(a))
MATHS1(COMPLEXES, sin, sin(a))
MATHS1(COMPLEXES, cos, cos(a))
MATHS1(COMPLEXES, tan, tan(a))
MATHS1(COMPLEXES, sinh, sinh(a))
MATHS1(COMPLEXES, cosh, cosh(a))
MATHS1(COMPLEXES, tanh, tanh(a))
#endif

#ifdef REDUCE
REDUCE(f, f, add, 0, a + b)
REDUCE(d, d, add, 0, a + b)
REDUCE(F, F, add, 0, a + b)
REDUCE(D, D, add, 0, a + b)
SUM(t, b)
SUM(b, h)
SUM(h, i)
REDUCE(i, l, add, 0, a + b)
REDUCE(l, l, add, 0, a + b)
REDUCE(f, f, multiply, 1, a * b)
REDUCE(d, d, multiply, 1, a * b)
REDUCE(F, F, multiply, 1, complex_multiply(a, b))
REDUCE(D, D, multiply, 1, complex_multiply(a, b))
REDUCE(i, l, multiply, 1, a * b)
REDUCE(l, l, multiply, 1, a * b)
REDUCE(f, f, maximum, -INFINITY, a >= b || a != a ? a : b)
REDUCE(d, d, maximum, -INFINITY, a >= b || a != a ? a : b)
REDUCE(b, b, maximum, INT8_MIN, a >= b ? a : b)
REDUCE(h, h, maximum, INT16_MIN, a >= b ? a : b)
REDUCE(i, i, maximum, INT32_MIN, a >= b ? a : b)
REDUCE(l, l, maximum, INT64_MIN, a >= b ? a : b)
REDUCE(B, B, maximum, 0, a >= b ? a : b)
REDUCE(f, f, minimum, INFINITY, a <= b || a != a ? a : b)
REDUCE(d, d, minimum, INFINITY, a <= b || a != a ? a : b)
REDUCE(b, b, minimum, INT8_MAX, a <= b ? a : b)
REDUCE(h, h, minimum, INT16_MAX, a <= b ? a : b)
REDUCE(i, i, minimum, INT32_MAX, a <= b ? a : b)
REDUCE(l, l, minimum, INT64_MAX, a <= b ? a : b)
REDUCE(B, B, minimum, UINT8_MAX, a <= b ? a : b)
#define LOGICAL(from, ...) \
    TRUTH(from, logical_and, 1, a & (b != 0)) \
    TRUTH(from, logical_or, 0, a | (b != 0))
ALL(LOGICAL)
#undef LOGICAL
#endif
