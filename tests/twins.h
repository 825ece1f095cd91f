/* kernels and their host twins: arrays in both memories, comparisons, times */
#pragma once
#include <patchfd/private/kernels.h>
#include <petscdevice_cuda.h>

/* the same numbers in both memories */
typedef struct {
  PatchFDKernels host, cuda;
  size_t         n;
  PetscReal      tolerance;
  void          *h, *d;
} Array;

static PetscErrorCode ArrayCreate(PatchFDKernels host, PatchFDKernels cuda, size_t n, Array *a)
{
  PetscFunctionBeginUser;
  a->host      = host;
  a->cuda      = cuda;
  a->n         = n;
  a->tolerance = host->size == sizeof(double) ? 1e-12 : 3e-5; /* interior penalties of high degree are the worst conditioned */
  PetscCall(host->malloc(n, &a->h));
  PetscCall(cuda->malloc(n, &a->d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArrayDestroy(Array *a)
{
  PetscFunctionBeginUser;
  PetscCall(a->host->free(a->h));
  PetscCall(a->cuda->free(a->d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArrayRandom(Array *a, PetscRandom rnd)
{
  PetscFunctionBeginUser;
  for (size_t i = 0; i < a->n; i++) {
    PetscReal v;

    PetscCall(PetscRandomGetValueReal(rnd, &v));
    if (a->host->size == sizeof(double)) ((double *)a->h)[i] = v - 0.5;
    else ((float *)a->h)[i] = (float)(v - 0.5);
  }
  PetscCallCUDA(cudaMemcpy(a->d, a->h, a->n * a->host->size, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* largest difference relative to the largest number; the device's numbers then become the host's */
static PetscErrorCode ArrayCompare(const char *what, Array *a, PetscInt degree, PetscInt *failures)
{
  const PetscBool dbl  = (PetscBool)(a->host->size == sizeof(double));
  PetscReal       diff = 0, max = 0;
  void           *c;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc(a->n * a->host->size, &c));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(c, a->d, a->n * a->host->size, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < a->n; i++) {
    const PetscReal h = dbl ? ((double *)a->h)[i] : ((float *)a->h)[i], d = dbl ? ((double *)c)[i] : ((float *)c)[i];

    if (!(PetscAbsReal(h - d) <= diff)) diff = PetscAbsReal(h - d);
    max = PetscMax(max, PetscAbsReal(h));
  }
  if (!(diff <= a->tolerance * max)) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "degree %" PetscInt_FMT ", %s, %s: difference %g of %g\n", degree, a->cuda->name, what,
                          (double)diff, (double)max));
    (*failures)++;
  }
  PetscCallCUDA(cudaMemcpy(a->d, a->h, a->n * a->host->size, cudaMemcpyHostToDevice));
  PetscCall(PetscFree(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is done, if anything, while plans of a test exist and have not been used: another test */
static PetscErrorCode (*meanwhile)(void);

static PETSC_UNUSED PetscErrorCode Meanwhile(void)
{
  PetscErrorCode (*const other)(void) = meanwhile;

  PetscFunctionBeginUser;
  meanwhile = NULL;
  if (other) PetscCall(other());
  meanwhile = other;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* between the fields with these lines.  part: the whole box, or what a rank would own: 1 the lower cells of each direction, 2 the upper
   ones, with one more coarse cell */
static PETSC_UNUSED PetscErrorCode TestTransfer(const PatchFDLine coarse[3], const PatchFDLine fine[3], int part, PatchFDKernels h,
                                                PatchFDKernels c, PetscRandom rnd, PetscInt *failures)
{
  PatchFDTransferDesc desc = {.mesh = NULL};
  PatchFDEmbedding    e[3];
  Array               x, y;
  void               *hp = NULL, *cp = NULL;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDEmbeddingCreate(&coarse[d], &fine[d], &e[d]));
    desc.dir[d]      = &e[d];
    desc.cells[d][0] = 0;
    desc.cells[d][1] = coarse[d].ncells;
    PatchFDLineFree(&coarse[d], &desc.coarse[d][0], &desc.coarse[d][1]);
    PatchFDLineFree(&fine[d], &desc.fine[d][0], &desc.fine[d][1]);
    desc.cbox.lo[d] = desc.fbox.lo[d] = 0;
    desc.cbox.n[d]                    = coarse[d].nnodes;
    desc.fbox.n[d]                    = fine[d].nnodes;
    desc.fbox.lo[d] += e[d].before * fine[d].stride;
    for (int i = 0; i < 2; i++) desc.fine[d][i] += e[d].before * fine[d].stride;
  }
  for (int d = 0; d < 3; d++) {
    const PetscInt c = coarse[d].ncells / 2, k = coarse[d].stride, K = e[d].fstride;

    if (part == 1 && c > 0) {
      desc.cells[d][1] = c;
      desc.cbox.n[d]   = c * k + e[d].nc;
      desc.fbox.n[d]   = c * K;
    } else if (part == 2 && c > 0) {
      desc.cells[d][0] = c;
      desc.cbox.lo[d]  = (c - 1) * k;
      desc.fbox.lo[d]  = c * K;
      desc.cbox.n[d] -= desc.cbox.lo[d];
      desc.fbox.n[d] -= desc.fbox.lo[d];
    }
    desc.coarse[d][0] = PetscMax(desc.coarse[d][0], desc.cbox.lo[d]);
    desc.coarse[d][1] = PetscMin(desc.coarse[d][1], desc.cbox.lo[d] + desc.cbox.n[d]);
    desc.fine[d][0]   = PetscMax(desc.fine[d][0], desc.fbox.lo[d]);
    desc.fine[d][1]   = PetscMin(desc.fine[d][1], desc.fbox.lo[d] + desc.fbox.n[d]);
  }
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&desc.cbox), &x));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&desc.fbox), &y));
  PetscCall(ArrayRandom(&x, rnd));
  PetscCall(ArrayRandom(&y, rnd));
  PetscCall(h->transfercreate(&desc, &hp));
  PetscCall(c->transfercreate(&desc, &cp));
  PetscCall(Meanwhile());
  PetscCall(h->transferprolong(hp, x.h, y.h));
  PetscCall(c->transferprolong(cp, x.d, y.d));
  PetscCall(ArrayCompare(part ? "prolongation, part" : "prolongation", &y, coarse[0].degree, failures));
  PetscCall(h->transferrestrict(hp, y.h, x.h));
  PetscCall(c->transferrestrict(cp, y.d, x.d));
  PetscCall(ArrayCompare(part ? "restriction, part" : "restriction", &x, coarse[0].degree, failures));
  PetscCall(h->transferdestroy(&hp));
  PetscCall(c->transferdestroy(&cp));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&e[d]));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- times ---- */

