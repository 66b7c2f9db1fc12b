"""The types of NumPy's names: a ufunc of a global array is a global array."""

from typing import Any, TypedDict, Unpack, overload

from numpy import False_ as False_
from numpy import ScalarType as ScalarType
from numpy import True_ as True_
from numpy import base_repr as base_repr
from numpy import binary_repr as binary_repr
from numpy import bool as bool
from numpy import bool_ as bool_
from numpy import broadcast_shapes as broadcast_shapes
from numpy import byte as byte
from numpy import bytes_ as bytes_
from numpy import cdouble as cdouble
from numpy import character as character
from numpy import clongdouble as clongdouble
from numpy import complex64 as complex64
from numpy import complex128 as complex128
from numpy import complexfloating as complexfloating
from numpy import csingle as csingle
from numpy import datetime64 as datetime64
from numpy import datetime_data as datetime_data
from numpy import double as double
from numpy import dtype as dtype
from numpy import e as e
from numpy import errstate as errstate
from numpy import euler_gamma as euler_gamma
from numpy import finfo as finfo
from numpy import flexible as flexible
from numpy import float16 as float16
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import floating as floating
from numpy import format_float_positional as format_float_positional
from numpy import format_float_scientific as format_float_scientific
from numpy import generic as generic
from numpy import get_printoptions as get_printoptions
from numpy import geterr as geterr
from numpy import half as half
from numpy import iinfo as iinfo
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import int8 as int8
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import int_ as int_
from numpy import intc as intc
from numpy import integer as integer
from numpy import intp as intp
from numpy import isdtype as isdtype
from numpy import issubdtype as issubdtype
from numpy import iterable as iterable
from numpy import little_endian as little_endian
from numpy import long as long
from numpy import longdouble as longdouble
from numpy import longlong as longlong
from numpy import min_scalar_type as min_scalar_type
from numpy import mintypecode as mintypecode
from numpy import nan as nan
from numpy import ndindex as ndindex
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import object_ as object_
from numpy import pi as pi
from numpy import poly1d as poly1d
from numpy import printoptions as printoptions
from numpy import promote_types as promote_types
from numpy import record as record
from numpy import s_ as s_
from numpy import sctypeDict as sctypeDict
from numpy import set_printoptions as set_printoptions
from numpy import seterr as seterr
from numpy import short as short
from numpy import signedinteger as signedinteger
from numpy import single as single
from numpy import str_ as str_
from numpy import timedelta64 as timedelta64
from numpy import typecodes as typecodes
from numpy import typename as typename
from numpy import ubyte as ubyte
from numpy import ufunc as ufunc
from numpy import uint as uint
from numpy import uint8 as uint8
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64
from numpy import uintc as uintc
from numpy import uintp as uintp
from numpy import ulong as ulong
from numpy import ulonglong as ulonglong
from numpy import unsignedinteger as unsignedinteger
from numpy import ushort as ushort
from numpy import void as void
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pgaspy.array import GlobalArray

class _Options(TypedDict, total=False):
    out: Any
    where: Any
    dtype: DTypeLike | None
    casting: str

class _Ufunc:
    __name__: str
    nin: int
    nout: int

class _Unary(_Ufunc):
    @overload
    def __call__(self, x: GlobalArray, /, *target: GlobalArray | None, **options: Unpack[_Options]) -> GlobalArray: ...
    @overload
    def __call__(self, x: ArrayLike, /, *target: NDArray[Any] | None, **options: Unpack[_Options]) -> Any: ...

