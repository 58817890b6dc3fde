/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Runs a fuzz target without libFuzzer: over the seed files of a folder and over mutations of them,
 * the same in every run. Usage: PROGRAM [MUTATIONS [FIRST [SEED-FOLDER]]]; speaks TAP. With
 * NDOCK_FUZZ_SECONDS=N it goes on for that long, from a number that the clock chooses and that it
 * says: a failure is made again by MUTATIONS and FIRST. */
#include <dirent.h>
#include <time.h>
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

enum { MOST_SEEDS = 256, MOST_BYTES = 1 << 16 };

typedef struct {
    char *name;
    uint8_t *data;
    size_t size;
} seed;

static seed seeds[MOST_SEEDS];
static int seed_count;
static uint64_t state;

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static uint64_t random_bits(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1Du;
}

static size_t below(size_t n)
{
    return n ? (size_t)((random_bits() >> 33) % n) : 0;
}

static int by_name(const void *a, const void *b)
{
    const seed *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void read_seeds(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) && seed_count < MOST_SEEDS;) {
        char path[1024];
        seed *s = &seeds[seed_count];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!f)
            continue;
        s->name = strdup(e->d_name);
        s->data = malloc(MOST_BYTES);
        s->size = fread(s->data, 1, MOST_BYTES, f);
        fclose(f);
        seed_count++;
    }
    if (d)
        closedir(d);
    qsort(seeds, (size_t)seed_count, sizeof *seeds, by_name);
}

/* One change: a byte, a number, a cut, a piece moved or taken from another seed. */
static size_t mutate(uint8_t *data, size_t n)
{
    static const uint8_t odd[] = {0, 1, 0x7F, 0x80, 0xFF, '0', '9', ',', '"', '\'', '}', '[', '-'};
    const seed *other = &seeds[below((size_t)seed_count)];
    size_t at = below(n), length = 1 + below(16), from = below(other->size);
    if (n == 0)
        return 0;
    if (length > n - at)
        length = n - at;
    switch (below(6)) {
    case 0:
        data[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        data[at] = odd[below(sizeof odd)];
        break;
    case 2:
        return at;
    case 3:
        memmove(data + at, data + at + length, n - at - length);
        return n - length;
    case 4:
        if (n + length > MOST_BYTES)
            return n;
        memmove(data + at + length, data + at, n - at);
        return n + length;
    default:
        if (length > other->size - from)
            length = other->size - from;
        memcpy(data + at, other->data + from, length);
    }
    return n;
}

static void run_mutation(int number)
{
    static uint8_t data[MOST_BYTES];
    state = ((uint64_t)number + 1) * 0x9E3779B97F4A7C15u;
    const seed *s = &seeds[below((size_t)seed_count)];
    size_t n = s->size;
    memcpy(data, s->data, n);
    for (size_t k = 1 + below(6); k > 0; k--)
        n = mutate(data, n);
    LLVMFuzzerTestOneInput(data, n);
}

/* How many there were. */
static int run_for(time_t seconds, int first)
{
    enum { PORTION = 500 };
    int n = 0;
    for (time_t end = time(NULL) + seconds; time(NULL) < end; n += PORTION) {
        printf("# mutations %d from number %d\n", PORTION, first + n);
        for (int i = 0; i < PORTION; i++)
            run_mutation(first + n + i);
    }
    return n;
}

int main(int argc, char **argv)
{
    const char *seconds = getenv("NDOCK_FUZZ_SECONDS");
    int mutations = argc > 1 ? atoi(argv[1]) : 3000, first = argc > 2 ? atoi(argv[2]) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    read_seeds(argc > 3 ? argv[3] : FUZZ_SEEDS);
    if (seed_count == 0)
        bail("no seeds");
    for (int i = 0; i < seed_count; i++) {
        LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
        ok(1, "seed %s", seeds[i].name);
    }
    if (seconds && argc == 1) {
        first = (int)(time(NULL) % 1000000) * 1000;
        mutations = run_for(atoi(seconds), first);
    } else {
        for (int i = first; i < first + mutations; i++)
            run_mutation(i);
    }
    ok(mutations > 0, "%d mutations from number %d", mutations, first);
    printf("1..%d\n", tap_count);
    return 0;
}
