/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CPU plug-in's parameters. */
#include "host/cpu.h"
#include "host/choice.h"

cpu_parameters cpu_set = {.isa = NULL, .blas = "auto", .lapack = "auto", .cc = "auto"};
const char *cpu_fft_library = "own";

static const struct {
    void *out;
    ndh_param declaration;
} parameters[] = {
    {&cpu_set.num_threads,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_I64,
      .name = "NUM_THREADS",
      .initial = "0",
      .low = 0,
      .high = 4095,
      .values = "0 to 4095",
      .help = "threads of a parallel region; 0: OMP_NUM_THREADS, else the processors allowed"}},
    {&cpu_set.isa,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "ISA",
      .words = "baseline|avx2|avx512|avx512vnni",
      .help = "highest SIMD level used; default: the best that the processor has"}},
    {&cpu_set.blas,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "BLAS",
      .initial = "auto",
      .values = "auto, own, any, or a CBLAS library's path or soname",
      .help = "matrix products by: auto or own (own kernels), any (the first BLAS found)"}},
    {&cpu_set.lapack,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "LAPACK",
      .initial = "auto",
      .values = "auto, own, off, or a LAPACK library's path or soname",
      .help = "linear algebra by: auto (the first LAPACK found, else own kernels; own ones too for "
              "large "
              "factorisations where OpenBLAS runs its kernels for SSE), own or off (own kernels)"}},
    {&cpu_set.cc,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "CC",
      .initial = "auto",
      .values = "auto, off, or a C compiler's path or name",
      .help =
          "kernels of programs compiled by: auto (cc, gcc or clang in PATH), off (nothing is)"}},
    {&cpu_fft_library,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "FFT",
      .initial = "own",
      .words = "own|fftw",
      .help = "Fourier transforms by: own (own kernels), fftw (FFTW 3)"}},
};

/* A value that is refused leaves the default: the host tells the user. A host without the service
 * has param(), which knows neither bounds nor words. */
void cpu_read_parameters(void)
{
    const ndp_host *h = cpu_host;
    const ndh_param_1 *service = h->size >= NDP_END(ndp_host, service) && h->service
                                     ? h->service(h->ctx, "ndh.param/1")
                                     : NULL;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        const ndh_param *d = &parameters[i].declaration;
        if (service && service->size >= NDP_END(ndh_param_1, get))
            (void)service->get(h->ctx, d, parameters[i].out);
        else if (h->size >= NDP_END(ndp_host, param) && h->param)
            (void)h->param(h->ctx, d->name, d->type, d->help, parameters[i].out);
    }
}
