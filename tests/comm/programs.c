/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random programs of collectives, work of the ranks between them, on streams of their own and in any
 * order of the ranks, against a serial oracle in integers that wrap: on the simulator by one thread for
 * all ranks, and by shared memory in a process for each. */
#include <sys/wait.h>
#include <unistd.h>
#include "tests/comm/team.h"

enum { LENGTH = 24, STEPS = 12 }; /* LENGTH: divisible by every number of ranks */
static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

/* What each rank has, here and there. */
typedef struct {
    int n;
    int only; /* the rank of this process; -1: all are here */
    nd_device *device[MOST];
    nd_comm *comm[MOST];
    uint32_t want[MOST][LENGTH];
    nd_array *x[MOST];
    nd_stream *stream[MOST][2]; /* NULL: the device queues nothing */
    nd_stream *last[MOST];      /* on which x was used last */
} world;

static uint32_t combined(int op, uint32_t a, uint32_t b)
{
    switch (op) {
    case ND_COMM_PROD:
        return a * b;
    case ND_COMM_MIN:
        return (int32_t)a < (int32_t)b ? a : b;
    case ND_COMM_MAX:
        return (int32_t)a > (int32_t)b ? a : b;
    default:
        return a + b;
    }
}

static int is_here(const world *w, int r)
{
    return w->only < 0 || w->only == r;
}

static void combine_all(const world *w, int op, uint32_t *out)
{
    memcpy(out, w->want[0], sizeof w->want[0]);
    for (int r = 1; r < w->n; r++)
        for (int i = 0; i < LENGTH; i++)
            out[i] = combined(op, out[i], w->want[r][i]);
}

/* ---- the oracle ---- */
enum { SUM_UP, TO_ROOT, SPREAD, GATHER, SCATTER, EXCHANGE, PASS, ADD, MULTIPLY, KINDS };

static void expect(world *w, int kind, int op, int root, int k)
{
    uint32_t before[MOST][LENGTH], all[LENGTH];
    const int n = w->n, part = LENGTH / n;
    memcpy(before, w->want, sizeof before);
    combine_all(w, op, all);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < LENGTH; i++) {
            uint32_t *x = &w->want[r][i];
            switch (kind) {
            case SUM_UP:
                *x = all[i];
                break;
            case TO_ROOT:
                *x = r == root ? all[i] : *x;
                break;
            case SPREAD:
                *x = before[root][i];
                break;
            case GATHER: /* the first part of every rank */
                *x = before[i / part][i % part];
                break;
            case SCATTER: /* the own part reduced, the rest as it was */
                *x = i / part == r ? all[i] : *x;
                break;
            case EXCHANGE:
                *x = before[i / part][r * part + i % part];
                break;
            case PASS:
                *x = before[(r + n - 1) % n][i];
                break;
            case ADD:
                *x += (uint32_t)(k + r);
                break;
            default:
                *x *= (uint32_t)(2 * k + 1);
            }
        }
}

/* ---- the same by ndock ---- */
static nd_array *part_of(const nd_array *x, int first, int extent)
{
    nd_array *v = NULL;
    const nd_index at = nd_range(first, first + extent, 1);
    must(nd_slice(x, &at, 1, &v));
    return v;
}

static nd_array *rows_of(const nd_array *x, int n)
{
    nd_array *v = NULL;
    const int64_t shape[2] = {n, LENGTH / n};
    must(nd_reshape(x, 2, shape, &v));
    return v;
}

static void by_rows(world *w, nd_comm *c, int kind, int r, const nd_comm_opts *opts)
{
    const int n = w->n, part = LENGTH / n;
    nd_array *rows = rows_of(w->x[r], n), *mine = NULL, *new = NULL;
    if (kind == GATHER) {
        mine = part_of(w->x[r], 0, part);
        must(nd_comm_all_gather_into(c, mine, opts, rows));
    } else if (kind == SCATTER) {
        mine = part_of(w->x[r], r * part, part);
        must(nd_comm_reduce_scatter(c, rows, opts, &new));
        must(nd_assign(new, mine));
    } else {
        must(nd_comm_all_to_all_into(c, rows, opts, rows));
    }
    nd_release(rows);
    nd_release(mine);
    nd_release(new);
}

