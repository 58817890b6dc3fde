/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * ndock: N-dimensional arrays whose devices are plug-ins. This includes the public headers but
 * comm.h (several ranks), check.h (a macro for programs), sim.h and those for plug-ins.
 *
 * Every call returns a status. Inputs are const and borrowed. Options come last but one, NULL for
 * the defaults. Results come last: *out is NULL on failure, else the caller's, to be given back
 * with nd_release. X_into writes an existing view and allocates no result. const speaks of the
 * metadata; writes are checked against the read-only flag. There is no init call and no context
 * object: the current device and stream belong to the thread. Every function may be called from any
 * thread; arrays are shared for reading.
 *
 * NULL is safe everywhere. Where it has a meaning (device: the current one; options: the defaults;
 * what a comment says) it is taken; else it is ND_ERR_ARGUMENT with the argument's name. Functions
 * that return no status then answer 0, NULL or "", and set nd_last_error(). retain and release take
 * NULL. */
#ifndef NDOCK_NDOCK_H
#define NDOCK_NDOCK_H
#include <ndock/base.h>
#include <ndock/version.h>
#include <ndock/status.h>
#include <ndock/dtype.h>
#include <ndock/device.h>
#include <ndock/param.h>
#include <ndock/stream.h>
#include <ndock/memory.h>
#include <ndock/cache.h>
#include <ndock/math.h>
#include <ndock/array.h>
#include <ndock/view.h>
#include <ndock/create.h>
#include <ndock/op.h>
#include <ndock/custom.h>
#include <ndock/reduce.h>
#include <ndock/expr.h>
#include <ndock/linalg.h>
#include <ndock/fft.h>
#include <ndock/signal.h>
#include <ndock/conv.h>
#include <ndock/pool.h>
#include <ndock/indexing.h>
#include <ndock/sorting.h>
#include <ndock/manip.h>
#include <ndock/statistics.h>
#include <ndock/histogram.h>
#include <ndock/compare.h>
#include <ndock/calculus.h>
#include <ndock/random.h>
#include <ndock/distribution.h>
#include <ndock/graph.h>
#include <ndock/peer.h>
#include <ndock/special.h>
#include <ndock/normalization.h>
#include <ndock/loss.h>
#include <ndock/attention.h>
#include <ndock/neural.h>
#include <ndock/dlpack.h>
#include <ndock/cai.h>
#include <ndock/io.h>
#include <ndock/quant.h>
#include <ndock/gguf.h>
#endif
