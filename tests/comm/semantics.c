/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What communicators promise beyond their sums, on the simulator: order, groups, work, splitting. */
#include "tests/comm/team.h"

static void calls_return_at_once(void)
{
    team t = new_team(3);
    nd_array *in[MOST], *out[MOST];
    uint64_t ran = 0, pending = 0;
    set_modes(&t, NDSIM_STEPPED);
    sum_ranks(&t, in, out);
    for (int i = 0; i < 3; i++)
        must(t.sim[i].c->pending(t.sim[i].dev, NULL, &pending));
    ok(pending > 0, "all ranks have called and nothing has run");
    must(t.sim[0].c->step(t.sim[0].dev, NDSIM_ANY, 100, &ran));
    must(t.sim[0].c->pending(t.sim[0].dev, NULL, &pending));
    is_int(pending, 1, "the exchange of rank 0 stays while the others have not come to theirs");
    is_int(first_of(out[1]), 6, "who reads a result runs what it needs of every rank");
    must(t.sim[2].c->step(t.sim[2].dev, NDSIM_ANY, 100, &ran));
    is_int(first_of(out[2]), 6, "and the others have it too");
    is_int(first_of(out[0]), 6, "all of them");
    set_modes(&t, NDSIM_AUTO);
    for (int i = 0; i < 3; i++) {
        nd_release(in[i]);
        nd_release(out[i]);
    }
    end_team(&t);
}

static void operations_before_and_after_are_in_order(void)
{
    team t = new_team(2);
    for (int i = 0; i < 2; i++)
        must(t.sim[i].c->set_cost(t.sim[i].dev, 1000, i ? 2000 : 0)); /* one is slow */
    nd_array *x[2], *sum[2];
    for (int i = 0; i < 2; i++) {
        x[i] = vector(t.sim[i].d, 10, i);
        must(nd_add_scalar_into(x[i], nd_float(10), x[i]));
        must(nd_comm_all_reduce(t.comm[i], x[i], NULL, &sum[i]));
        must(nd_multiply_scalar_into(x[i], nd_float(0), x[i])); /* after it was read */
        must(nd_multiply_scalar_into(sum[i], nd_float(2), sum[i]));
    }
    is_int(first_of(sum[0]), 42, "what was queued before is summed, what was queued after is not");
    is_int(first_of(sum[1]), 42, "on every rank");
    for (int i = 0; i < 2; i++) {
        must(t.sim[i].c->set_cost(t.sim[i].dev, 1000, 0));
        nd_release(x[i]);
        nd_release(sum[i]);
    }
    end_team(&t);
}

static void results_take_the_place_of_operands(void)
{
    team t = new_team(3);
    nd_array *x[3];
    const nd_comm_opts most = {.size = sizeof most, .reduce = ND_COMM_MAX};
    for (int i = 0; i < 3; i++) {
        x[i] = vector(t.sim[i].d, 10, i);
        must(nd_comm_all_reduce_into(t.comm[i], x[i], NULL, x[i]));
    }
    for (int i = 0; i < 3; i++)
        must(nd_comm_all_reduce_into(t.comm[i], x[i], &most, x[i]));
    is_int(first_of(x[1]), 3, "in place, twice");
    nd_array *part[3], *whole[3];
    for (int i = 0; i < 3; i++) { /* the part lies in the whole */
        const int64_t shape[2] = {3, 10};
        const nd_index at = nd_at(i);
        must(nd_full(t.sim[i].d, ND_F32, 2, shape, nd_float(i), &whole[i]));
        must(nd_slice(whole[i], &at, 1, &part[i]));
        must(nd_comm_all_gather_into(t.comm[i], part[i], NULL, whole[i]));
    }
    float v[30];
    must(nd_to_host(whole[1], v, sizeof v));
    ok(v[0] == 0 && v[15] == 1 && v[29] == 2, "an operand may be a part of the result");
    for (int i = 0; i < 3; i++) {
        nd_release(x[i]);
        nd_release(part[i]);
        nd_release(whole[i]);
    }
    end_team(&t);
}