static void pass_on(world *w, nd_comm *c, int r)
{
    nd_array *next = NULL;
    const int64_t shape = LENGTH;
    must(nd_empty(nd_comm_device(c), ND_I32, 1, &shape, &next));
    must(nd_comm_group_begin(c));
    must(nd_comm_send(c, w->x[r], (r + 1) % w->n, NULL));
    must(nd_comm_recv(c, next, (r + w->n - 1) % w->n, NULL));
    must(nd_comm_group_end(c));
    nd_release(w->x[r]);
    w->x[r] = next;
}

static void call(world *w, int kind, int op, int root, int k, int r, nd_work **work)
{
    nd_comm *c = w->comm[r];
    const nd_comm_opts opts = {.size = sizeof opts, .reduce = op, .work = work};
    switch (kind) {
    case SUM_UP:
        must(nd_comm_all_reduce_into(c, w->x[r], &opts, w->x[r]));
        break;
    case TO_ROOT:
        must(nd_comm_reduce_into(c, w->x[r], root, &opts, w->x[r]));
        break;
    case SPREAD:
        must(nd_comm_broadcast(c, w->x[r], root, &opts));
        break;
    case PASS:
        pass_on(w, c, r);
        break;
    case ADD:
        must(nd_add_scalar_into(w->x[r], nd_int(k + r), w->x[r]));
        break;
    case MULTIPLY:
        must(nd_multiply_scalar_into(w->x[r], nd_int(2 * k + 1), w->x[r]));
        break;
    default:
        by_rows(w, c, kind, r, &opts);
    }
    if (work)
        must(nd_work_wait(*work));
}

static void enter(const world *w, int r, nd_stream *s)
{
    if (s && s != w->last[r])
        must(nd_stream_wait_stream(s, w->last[r]));
    if (s)
        must(nd_stream_push(s));
}

static void leave(nd_stream *s)
{
    if (s)
        must(nd_stream_pop(s));
}

/* A rank's step on one of its streams, after what it did before. Ranks of other processes draw the
 * same there. */
static void take_step(world *w, int kind, int op, int root, int k, int r)
{
    nd_work *work = NULL;
    nd_stream *s = w->stream[r][draw(2)];
    const int works = kind == SUM_UP && draw(2);
    if (!is_here(w, r))
        return;
    enter(w, r, s);
    call(w, kind, op, root, k, r, works ? &work : NULL);
    nd_work_release(work);
    leave(s);
    w->last[r] = s;
}

static void shuffle(int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)draw((uint32_t)i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

static void begin(world *w)
{
    const int64_t shape = LENGTH;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_I32, .ndim = 1, .shape = &shape};
    for (int r = 0; r < w->n; r++) {
        for (int i = 0; i < LENGTH; i++)
            w->want[r][i] = draw(100) - 50;
        w->last[r] = w->stream[r][0];
        if (!is_here(w, r))
            continue;
        enter(w, r, w->last[r]);
        must(nd_from_host(&layout, w->want[r], w->device[r], &w->x[r]));
        leave(w->last[r]);
    }
}

static int agrees(const world *w)
{
    int good = 1;
    for (int r = 0; r < w->n; r++) {
        uint32_t got[LENGTH];
        if (!is_here(w, r))
            continue;
        enter(w, r, w->last[r]);
        must(nd_to_host(w->x[r], got, sizeof got));
        leave(w->last[r]);
        good = good && memcmp(got, w->want[r], sizeof got) == 0;
    }
    return good;
}

