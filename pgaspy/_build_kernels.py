"""Builds the extension module ``pgaspy._kernels`` from ``_omp_ufuncs.c``, with cffi.

Used by setuptools (``cffi_modules=["pgaspy/_build_kernels.py:ffibuilder"]``); ``ffibuilder.compile()``
builds in place. Environment:

``PGASPY_MARCH``
    the machine to compile for instead of the one at hand, e.g. ``x86-64-v2`` for any x86-64.
``CFLAGS``
    further flags; they come last and so win.
"""

import os
import platform
import shlex
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent

DECLARATIONS = """
void pg_set_threads(int n);
int pg_get_threads(void);
const char *pg_missing_cpu_features(void);
int64_t pg_address(int64_t ndarray);

#define MATHS ...
typedef struct { const char *name, *function; int cost; ...; } elementwise_row;
const elementwise_row *pg_elementwise_row(int row);
void pg_elementwise(int row, int ndim, const int64_t *shape, const int64_t *addresses,
                    const int64_t *strides);
void pg_work_by_itself(int is_so);
void pg_run_elementwise(int row, int ndim, const int64_t *shape, const int64_t *addresses,
                        const int64_t *strides);

typedef struct { const char *name, *step, *join, *lane; ...; } reduce_row;
const reduce_row *pg_reduce_row(int row);
int pg_reduce(int row, int n_kept, const int64_t *kept_shape, const int64_t *in_kept_strides,
              const int64_t *out_strides, int n_reduced, const int64_t *reduced_shape,
              const int64_t *in_reduced_strides, int64_t in_address, int64_t out_address);

int pg_scan(int row, int64_t n, int64_t stride, int64_t to_stride, int ndim, const int64_t *shape,
            const int64_t *x_strides, const int64_t *carry_strides, const int64_t *to_strides,
            int64_t x_address, int64_t carry_address, int64_t to_address);

#define MAX_PROGRAM_OPERANDS ...
#define MAX_STEPS ...
#define MAX_REDUCTIONS ...
#define MAX_DIMS ...
#define MAX_STRIDES ...
#define BLOCK ...
#define LANES ...
#define LEAF ...
typedef struct { int64_t rows, n_leaves; ...; } division;
typedef struct { int64_t outer, reduced, width; int across; division of; ...; } pg_leaves;
void pg_leaves_init(pg_leaves *leaves, int64_t outer, int64_t reduced, int64_t extent,
                    int64_t width);
typedef struct { int64_t n_units, head, tail; ...; } pg_piece;
void pg_piece_init(pg_piece *piece, const pg_leaves *leaves, const int64_t *first,
                   const int64_t *extents);
typedef struct { ...; } pg_program;
int64_t pg_program_size(int n_steps, int n_registers);
void pg_program_init(pg_program *program, int n_inputs, int n_outputs, int n_reduced,
                     int n_registers, const int64_t *register_sizes, int n_steps,
                     const int *steps, int ndim, const int64_t *shape, const int64_t *strides);
int64_t pg_n_completed(void);
void pg_run_program(const pg_program *program, const int64_t *addresses, int64_t start,
                    int64_t stop, int64_t loop_address);
void pg_reduce_program(const pg_program *program, const int *reductions, const pg_piece *piece,
                       int first_dim, int end_dim, const int64_t *addresses, int64_t begin,
                       int64_t end, int64_t loop_address);
typedef struct {
    const pg_program *program;
    const int *reductions;
    const pg_piece *piece;
    int first_dim, end_dim;
    int64_t n_rows, lag, peel, address;
} pg_stage;
void pg_run_chain(int n_stages, const pg_stage *stages, const int64_t *addresses,
                  const int64_t *loops, int64_t band, int64_t begin, int64_t end);
void pg_finish_leaves(int reduction, const pg_leaves *tree, int64_t leaves_address, int n_slots,
                      const int64_t *slot_leaves, const int64_t *slots, int64_t out_address);

enum { OWN, OTHER, PACKED, ... };
#define COLUMNS ...
void pg_copy_section(int64_t itemsize, int ndim, const int64_t *n_ranges,
                     const int64_t *const *ranges, int64_t dst_address, const int64_t *dst_strides,
                     int dst_side, int64_t src_address, const int64_t *src_strides, int src_side);

void pg_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t block[4]);
void pg_random_bits(uint64_t key, uint64_t call, uint32_t attempt, int64_t n, int64_t indices_address,
                    int64_t to_address);
enum { RANDOM, UNIFORM, NORMAL_KIND, INTEGERS_KIND, ... };
int pg_random(int kind, char type, uint64_t key, uint64_t call, double a, double b, int64_t low,
              uint64_t span, int ndim, const int64_t *n_ranges, const int64_t *const *ranges,
              int64_t dst_address, const int64_t *dst_strides, int dst_side,
              const int64_t *index_strides, int index_side);

int pg_has_progression(char type);
void pg_progression(char type, int64_t itemsize, int64_t n_segments, int64_t starts_address,
                    int64_t lengths_address, int64_t n, int64_t terms_address, int64_t to_address);

int64_t pg_histogram(int64_t n, int64_t integers_address, int64_t numbers_address,
                 int64_t weights_address, int64_t n_bins, int is_uniform, int64_t edges_address,
                 int64_t found_address);
int pg_compact(int64_t n, int64_t itemsize, int64_t mask_address, int64_t values_address, int64_t first,
               int64_t to_address);
int pg_expand(int64_t n, int64_t itemsize, int64_t mask_address, int64_t values_address, int64_t to_address);
int pg_find_positions(char type, int is_greatest, int64_t n, int64_t stride, int ndim, const int64_t *shape,
                      const int64_t *strides, int64_t x_address, int64_t out_address);
int pg_take_along(int64_t itemsize, int ndim, const int64_t *shape, const int64_t *addresses, const int64_t *strides);
enum { WHOLE, EVEN, CYCLIC, ... };
typedef struct {
    int64_t extent, kind, start, step, n_procs, size, first_owner, missing, rank_stride, local_start, local_step;
} pg_place;
int64_t pg_find_beyond(int64_t n, int64_t address, int64_t total);
int pg_bucket(int ndim, const pg_place *places, int64_t first_rank, int64_t n, int64_t indices_address,
              int64_t total, int64_t n_ranks, int64_t *counts, int64_t positions_address,
              int64_t wanted_address, int width);
int pg_is_sorted(int64_t n, int64_t indices_address, int64_t total, int64_t positions_address,
                 int64_t wanted_address, int width);
int64_t pg_take_checked(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t address,
                        int64_t total, int64_t itemsize, int64_t memory_address, int64_t packed_address);
void pg_take(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t indices_address, int width,
             int64_t total, int64_t itemsize, int64_t memory_address, int64_t packed_address,
             int64_t positions_address);
int pg_put(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t indices_address, int width,
           int64_t total, int64_t itemsize, int64_t memory_address, int64_t packed_address, int64_t packed_step,
           int64_t positions_address);
void pg_permute(int64_t n, int64_t itemsize, int64_t to_address, int64_t from_address,
                int64_t positions_address, int packs);
void pg_locate(int ndim, const pg_place *places, int64_t first, int64_t n, int64_t indices_address, int width,
               int64_t total, int64_t itemsize, int64_t offsets_address);

int pg_merges(char type);
void pg_merge(char type, int64_t n_runs, const int64_t *edges, int64_t keys_address, int64_t indices_address,
              int64_t merged_keys_address, int64_t merged_indices_address);
int pg_sorts(char type);
void pg_sort(char type, int64_t n, int64_t itemsize, int64_t keys_address, int64_t stride, int64_t first,
             int64_t entries_address, int64_t sorted_keys_address, int64_t indices_address, int team);

#define FEW_COLUMNS ...
void pg_multiply_skinny(int is_double, const int64_t *shape, int64_t a_address, int64_t a_stride,
                        int64_t b_address, int64_t c_address, const int64_t *c_strides, double alpha,
                        double beta);
"""


def libraries() -> list[str]:
    """libm, and glibc's vector libm where it has all the functions used."""
    name, version = platform.libc_ver()
    has_vector_maths = (
        platform.machine() == "x86_64"
        and name == "glibc"
        and tuple(map(int, version.split(".")[:2])) >= (2, 35)
    )
    return ["mvec", "m"] if has_vector_maths else ["m"]


ffibuilder = FFI()
ffibuilder.cdef(DECLARATIONS)
ffibuilder.set_source(
    "pgaspy._kernels",
    '#include "_omp_ufuncs.c"',
    include_dirs=[str(HERE)],
    depends=[str(path) for path in sorted(HERE.glob("_omp_*"))],
    libraries=libraries(),
    extra_compile_args=[
        "-O3",
        "-march=" + os.environ.get("PGASPY_MARCH", "native"),
        "-mprefer-vector-width=512",
        "-fopenmp",
        # Not -ffast-math: NaNs, signed zeros and the order of sums are NumPy's. Errors are not
        # reported through errno or traps, and integers wrap around.
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=off",
        "-fwrapv",
        *shlex.split(os.environ.get("CFLAGS", "")),
    ],
    extra_link_args=["-fopenmp"],
)
