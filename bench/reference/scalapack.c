/* One routine of ScaLAPACK, several times: prints the seconds of each, those of the slowest process.

   Usage: scalapack gemm|getrf|potrf|geqrf N BLOCK GRID_ROWS GRID_COLUMNS PANEL REPEATS

   All messages are those of BLACS, so it is compiled without the headers of an MPI. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
void Cblacs_barrier(int context, const char *scope);
void Cblacs_abort(int context, int code);
void Cblacs_exit(int keep_mpi);
void Cdgamx2d(int context, const char *scope, const char *topology, int m, int n, double *a, int lda, int *row,
              int *column, int ld_places, int to_row, int to_column);
int numroc_(const int *n, const int *block, const int *p, const int *first, const int *n_p);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *column,
               const int *context, const int *lld, int *info);
void pdgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *desca, const double *b, const int *ib,
             const int *jb, const int *descb, const double *beta, double *c, const int *ic, const int *jc,
             const int *descc);
void pdgetrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desca, int *pivots,
              int *info);
void pdgetrs_(const char *t, const int *n, const int *n_rhs, const double *a, const int *ia, const int *ja,
              const int *desca, const int *pivots, double *b, const int *ib, const int *jb, const int *descb,
              int *info);
void pdpotrf_(const char *uplo, const int *n, double *a, const int *ia, const int *ja, const int *desca, int *info);
void pdpotrs_(const char *uplo, const int *n, const int *n_rhs, const double *a, const int *ia, const int *ja,
              const int *desca, double *b, const int *ib, const int *jb, const int *descb, int *info);
void pdgeqrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desca, double *tau,
              double *work, const int *lwork, int *info);
void pdormqr_(const char *side, const char *t, const int *m, const int *n, const int *k, const double *a,
              const int *ia, const int *ja, const int *desca, const double *tau, double *c, const int *ic,
              const int *jc, const int *descc, double *work, const int *lwork, int *info);
void pdtrtrs_(const char *uplo, const char *t, const char *diag, const int *n, const int *n_rhs, const double *a,
              const int *ia, const int *ja, const int *desca, double *b, const int *ib, const int *jb,
              const int *descb, int *info);

typedef struct {
    int desc[9], n_rows, n_columns;
    double *local;
} Matrix;

static const int zero = 0, one = 1;
static const double plus = 1, minus = -1, nothing = 0;
static int n, block, context, grid[2], place[2], panel;
static int *pivots, lwork;
static double *tau, *work;

/* PBLAS asks here for the width of the panels that it communicates. ScaLAPACK's own answer, which this one replaces,
   is 32 always. */
int pilaenv_(const int *of_context, const char *type)
{
    (void)of_context, (void)type;
    return panel;
}

static void check(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "failed: %s\n", what);
    Cblacs_abort(context, 1);
}

static Matrix matrix(int columns)
{
    Matrix made = {.n_rows = numroc_(&n, &block, &place[0], &zero, &grid[0]),
                   .n_columns = numroc_(&columns, &block, &place[1], &zero, &grid[1])};
    int info, lld = made.n_rows > 1 ? made.n_rows : 1;
    descinit_(made.desc, &n, &columns, &block, &block, &zero, &zero, &context, &lld, &info);
    made.local = malloc(sizeof(double) * ((size_t)lld * (size_t)made.n_columns + 1));
    check(!info && made.local, "making a matrix");
    return made;
}

static size_t bytes(const Matrix *a) { return sizeof(double) * (size_t)a->n_rows * (size_t)a->n_columns; }

static double *at(const Matrix *a, int i, int j) { return a->local + (size_t)j * (size_t)a->n_rows + i; }

static int global(int local, int axis) { return (local / block * grid[axis] + place[axis]) * block + local % block; }

/* Between -0.5 and 0.5, the same on every grid: splitmix64 of the place. */
static double random_at(uint64_t i, uint64_t j, uint64_t seed)
{
    uint64_t z = (i * (uint64_t)n + j + 1) * 0x9e3779b97f4a7c15u + seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
}

static void fill(const Matrix *a, int symmetric, uint64_t seed)
{
    for (int j = 0; j < a->n_columns; j++)
        for (int i = 0; i < a->n_rows; i++) {
            int row = global(i, 0), column = global(j, 1), swap = symmetric && row < column;
            *at(a, i, j) = random_at((uint64_t)(swap ? column : row), (uint64_t)(swap ? row : column), seed);
            if (symmetric && row == column)
                *at(a, i, j) += n;
        }
}

/* c = alpha a b + beta c */
static void product(double alpha, const Matrix *a, const Matrix *b, double beta, const Matrix *c)
{
    pdgemm_("N", "N", &n, &c->desc[3], &n, &alpha, a->local, &one, &one, a->desc, b->local, &one, &one, b->desc, &beta,
            c->local, &one, &one, c->desc);
}

