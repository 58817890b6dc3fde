/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Text files of numbers: what is read and written, in a locale of another language as well, and
 * errors with line, column and text. NumPy is the judge in tests/python/test_text_files.py. */
#include <locale.h>
#include <math.h>
#include "tests/unit/io_files.h"

static nd_status read_text(const char *text, const nd_csv_opts *opts, nd_array **out)
{
    return nd_csv_read(text, strlen(text), opts, NULL, out);
}

static void reads(const char *text, const nd_csv_opts *opts, int64_t rows, int64_t columns,
                  const void *want, const char *what)
{
    nd_array *a = NULL;
    const int64_t shape[] = {rows, columns};
    nd_status status = read_text(text, opts, &a);
    const nd_dtype dtype = opts && opts->dtype ? opts->dtype : ND_F64;
    int pass = ok(status == ND_OK && io_is(a, dtype, 2, shape, want), "%s", what);
    if (!pass)
        diag("%s", status == ND_OK ? "another array" : nd_last_error()->message);
    nd_release(a);
}

static void layouts(void)
{
    static const double v[] = {1, 2, 3, 4};
    static const int64_t last[] = {-1, 0};
    reads("1,2\n3,4\n", NULL, 2, 2, v, "rows and columns");
    reads("1,2\r\n3,4", NULL, 2, 2, v, "lines of DOS, the last without an end");
    reads("1,2\r3,4\r", NULL, 2, 2, v, "lines of old");
    reads("\xEF\xBB\xBF# a,b\n\n 1 ,\t2 # one\n   \n3,4\n#\n", NULL, 2, 2, v,
          "comments and blanks");
    reads("", NULL, 0, 1, v, "no text");
    reads("a\nb\n1,2\n3,4\nc",
          &(nd_csv_opts){.size = sizeof(nd_csv_opts), .skip_rows = 2, .max_rows = 2}, 2, 2, v,
          "some rows");
    reads("1 2\n\t3   4  \n", &(nd_csv_opts){.size = sizeof(nd_csv_opts), .delimiter = ""}, 2, 2, v,
          "blanks between cells");
    reads("1::2\n3::4 // five\n% no",
          &(nd_csv_opts){.size = sizeof(nd_csv_opts), .delimiter = "::", .comments = "//\n%"}, 2, 2,
          v, "long delimiters and comments");
    reads("\"1\",2\n\"3\",\"4\"\n", &(nd_csv_opts){.size = sizeof(nd_csv_opts), .quote = '"'}, 2, 2,
          v, "quotes");
    reads("1,x,2\n3,4\n",
          &(nd_csv_opts){
              .size = sizeof(nd_csv_opts), .dtype = ND_I64, .columns = last, .n_columns = 2},
          2, 2, (const int64_t[]){2, 1, 4, 3}, "chosen columns");
    reads(
        "\"1\" '2' # \"three\n'3'4' \n 3 4# five",
        &(nd_csv_opts){.size = sizeof(nd_csv_opts), .delimiter = "", .quote = '"', .skip_rows = 2},
        1, 2, v + 2, "quotes, blanks and comments");
}

static void numbers(void)
{
    static const int64_t whole[] = {INT64_MAX, INT64_MIN};
    static const uint64_t large[] = {UINT64_MAX, 0};
    static const double special[] = {INFINITY, -INFINITY, 0.1, 5e-324};
    static const float single[] = {0x1.000002p0F, 1e38F};
    static const double pairs[] = {1, 2, 0, -3, 4, 0, 1e5, -1};
    static const unsigned char truth[] = {1, 0, 1, 0};
    nd_csv_opts o = {.size = sizeof o, .dtype = ND_I64};
    reads("9223372036854775807,-9223372036854775808", &o, 1, 2, whole, "all of i64");
    o.dtype = ND_U64;
    reads("18446744073709551615,+0", &o, 1, 2, large, "all of u64");
    reads("inf,-Infinity,.1,4.9e-324", NULL, 1, 4, special, "special floats");
    o.dtype = ND_F32; /* above the middle of 1 and the next float, at which a double of it lies */
    reads("1.00000005960464477539062500000001,1e38", &o, 1, 2, single, "f32 is rounded once");
    o.dtype = ND_C128;
    reads("1+2j,-3j,(4),1e5+-1j", &o, 1, 4, pairs, "complex numbers");
    o.dtype = ND_BOOL;
    reads("True,false,7,0", &o, 1, 4, truth, "truth values");
    nd_array *a = NULL;
    double x = 0;
    ok(read_text("nan", NULL, &a) == ND_OK && nd_item_f64(a, &x) == ND_OK && isnan(x), "nan");
    nd_release(a);
    o.dtype = ND_BF16;
    ok(read_text("1.5,nan", &o, &a) == ND_OK && nd_dtype_of(a) == ND_BF16, "bf16");
    nd_release(a);
}

