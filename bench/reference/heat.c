/* The heat program by hand, with MPI and OpenMP: rows are dealt out, edge rows travel while the others are computed. */

#include <math.h>
#include <mpi.h>

/* Rows first..last-1 of this process: the means into `work`. Returns the residual, the sum of what changes. */
static double sweep(const double *full, double *work, long first, long last, long n, int n_threads)
{
    double residual = 0;
#pragma omp parallel for schedule(static) reduction(+ : residual) num_threads(n_threads)
    for (long i = first; i < last; i++) {
        const double *center = full + (i + 1) * n + 1, *up = center - n, *down = center + n;
        double *mean = work + i * (n - 2), of_row = 0;
#pragma omp simd reduction(+ : of_row)
        for (long j = 0; j < n - 2; j++) {
            mean[j] = 0.2 * (center[j] + up[j] + down[j] + center[j - 1] + center[j + 1]);
            of_row += fabs(center[j] - mean[j]);
        }
        residual += of_row;
    }
    return residual;
}

static void copy_back(double *full, const double *work, long n_rows, long n, int n_threads)
{
#pragma omp parallel for schedule(static) num_threads(n_threads)
    for (long i = 0; i < n_rows; i++) {
        double *center = full + (i + 1) * n + 1;
        const double *mean = work + i * (n - 2);
#pragma omp simd
        for (long j = 0; j < n - 2; j++)
            center[j] = mean[j];
    }
}

/* Sweeps over n_rows >= 2 rows of n points and a row above and below, (n_rows + 2) x n; returns the last residual.
   The communicator is a Fortran handle, which is an integer with every MPI. */
double heat(double *full, double *work, long n_rows, long n, long n_sweeps, int n_threads, MPI_Fint handle)
{
    MPI_Comm comm = MPI_Comm_f2c(handle);
    MPI_Request requests[4];
    double residual = 0;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

    for (long k = 0; k < n_sweeps; k++) {
        MPI_Irecv(full, (int)n, MPI_DOUBLE, above, 0, comm, &requests[0]);
        MPI_Irecv(full + (n_rows + 1) * n, (int)n, MPI_DOUBLE, below, 0, comm, &requests[1]);
        MPI_Isend(full + n, (int)n, MPI_DOUBLE, above, 0, comm, &requests[2]);
        MPI_Isend(full + n_rows * n, (int)n, MPI_DOUBLE, below, 0, comm, &requests[3]);
        residual = sweep(full, work, 1, n_rows - 1, n, n_threads);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        residual += sweep(full, work, 0, 1, n, n_threads);
        residual += sweep(full, work, n_rows - 1, n_rows, n, n_threads);
        copy_back(full, work, n_rows, n, n_threads);
        MPI_Allreduce(MPI_IN_PLACE, &residual, 1, MPI_DOUBLE, MPI_SUM, comm);
    }
    return residual;
}
