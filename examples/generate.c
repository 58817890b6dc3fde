/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A small transformer language model from a GGUF file, as generate.py --make writes, writes text: one
 * byte a token, on any device. The same text as generate.py. */
#define PROGRAM "generate"
#include <getopt.h>

#include "generate_model.h"

typedef struct {
    const char *path, *device, *prompt;
    long tokens, seed;
    int sample;
} options;

/* Gumbel's trick: the largest of the scores and noise, less log(-log(u)), is drawn from the
 * probabilities, and nothing waits for the host. Numbers of the key's sequence follow each other. */
static const nd_array *with_noise(const model *m, const nd_array *scores, nd_random_key *key)
{
    nd_array *u, *noise, *narrow, *sum;
    CHECK(nd_random_uniform(m->device, ND_F64, 2, nd_shape(scores), key, 1e-6, 1, &u));
    nd_random_skip(key, nd_size(scores), ND_F64);
    CHECK(nd_astype(hold(u), ND_F32, &noise));
    CHECK(nd_log_into(hold(noise), noise));
    CHECK(nd_negative_into(noise, noise));
    CHECK(nd_log_into(noise, noise));
    CHECK(nd_astype(scores, ND_F32, &narrow));
    CHECK(nd_subtract(hold(narrow), noise, &sum));
    return hold(sum);
}

/* The next token, the likeliest or one that is drawn, into dst (1). */
static void choose(const model *m, const nd_array *scores, nd_random_key *key, const nd_array *dst)
{
    const nd_reduce_opts last = {.size = sizeof last, .axes = (int32_t[]){1}, .naxes = 1};
    CHECK(nd_argmax_into(key ? with_noise(m, scores, key) : scores, &last, dst));
}

/* Tokens stay on the device until all are made. Returns the seconds of each after the first. */
static double write_text(model *m, const options *o, const nd_array *prompt, int64_t *text)
{
    nd_random_key key = {.key = (uint64_t)o->seed};
    const int64_t n = o->tokens;
    nd_array *made, *before = NULL;
    double start = 0;
    CHECK(nd_empty(m->device, ND_I64, 1, &n, &made));
    m->at = 0;
    for (int64_t i = 0; i < n; i++) {
        const nd_index index = nd_range(i, i + 1, 1);
        nd_array *now;
        CHECK(nd_slice(made, &index, 1, &now));
        choose(m, step(m, before ? before : prompt), o->sample ? &key : NULL, now);
        release_held();
        nd_release(before);
        before = now;
        if (i == 0) {
            CHECK(nd_synchronize(m->device));
            start = seconds();
        }
    }
    CHECK(nd_to_host(made, text, (size_t)n * sizeof *text));
    const double took = seconds() - start;
    nd_release(before);
    nd_release(made);
    return took / (double)(n > 1 ? n - 1 : 1);
}

static nd_array *prompt_tokens(const model *m, const char *text)
{
    const int64_t n = (int64_t)strlen(text);
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_U8, .ndim = 1, .shape = &n};
    nd_array *bytes, *tokens;
    CHECK(nd_from_host(&layout, text, m->device, &bytes));
    CHECK(nd_astype(bytes, ND_I64, &tokens));
    nd_release(bytes);
    return keep(tokens);
}

static void print_text(const char *prompt, const int64_t *text, long n)
{
    fputs(prompt, stdout);
    for (long i = 0; i < n; i++)
        putchar(text[i] >= 32 && text[i] < 127 ? (int)text[i] : '.');
    putchar('\n');
}

/* ---- command line ---- */

static const char usage[] =
    "Usage: generate [OPTION]... MODEL\n"
    "Write text by a language model of llama's kind, a GGUF file of one byte a token.\n"
    "generate.py --make FILE writes one, whose weights are random.\n\n"
    "  --device NAME  cpu, cuda:0, ..., or auto, the best there is (default auto)\n"
    "  --prompt TEXT  what the text begins with (default \"Once upon a time\")\n"
    "  --tokens N     how many follow (default 64)\n"
    "  --sample       draw from the probabilities, in place of taking the likeliest\n"
    "  --seed N       of what is drawn (default 1)\n"
    "  --help         print this and exit\n"
    "  --version      print the version and exit";

static options parse(int argc, char **argv)
{
    enum { DEVICE, PROMPT, TOKENS, SEED };
    static const struct option known[] = {{"device", 1, NULL, 1},    {"prompt", 1, NULL, 1},
                                          {"tokens", 1, NULL, 1},    {"seed", 1, NULL, 1},
                                          {"sample", 0, NULL, 's'},  {"help", 0, NULL, 'h'},
                                          {"version", 0, NULL, 'v'}, {NULL, 0, NULL, 0}};
    const char *text[] = {"auto", "Once upon a time", "64", "1"};
    int sample = 0;
    for (int c, i = 0; (c = getopt_long(argc, argv, "", known, &i)) != -1;) {
        if (c == 'h' || c == 'v') {
            printf("%s%s\n", c == 'h' ? usage : "generate (ndock) ", c == 'h' ? "" : nd_version());
            exit(0);
        }
        if (c == 's')
            sample = 1;
        else if (c == 1)
            text[i] = optarg;
        else
            bad_option("", "");
    }
    if (optind + 1 != argc)
        bad_option("one model is wanted", ". ");
    return (options){.path = argv[optind],
                     .device = text[DEVICE],
                     .prompt = text[PROMPT],
                     .tokens = (long)number("--tokens", text[TOKENS], 1, 1),
                     .seed = (long)number("--seed", text[SEED], 0, 1),
                     .sample = sample};
}

int main(int argc, char **argv)
{
    static model m;
    const options o = parse(argc, argv);
    nd_device *device;
    nd_device_info info;
    CHECK(nd_device_get(o.device, &device));
    CHECK(nd_device_set_current(device));
    nd_device_describe(device, &info);
    load_model(&m, o.path, device, strncmp(info.name, "cuda", 4) == 0 ? ND_F16 : ND_F32);
    if (!*o.prompt || (int64_t)strlen(o.prompt) + o.tokens > m.context)
        bad_option("--prompt, --tokens", ": nothing to begin with, or more than the context. ");
    int64_t *text = malloc((size_t)o.tokens * sizeof *text);
    if (!text) {
        fputs(PROGRAM ": out of memory\n", stderr);
        return 1;
    }
    const nd_array *prompt = prompt_tokens(&m, o.prompt);
    (void)write_text(&m, &o, prompt, text); /* kernels are found and memory is taken */
    const double took = write_text(&m, &o, prompt, text);
    print_text(o.prompt, text, o.tokens);
    printf("%s: %.1f tokens a second\n", info.name, 1 / took);
    free(text);
    release_model(&m);
    release_kept();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
