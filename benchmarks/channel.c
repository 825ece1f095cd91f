static char help
  [] = "The pressure of a channel flow by a direct solve, against what flow codes have: transforms of x and y, tridiagonal systems in z.\n\
x and y are periodic with equal cells, z has narrow cells at the walls and Neumann sides; double precision, one core or GPU;\n\
on several the library alone.\n\
Solvers that multiply by the matrix (-ksp_type refine -pc_type single) do so on the host, with a GPU for seconds.\n\
Prints seconds of set-up, ns an unknown of a solve, and the largest difference of the solutions.\n\
  -da_grid_x, -da_grid_y, -da_grid_z : cells (default 128 x 128 x 96)\n\
  -dm_vec_type cuda                  : on a GPU, against cuFFT and cuSPARSE's gtsv2StridedBatch; otherwise against FFTW\n\
  -solves n                          : the fastest of so many (default 5)\n\n";

#include "../tutorials/pressure.h"
#include "now.h"
#if defined(HAVE_FFTW)
  #include <fftw3.h>
#endif
#if defined(PETSC_HAVE_CUDA)
  #include <cufft.h>
  #include <cusparse.h>
#endif

typedef struct {
  PetscInt   n[3], modes; /* cells; modes of a plane, (n_x / 2 + 1) n_y */
  PetscReal *h[3];        /* lengths of cells */
  PetscReal *coupling;    /* of cells above each other, per area; 0 at the end */
} Channel;