/* ---- work ---- */
static void work_runs_beside_the_stream(void)
{
    team t = new_team(2);
    nd_array *x[2], *sum[2], *twice = NULL;
    nd_work *work[2];
    int32_t done = 1;
    uint64_t ran;
    set_modes(&t, NDSIM_STEPPED);
    for (int i = 0; i < 2; i++) {
        const nd_comm_opts opts = {.size = sizeof opts, .work = &work[i]};
        x[i] = vector(t.sim[i].d, 10, i + 1);
        must(nd_comm_all_reduce(t.comm[i], x[i], &opts, &sum[i]));
    }
    must(nd_work_query(work[0], &done));
    is_int(done, 0, "work is not done before it has run");
    must(nd_work_wait(work[0]));
    must(nd_add(sum[0], sum[0], &twice));
    must(t.sim[0].c->step(t.sim[0].dev, NULL, 100, &ran));
    uint64_t pending = 0;
    must(t.sim[0].c->pending(t.sim[0].dev, NULL, &pending));
    ok(pending > 0, "later work on the stream waits for it");
    must(nd_work_synchronize(work[0]));
    must(nd_work_query(work[0], &done));
    is_int(done, 1, "then it is done");
    is_int(first_of(twice), 6, "and its result is there");
    must(nd_work_synchronize(work[1]));
    set_modes(&t, NDSIM_AUTO);
    for (int i = 0; i < 2; i++) {
        nd_work_release(work[i]);
        nd_release(x[i]);
        nd_release(sum[i]);
    }
    nd_release(twice);
    end_team(&t);
}

/* Whether the checker finds a race where the caller uses a result, having waited for the work or
 * not. */
static uint64_t races_of_work(int waits)
{
    team t = new_team(2);
    nd_array *x[2], *sum[2], *twice[2];
    nd_work *work[2];
    set_modes(&t, NDSIM_STEPPED);
    must(t.sim[0].c->set_checker(t.sim[0].dev, 1));
    must(t.sim[0].c->race_clear(t.sim[0].dev));
    for (int i = 0; i < 2; i++) {
        const nd_comm_opts opts = {.size = sizeof opts, .work = &work[i]};
        x[i] = vector(t.sim[i].d, 10, i + 1);
        must(nd_comm_all_reduce(t.comm[i], x[i], &opts, &sum[i]));
    }
    for (int i = 0; i < 2; i++) {
        if (waits)
            must(nd_work_wait(work[i]));
        must(nd_add(sum[i], sum[i], &twice[i]));
    }
    uint64_t n = 0;
    must(t.sim[0].c->race_count(t.sim[0].dev, &n));
    must(t.sim[0].c->set_checker(t.sim[0].dev, 0));
    must(t.sim[0].c->race_clear(t.sim[0].dev));
    for (int i = 0; i < 2; i++) /* one by one: the race was found, and is not to happen as well */
        must(nd_work_synchronize(work[i]));
    set_modes(&t, NDSIM_AUTO);
    for (int i = 0; i < 2; i++) {
        nd_work_release(work[i]);
        nd_release(x[i]);
        nd_release(sum[i]);
        nd_release(twice[i]);
    }
    end_team(&t);
    return n;
}

static void the_checker_sees_exchanges(void)
{
    nd_log_set(NULL, NULL, ND_LOG_OFF);
    is_int(races_of_work(1), 0, "no race where the caller waits for the work");
    ok(races_of_work(0) >= 2, "a race on each rank where it does not");
}

/* ---- groups ---- */
static void messages_cross_in_a_group(void)
{
    team t = new_team(4);
    nd_array *mine[4], *theirs[4];
    for (int i = 0; i < 4; i++) {
        mine[i] = vector(t.sim[i].d, 10, i);
        theirs[i] = vector(t.sim[i].d, 10, -1);
        must(nd_comm_group_begin(t.comm[i]));
        must(nd_comm_recv(t.comm[i], theirs[i], (i + 3) % 4, NULL));
        must(nd_comm_send(t.comm[i], mine[i], (i + 1) % 4, NULL));
        must(nd_comm_group_end(t.comm[i]));
    }
    int good = 1;
    for (int i = 0; i < 4; i++)
        good = good && first_of(theirs[i]) == (i + 3) % 4;
    ok(good, "each rank receives before it sends, which only a group allows");
    for (int i = 0; i < 4; i++) {
        nd_release(mine[i]);
        nd_release(theirs[i]);
    }
    end_team(&t);
}

