/* The "add" kernel of McCalpin's STREAM benchmark. */

void add(const double *restrict x, const double *restrict y, double *restrict z, long n, int n_threads)
{
#pragma omp parallel for simd schedule(static) num_threads(n_threads)
    for (long i = 0; i < n; i++)
        z[i] = x[i] + y[i];
}