static void factor(const char *job, const Matrix *a)
{
    int info = 0;
    if (!strcmp(job, "getrf"))
        pdgetrf_(&n, &n, a->local, &one, &one, a->desc, pivots, &info);
    else if (!strcmp(job, "potrf"))
        pdpotrf_("L", &n, a->local, &one, &one, a->desc, &info);
    else
        pdgeqrf_(&n, &n, a->local, &one, &one, a->desc, tau, work, &lwork, &info);
    check(info == 0, job);
}

/* Solve a x = b with the factors of a; x replaces b. */
static void solve(const char *job, const Matrix *a, const Matrix *b)
{
    int info = 0;
    if (!strcmp(job, "getrf"))
        pdgetrs_("N", &n, &one, a->local, &one, &one, a->desc, pivots, b->local, &one, &one, b->desc, &info);
    else if (!strcmp(job, "potrf"))
        pdpotrs_("L", &n, &one, a->local, &one, &one, a->desc, b->local, &one, &one, b->desc, &info);
    else {
        pdormqr_("L", "T", &n, &one, &n, a->local, &one, &one, a->desc, tau, b->local, &one, &one, b->desc, work,
                 &lwork, &info);
        check(info == 0, "pdormqr");
        pdtrtrs_("U", "N", "N", &n, &one, a->local, &one, &one, a->desc, b->local, &one, &one, b->desc, &info);
    }
    check(info == 0, "the solution");
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The largest of the processes' values, on all. */
static double largest_of(double value)
{
    Cdgamx2d(context, "All", " ", 1, 1, &value, 1, NULL, NULL, -1, -1, -1);
    return value;
}

static double largest(const Matrix *a)
{
    double found = 0;
    for (size_t k = 0; k < bytes(a) / sizeof(double); k++)
        found = fmax(found, fabs(a->local[k]));
    return largest_of(found);
}

/* Room for pdgeqrf, and for pdormqr on one column. */
static void prepare(const Matrix *a, const Matrix *b)
{
    double wanted[2];
    int info, query = -1;
    pivots = malloc(sizeof(int) * (size_t)(a->n_rows + block));
    tau = malloc(sizeof(double) * (size_t)(a->n_columns + 1));
    pdgeqrf_(&n, &n, a->local, &one, &one, a->desc, tau, &wanted[0], &query, &info);
    pdormqr_("L", "T", &n, &one, &n, a->local, &one, &one, a->desc, tau, b->local, &one, &one, b->desc, &wanted[1],
             &query, &info);
    lwork = (int)fmax(wanted[0], wanted[1]);
    work = malloc(sizeof(double) * (size_t)lwork);
    check(pivots && tau && work, "memory");
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: see the source\n");
        return 2;
    }
    const char *job = argv[1];
    int repeats = atoi(argv[7]), multiplies = !strcmp(job, "gemm");
    n = atoi(argv[2]), block = atoi(argv[3]), panel = atoi(argv[6]);
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", atoi(argv[4]), atoi(argv[5]));
    Cblacs_gridinfo(context, &grid[0], &grid[1], &place[0], &place[1]);
    check(place[0] >= 0, "placing every process on the grid");

    Matrix a = matrix(n), b = multiplies ? matrix(n) : a, result = matrix(n), x = matrix(1), y = matrix(1);
    fill(&a, !strcmp(job, "potrf"), 1);
    if (multiplies)
        fill(&b, 0, 2);
    prepare(&a, &x);
    for (int k = 0; k <= repeats; k++) {
        if (!multiplies)
            memcpy(result.local, a.local, bytes(&a));
        Cblacs_barrier(context, "All");
        double start = seconds_now();
        if (multiplies)
            product(plus, &a, &b, nothing, &result);
        else
            factor(job, &result);
        double seconds = largest_of(seconds_now() - start);
        if (k && !place[0] && !place[1]) /* the first is to warm up */
            printf("%.6f\n", seconds);
    }

    /* y = a b x - (a b) x, or y = a (a^-1 x) - x */
    fill(&x, 0, 3);
    if (multiplies) {
        Matrix bx = matrix(1);
        product(plus, &b, &x, nothing, &bx);
        product(plus, &a, &bx, nothing, &y);
        product(minus, &result, &x, plus, &y);
    } else {
        memcpy(y.local, x.local, bytes(&x));
        solve(job, &result, &x);
        product(minus, &a, &x, plus, &y);
    }
    double scale = largest(&a) * n * largest(&x) * (multiplies ? n : 1);
    double residual = largest(&y) / (scale * n * DBL_EPSILON);
    if (!place[0] && !place[1])
        fprintf(stderr, "residual %g\n", residual);
    check(residual <= 4, "the residual");
    Cblacs_exit(0);
    return 0;
}