static void refused(const char *text, nd_dtype dtype, const char *word, const char *what)
{
    nd_array *a = NULL;
    const nd_csv_opts o = {.size = sizeof o, .dtype = dtype};
    io_fails(read_text(text, &o, &a), ND_ERR_FORMAT, word, what);
    ok(!a, "and there is no array");
}

static void errors(void)
{
    nd_array *a = NULL;
    nd_csv_opts o = {.size = sizeof o};
    refused("1,2\n\n# 3\n4,zebra\n", 0, "line 4, column 2: \"zebra\"", "no number");
    refused("1,,2", 0, "column 2: \"\" as f64: the cell is empty", "an empty cell");
    refused("1,2\n3\n", 0, "line 2 has 1 columns", "a short row");
    refused("1\n2,3\n", 0, "line 2 has 2 columns", "a long row");
    refused("1.5", ND_I32, "no integer", "no integer");
    refused("-129", ND_I8, "out of range", "below i8");
    refused("-1", ND_U8, "out of range", "below u8");
    refused("18446744073709551616", ND_U64, "out of range", "above u64");
    refused("1e5 x", 0, "no number", "more than a number");
    refused("0x10", 0, "no number", "no decimal number");
    refused("1+2", ND_C64, "complex", "half a complex number");
    refused("(1", ND_C64, "complex", "half a bracket");
    refused("yes", ND_BOOL, "truth value", "no truth value");
    o.columns = (const int64_t[]){2};
    o.n_columns = 1;
    io_fails(read_text("1,2,3\n4,5", &o, &a), ND_ERR_FORMAT, "line 2 has 2 columns; column 2",
             "a column too far");
    o = (nd_csv_opts){.size = sizeof o, .delimiter = "#"};
    io_fails(read_text("1", &o, &a), ND_ERR_ARGUMENT, "comment",
             "a delimiter that begins comments");
    o = (nd_csv_opts){.size = sizeof o, .delimiter = "\n"};
    io_fails(read_text("1", &o, &a), ND_ERR_ARGUMENT, "end of a line",
             "a delimiter that ends lines");
    o = (nd_csv_opts){.size = 4};
    io_fails(read_text("1", &o, &a), ND_ERR_ARGUMENT, "sizeof(nd_csv_opts)",
             "a size of no version");
    io_fails(nd_csv_load(io_path("absent.csv"), NULL, NULL, &a), ND_ERR_IO, "cannot open",
             "no file");
    io_fails(nd_csv_load(io_put("bad.csv", "1,2\n3,b", 7), NULL, NULL, &a), ND_ERR_FORMAT,
             "bad.csv: line 2, column 2", "the file is named");
}

static void writes(const nd_array *a, const char *format, const char *want)
{
    char *text = NULL;
    const nd_csv_save_opts o = {.size = sizeof o, .format = format};
    if (ok(nd_csv_text(a, &o, &text) == ND_OK, "%s is written",
           format ? format : "the shortest text"))
        is_str(text, want, "it is right");
    else
        diag("%s", nd_last_error()->message);
    free(text);
}

