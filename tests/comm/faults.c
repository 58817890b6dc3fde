/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What becomes of the other ranks when one calls something else, comes late or never, is lost, or
 * leaves: an error within the time limit that names rank and call, on every one of them; other
 * communicators go on. */
#include "tests/comm/team.h"

/* Where a rank does not come; else a rank whose thread a busy machine keeps waiting is not late, and what is told is told before. */
enum { LIMIT_MS = 500, PATIENCE_MS = 30000 };

static void limit_waits(int ms)
{
    char text[16];
    snprintf(text, sizeof text, "%d", ms);
    setenv("NDOCK_COMM_TIMEOUT", text, 1);
}

/* The read of a result fails as queued work does, soon enough, with these words. */
static void fails_with(nd_array *a, double since, const char *first, const char *second)
{
    float v[10];
    is_int(nd_to_host(a, v, sizeof v), ND_ERR_ASYNC, "whoever waits gets the error");
    has_text(message(), first, "which names the rank");
    has_text(message(), second, "and the call");
    ok(now_s() - since < PATIENCE_MS * 1e-3 / 2, "within the time limit");
}

/* A new communicator of the same devices still works. */
static void others_go_on(const team *t)
{
    team again = new_team(t->n);
    nd_array *in[MOST], *out[MOST];
    sum_ranks(&again, in, out);
    is_int(first_of(out[t->n - 1]), t->n * (t->n + 1) / 2,
           "another communicator of the devices works");
    for (int i = 0; i < t->n; i++) {
        nd_release(in[i]);
        nd_release(out[i]);
    }
    end_team(&again);
}

static void has_failed(const team *t, const char *word)
{
    for (int i = 0; i < t->n; i++) {
        if (nd_comm_status(t->comm[i]) != ND_ERR_COMM || !strstr(message(), word))
            ok(0, "rank %d knows that the communicator has failed: %s", i, message());
    }
    nd_array *x = vector(t->sim[0].d, 10, 0), *y = NULL;
    is_int(nd_comm_all_reduce(t->comm[0], x, NULL, &y), ND_ERR_COMM, "every later call is refused");
    has_text(message(), word, "for the same reason");
    nd_release(x);
}

/* ---- another call on another rank ---- */
typedef nd_status (*second_call)(nd_comm *c, nd_array *x, nd_array *rows);

static nd_status another_operation(nd_comm *c, nd_array *x, nd_array *rows)
{
    (void)rows;
    return nd_comm_broadcast(c, x, 1, NULL);
}

static nd_status another_count(nd_comm *c, nd_array *x, nd_array *rows)
{
    nd_array *y = NULL;
    (void)x;
    nd_status status = nd_comm_all_reduce(c, rows, NULL, &y);
    nd_release(y);
    return status;
}

static nd_status another_reduction(nd_comm *c, nd_array *x, nd_array *rows)
{
    const nd_comm_opts opts = {.size = sizeof opts, .reduce = ND_COMM_MAX};
    nd_array *y = NULL;
    (void)rows;
    nd_status status = nd_comm_all_reduce(c, x, &opts, &y);
    nd_release(y);
    return status;
}

static nd_status another_dtype(nd_comm *c, nd_array *x, nd_array *rows)
{
    nd_array *wide = NULL, *y = NULL;
    (void)rows;
    must(nd_astype(x, ND_F64, &wide));
    nd_status status = nd_comm_all_reduce(c, wide, NULL, &y);
    nd_release(wide);
    nd_release(y);
    return status;
}

static void disagree(const char *name, second_call call, const char *word)
{
    team t = new_team(2);
    nd_array *x[2], *y = NULL, *rows;
    const double since = now_s();
    const int64_t shape[2] = {2, 10};
    for (int i = 0; i < 2; i++)
        x[i] = vector(t.sim[i].d, 10, i);
    must(nd_zeros(t.sim[1].d, ND_F32, 2, shape, &rows));
    must(nd_comm_all_reduce(t.comm[0], x[0], NULL, &y));
    is_int(call(t.comm[1], x[1], rows), ND_ERR_COMM, name);
    has_text(message(), "rank 0 was all_reduce of 10 f32 by sum", "the other's call is named");
    has_text(message(), word, "and this one");
    fails_with(y, since, "rank 1", word);
    has_failed(&t, word);
    others_go_on(&t);
    nd_release(y);
    nd_release(rows);
    nd_release(x[0]);
    nd_release(x[1]);
    end_team(&t);
}

static void disagreements(void)
{
    disagree("another operation", another_operation, "broadcast of 10 f32, root 1");
    disagree("another count", another_count, "all_reduce of 20 f32");
    disagree("another reduction", another_reduction, "by max");
    disagree("another dtype", another_dtype, "all_reduce of 10 f64");
}

/* ---- NDOCK_COMM_CHECK, of ranks with a thread each ---- */
typedef struct {
    nd_comm_id id;
    nd_device *device;
    int rank;
    nd_status first, second, later, state;
    char text[512];
} checked;