static void one_group_serves_all_ranks(void)
{
    team t = new_team(2);
    nd_array *x[2], *y[2];
    must(nd_comm_group_begin(t.comm[0]));
    for (int i = 0; i < 2; i++) {
        x[i] = vector(t.sim[i].d, 10, i + 1);
        must(nd_comm_all_reduce(t.comm[i], x[i], NULL, &y[i]));
        nd_release(x[i]); /* the group keeps it */
    }
    is_int(nd_comm_group_begin(t.comm[0]), ND_ERR_STATE, "groups do not nest");
    is_int(nd_comm_barrier(t.comm[0]), ND_ERR_STATE, "nor do they wait");
    must(nd_comm_group_end(t.comm[0]));
    is_int(first_of(y[0]) + first_of(y[1]), 6, "calls of several ranks in one group");
    is_int(nd_comm_group_end(t.comm[0]), ND_ERR_STATE, "no end without a beginning");
    for (int i = 0; i < 2; i++)
        nd_release(y[i]);
    end_team(&t);
}

static void a_rank_sends_to_itself(void)
{
    team t = new_team(1);
    nd_array *x = vector(t.sim[0].d, 10, 7), *y = vector(t.sim[0].d, 10, 0);
    must(nd_comm_group_begin(t.comm[0]));
    must(nd_comm_send(t.comm[0], x, 0, NULL));
    must(nd_comm_recv(t.comm[0], y, 0, NULL));
    must(nd_comm_group_end(t.comm[0]));
    is_int(first_of(y), 7, "in a group");
    nd_release(x);
    nd_release(y);
    end_team(&t);
}

static void messages_keep_their_order(void)
{
    team t = new_team(2);
    nd_array *x[3], *y[3];
    for (int i = 0; i < 3; i++) {
        x[i] = vector(t.sim[0].d, 10, i);
        y[i] = vector(t.sim[1].d, 10, -1);
        must(nd_comm_send(t.comm[0], x[i], 1, NULL));
    }
    for (int i = 0; i < 3; i++)
        must(nd_comm_recv(t.comm[1], y[i], 0, NULL));
    ok(first_of(y[0]) == 0 && first_of(y[1]) == 1 && first_of(y[2]) == 2, "as they were sent");
    for (int i = 0; i < 3; i++) {
        nd_release(x[i]);
        nd_release(y[i]);
    }
    end_team(&t);
}

/* ---- split, barrier, streams ---- */
typedef struct {
    nd_comm *comm;
    int32_t color, key, rank, size;
    double sum;
} splitting;

static void *split(void *arg)
{
    splitting *s = arg;
    nd_comm *part = NULL;
    nd_array *x = vector(nd_comm_device(s->comm), 4, nd_comm_rank(s->comm)), *y = NULL;
    must(nd_comm_split(s->comm, s->color, s->key, &part));
    s->size = part ? nd_comm_size(part) : 0;
    s->rank = part ? nd_comm_rank(part) : -1;
    if (part) {
        must(nd_comm_all_reduce(part, x, NULL, &y));
        s->sum = first_of(y);
    }
    nd_release(x);
    nd_release(y);
    nd_comm_release(part);
    return NULL;
}

static void ranks_split_by_color_and_key(void)
{
    team t = new_team(4);
    pthread_t thread[4];
    splitting s[4] = {{.color = 7, .key = 1}, {.color = 7, .key = 0}, {.color = -1}, {.color = 0}};
    for (int i = 0; i < 4; i++) {
        s[i].comm = t.comm[i];
        if (pthread_create(&thread[i], NULL, split, &s[i]) != 0)
            bail("no thread");
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    ok(s[0].size == 2 && s[0].rank == 1 && s[1].rank == 0, "the key orders ranks of one color");
    ok(s[0].sum == 1 && s[1].sum == 1, "which exchange among themselves");
    ok(s[2].rank == -1 && s[2].size == 0, "a color below 0 joins none");
    ok(s[3].size == 1 && s[3].sum == 3, "one may be alone");
    end_team(&t);
}

static void *wait_there(void *arg)
{
    must(nd_comm_barrier(arg));
    return NULL;
}

static void a_barrier_waits_for_all(void)
{
    team t = new_team(2);
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_there, t.comm[0]) != 0)
        bail("no thread");
    must(nd_comm_barrier(t.comm[1]));
    pthread_join(thread, NULL);
    ok(1, "both ranks have passed it");
    end_team(&t);
}

