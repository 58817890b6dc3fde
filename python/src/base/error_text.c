/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Messages of the library in the words of its Python package: functions of C that they recommend
 * become what does the same here. */
#include <stdio.h>
#include <string.h>
#include "python/src/base/base.h"

/* Functions whose Python spelling is not ndock.NAME. */
static const struct {
    const char *c, *python;
} spellings[] = {{"nd_astype", "x.astype(dtype)"},
                 {"nd_to_device", "x.to(device)"},
                 {"nd_to_host", "x.cpu()"},
                 {"nd_from_host", "ndock.asarray(..., copy=True)"},
                 {"nd_wrap", "ndock.asarray"},
                 {"nd_copy", "x.copy()"},
                 {"nd_data", "numpy.asarray(x)"},
                 {"nd_select", "x[mask]"},
                 {"nd_item", "x.item()"},
                 {"nd_reshape_copy", "reshape(copy=None)"},
                 {"nd_matmul_into", "ndock.matmul(..., out=x)"},
                 {"nd_empty_pinned", "ndock.empty_pinned"},
                 {"nd_npy_load", "ndock.load(...) without mmap_mode"},
                 {"nd_npy_load_as", "ndock.load(..., dtype=...)"},
                 {"nd_npz_open", "ndock.load"},
                 {"nd_stream_create", "ndock.Stream()"},
                 {"nd_stream_wait_stream", "stream.wait_stream(other)"},
                 {"nd_stream_wait_event", "stream.wait_event(event)"},
                 {"nd_event_synchronize", "event.synchronize()"},
                 {"nd_plugin_load", "ndock.load_plugin"},
                 {"nd_plugin_report", "ndock.plugins()"},
                 {"nd_memory_empty_cache", "ndock.memory.empty_cache()"},
                 {"nd_memory_snapshot", "ndock.memory.snapshot()"},
                 {"nd_stream_wrap", "ndock.Stream.from_external"},
                 {"is NULL", "is None"}};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* How many bytes at s one of the spellings replaces; 0: none does. */
static size_t spelled(const char *s, const char **python)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        size_t n = strlen(spellings[i].c);
        if (strncmp(s, spellings[i].c, n) == 0 && !is_letter(s[n])) {
            *python = spellings[i].python;
            return n;
        }
    }
    return 0;
}

/* How many bytes at s are the short name of a dtype (f32 ...), as a word of its own, not as part of
 * a path or of quoted text; 0: none are. The standard's name takes its place. */
static size_t dtype_word(const char *message, const char *s, const char **python)
{
    static const char around[] = " ,;:()[]";
    if (s != message && !strchr(around, s[-1]))
        return 0;
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++) {
        const char *name = nd_dtype_get(d)->name;
        size_t n = strlen(name);
        if (strncmp(s, name, n) == 0 && (!s[n] || strchr(around, s[n]))) {
            *python = nd_dtype_get(d)->standard;
            return n;
        }
    }
    return 0;
}

PyObject *py_error_text(const char *message)
{
    size_t room = 4 * strlen(message) + 32, n = 0, used;
    char *text = PyMem_Malloc(room);
    const char *python;
    if (!text)
        return PyErr_NoMemory();
    for (const char *s = message; *s && n + 40 < room;) {
        bool start = s == message || !is_letter(s[-1]);
        if (start &&
            ((used = spelled(s, &python)) > 0 || (used = dtype_word(message, s, &python)) > 0)) {
            n += (size_t)snprintf(text + n, room - n, "%s", python);
            s += used;
        } else if (start && strncmp(s, "nd_", 3) == 0) {
            n += (size_t)snprintf(text + n, room - n, "ndock.");
            s += 3;
        } else {
            text[n++] = *s++;
        }
    }
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "backslashreplace");
    PyMem_Free(text);
    return result;
}
