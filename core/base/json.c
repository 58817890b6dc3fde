/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A small strict JSON reader (RFC 8259). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/base/json.h"
#include "core/base/text.h"

enum { MAX_DEPTH = 32 };

void nd__json_start(nd__json *j, const void *text, size_t size, char *arena)
{
    memset(j, 0, sizeof *j);
    j->begin = j->at = text;
    j->end = j->begin + size;
    j->arena = arena;
}

int nd__json_fail(nd__json *j, const char *error)
{
    if (!j->error) {
        j->error = error;
        j->error_at = (size_t)(j->at - j->begin);
    }
    return 0;
}

/* The next character that is not white space; 0 at the end, and after an error. */
static int peek(nd__json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
    return j->at < j->end && !j->error ? *j->at : 0;
}

static int expect(nd__json *j, char c, const char *error)
{
    if (peek(j) != c)
        return nd__json_fail(j, error);
    j->at++;
    return 1;
}

int nd__json_enter(nd__json *j, char bracket)
{
    if (j->depth >= MAX_DEPTH)
        return nd__json_fail(j, "brackets are nested too deeply");
    if (!expect(j, bracket, bracket == '{' ? "expected an object" : "expected an array"))
        return 0;
    j->depth++;
    return 1;
}

int nd__json_next(nd__json *j, char bracket, int *first)
{
    char close = bracket == '{' ? '}' : ']';
    int c = peek(j), was_first = *first;
    *first = 0;
    if (c == close) {
        j->at++;
        j->depth--;
        return 0;
    }
    if (was_first)
        return c ? 1 : nd__json_fail(j, "the text ends within brackets");
    return expect(j, ',', close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
}

/* Four hexadecimal digits; -1 without them. */
static int hex4(nd__json *j)
{
    int value = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        int c = j->at < j->end ? *j->at : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    } else {
        *out++ = (char)(0xF0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3F));
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    }
    return out;
}

/* After a backslash and 'u'. */
static int unicode_escape(nd__json *j, char **out)
{
    int code = hex4(j);
    if (code == 0)
        return nd__json_fail(j, "a NUL character is not allowed");
    if (code >= 0xD800 && code < 0xDC00 && j->end - j->at >= 2 && j->at[0] == '\\' &&
        j->at[1] == 'u') {
        j->at += 2;
        int low = hex4(j);
        code =
            low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : -1;
    }
    if (code < 0 || (code >= 0xD800 && code < 0xE000))
        return nd__json_fail(j, "a \\u escape is not a character");
    *out = put_utf8(*out, (unsigned)code);
    return 1;
}

static int escape(nd__json *j, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = j->at < j->end ? *j->at++ : 0;
    if (c == 'u')
        return unicode_escape(j, out);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return nd__json_fail(j, "unknown escape in a text");
    *(*out)++ = to[found - from];
    return 1;
}

int nd__json_text(nd__json *j, const char **text)
{
    char *out = j->arena;
    *text = "";
    if (!expect(j, '"', "expected a text"))
        return 0;
    for (;;) {
        int c = j->at < j->end ? *j->at : 0;
        if (j->at == j->end)
            return nd__json_fail(j, "the text ends within quotes");
        if (c < 0x20)
            return nd__json_fail(j, "a control character is not allowed in a text");
        j->at++;
        if (c == '"')
            break;
        if (c != '\\')
            *out++ = (char)c;
        else if (!escape(j, &out))
            return 0;
    }
    if (!nd__utf8_valid(j->arena, (size_t)(out - j->arena)))
        return nd__json_fail(j, "the text before here is not UTF-8");
    *out++ = 0;
    *text = j->arena;
    j->arena = out;
    return 1;
}

int nd__json_key(nd__json *j, const char **key)
{
    return nd__json_text(j, key) && expect(j, ':', "expected ':'");
}

int nd__json_int(nd__json *j, int64_t *value)
{
    const char *bad = "expected an integer";
    int minus = peek(j) == '-';
    const unsigned char *p = j->at + minus, *digits = p;
    int64_t v = 0;
    if (j->error)
        return 0;
    /* Summed downwards, since the most negative value has no positive counterpart. */
    for (; p < j->end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *p - '0', &v))
            return nd__json_fail(j, "an integer does not fit 64 bits");
    if (p == digits || (p - digits > 1 && *digits == '0'))
        return nd__json_fail(j, bad);
    if (p < j->end && (*p == '.' || *p == 'e' || *p == 'E'))
        return nd__json_fail(j, bad);
    if (!minus && v == INT64_MIN)
        return nd__json_fail(j, "an integer does not fit 64 bits");
    j->at = p;
    *value = minus ? v : -v;
    return 1;
}

static size_t digits_at(const nd__json *j)
{
    const unsigned char *p = j->at;
    while (p < j->end && *p >= '0' && *p <= '9')
        p++;
    return (size_t)(p - j->at);
}

static int skip_number(nd__json *j)
{
    if (*j->at == '-')
        j->at++;
    size_t n = digits_at(j);
    if (n == 0 || (n > 1 && *j->at == '0'))
        return nd__json_fail(j, "expected a value");
    j->at += n;
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        if ((n = digits_at(j)) == 0)
            return nd__json_fail(j, "expected a digit");
        j->at += n;
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        if ((n = digits_at(j)) == 0)
            return nd__json_fail(j, "expected a digit");
        j->at += n;
    }
    return 1;
}

static int skip_word(nd__json *j)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(j->end - j->at) >= n && memcmp(j->at, words[i], n) == 0) {
            j->at += n;
            return 1;
        }
    }
    return nd__json_fail(j, "expected a value");
}

/* MAX_DEPTH bounds the recursion. */
int nd__json_skip(nd__json *j)
{
    const char *text;
    int c = peek(j), first = 1;
    if (c == '"')
        return nd__json_text(j, &text);
    if (c == '-' || (c >= '0' && c <= '9'))
        return skip_number(j);
    if (c != '{' && c != '[')
        return skip_word(j);
    if (!nd__json_enter(j, (char)c))
        return 0;
    while (nd__json_next(j, (char)c, &first))
        if ((c == '{' && !nd__json_key(j, &text)) || !nd__json_skip(j))
            return 0;
    return !j->error;
}

int nd__json_end(nd__json *j)
{
    peek(j);
    return j->error || j->at == j->end ? !j->error : nd__json_fail(j, "expected nothing more");
}

char *nd__quote(char *out, size_t room, const char *text, size_t n)
{
    size_t keep = n < room ? n : room - 4;
    for (size_t i = 0; i < keep; i++)
        out[i] = (char)(text[i] >= 0x20 && text[i] < 0x7F ? text[i] : '?');
    strcpy(out + keep, n < room ? "" : "...");
    return out;
}
