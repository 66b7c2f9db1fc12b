"""The public names of the library, and which of them no row of the campaign's table has, each with the reason."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable

import numpy as np

import pgaspy as pg
from pgaspy import numpy_names

__all__ = ["LEFT_OUT", "public", "used"]

_METADATA = "describes a job"
_SAME = "is NumPy's own object"
_TYPE = "a type that statements return or raise"

LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(("BLOCKSIZE", "COMM", "SIZE", "THREADS", "datalayout", "init"), _METADATA),
    **dict.fromkeys((
        "BusyError", "DivergenceError", "Explanation", "GlobalArray", "JobError", "Layout", "Statistics",
        "TaskError"), _TYPE),
    **dict.fromkeys((f"linalg.{name}" for name in (
        "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult")), _TYPE),
    "random.Generator": _TYPE,
    **dict.fromkeys((f"random.{name}" for name in (
        "bytes", "choice", "dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal",
        "permutation", "permuted", "shuffle", "spawn")),
        "has no model; tests/random compares layouts and numbers of processes"),
    **dict.fromkeys(numpy_names._OTHERS, _SAME),
    **dict.fromkeys(("array.__contains__", "array.__copy__", "array.__deepcopy__"),
                    "composed of comparison and any, and copies, which are in it"),
    **dict.fromkeys((name for name, x in vars(pg).items() if not name.startswith("_") and (
        isinstance(x, float) or (isinstance(x, type) and issubclass(x, np.generic)))), _SAME),
    **dict.fromkeys(("can_cast", "result_type", "array.__array_namespace__", "array.device", "array.to_device"),
                    "metadata, which tests/standard compares"),
    **dict.fromkeys(("may_share_memory", "shares_memory"), "metadata, which tests/test_element_views.py compares"),
    **dict.fromkeys(("array.__dlpack__", "array.__dlpack_device__", "from_dlpack"),
                    "of one process; in tests/standard"),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values", "linalg.matrix_norm",
                     "linalg.vector_norm"), "composed of unique and of norms, which are in it; in tests/standard"),
    **dict.fromkeys(("packbits", "unpackbits"), "composed of shifts and assignments, which are in it"),
    "array.tolist": "is that of what gather returns, which is in it",
    "amax": "is max, which is in it",
    "amin": "is min, which is in it",
    "astype": "is the method, which is in it",
    "ndarray": "is GlobalArray",
    "fill_diagonal": "assigns to array.flat, which is in it",
    **dict.fromkeys(("asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray"),
                    "is asarray, which is in it"),
    **dict.fromkeys(("frombuffer", "fromiter", "fromstring"), "is NumPy's, as an array; array is in it"),
    "frompyfunc": "has objects as results in NumPy; vectorize, which it calls, is in it",
    **dict.fromkeys(("polyfit", "roots"), "amplifies errors as the points have it; lstsq is in it"),
    **dict.fromkeys(("poly", "polydiv", "polyint"), "is NumPy's on every process, as polymul is, which is in it"),
    **dict.fromkeys(("diag_indices_from", "tril_indices_from", "triu_indices_from", "mask_indices"),
                    "is diag_indices, tril_indices or nonzero, which are in it"),
    **dict.fromkeys(("array.diagonal", "array.dot", "array.repeat", "array.searchsorted", "array.trace",
                     "array.partition", "array.argpartition", "common_type"),
                    "is the function of the name, or of dtypes"),
    **dict.fromkeys(("array.__bytes__", "array.__delitem__"), "raises always"),
    "array.__imatmul__": "is an assignment of the product; both are in it",
    "fallback": "is for what is missing, which the model does not have",
    "draw": "makes a picture, for which it needs matplotlib",
    **dict.fromkeys(("nanpercentile", "nanquantile", "percentile", "quantile"),
                    "NumPy's pass out=... to ufuncs, which the model does not take"),
    "ndenumerate": "gathers all elements, as flat does, which is in it",
    "array.show": "prints; print_once, which it calls, is in it",
    "array.layout": "has no model; layouts are chosen, and seen in what lies where",
    "array.pgrid": "has no model",
    "array.__repr__": "has no model",
    **dict.fromkeys((f"array.{name}" for name in (
        "__annotations__", "__array__", "__array_function__", "__array_priority__", "__array_ufunc__", "__class__",
        "__delattr__", "__dir__", "__doc__", "__getattr__", "__getattribute__", "__getstate__", "__hash__", "__init__",
        "__init_subclass__", "__module__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__", "__sizeof__",
        "__slots__", "__subclasshook__", "__weakref__")),
        "Python's and NumPy's protocols, that other statements go through"),
    **dict.fromkeys((f"array.{name}" for name in dir(pg.GlobalArray) if name in {
        "__firstlineno__", "__static_attributes__"}), "where Python 3.13 has found it in the text"),
}
"""Name -> why it is not in the campaign."""


def public() -> set[str]:
    """The names of the library: of its module as they are, else after `array.`, `linalg.` or `random.`."""
    found = {name for name in dir(pg) if not name.startswith("_") and _is_public(name)}
    found |= {f"array.{name}" for name in dir(pg.GlobalArray) if not name.startswith("_") or name.endswith("__")}
    found |= {f"linalg.{name}" for name in pg.linalg.__all__} | {f"random.{name}" for name in pg.random.__all__}
    return found | {f"random.{name}" for name in dir(pg.random.Generator) if not name.startswith("_")}


def _is_public(name: str) -> bool:
    return name not in ("Any", "TYPE_CHECKING", "annotations") and not isinstance(getattr(pg, name), types.ModuleType)


_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor", ast.MatMult: "matmul",
}  # fmt: skip
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_COMPARED = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_CALLED = {"abs", "bool", "complex", "divmod", "float", "format", "int", "len", "round", "str"}


def used(lines: Iterable[str]) -> set[str]:
    """The names that lines use, as in `public`; a reflected operator where the left operand is no array."""
    found = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        found |= set(_names_of(node))
    return found


def _names_of(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Attribute):
        of = node.value
        if isinstance(of, ast.Name) and of.id == "pg":
            yield node.attr
        elif isinstance(of, ast.Attribute) and of.attr in ("linalg", "random"):
            yield f"{of.attr}.{node.attr}"
        elif isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute) and of.func.attr == "default_rng":
            yield f"random.{node.attr}"
        else:
            yield f"array.{node.attr}"
    elif isinstance(node, ast.BinOp):
        yield f"array.__{_reflected(node.left)}{_BINARY[type(node.op)]}__"
    elif isinstance(node, ast.AugAssign):
        yield f"array.__i{_BINARY[type(node.op)]}__"
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        yield f"array.__{_UNARY[type(node.op)]}__"
    elif isinstance(node, ast.Compare):
        yield from (f"array.__{_COMPARED[type(op)]}__" for op in node.ops if type(op) in _COMPARED)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        if name == "divmod":
            yield f"array.__{_reflected(node.args[0])}divmod__"
        elif name == "range":
            yield "array.__index__"
        elif name in _CALLED:
            yield f"array.__{name}__"
        elif name in _OF_WORDS:
            yield from _OF_WORDS[name]
    elif isinstance(node, ast.comprehension):
        yield "array.__iter__"
    elif isinstance(node, ast.Subscript):
        yield "array.__setitem__" if isinstance(node.ctx, ast.Store) else "array.__getitem__"


_OF_WORDS = {
    "check": ("array.gather",), "collected": ("array.gather",), "look": ("array.local", "array.global_indices"),
    "lease": ("array.local", "array.global_indices"), "local": ("array.local",), "each_block": ("array.blocks",),
    "printed": ("print_once",),
}  # fmt: skip


def _reflected(left: ast.AST) -> str:
    """The letter of a reflected operator, where the left operand is a number or a list."""
    is_own = isinstance(left, ast.Constant | ast.List) or (isinstance(left, ast.UnaryOp) and isinstance(
        left.operand, ast.Constant))
    return "r" if is_own else ""
