/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a description says of an array, and every description that is refused, with its error. */
#include <limits.h>
#include "tests/interop/exchange.h"

/* A dense matrix of 4 x 6 f32 on sim:0. */
static nd_array *matrix(void)
{
    nd_array *line = NULL, *a = NULL;
    const int64_t shape[2] = {4, 6};
    DO(nd_arange(sim[0], ND_F32, nd_int(0), nd_int(24), nd_int(1), &line));
    DO(nd_reshape(line, 2, shape, &a));
    nd_release(line);
    DO(nd_synchronize(sim[0]));
    return a;
}

static nd_cai export_of(const nd_array *a)
{
    nd_cai c = {.size = sizeof c};
    DO(nd_cai_export(a, NULL, &c));
    return c;
}

static void i2_layout(void)
{
    nd_array *a = matrix(), *t = NULL, *f = NULL, *one = NULL, *none = NULL, *row = NULL;
    nd_cai c = export_of(a);
    is_int(c.version, 3, "I1: version 3");
    ok(c.ndim == 2 && c.shape[0] == 4 && c.shape[1] == 6, "I1: shape");
    is_str(c.typestr, "<f4", "I8: typestr");
    ok(c.strides == NULL, "I2: no strides for a C-contiguous array");
    DO(nd_transpose(a, &t));
    nd_cai ct = export_of(t);
    ok(ct.strides && ct.strides[0] == 4 && ct.strides[1] == 24, "I2: strides in bytes");
    DO(nd_flip(a, 0, NULL, &f));
    nd_cai cf = export_of(f);
    ok(cf.strides && cf.strides[0] == -24 && cf.strides[1] == -4, "I2: negative ones");
    is_int(cf.data - c.data, 23 * 4, "I2: data is the address of element 0");
    nd_index rows = nd_range(2, 3, 1);
    DO(nd_slice(t, (nd_index[]){nd_all_of(), rows}, 2, &one)); /* 6 x 1, rows 4 bytes apart */
    ok(export_of(one).strides == NULL, "I2: extents of one do not count");
    nd_index nothing = nd_range(2, 2, 1);
    DO(nd_slice(t, (nd_index[]){nd_all_of(), nothing}, 2, &none));
    nd_cai cn = export_of(none);
    ok(cn.data == 0 && cn.strides == NULL, "I3: no elements: address 0");
    nd_index at[2] = {nd_at(1), nd_at(2)};
    DO(nd_slice(a, at, 2, &row));
    nd_cai cr = export_of(row);
    ok(cr.ndim == 0 && cr.data == c.data + 8 * 4, "I1: rank 0");
    nd_array *all[] = {a, t, f, one, none, row};
    for (int i = 0; i < 6; i++) {
        nd_array *back = NULL;
        nd_cai d = export_of(all[i]);
        DO(nd_cai_import(&d, NULL, &back));
        float x[24], y[24];
        size_t n = (size_t)nd_size(all[i]) * sizeof *x;
        DO(nd_to_host(all[i], x, n));
        DO(nd_to_host(back, y, n));
        ok(nd_ndim(back) == nd_ndim(all[i]) && memcmp(x, y, n) == 0, "round trip %d", i);
        nd_release(back);
    }
    for (int i = 0; i < 6; i++)
        nd_release(all[i]);
}