static void texts(void)
{
    static const int64_t shape[] = {2, 2};
    static const double v[] = {1, -0.1, 1e300, INFINITY},
                        pair[] = {1, -2, -0.0, 1e-7, 3, 4, NAN, 0};
    static const int64_t i64[] = {INT64_MIN, -1, 0, INT64_MAX};
    static const unsigned char truth[] = {1, 0, 0, 1};
    nd_array *f = io_array(ND_F64, 2, shape, v), *c = io_array(ND_C128, 2, shape, pair),
             *i = io_array(ND_I64, 2, shape, i64), *b = io_array(ND_BOOL, 2, shape, truth),
             *none = NULL;
    writes(f, NULL, "1.0,-0.1\n1e+300,inf\n");
    writes(f, "%.3e", "1.000e+00,-1.000e-01\n1.000e+300,inf\n");
    writes(f, "%6.3g|%-9.1e|", "     1|-1.0e-01 |\n1e+300|inf      |\n");
    writes(c, NULL, "(1.0-2.0j),(-0.0+1e-07j)\n(3.0+4.0j),(nan+0.0j)\n");
    writes(c, "%g", " (1-2j), (-0+1e-07j)\n (3+4j), (nan+0j)\n");
    writes(i, "%d", "-9223372036854775808,-1\n0,9223372036854775807\n");
    writes(i, "%5d%%", "-9223372036854775808%,   -1%\n    0%,9223372036854775807%\n");
    writes(b, NULL, "True,False\nFalse,True\n");
    writes(b, "%d", "1,0\n0,1\n");
    char *text = NULL;
    static const char *const bad[] = {"%", "%q", "%*d", "%d %d %d", "none", "%500d", "%.200f"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const nd_csv_save_opts o = {.size = sizeof o, .format = bad[k]};
        io_fails(nd_csv_text(i, &o, &text), ND_ERR_ARGUMENT, "format", bad[k]);
    }
    io_fails(nd_csv_text(f, &(nd_csv_save_opts){.size = sizeof(nd_csv_save_opts), .format = "%d"},
                         &text),
             ND_ERR_ARGUMENT, "row 1, column 1", "an integer of infinity");
    io_fails(nd_csv_text(i, &(nd_csv_save_opts){.size = sizeof(nd_csv_save_opts), .format = "%x"},
                         &text),
             ND_ERR_ARGUMENT, "negative", "a negative one by %x");
    io_fails(nd_csv_text(f, &(nd_csv_save_opts){.size = sizeof(nd_csv_save_opts), .format = "%o"},
                         &text),
             ND_ERR_ARGUMENT, "no integer", "a float by %o");
    ok(nd_full(NULL, ND_F64, 0, NULL, nd_int(1), &none) == ND_OK, "a number");
    io_fails(nd_csv_text(none, NULL, &text), ND_ERR_SHAPE, "0 dimensions", "is no row");
    nd_release_all(5, (nd_array *[]){f, c, i, b, none});
}

static void files(void)
{
    static const int64_t shape[] = {3};
    static const float v[] = {0.1F, 1e-45F, 3.4028235e38F};
    const char *path = io_path("v.csv"),
               want[] = "# one\n# two\n0.1\n1e-45\n3.4028235e+38\n# end\n";
    nd_array *a = io_array(ND_F32, 1, shape, v), *back = NULL;
    nd_csv_save_opts o = {.size = sizeof o, .sync = 1, .header = "one\ntwo", .footer = "end"};
    is_int(nd_csv_save(path, a, &o), ND_OK, "saved");
    ok(io_same(path, want, sizeof want - 1), "with comments before and after");
    nd_csv_opts in = {.size = sizeof in, .dtype = ND_F32};
    const int64_t column[] = {3, 1};
    ok(nd_csv_load(path, &in, NULL, &back) == ND_OK && io_is(back, ND_F32, 2, column, v),
       "it is read back");
    nd_release(back);
    const int before = io_entries();
    o.format = "%x";
    ok(nd_csv_save(path, a, &o) != ND_OK && io_same(path, want, sizeof want - 1) &&
           io_entries() == before,
       "a save that fails leaves the file as it was");
    nd_release(a);
}

/* In a language with a comma in numbers. */
static void locales(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    const char *found = NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names && !found; k++)
        found = setlocale(LC_ALL, names[k]);
    if (!found) {
        skip(1, "no locale with a decimal comma is installed");
        return;
    }
    numbers();
    texts();
    setlocale(LC_ALL, "C");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"layouts", layouts}, {"numbers", numbers},
                                     {"errors", errors},   {"texts", texts},
                                     {"files", files},     {"locales", locales}};
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
