/*
 * Threads: how many work at something, and which of them on what.
 */
#define GRAIN 32768         /* the least work, in additions, that is worth a parallel region */

static int n_threads;       /* 0: as OpenMP's environment says */

static void pg_set_threads(int n)
{
    n_threads = n;
}

static int pg_get_threads(void)
{
    return n_threads > 0 ? n_threads : omp_get_max_threads();
}

static _Thread_local int is_by_itself;

/* Have this thread work by itself, or in a team again: of few elements, where others would have to be woken up. */
static void pg_work_by_itself(int is_so)
{
    is_by_itself = is_so;
}

static int team_for(int64_t work)
{
    return work < GRAIN || is_by_itself ? 1 : pg_get_threads();
}

/*
 * Where part t of `parts` of n elements begins. Elementwise drivers cut with this, so that the thread
 * which first touches a page of an array is the one that works on it ever after.
 */
static int64_t cut(int64_t n, int t, int parts)
{
    return t == parts ? n : n / parts * t / 1024 * 1024;
}