static void i8_typestrs(void)
{
    static const struct {
        nd_dtype dtype;
        const char *text;
    } table[] = {{ND_BOOL, "|b1"}, {ND_I8, "|i1"},   {ND_U8, "|u1"},  {ND_I16, "<i2"},
                 {ND_U16, "<u2"},  {ND_I32, "<i4"},  {ND_U32, "<u4"}, {ND_I64, "<i8"},
                 {ND_U64, "<u8"},  {ND_F16, "<f2"},  {ND_F32, "<f4"}, {ND_F64, "<f8"},
                 {ND_C64, "<c8"},  {ND_C128, "<c16"}};
    char text[8];
    nd_dtype back;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        DO(nd_typestr(table[i].dtype, text));
        is_str(text, table[i].text, "I8: typestr");
        DO(nd_dtype_of_typestr(table[i].text, NULL, &back));
        is_int(back, table[i].dtype, "I8: and back");
    }
    is_int(nd_typestr(ND_BF16, text), ND_ERR_DTYPE, "I8: bf16 has none");
    has_text(nd_last_error()->message, "DLPack", "I8: and the error names what has");
    DO(nd_dtype_of_typestr("<V2", "bf16", &back));
    is_int(back, ND_BF16, "I8: \"<V2\" with its name is bf16");
    DO(nd_dtype_of_typestr("=i4", NULL, &back));
    is_int(back, ND_I32, "I9: \"=\" is this machine's order");
    DO(nd_dtype_of_typestr("<u1", NULL, &back));
    is_int(back, ND_U8, "I9: one byte has no order");
    static const char *const wrong[] = {">f4",  "<f3",  "<V2", "<V4", "|S1",         "<U1",
                                        "|O8",  "",     "f",   "f4",  "<f",          "<f4x",
                                        "<f-4", "<f16", "|f4", "<M8", "<f4294967300"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        is_int(nd_dtype_of_typestr(wrong[i], NULL, &back), ND_ERR_DTYPE, wrong[i]);
    is_int(nd_dtype_of_typestr("<V4", "bf16", &back), ND_ERR_DTYPE, "I8: the size must fit");
}

static void i8_bf16(void)
{
    nd_array *a = NULL, *back = NULL;
    nd_cai c = {.size = sizeof c};
    int64_t n = 5;
    DO(nd_full(sim[0], ND_BF16, 1, &n, nd_float(1.5), &a));
    is_int(nd_cai_export(a, NULL, &c), ND_ERR_DTYPE, "I8: bf16 is refused");
    nd_cai_export_opts opts = {.size = sizeof opts, .flags = ND_CAI_VENDOR_DTYPES};
    DO(nd_cai_export(a, &opts, &c));
    is_str(c.typestr, "<V2", "I8: but may be asked for, as bytes");
    is_str(c.dtype, "bf16", "I8: with its name");
    DO(nd_cai_import(&c, NULL, &back));
    is_int(nd_dtype_of(back), ND_BF16, "I8: which our importer understands");
    ok(value_of(back) == 1.5, "I8: without loss");
    c.dtype[0] = 0;
    nd_array *no = NULL;
    is_int(nd_cai_import(&c, NULL, &no), ND_ERR_DTYPE, "I8: without the name nobody knows");
    nd_release(back);
    nd_release(a);
}

static void i13_read_only(void)
{
    nd_array *a = matrix(), *r = NULL;
    nd_cai c = export_of(a);
    c.flags = ND_CAI_READ_ONLY;
    DO(nd_cai_import(&c, NULL, &r));
    ok(nd_is_readonly(r), "I13: the flag is kept");
    is_int(nd_fill(r, nd_float(1)), ND_ERR_READONLY, "I13: and writes are refused");
    is_int(export_of(r).flags, ND_CAI_READ_ONLY, "I3: and exported again");
    nd_release(r);
    nd_release(a);
}

/* Nothing is shared of an array without elements, but read-only it is all the same. */
static void i13_read_only_nothing(void)
{
    static const int64_t none[2] = {0, 3};
    nd_cai c = {.size = sizeof c, .version = 3, .typestr = "<f4", .ndim = 2, .shape = none};
    const nd_cai_import_opts opts = {.size = sizeof opts, .device = sim[0]};
    c.stream = ND_CAI_NO_STREAM;
    for (int fixed = 0; fixed < 2; fixed++) {
        nd_array *r = NULL;
        c.flags = fixed ? ND_CAI_READ_ONLY : 0;
        DO(nd_cai_import(&c, &opts, &r));
        is_int(nd_is_readonly(r) != 0, fixed, "I13: of an array without elements too");
        is_int(nd_fill(r, nd_float(1)), fixed ? ND_ERR_READONLY : ND_OK, "I13: for writes");
        is_int(export_of(r).flags, c.flags, "I3: and exported so");
        nd_release(r);
    }
}

static nd_cai base;
static void refuse(nd_cai c, nd_status want, const char *word, const char *what)
{
    nd_array *a = NULL;
    nd_status got = nd_cai_import(&c, NULL, &a);
    ok(got == want && !a && strstr(nd_last_error()->message, word), "I9: %s", what);
    if (got != want || !strstr(nd_last_error()->message, word))
        diag("%s: %s", nd_status_name(got), got ? nd_last_error()->message : "");
    nd_release(a);
}
#define REFUSE(field, value, want, word, what) \
    do {                                       \
        nd_cai c_ = base;                      \
        c_.field = (value);                    \
        refuse(c_, (want), (word), (what));    \
    } while (0)

