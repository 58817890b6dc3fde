/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs: work of a stream that is captured once and then run again and again with one call.
 *
 * Between nd_graph_begin and nd_graph_end what is queued on the stream does not run: it becomes the
 * graph. So do streams that wait for an event of it (or for the stream), until they are joined the
 * same way. Every device has graphs: where a device cannot capture, ndock records the calls and
 * plays them.
 *
 *     nd_stream_push(s);
 *     nd_graph_begin(s, NULL, &g);
 *     nd_add(x, y, &z);                 // nothing runs; z is what each launch writes
 *     nd_graph_end(g);
 *     nd_stream_pop(s);
 *     nd_graph_launch(g, NULL, NULL);   // on the current stream
 *
 * While a stream is captured, what would wait for it, read its results or need new device memory
 * is ND_ERR_CAPTURE with the name of the call and what to do; the capture stays valid. Run the work
 * once before, so that kernels and memory are there.
 *
 * A graph is used by one thread at a time; its own lock sees to that. Graphs of different streams
 * may be captured and launched by different threads at once. The functions that open, change or end
 * a capture belong to the thread that began it, unless it is relaxed. */
#ifndef NDOCK_GRAPH_H
#define NDOCK_GRAPH_H
#include <ndock/memory.h>
#include <ndock/random.h>

ND_BEGIN_DECLS

typedef struct nd_graph nd_graph; /* counted */

/* Whose calls that would break a capture are refused: only those of its thread (the default), those
 * of every thread, or none but those on the captured streams. A relaxed capture may be ended by any
 * thread, except on devices that queue nothing. */
enum { ND_GRAPH_THREAD_LOCAL = 0, ND_GRAPH_GLOBAL = 1, ND_GRAPH_RELAXED = 2 };
typedef struct {
    uint32_t size;
    int32_t mode;  /* ND_GRAPH_* */
    nd_pool *pool; /* where its memory comes from; NULL: a new one. See nd_graph_pool */
    int32_t weak;  /* the graph keeps no arrays alive: the program does, as long as it launches */
} nd_graph_opts;

/* Begins the capture of a stream, which is not the default one and not being captured. The work is
 * to be queued on that stream: make it current (nd_stream_push). Memory that is allocated there
 * comes from the graph's pool. ND_ERR_CAPTURE, ND_ERR_ARGUMENT. */
ND_API ND_MUST_USE nd_status nd_graph_begin(nd_stream *stream, const nd_graph_opts *opts,
                                            nd_graph **out);
/* Ends the capture: the graph can be launched. On the thread that began it. Work of another stream
 * that was not joined, or a call that broke the capture, is ND_ERR_CAPTURE, and the graph is empty
 * then; the error names the streams, or the first call that failed. A capture of nothing is a graph
 * that does nothing, and is warned of. */
ND_API ND_MUST_USE nd_status nd_graph_end(nd_graph *graph);
/* Ends the capture and forgets what it had: nothing of it is left, and the stream is as before.
 * nd_graph_release of a graph that is still open does the same. */
ND_API ND_MUST_USE nd_status nd_graph_abort(nd_graph *graph);
/* Splits the capture for something that cannot be captured. What was captured so far runs now; then
 * fn(ctx) is called, with no capture underway, and the capture goes on. Every launch does the same
 * in this order. fn finds the stream current; a status other than ND_OK ends the launch, or the
 * capture (as nd_graph_abort). fn NULL only splits. release(ctx), which may be NULL, is called when
 * the graph is gone, or by a call that fails. Arrays from before the break are used behind it as they are. */
ND_API ND_MUST_USE nd_status nd_graph_break(nd_graph *graph, nd_status (*fn)(void *ctx), void *ctx,
                                            void (*release)(void *ctx));
/* Conditional work, at this place of a graph that is being captured: graphs that were captured
 * before, which each launch runs by what one element, a bool or an integer, holds then.
 *   ND_GRAPH_IF      bodies[0] if it is not 0; else bodies[1], if there are two
 *   ND_GRAPH_WHILE   bodies[0] as long as it is not 0, which is looked at before each round; the body
 *                    changes it
 *   ND_GRAPH_SWITCH  bodies[value]; none where the value is no number from 0 to n - 1
 * The graph keeps the value and the bodies, which are of its device and may be conditional
 * themselves. A body draws no random numbers by nd_graph_random and has no functions of the host. Its
 * memory was taken when it was captured; where it does not run, its results stay what they were. The
 * value and what bodies use are these arrays, whatever nd_graph_set_arg puts elsewhere. Like
 * nd_graph_break it splits the capture: what was captured so far runs now, then the bodies as the
 * value says. Where the device decides itself (sim; CUDA from 12.4 on, switches and second bodies from
 * 12.8 on) a launch is queued as a whole; else, and in graphs with nd_graph_random or nd_graph_break
 * with a function, it waits for each value on the host. nd_graph_text says which, after a launch.
 * ND_ERR_ARGUMENT, ND_ERR_DTYPE, ND_ERR_SHAPE, ND_ERR_DEVICE; ND_ERR_STATE for bodies that are still
 * captured. */