class _Binary(_Ufunc):
    @overload
    def __call__(self, x1: GlobalArray, x2: GlobalArray | ArrayLike, /, *target: GlobalArray | None,
                 **options: Unpack[_Options]) -> GlobalArray: ...
    @overload
    def __call__(self, x1: ArrayLike, x2: GlobalArray, /, *target: GlobalArray | None,
                 **options: Unpack[_Options]) -> GlobalArray: ...
    @overload
    def __call__(self, x1: ArrayLike, x2: ArrayLike, /, *target: NDArray[Any] | None,
                 **options: Unpack[_Options]) -> Any: ...
    def outer(self, A: Any, B: Any, /, **options: Unpack[_Options]) -> Any: ...
    def reduce(self, array: Any, /, axis: Any = 0, dtype: DTypeLike | None = None, out: Any = None,
               keepdims: Any = False, **options: Any) -> Any: ...
    def accumulate(self, array: Any, /, axis: Any = 0, dtype: DTypeLike | None = None, out: Any = None) -> Any: ...
    def reduceat(self, array: Any, /, indices: ArrayLike, axis: Any = 0, dtype: DTypeLike | None = None,
                 out: Any = None) -> Any: ...

class _UnaryToTwo(_Ufunc):
    @overload
    def __call__(self, x: GlobalArray, /, **options: Unpack[_Options]) -> tuple[GlobalArray, GlobalArray]: ...
    @overload
    def __call__(self, x: ArrayLike, /, *target: NDArray[Any] | None, **options: Unpack[_Options]) -> Any: ...

class _BinaryToTwo(_Ufunc):
    @overload
    def __call__(self, x1: GlobalArray, x2: GlobalArray | ArrayLike, /,
                 **options: Unpack[_Options]) -> tuple[GlobalArray, GlobalArray]: ...
    @overload
    def __call__(self, x1: ArrayLike, x2: GlobalArray, /,
                 **options: Unpack[_Options]) -> tuple[GlobalArray, GlobalArray]: ...
    @overload
    def __call__(self, x1: ArrayLike, x2: ArrayLike, /, *target: NDArray[Any] | None,
                 **options: Unpack[_Options]) -> Any: ...

abs: _Unary
absolute: _Unary
acos: _Unary
acosh: _Unary
add: _Binary
arccos: _Unary
arccosh: _Unary
arcsin: _Unary
arcsinh: _Unary
arctan: _Unary
arctan2: _Binary
arctanh: _Unary
asin: _Unary
asinh: _Unary
atan: _Unary
atan2: _Binary
atanh: _Unary
bitwise_and: _Binary
bitwise_count: _Unary
bitwise_invert: _Unary
bitwise_left_shift: _Binary
bitwise_not: _Unary
bitwise_or: _Binary
bitwise_right_shift: _Binary
bitwise_xor: _Binary
cbrt: _Unary
ceil: _Unary
conj: _Unary
conjugate: _Unary
copysign: _Binary
cos: _Unary
cosh: _Unary
deg2rad: _Unary
degrees: _Unary
divide: _Binary
divmod: _BinaryToTwo
equal: _Binary
exp: _Unary
exp2: _Unary
expm1: _Unary
fabs: _Unary
float_power: _Binary
floor: _Unary
floor_divide: _Binary
fmax: _Binary
fmin: _Binary
fmod: _Binary
frexp: _UnaryToTwo
gcd: _Binary
greater: _Binary
greater_equal: _Binary
heaviside: _Binary
hypot: _Binary
invert: _Unary
isfinite: _Unary
isinf: _Unary
isnan: _Unary
isnat: _Unary
lcm: _Binary
ldexp: _Binary
left_shift: _Binary
less: _Binary
less_equal: _Binary
log: _Unary
log10: _Unary
log1p: _Unary
log2: _Unary
logaddexp: _Binary
logaddexp2: _Binary
logical_and: _Binary
logical_not: _Unary
logical_or: _Binary
logical_xor: _Binary
maximum: _Binary
minimum: _Binary
mod: _Binary
modf: _UnaryToTwo
multiply: _Binary
negative: _Unary
nextafter: _Binary
not_equal: _Binary
positive: _Unary
pow: _Binary
power: _Binary
rad2deg: _Unary
radians: _Unary
reciprocal: _Unary
remainder: _Binary
right_shift: _Binary
rint: _Unary
sign: _Unary
signbit: _Unary
sin: _Unary
sinh: _Unary
spacing: _Unary
sqrt: _Unary
square: _Unary
subtract: _Binary
tan: _Unary
tanh: _Unary
true_divide: _Binary
trunc: _Unary