static void an_exchange_has_a_stream(void)
{
    team t = new_team(2);
    nd_array *x[2], *y[2];
    for (int i = 0; i < 2; i++) {
        nd_stream *s = new_stream(t.sim[i].d);
        const nd_comm_opts opts = {.size = sizeof opts, .stream = s};
        x[i] = vector(t.sim[i].d, 10, i + 1);
        nd_stream *now = NULL;
        must(nd_stream_current(t.sim[i].d, &now));
        must(nd_stream_wait_stream(s, now));
        must(nd_comm_all_reduce(t.comm[i], x[i], &opts, &y[i]));
        must(nd_stream_wait_stream(now, s));
        nd_stream_release(now);
        nd_stream_release(s);
    }
    is_int(first_of(y[0]), 3, "of the caller's choice");
    is_int(first_of(y[1]), 3, "on each rank");
    for (int i = 0; i < 2; i++) {
        nd_release(x[i]);
        nd_release(y[i]);
    }
    end_team(&t);
}

/* ---- what is refused at once ---- */
static void bad_calls_are_refused(void)
{
    team t = new_team(2);
    nd_array *x = vector(t.sim[0].d, 10, 1), *other = vector(t.sim[1].d, 10, 1), *y = NULL;
    nd_array *complex = NULL, *yes = NULL;
    nd_comm_opts opts = {.size = sizeof opts, .reduce = ND_COMM_MIN};
    must(nd_astype(x, ND_C64, &complex));
    must(nd_astype(x, ND_BOOL, &yes));
    is_int(nd_comm_all_reduce(t.comm[0], other, NULL, &y), ND_ERR_DEVICE, "an array elsewhere");
    has_text(message(), "sim:1", "which is named");
    is_int(nd_comm_all_reduce(t.comm[0], complex, &opts, &y), ND_ERR_DTYPE, "the least complex");
    opts.reduce = ND_COMM_AVG;
    is_int(nd_comm_all_reduce(t.comm[0], yes, &opts, &y), ND_ERR_DTYPE, "an average of bool");
    opts.reduce = 9;
    is_int(nd_comm_all_reduce(t.comm[0], x, &opts, &y), ND_ERR_ARGUMENT, "no reduction");
    is_int(nd_comm_broadcast(t.comm[0], x, 2, NULL), ND_ERR_ARGUMENT, "no such root");
    has_text(message(), "ranks are 0 to 1", "and which there are");
    is_int(nd_comm_reduce_scatter(t.comm[0], x, NULL, &y), ND_ERR_SHAPE, "not a row a rank");
    is_int(nd_comm_all_gather_into(t.comm[0], x, NULL, x), ND_ERR_SHAPE, "no room for the result");
    nd_device *same[2] = {t.sim[0].d, t.sim[0].d};
    nd_comm *none[2];
    is_int(nd_comm_local(2, same, none), ND_ERR_DEVICE, "two ranks on one device");
    must(nd_comm_status(t.comm[0]));
    ok(y == NULL, "and the communicator is as it was");
    nd_release(x);
    nd_release(other);
    nd_release(complex);
    nd_release(yes);
    end_team(&t);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"calls_return_at_once", calls_return_at_once},
        {"operations_before_and_after_are_in_order", operations_before_and_after_are_in_order},
        {"results_take_the_place_of_operands", results_take_the_place_of_operands},
        {"work_runs_beside_the_stream", work_runs_beside_the_stream},
        {"the_checker_sees_exchanges", the_checker_sees_exchanges},
        {"messages_cross_in_a_group", messages_cross_in_a_group},
        {"one_group_serves_all_ranks", one_group_serves_all_ranks},
        {"a_rank_sends_to_itself", a_rank_sends_to_itself},
        {"messages_keep_their_order", messages_keep_their_order},
        {"ranks_split_by_color_and_key", ranks_split_by_color_and_key},
        {"a_barrier_waits_for_all", a_barrier_waits_for_all},
        {"an_exchange_has_a_stream", an_exchange_has_a_stream},
        {"bad_calls_are_refused", bad_calls_are_refused},
    };
    alarm(600);
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