static PetscErrorCode ChannelCreate(DM da, Channel *c)
{
  const PetscReal stretch = 2;
  PetscReal      *h;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &c->n[0], &c->n[1], &c->n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  c->modes = (c->n[0] / 2 + 1) * c->n[1];
  PetscCall(PetscMalloc2(c->n[0] + c->n[1] + c->n[2], &h, c->n[2], &c->coupling));
  for (int d = 0; d < 3; h += c->n[d++]) {
    c->h[d] = h;
    for (PetscInt i = 0; i < c->n[d]; i++) h[i] = 2 * PETSC_PI / (PetscReal)c->n[d];
  }
  for (PetscInt k = 0; k < c->n[2]; k++) {
    const PetscReal below = 2 * (PetscReal)k / (PetscReal)c->n[2] - 1, above = 2 * (PetscReal)(k + 1) / (PetscReal)c->n[2] - 1;

    c->h[2][k] = (PetscTanhReal(stretch * above) - PetscTanhReal(stretch * below)) / PetscTanhReal(stretch);
  }
  for (PetscInt k = 0; k < c->n[2]; k++) c->coupling[k] = k + 1 < c->n[2] ? 2 / (c->h[2][k] + c->h[2][k + 1]) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the diagonal of the system of mode m, for a right-hand side that is divided by the area of a cell; constants are made regular: a
   right-hand side with no mean has a solution that is zero in the first cell */
static PetscReal Diagonal(const Channel *c, PetscInt m, PetscInt k)
{
  const PetscInt i[2] = {m % (c->n[0] / 2 + 1), m / (c->n[0] / 2 + 1)};
  PetscReal      a    = c->coupling[k] + (k > 0 ? c->coupling[k - 1] : 0);

  for (int d = 0; d < 2; d++) a += c->h[2][k] * PetscSqr(2 / c->h[d][0] * PetscSinReal(PETSC_PI * (PetscReal)i[d] / (PetscReal)c->n[d]));
  return m == 0 && k == 0 ? 2 * a : a;
}

/* ---- the library ---- */

static PetscErrorCode LibrarySolve(void *pressure, Vec b, Vec x)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSolve(((Pressure *)pressure)->ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- FFTW ---- */

#if defined(HAVE_FFTW)
typedef struct {
  const Channel *c;
  fftw_plan      forward, backward;
  fftw_complex  *u;
  PetscReal     *pivot; /* [n_z][modes], inverses */
} Host;

static PetscErrorCode HostSetUp(const Channel *c, Vec b, Vec x, Host *p)
{
  const int    n[2] = {(int)c->n[1], (int)c->n[0]}, count = (int)c->n[2], real = n[0] * n[1], modes = (int)c->modes;
  PetscScalar *ab, *ax;

  PetscFunctionBeginUser;
  p->c = c;
  p->u = fftw_alloc_complex((size_t)modes * (size_t)count);
  PetscCall(VecGetArray(b, &ab));
  PetscCall(VecGetArray(x, &ax));
  p->forward  = fftw_plan_many_dft_r2c(2, n, count, ab, NULL, 1, real, p->u, NULL, 1, modes, FFTW_MEASURE);
  p->backward = fftw_plan_many_dft_c2r(2, n, count, p->u, NULL, 1, modes, ax, NULL, 1, real, FFTW_MEASURE);
  PetscCall(VecRestoreArray(b, &ab));
  PetscCall(VecRestoreArray(x, &ax));
  PetscCall(PetscMalloc1((size_t)modes * (size_t)count, &p->pivot));
  for (PetscInt k = 0; k < c->n[2]; k++) {
    PetscReal *w = p->pivot + k * c->modes;

    for (PetscInt m = 0; m < c->modes; m++) w[m] = 1 / (Diagonal(c, m, k) - (k > 0 ? PetscSqr(c->coupling[k - 1]) * w[m - c->modes] : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostSolve(void *ctx, Vec b, Vec x)
{
  const Host     *p     = (const Host *)ctx;
  const Channel  *c     = p->c;
  const PetscInt  n     = 2 * c->modes; /* real numbers of a plane of modes */
  const PetscReal scale = 1 / ((PetscReal)(c->n[0] * c->n[1]) * c->h[0][0] * c->h[1][0]);
  PetscReal      *u     = (PetscReal *)p->u;
  PetscScalar    *ab, *ax;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(b, &ab));
  PetscCall(VecGetArrayWrite(x, &ax));
  fftw_execute_dft_r2c(p->forward, ab, p->u);
  for (PetscInt k = 0; k < c->n[2]; k++) {
    const PetscReal below = k > 0 ? c->coupling[k - 1] : 0, *w = p->pivot + k * c->modes;
    PetscReal      *v = u + k * n, *last = k > 0 ? v - n : v;

    for (PetscInt i = 0; i < n; i++) v[i] = (scale * v[i] + below * last[i]) * w[i / 2];
  }
  for (PetscInt k = c->n[2] - 2; k >= 0; k--) {
    const PetscReal *w = p->pivot + k * c->modes;
    PetscReal       *v = u + k * n;

    for (PetscInt i = 0; i < n; i++) v[i] += c->coupling[k] * w[i / 2] * v[n + i];
  }
  fftw_execute_dft_c2r(p->backward, p->u, ax);
  PetscCall(VecRestoreArrayWrite(x, &ax));
  PetscCall(VecRestoreArray(b, &ab));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostDestroy(Host *p)
{
  PetscFunctionBeginUser;
  fftw_destroy_plan(p->forward);
  fftw_destroy_plan(p->backward);
  fftw_free(p->u);
  PetscCall(PetscFree(p->pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* ---- cuFFT and cuSPARSE ---- */

#if defined(PETSC_HAVE_CUDA)
typedef struct {
  const Channel      *c;
  cufftHandle         forward, backward;
  cusparseHandle_t    sparse;
  cufftDoubleComplex *u, *row[3]; /* modes: a system after the other; entries below, on and above the diagonal */
  void               *buffer;
} Device;

static PetscErrorCode DeviceSetUp(const Channel *c, Device *p)
{
  int                 n[2] = {(int)c->n[1], (int)c->n[0]}, half[2] = {n[0], n[1] / 2 + 1}, count = (int)c->n[2], real = n[0] * n[1];
  const PetscReal     scale = (PetscReal)real * c->h[0][0] * c->h[1][0]; /* of the right-hand side, and of cuFFT */
  const size_t        size = (size_t)c->modes * (size_t)count, bytes = size * sizeof(cufftDoubleComplex);
  cufftDoubleComplex *a;
  size_t              need;

  PetscFunctionBeginUser;
  p->c = c;
  /* cuFFT writes modes so that those of a line of cells in z are one after another */
  PetscCheck(cufftPlanMany(&p->forward, 2, n, n, 1, real, half, count, 1, CUFFT_D2Z, count) == CUFFT_SUCCESS &&
               cufftPlanMany(&p->backward, 2, n, half, count, 1, n, 1, real, CUFFT_Z2D, count) == CUFFT_SUCCESS,
             PETSC_COMM_SELF, PETSC_ERR_LIB, "cuFFT makes no plans");
  PetscCall(PetscMalloc1(size, &a));
  PetscCallCUDA(cudaMalloc((void **)&p->u, bytes));
  for (int r = 0; r < 3; r++) {
    for (PetscInt m = 0; m < c->modes; m++)
      for (PetscInt k = 0; k < c->n[2]; k++)
        a[m * c->n[2] + k] = (cufftDoubleComplex){scale * (r == 1   ? Diagonal(c, m, k)
                                                           : r == 2 ? -c->coupling[k]
                                                                    : (k > 0 ? -c->coupling[k - 1] : 0)),
                                                  0};
    PetscCallCUDA(cudaMalloc((void **)&p->row[r], bytes));
    PetscCallCUDA(cudaMemcpy(p->row[r], a, bytes, cudaMemcpyHostToDevice));
  }
  PetscCall(PetscFree(a));
  PetscCallCUSPARSE(cusparseCreate(&p->sparse));
  PetscCallCUSPARSE(
    cusparseZgtsv2StridedBatch_bufferSizeExt(p->sparse, count, p->row[0], p->row[1], p->row[2], p->u, (int)c->modes, count, &need));
  PetscCallCUDA(cudaMalloc(&p->buffer, need));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceSolve(void *ctx, Vec b, Vec x)
{
  const Device      *p = (const Device *)ctx;
  const PetscScalar *ab;
  PetscScalar       *ax;

  PetscFunctionBeginUser;
  PetscCall(VecCUDAGetArrayRead(b, &ab));
  PetscCall(VecCUDAGetArrayWrite(x, &ax));
  PetscCheck(cufftExecD2Z(p->forward, (double *)ab, p->u) == CUFFT_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuFFT fails");
  PetscCallCUSPARSE(cusparseZgtsv2StridedBatch(p->sparse, (int)p->c->n[2], p->row[0], p->row[1], p->row[2], p->u, (int)p->c->modes,
                                               (int)p->c->n[2], p->buffer));
  PetscCheck(cufftExecZ2D(p->backward, p->u, ax) == CUFFT_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuFFT fails");
  PetscCall(VecCUDARestoreArrayWrite(x, &ax));
  PetscCall(VecCUDARestoreArrayRead(b, &ab));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceDestroy(Device *p)
{
  PetscFunctionBeginUser;
  PetscCheck(cufftDestroy(p->forward) == CUFFT_SUCCESS && cufftDestroy(p->backward) == CUFFT_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "cuFFT destroys no plans");
  PetscCallCUSPARSE(cusparseDestroy(p->sparse));
  PetscCallCUDA(cudaFree(p->u));
  PetscCallCUDA(cudaFree(p->buffer));
  for (int r = 0; r < 3; r++) PetscCallCUDA(cudaFree(p->row[r]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* ---- measuring ---- */

/* x without its mean */
static PetscErrorCode Measure(const char name[], PetscLogDouble setup, PetscErrorCode (*solve)(void *, Vec, Vec), void *ctx,
                              PetscInt solves, Vec b, Vec x)
{
  PetscLogDouble best = PETSC_MAX_REAL, start, end;
  PetscScalar    sum;
  PetscInt       n;

  PetscFunctionBeginUser;
  PetscCall(VecGetSize(x, &n));
  for (PetscInt i = 0; i <= solves; i++) { /* the first one warms up */
    PetscCall(Now(&start));
    PetscCall((*solve)(ctx, b, x));
    PetscCall(Now(&end));
    if (i) best = PetscMin(best, end - start);
  }
  PetscCall(VecSum(x, &sum));
  PetscCall(VecShift(x, -sum / (PetscScalar)n));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-20s  %8.3f  %8.4f\n", name, setup, best / n * 1e9));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char name[], Vec x, Vec y)
{
  PetscReal most, size;

  PetscFunctionBeginUser;
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &most));
  PetscCall(VecNorm(x, NORM_INFINITY, &size));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "difference to %s: %.1e of the largest value\n", name, (double)(most / size)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt       solves = 5;
  PetscScalar    sum;
  PetscMPIInt    size;
  PetscLogDouble start, end;
  Channel        channel;
  Pressure       pressure;
  DM             da;
  Vec            b, x, y;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 128, 128, 96, 1,
                         1, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ChannelCreate(da, &channel));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells\n%-20s  %8s  %8s\n",
                        channel.n[0], channel.n[1], channel.n[2], "", "set-up", "solve"));
  PetscCall(Now(&start));
  PetscCall(PressureCreate(da, channel.h[0], &pressure));
  PetscCall(Now(&end));
#if defined(HAVE_FFTW)
  Host           host;
  PetscLogDouble planned;

  if (!GPU && size == 1) PetscCall(HostSetUp(&channel, b, y, &host)); /* plans overwrite arrays */
  PetscCall(Now(&planned));
#endif
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecSum(b, &sum));
  PetscCall(VecShift(b, -sum / (PetscScalar)(channel.n[0] * channel.n[1] * channel.n[2])));
  PetscCall(Measure("patchfd", end - start, LibrarySolve, &pressure, solves, b, x));
#if defined(HAVE_FFTW)
  if (!GPU && size == 1) {
    PetscCall(Measure("FFTW, tridiagonal", planned - end, HostSolve, &host, solves, b, y));
    PetscCall(Compare("FFTW", x, y));
    PetscCall(HostDestroy(&host));
  }
#else
  if (!GPU) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "built without FFTW (pkg-config fftw3)\n"));
#endif
#if defined(PETSC_HAVE_CUDA)
  if (GPU && size == 1) {
    Device device;

    PetscCall(Now(&start));
    PetscCall(DeviceSetUp(&channel, &device));
    PetscCall(Now(&end));
    PetscCall(Measure("cuFFT, cuSPARSE", end - start, DeviceSolve, &device, solves, b, y));
    PetscCall(Compare("cuFFT", x, y));
    PetscCall(DeviceDestroy(&device));
  }
#endif
  PetscCall(PetscFree2(channel.h[0], channel.coupling));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(PressureDestroy(&pressure));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
