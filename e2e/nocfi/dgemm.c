/* Multiplies matrices for ever, on one thread, by the kernels that OpenBLAS has for the processors of most nodes. */
#include <dlfcn.h>
#include <stdlib.h>

#define N 800

typedef void multiply(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                      const int *, const double *, const int *, const double *, double *, const int *);

int main(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
    multiply *dgemm = blas ? (multiply *)dlsym(blas, "dgemm_") : NULL;
    double *a = calloc(N * N, 8), *b = calloc(N * N, 8), *c = calloc(N * N, 8), one = 1, zero = 0;
    const int n = N;
    if (!dgemm || !a || !b || !c)
        return 1;
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = i % 17;
    for (;;)
        dgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}