static int run_program(world *w, uint64_t seed)
{
    int order[MOST];
    state = seed;
    begin(w);
    for (int i = 0; i < STEPS; i++) {
        const int kind = (int)draw(KINDS), op = (int)draw(4), root = (int)draw((uint32_t)w->n);
        const int k = (int)draw(50);
        shuffle(order, w->n);
        for (int j = 0; j < w->n; j++)
            take_step(w, kind, op, root, k, order[j]);
        expect(w, kind, op, root, k);
    }
    const int good = agrees(w);
    for (int r = 0; r < w->n; r++)
        if (is_here(w, r))
            nd_release(w->x[r]);
    return good;
}

static int64_t bytes_in_use(const world *w)
{
    int64_t sum = 0;
    for (int r = 0; r < w->n; r++) {
        nd_memory_stats stats = {.size = sizeof stats};
        if (!is_here(w, r))
            continue;
        must(nd_synchronize(w->device[r]));
        must(nd_memory_stats_get(w->device[r], &stats));
        sum += stats.active_bytes.all.current;
    }
    return sum;
}

/* Every third of the programs, those of this number of ranks; how many are wrong. */
static int run_programs(world *w, int programs)
{
    int wrong = 0;
    for (int i = w->n - 2; i < programs; i += MOST - 1)
        if (!run_program(w, (uint64_t)i * 977 + 1) && !wrong++)
            diag("program %d of %d ranks is wrong", i, w->n);
    return wrong;
}

static void on_simulator(int n, int programs)
{
    team t = new_team(n);
    world w = {.n = n, .only = -1};
    for (int r = 0; r < n; r++) {
        w.comm[r] = t.comm[r];
        w.device[r] = t.sim[r].d;
    }
    const int64_t before = bytes_in_use(&w);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 2; i++)
            w.stream[r][i] = new_stream(t.sim[r].d);
    ok(run_programs(&w, programs) == 0, "programs of %d ranks, every third of %d", n, programs);
    ok(bytes_in_use(&w) == before, "nothing is left of them");
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 2; i++)
            nd_stream_release(w.stream[r][i]);
    end_team(&t);
}

/* ---- a process a rank ---- */
static int be_rank(int rank, int n, const nd_comm_id *id, int programs)
{
    world w = {.n = n, .only = rank};
    alarm(600);
    must(nd_device_get("cpu", &w.device[rank]));
    must(nd_comm_init(w.device[rank], rank, n, id, &w.comm[rank]));
    const int64_t before = bytes_in_use(&w);
    const int wrong = run_programs(&w, programs);
    const int left = bytes_in_use(&w) != before;
    nd_comm_release(w.comm[rank]);
    if (left)
        diag("rank %d of %d: memory is left", rank, n);
    return wrong || left;
}

static void in_processes(int n, int programs)
{
    nd_comm_id id;
    nd_device *cpu;
    pid_t pid[MOST];
    int good = 1, status;
    must(nd_device_get("cpu", &cpu));
    must(nd_comm_unique_id(cpu, &id));
    fflush(NULL);
    for (int r = 0; r < n; r++)
        if ((pid[r] = fork()) == 0)
            _exit((be_rank(r, n, &id, programs) | fflush(NULL)) != 0);
    for (int r = 0; r < n; r++)
        good = pid[r] > 0 && waitpid(pid[r], &status, 0) == pid[r] && status == 0 && good;
    ok(good, "by shared memory, programs of %d ranks, every third of %d", n, programs);
}

int main(void)
{
    const char *count = getenv("NDOCK_TEST_PROGRAMS");
    const int programs = count ? atoi(count) : getenv("NDOCK_TEST_SLICE") ? 60 : 1000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("NDOCK_SIM_LATENCY_US", "20", 1); /* and any order of what may be in any */
    alarm(600);
    for (int n = 2; n <= MOST; n++) /* before there are devices whose threads a child lacks */
        in_processes(n, programs);
    for (int n = 2; n <= MOST; n++)
        on_simulator(n, programs);
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