static void i9_validation(void)
{
    nd_array *a = matrix(), *got = NULL;
    base = export_of(a);
    const int64_t shape[2] = {4, 6}, row[2] = {24, 4};
    base.shape = shape;
    base.strides = row;
    DO(nd_cai_import(&base, NULL, &got));
    nd_release(got);
    is_int(nd_cai_import(NULL, NULL, &got), ND_ERR_ARGUMENT, "I9: no description");
    REFUSE(size, 8, ND_ERR_ARGUMENT, "size field", "size");
    REFUSE(version, -1, ND_ERR_ARGUMENT, "version", "a negative version");
    REFUSE(version, 4, ND_ERR_UNSUPPORTED, "version 4", "a later version");
    REFUSE(flags, 8, ND_ERR_ARGUMENT, "flags", "unknown flags");
    REFUSE(flags, ND_CAI_MASKED, ND_ERR_UNSUPPORTED, "mask", "a mask");
    REFUSE(ndim, -1, ND_ERR_SHAPE, "rank", "a negative rank");
    REFUSE(ndim, 65, ND_ERR_SHAPE, "rank", "too high a rank");
    REFUSE(shape, NULL, ND_ERR_ARGUMENT, "NULL", "no shape");
    REFUSE(data, 0, ND_ERR_ARGUMENT, "address is 0", "address 0 with elements");
    REFUSE(data, base.data + 2, ND_ERR_UNSUPPORTED, "aligned", "an unaligned address");
    REFUSE(data, 4096, ND_ERR_DEVICE, "no device", "an address of no device");
    REFUSE(stream, 0, ND_ERR_ARGUMENT, "stream 0", "stream 0");
    REFUSE(stream, -1, ND_ERR_ARGUMENT, "handle", "a negative stream");
    const int64_t negative[2] = {4, -6}, huge[2] = {INT64_MAX, 6}, wide[2] = {2, 2};
    REFUSE(shape, negative, ND_ERR_SHAPE, "", "a negative extent");
    REFUSE(shape, huge, ND_ERR_OVERFLOW, "", "more bytes than there are");
    const int64_t odd[2] = {24, 3}, far[2] = {INT64_MAX - 3, 4}, back[2] = {-(INT64_MAX - 7), 4},
                  lowest[2] = {INT64_MIN, 4};
    REFUSE(strides, odd, ND_ERR_ARGUMENT, "multiple", "strides between elements");
    REFUSE(strides, far, ND_ERR_OVERFLOW, "", "strides beyond 2^63");
    REFUSE(strides, back, ND_ERR_OVERFLOW, "", "strides far below 0");
    REFUSE(strides, lowest, ND_ERR_OVERFLOW, "", "the lowest stride of all");
    nd_cai c = base;
    c.shape = wide;
    c.data = UINT64_MAX - 7;
    c.strides = NULL;
    refuse(c, ND_ERR_OVERFLOW, "address space", "elements beyond 2^64");
    const int64_t down[2] = {-4096, 4};
    c.data = 4096;
    c.strides = down;
    refuse(c, ND_ERR_OVERFLOW, "address space", "elements at address 0 and below");
    memcpy(c.typestr, "<f4<f4<f", 8);
    refuse(c, ND_ERR_DTYPE, "typestr", "a typestr without end");
    ok(nd_cai_check() == ND_CAI_CHECK_OFF && nd_cai_check_set(3) == ND_ERR_ARGUMENT &&
           nd_cai_check_set(ND_CAI_CHECK_ON) == ND_OK,
       "I15: the check is off at first, and can be asked for");
    c = base;
    const int64_t longer[2] = {4, 1 << 20};
    c.shape = longer;
    c.strides = NULL;
    refuse(c, ND_ERR_ARGUMENT, "outside its", "I15: elements outside the allocation");
    ok(nd_cai_check_set(ND_CAI_CHECK_OFF) == ND_OK, "I15: and left again");
    nd_release(a);
}

