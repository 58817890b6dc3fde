/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The format of a row of numbers: text with conversions in it. */
#ifndef NDOCK_CORE_IO_CSV_FORMAT_H
#define NDOCK_CORE_IO_CSV_FORMAT_H
#include "core/base/text.h"
#include "core/io/number.h"

/* One conversion and the text before it, whose place is in the format's literals. */
typedef struct {
    size_t text, n;
    nd__spec spec;
} nd__csv_step;

/* What a row is written by: steps, then a text. */
typedef struct {
    nd__csv_step *steps;
    int64_t n_steps, room;
    size_t text, n; /* the text at the end */
    nd_text literals;
} nd__csv_format;

/* Of columns cells, complex ones or not. op and argument are for errors. */
nd_status nd__csv_format_make(const char *op, int32_t argument, const nd_csv_save_opts *opts,
                              int64_t columns, bool is_complex, nd__csv_format *out);
void nd__csv_format_end(nd__csv_format *f);
#endif