static void *be_checked(void *arg)
{
    checked *k = arg;
    nd_comm *c = NULL;
    nd_array *x = vector(k->device, 10, 1), *y = NULL, *z = NULL;
    const nd_comm_opts most = {.size = sizeof most, .reduce = ND_COMM_MAX};
    must(nd_comm_init(k->device, k->rank, 2, &k->id, &c));
    k->first = nd_comm_all_reduce(c, x, NULL, &y);
    k->second = nd_comm_reduce_into(c, x, 0, k->rank ? &most : NULL, x);
    snprintf(k->text, sizeof k->text, "%s", message());
    k->later = nd_comm_all_reduce(c, x, NULL, &z);
    k->state = nd_comm_status(c);
    nd_release(x);
    nd_release(y);
    nd_comm_release(c);
    return NULL;
}

static void calls_are_compared_before(void)
{
    sim s[2] = {open_sim(0), open_sim(1)};
    checked k[2] = {{.device = s[0].d}, {.device = s[1].d, .rank = 1}};
    pthread_t thread[2];
    setenv("NDOCK_COMM_CHECK", "1", 1);
    must(nd_comm_unique_id(s[0].d, &k[0].id));
    k[1].id = k[0].id;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, be_checked, &k[i]) != 0)
            bail("no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    unsetenv("NDOCK_COMM_CHECK");
    for (int i = 0; i < 2; i++) {
        is_int(k[i].first, ND_OK, "calls that agree are made");
        is_int(k[i].second, ND_ERR_COMM, "the first that differs is not");
        has_text(k[i].text, "call 2 of rank 1 is comm_reduce of 10 f32 by max, root 0", "one");
        has_text(k[i].text, "that of rank 0 is comm_reduce of 10 f32 by sum", "and the other");
        ok(k[i].later == ND_ERR_COMM && k[i].state == ND_ERR_COMM, "the communicator has failed");
    }
}

static void messages_that_do_not_fit(void)
{
    team t = new_team(2);
    nd_array *x = vector(t.sim[0].d, 10, 1), *y = vector(t.sim[1].d, 4, 0);
    must(nd_comm_send(t.comm[0], x, 1, NULL));
    is_int(nd_comm_recv(t.comm[1], y, 0, NULL), ND_ERR_COMM, "fewer elements than were sent");
    has_text(message(), "send of 10 f32", "both are named");
    has_text(message(), "recv of 4 f32", "both");
    is_int(nd_synchronize(t.sim[0].d), ND_ERR_ASYNC, "the sender gets an error too");
    nd_release(x);
    nd_release(y);
    end_team(&t);
}

/* ---- who does not come ---- */
static void a_rank_that_hangs(void)
{
    limit_waits(LIMIT_MS);
    team t = new_team(3);
    limit_waits(PATIENCE_MS);
    nd_array *x[3], *y[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        x[i] = vector(t.sim[i].d, 10, i);
        must(nd_comm_broadcast(t.comm[i], x[i], 0, NULL));
    }
    const double since = now_s();
    for (int i = 0; i < 3; i += 2)
        must(nd_comm_all_reduce(t.comm[i], x[i], NULL, &y[i]));
    fails_with(y[0], since, "waits for rank 1, which did not come within 500 ms",
               "latest call was broadcast of 10 f32, root 0");
    ok(now_s() - since >= LIMIT_MS * 1e-3, "not before its time");
    fails_with(y[2], since, "rank 1", "call 2 of rank");
    has_failed(&t, "rank 1");
    others_go_on(&t);
    for (int i = 0; i < 3; i++) {
        nd_release(x[i]);
        nd_release(y[i]);
    }
    end_team(&t);
}

static void a_rank_that_is_held_up(void)
{
    limit_waits(LIMIT_MS);
    team t = new_team(2);
    limit_waits(PATIENCE_MS);
    nd_array *x[2], *y[2];
    set_modes(&t, NDSIM_STEPPED);
    const double since = now_s();
    must(t.sim[1].c->set_mode(t.sim[1].dev, NDSIM_AUTO));
    for (int i = 0; i < 2; i++)
        x[i] = vector(t.sim[i].d, 10, i);
    must(t.sim[0].c->set_cost(t.sim[0].dev, 1000, 3000000)); /* the kernel before takes 3 s */
    must(nd_add_scalar_into(x[0], nd_float(1), x[0]));
    must(t.sim[0].c->set_cost(t.sim[0].dev, 1000, 0));
    must(t.sim[0].c->set_mode(t.sim[0].dev, NDSIM_AUTO));
    for (int i = 0; i < 2; i++)
        must(nd_comm_all_reduce(t.comm[i], x[i], NULL, &y[i]));
    fails_with(y[1], since, "waits for rank 0, which did not come", "call 1 of rank 1");
    is_int(nd_synchronize(t.sim[0].d), ND_ERR_ASYNC, "and the late rank is told when it comes");
    for (int i = 0; i < 2; i++) {
        nd_release(x[i]);
        nd_release(y[i]);
    }
    end_team(&t);
}