/* What may be odd without harm. */
static void i9_tolerance(void)
{
    nd_array *a = matrix(), *got = NULL;
    nd_cai c = export_of(a);
    const int64_t shape[2] = {1, 6}, strides[2] = {7, 4}, none[2] = {0, 6},
                  wild[2] = {3, INT64_MIN};
    c.shape = shape;
    c.strides = strides;
    DO(nd_cai_import(&c, NULL, &got));
    ok(got && nd_is_contiguous(got), "I9: the stride of an extent of one does not matter");
    nd_release(got);
    c.shape = none;
    c.strides = wild;
    c.data = 12345;
    DO(nd_cai_import(&c, NULL, &got));
    ok(got && nd_size(got) == 0 && nd_shape(got)[1] == 6,
       "I14: without elements neither address nor strides are looked at");
    ok(got && nd_device_of(got) == sim[0], "I14: and the device is the current one");
    nd_release(got);
    c = export_of(a);
    c.version = 2;
    c.stream = 0;
    DO(nd_cai_import(&c, NULL, &got));
    ok(got != NULL, "I10: version 2 has no stream");
    nd_release(got);
    c.version = 3;
    nd_cai_import_opts opts = {.size = sizeof opts, .flags = ND_CAI_LENIENT};
    DO(nd_cai_import(&c, &opts, &got));
    ok(got != NULL, "I9: lenient: stream 0 is taken for 1");
    nd_release(got);
    nd_release(a);
}

static void settings(void)
{
    nd_array *a = matrix();
    nd_cai c = {.size = sizeof c};
    is_int(nd_cai_export_policy(), ND_CAI_EXPORT_STREAM, "I7: exports name streams unless told");
    is_int(nd_cai_sync(), ND_CAI_SYNC_ON, "I12: imports wait unless told");
    is_int(nd_cai_export_policy_set(0), ND_ERR_ARGUMENT, "I7: 0 is no policy");
    is_int(nd_cai_sync_set(3), ND_ERR_ARGUMENT, "I12: 3 is neither on nor off");
    DO(nd_cai_export_policy_set(ND_CAI_EXPORT_NONE));
    DO(nd_fill(a, nd_float(1)));
    DO(nd_cai_export(a, NULL, &c));
    ok(c.stream == ND_CAI_NO_STREAM, "I7: the policy holds for all exports");
    DO(nd_cai_export_policy_set(ND_CAI_EXPORT_STREAM));
    nd_array *host = NULL;
    int64_t n = 3;
    DO(nd_zeros(cpu, ND_F32, 1, &n, &host));
    is_int(nd_cai_export(host, NULL, &c), ND_ERR_UNSUPPORTED, "I1: host arrays have none");
    nd_release(host);
    nd_release(a);
    settle();
}

static void i14_pointers(void)
{
    nd_array *a = matrix();
    nd_cai c = export_of(a);
    nd_pointer_info info = {.size = sizeof info};
    DO(nd_ptr_info(c.data + 4, NULL, &info));
    ok(info.device == sim[0], "I14: the device of an address");
    ok(info.base <= c.data && c.data + 96 <= info.base + info.nbytes, "I14: its allocation");
    ok(!info.host_accessible && info.device_accessible && !info.managed, "I14: who reaches it");
    DO(nd_ptr_info(c.data, sim[1], &info));
    ok(info.device == sim[0], "I14: also when another device of the plug-in is asked");
    DO(nd_ptr_info((uint64_t)(uintptr_t)&info, NULL, &info));
    ok(info.device == cpu && info.host_accessible, "I14: other memory is the host's");
    is_int(nd_ptr_info(0, NULL, &info), ND_ERR_ARGUMENT, "I14: address 0");
    is_int(nd_ptr_info(64, sim[0], &info), ND_ERR_ARGUMENT, "I14: memory of another device");
    info.size = 4;
    is_int(nd_ptr_info(c.data, NULL, &info), ND_ERR_ARGUMENT, "I14: the size field");
    nd_release(a);
}

TAP_MAIN({"i2_layout", i2_layout}, {"i8_typestrs", i8_typestrs}, {"i8_bf16", i8_bf16},
         {"i13_read_only", i13_read_only}, {"i13_read_only_nothing", i13_read_only_nothing},
         {"i9_validation", i9_validation}, {"i9_tolerance", i9_tolerance}, {"settings", settings},
         {"i14_pointers", i14_pointers})