#define TIME(t, call) \
  do { \
    cudaEvent_t  from, to; \
    cudaStream_t stream; \
    PetscCall(PetscGetCurrentCUDAStream(&stream)); \
    PetscCallCUDA(cudaEventCreate(&from)); \
    PetscCallCUDA(cudaEventCreate(&to)); \
    t = PETSC_MAX_REAL; \
    for (int rep = 0; rep < 7; rep++) { \
      float ms; \
      PetscCallCUDA(cudaEventRecord(from, stream)); \
      PetscCall(call); \
      PetscCallCUDA(cudaEventRecord(to, stream)); \
      PetscCallCUDA(cudaEventSynchronize(to)); \
      PetscCallCUDA(cudaEventElapsedTime(&ms, from, to)); \
      if (rep) t = PetscMin(t, ms * 1e6 / unknowns); \
    } \
    PetscCallCUDA(cudaEventDestroy(from)); \
    PetscCallCUDA(cudaEventDestroy(to)); \
  } while (0)

static PetscErrorCode CopyOnDevice(void *to, const void *from, size_t bytes)
{
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n numbers on the device that are not zero, the same on every plane of a few MB */
static PetscErrorCode Numbers(PatchFDKernels k, size_t n, int seed, void **v)
{
  const size_t part = PetscMin(n, (size_t)1 << 20);
  char        *h;

  PetscFunctionBeginUser;
  PetscCall(k->malloc(n, v));
  PetscCall(PetscMalloc1(part * k->size, &h));
  for (size_t j = 0; j < part; j++) {
    const double a = sin(1.7 * (double)j + seed);

    if (k->size == sizeof(double)) ((double *)h)[j] = a;
    else ((float *)h)[j] = (float)a;
  }
  for (size_t j = 0; j < n; j += part)
    PetscCallCUDA(cudaMemcpy((char *)*v + j * k->size, h, PetscMin(part, n - j) * k->size, cudaMemcpyHostToDevice));
  PetscCall(PetscFree(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}