enum { ND_GRAPH_IF = 0, ND_GRAPH_WHILE = 1, ND_GRAPH_SWITCH = 2 };
ND_API ND_MUST_USE nd_status nd_graph_cond(nd_graph *graph, int32_t kind, const nd_array *value,
                                           nd_graph *const *bodies, int32_t n);
/* Whether the stream is being captured; 0 or 1. */
ND_API int32_t nd_stream_is_capturing(nd_stream *stream);

ND_API nd_graph *nd_graph_retain(nd_graph *graph);
/* With the last reference the graph goes: its arrays are released, and its pool once no array of it
 * is left. Waits for a launch that is still running. */
ND_API void nd_graph_release(nd_graph *graph);

/* Makes the graph ready to run, which its first launch does else. */
ND_API ND_MUST_USE nd_status nd_graph_instantiate(nd_graph *graph);
typedef struct {
    uint32_t size;
    int32_t force; /* also where another graph with this one's pool was to run first */
} nd_graph_launch_opts;
/* Queues the graph on a stream of its device (NULL: the current one). Launches of one graph run one
 * after another, on whatever streams; a launch on another stream than the one before waits for all
 * that is queued there. Graphs that share a pool run in the order in which they were captured, from
 * the first one on: another order is ND_ERR_STATE unless forced. */
ND_API ND_MUST_USE nd_status nd_graph_launch(nd_graph *graph, nd_stream *stream,
                                             const nd_graph_launch_opts *opts);

/* ---- other arrays ---- */
/* Names an array that the graph reads or writes as an argument, by the number *index, from 0. All
 * that the graph does between the array's first and last byte belongs to the argument; two arguments
 * do not overlap. ND_ERR_ARGUMENT if the graph uses nothing of it, or also what lies across its
 * ends. After nd_graph_end. */
ND_API ND_MUST_USE nd_status nd_graph_arg(nd_graph *graph, const nd_array *a, int32_t *index);
/* From the next launch on the graph uses this array in the argument's place; nothing is copied. It
 * has the same dtype, shape, strides and alignment (to 16 bytes), is on the same device, can be
 * written if the graph writes it, and then shares no memory with anything else that the graph
 * uses. */
ND_API ND_MUST_USE nd_status nd_graph_set_arg(nd_graph *graph, int32_t index, const nd_array *a);
ND_API int32_t nd_graph_arg_count(const nd_graph *graph);

/* ---- random numbers ---- */
/* While the graph is open: numbers that are drawn from now on with *key go on from launch to launch.
 * Each launch draws with *key as it is then, and moves it on by what the capture moved it, so that N
 * launches give the bits of N runs without a graph. The capture itself leaves *key as it was. *key
 * must stay where it is as long as the graph is used. Numbers of other keys are the same in every
 * launch. */
ND_API ND_MUST_USE nd_status nd_graph_random(nd_graph *graph, nd_random_key *key);

/* While the stream is captured: release(ctx) is called once, when the graph is gone. For what
 * captured work uses that ndock does not know. ND_ERR_CAPTURE: the stream is not being captured. */
ND_API ND_MUST_USE nd_status nd_graph_keep(nd_stream *stream, void (*release)(void *ctx),
                                           void *ctx);

/* ---- update ---- */
/* graph does what from does, from the next launch on; from is empty then. *updated: 1 where the two
 * are alike but for their values, so that what was made ready is used on; 0 where it was made anew.
 * Arguments and keys are those of from. */
ND_API ND_MUST_USE nd_status nd_graph_update(nd_graph *graph, nd_graph *from, int32_t *updated);

/* ---- looking inside ---- */
/* Of the graph's memory; NULL where the device's allocator has no pools. Lent. Given to
 * nd_graph_begin, another graph uses the same memory: they must run in the order of their captures,
 * and results of an earlier one may be overwritten by a later one once they are released. */
ND_API nd_pool *nd_graph_pool(const nd_graph *graph);
ND_API nd_device *nd_graph_device(const nd_graph *graph);
/* Operations in it, and into how many parts nd_graph_break has split them. */
ND_API int64_t nd_graph_nodes(const nd_graph *graph);
ND_API int32_t nd_graph_segments(const nd_graph *graph);
/* What is in it: operations with tags, dtypes, shapes and what they come after, and the pool's
 * bytes. As JSON, which `ndock graph show FILE` draws, or in Graphviz's language. malloc'ed: free()
 * it. */
enum { ND_GRAPH_JSON = 0, ND_GRAPH_DOT = 1 };
ND_API ND_MUST_USE nd_status nd_graph_text(const nd_graph *graph, int32_t format, char **out);
/* The same into a file, written whole or not at all. */
ND_API ND_MUST_USE nd_status nd_graph_dump(const nd_graph *graph, const char *path, int32_t format);

ND_END_DECLS
#endif
