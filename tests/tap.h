/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A small TAP producer. A test program lists its cases and calls tap_main; a case named on the
 * command line runs alone. The plan comes last, so a program that dies early fails. */
#ifndef NDOCK_TAP_H
#define NDOCK_TAP_H
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    void (*run)(void);
} tap_case;
static int tap_count, tap_failures;

__attribute__((unused, format(printf, 1, 2))) static void diag(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("# ", stdout);
    vprintf(fmt, ap);
    fputc('\n', stdout);
    va_end(ap);
}

__attribute__((unused, format(printf, 4, 5))) static int tap_ok(int pass, const char *file,
                                                                int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    vprintf(fmt, ap);
    fputc('\n', stdout);
    va_end(ap);
    if (!pass) {
        tap_failures++;
        diag("at %s:%d", file, line);
    }
    return pass;
}
#define ok(condition, ...) tap_ok(!!(condition), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static int tap_is_int(long long got, long long want, const char *file,
                                              int line, const char *what)
{
    int pass = tap_ok(got == want, file, line, "%s", what);
    if (!pass)
        diag("got %lld, want %lld", got, want);
    return pass;
}
#define is_int(got, want, what) \
    tap_is_int((long long)(got), (long long)(want), __FILE__, __LINE__, (what))

__attribute__((unused)) static int tap_is_str(const char *got, const char *want, const char *file,
                                              int line, const char *what)
{
    int pass = tap_ok(got && want && strcmp(got, want) == 0, file, line, "%s", what);
    if (!pass)
        diag("got \"%s\", want \"%s\"", got ? got : "(null)", want ? want : "(null)");
    return pass;
}
#define is_str(got, want, what) tap_is_str((got), (want), __FILE__, __LINE__, (what))

/* The text holds every one of the words; for error messages. */
#define has_text(got, word, what) tap_has_text((got), (word), __FILE__, __LINE__, (what))
__attribute__((unused)) static int tap_has_text(const char *got, const char *word, const char *file,
                                                int line, const char *what)
{
    int pass = tap_ok(got && strstr(got, word), file, line, "%s", what);
    if (!pass)
        diag("\"%s\" lacks \"%s\"", got ? got : "(null)", word);
    return pass;
}

__attribute__((unused)) static void skip(int count, const char *why)
{
    for (; count > 0; count--)
        printf("ok %d # SKIP %s\n", ++tap_count, why);
}

__attribute__((unused)) static void bail(const char *why)
{
    printf("Bail out! %s\n", why);
    exit(1);
}

__attribute__((unused)) static int tap_main(int argc, char **argv, const tap_case *cases, int n)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < n; i++)
        if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
#define TAP_MAIN(...)                                                              \
    int main(int argc, char **argv)                                                \
    {                                                                              \
        static const tap_case cases[] = {__VA_ARGS__};                             \
        return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0])); \
    }
#endif