static void a_rank_that_leaves_early(void)
{
    team t = new_team(2);
    nd_array *x[2], *y = NULL;
    for (int i = 0; i < 2; i++) {
        x[i] = vector(t.sim[i].d, 10, i);
        must(nd_comm_all_reduce_into(t.comm[i], x[i], NULL, x[i]));
    }
    nd_comm_release(t.comm[1]); /* what it queued still runs */
    t.comm[1] = NULL;
    is_int(first_of(x[0]), 1, "what a rank queued before it left is done");
    is_int(nd_comm_all_reduce(t.comm[0], x[0], NULL, &y), ND_ERR_COMM,
           "what it did not call fails");
    has_text(message(), "rank 1 has left; its latest call was all_reduce", "by its name");
    nd_comm_release(t.comm[0]);
    nd_release(x[0]);
    nd_release(x[1]);
}

static void a_rank_that_leaves_while_others_wait(void)
{
    team t = new_team(2);
    nd_array *x = vector(t.sim[0].d, 10, 0), *y = NULL;
    const double since = now_s();
    must(nd_comm_all_reduce(t.comm[0], x, NULL, &y));
    nd_comm_release(t.comm[1]);
    fails_with(y, since, "rank 1, which has left", "all_reduce");
    nd_comm_release(t.comm[0]);
    nd_release(x);
    nd_release(y);
}

static void a_rank_that_aborts(void)
{
    team t = new_team(2);
    nd_array *x = vector(t.sim[0].d, 10, 0), *y = NULL;
    must(nd_comm_all_reduce(t.comm[0], x, NULL, &y));
    must(nd_comm_abort(t.comm[1]));
    fails_with(y, now_s(), "rank 1 aborted it", "latest call was none");
    has_failed(&t, "aborted");
    nd_release(x);
    nd_release(y);
    end_team(&t);
}

static void nobody_joins(void)
{
    nd_comm_id id;
    nd_comm *c = NULL;
    sim s = open_sim(0);
    const double since = now_s();
    must(nd_comm_unique_id(s.d, &id));
    limit_waits(LIMIT_MS);
    is_int(nd_comm_init(s.d, 0, 2, &id, &c), ND_ERR_COMM, "a communicator that stays incomplete");
    limit_waits(PATIENCE_MS);
    has_text(message(), "rank 1, which did not join", "says who is missing");
    ok(!c && now_s() - since < PATIENCE_MS * 1e-3 / 2, "within the time limit");
}

static void faults_of_the_devices_work(void)
{
    team t = new_team(2);
    nd_array *in[2], *out[2];
    set_modes(&t, NDSIM_STEPPED);
    must(t.sim[1].c->fault(t.sim[1].dev, NULL, 2, 77, 0)); /* the fill is the first */
    sum_ranks(&t, in, out);
    set_modes(&t, NDSIM_AUTO);
    const double since = now_s();
    fails_with(out[0], since, "call 1 of rank 1", "work of sim:1 failed");
    is_int(nd_synchronize(t.sim[1].d), ND_ERR_ASYNC, "the fault is its own device's error");
    has_text(message(), "faulted with code 77", "as it was");
    others_go_on(&t);
    for (int i = 0; i < 2; i++) {
        nd_release(in[i]);
        nd_release(out[i]);
    }
    end_team(&t);
}

/* ---- a lost device; in a child, for it stays lost ---- */
static int lose_a_device(void *arg)
{
    nd_array *in[3], *out[3];
    float v[10];
    (void)arg;
    team t = new_team(3);
    set_modes(&t, NDSIM_STEPPED);
    must(t.sim[1].c->fault(t.sim[1].dev, NULL, 1, 700, 1));
    const double since = now_s();
    sum_ranks(&t, in, out);
    set_modes(&t, NDSIM_AUTO);
    if (nd_to_host(out[0], v, sizeof v) != ND_ERR_ASYNC || !strstr(message(), "rank 1"))
        return 1;
    if (nd_to_host(out[2], v, sizeof v) != ND_ERR_ASYNC || !strstr(message(), "rank 1"))
        return 2;
    if (nd_synchronize(t.sim[1].d) != ND_ERR_LOST)
        return 3;
    return now_s() - since > 15 ? 4 : 0;
}

static void a_device_that_is_lost(void)
{
    is_int(in_child(lose_a_device, NULL), 0, "its rank is named to the others, in time");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"a_device_that_is_lost", a_device_that_is_lost}, /* before any is open here */
        {"disagreements", disagreements},
        {"calls_are_compared_before", calls_are_compared_before},
        {"messages_that_do_not_fit", messages_that_do_not_fit},
        {"a_rank_that_hangs", a_rank_that_hangs},
        {"a_rank_that_is_held_up", a_rank_that_is_held_up},
        {"a_rank_that_leaves_early", a_rank_that_leaves_early},
        {"a_rank_that_leaves_while_others_wait", a_rank_that_leaves_while_others_wait},
        {"a_rank_that_aborts", a_rank_that_aborts},
        {"nobody_joins", nobody_joins},
        {"faults_of_the_devices_work", faults_of_the_devices_work},
    };
    alarm(600);
    limit_waits(PATIENCE_MS);
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
