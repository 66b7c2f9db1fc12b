/*
 * The C kernels: elementwise operations, reductions, scans, copies of sections, random numbers, progressions,
 * histograms, compactions, takes, positions, exchanges, merges, sorts and products with few columns, with OpenMP over
 * the cores of a process. They see addresses, shapes and byte strides, nothing else.
 *
 * Everything strided runs through one driver. A loop (`loop_fn`) treats n elements, one stride per
 * operand; the driver (`for_each`) brings any geometry to the fewest and longest such loops and
 * deals them out to the threads.
 */
#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "_omp_functions.h"

#include "_omp_threads.h"
#include "_omp_geometry.h"
#include "_omp_short_rows.h"
#include "_omp_for_each.h"

#include "_omp_elementwise_loops.h"
#include "_omp_streaming.h"
#include "_omp_transpose.h"
#include "_omp_elementwise.h"

#include "_omp_leaves.h"
#include "_omp_reduction_loops.h"
#include "_omp_reduce.h"

#include "_omp_scan_loops.h"
#include "_omp_scan.h"

#include "_omp_prefetch.h"
#include "_omp_interpreter.h"
#include "_omp_pieces.h"
#include "_omp_reduce_program.h"
#include "_omp_chain.h"
#include "_omp_finish.h"

#include "_omp_sections.h"
#include "_omp_copy_section.h"
#include "_omp_random.h"
#include "_omp_progression.h"
#include "_omp_histogram.h"
#include "_omp_compact.h"
#include "_omp_take.h"
#include "_omp_position.h"
#include "_omp_exchange.h"
#include "_omp_merge.h"
#include "_omp_sort.h"
#include "_omp_skinny.h"

#include "_omp_machine.h"
