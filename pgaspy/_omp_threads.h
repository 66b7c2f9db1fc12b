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
 * Where other programs have the cores of some threads, a team waits for these until they get a turn, for a millisecond
 * or more. So small work is left to one thread once a team was late: for so many times as are doubled whenever one is
 * late again, and are fewer whenever one is in time.
 */
#define SMALL_WORK (1 << 21)
#define LATE 2e-4               /* seconds that others take longer than twice what this thread takes for its part */
#define MAX_ALONE 4096

static _Thread_local int n_alone, patience;
static _Thread_local double begun, ended;

/* The same as `team_for`, for a team that notes when its parts end, and when it does. */
static int begin_team(int64_t work)
{
    const int team = team_for(work);
    if (team > 1 && n_alone > 0 && work < SMALL_WORK) {
        n_alone--;
        return 1;
    }
    if (team > 1)
        begun = omp_get_wtime();
    return team;
}

/* Note that this thread has done its part. */
static void end_part(void)
{
    ended = omp_get_wtime();
}

/* Note that a team has ended, of which each thread has noted that of its part. */
static void end_team(int team, int64_t work)
{
    if (team == 1 || work >= SMALL_WORK)
        return;
    const int is_late = omp_get_wtime() - ended > ended - begun + LATE;
    patience = is_late ? MIN(2 * patience + 64, MAX_ALONE) : patience - patience / 8;
    n_alone = is_late ? patience : 0;
}

/*
 * Where part t of `parts` of n elements begins. Elementwise drivers cut with this, so that the thread
 * which first touches a page of an array is the one that works on it ever after.
 */
static int64_t cut(int64_t n, int t, int parts)
{
    return t == parts ? n : n / parts * t / 1024 * 1024;
}
