/*
  Local solvers on the closed cells of a DMPLEX of quadrilaterals or hexahedra, or of a DMBOX (patchfd/private/patches.h): the (N + 1)^d
  nodes of a cell are a patch, solved by the fast diagonalization of a fit to the cell and its face neighbours (patchfd/private/fit.h),
  additive, with the weight 1 / sqrt(number of cells) at a node on both sides.  The correction is symmetric: for Chebyshev's iteration.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/cellspace.h>
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petsc/private/matimpl.h>

typedef struct {
  CellSpace space;
  void     *plan[PATCHFD_NUM_KERNELS][3]; /* of each fit */
} CellPatches;

/* what stands on the other side of each face, in `sums`, and then the number of cells at nodes there */
static PetscErrorCode SumCells(const CellSpace *s, PatchFDKernels kern, PatchFDKernels twice, void *plan, double *sums)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < PATCHFD_CELL_END; k++) {
    PetscCall((*twice->zero)(s->nlocal, sums));
    PetscCall((*kern->cellssides)(plan, k, PETSC_TRUE, sums));
    PetscCall((*s->sumall)(s, twice, sums));
    PetscCall((*kern->cellssides)(plan, k, PETSC_FALSE, sums));
  }
  PetscCall((*twice->zero)(s->nlocal, sums));
  PetscCall((*kern->cellscount)(plan, sums));
  PetscCall((*s->sumall)(s, twice, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FinishCells(Mat A, const CellSpace *s, PatchFDKernels kern, void *plan, const double *count, PetscBool *positive)
{
  const VecType types[PATCHFD_NUM_KERNELS] = {VECSTANDARD, VECSINGLE, VECCUDA, VECSINGLECUDA};
  const void   *a, *local;
  Vec           own, diagonal;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &own, NULL));
  PetscCall(MatGetDiagonal(A, own));
  PetscCall(PatchFDVecCreate(PetscObjectComm((PetscObject)A), types[kern->id], A->rmap->n, NULL, &diagonal));
  PetscCall(VecSingleConvert(own, 1, diagonal));
  PetscCall(PatchFDVecGetArrayRead(diagonal, kern, &a));
  PetscCall((*s->tolocal)(s, kern, a, &local));
  PetscCall((*kern->cellsfinish)(plan, count, local, positive));
  PetscCall(PatchFDVecRestoreArrayRead(diagonal, kern, &a));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(VecDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fit(MatPatches p, PatchFDKernels kern, PetscInt fit)
{
  CellPatches     *x = (CellPatches *)p->data;
  const CellSpace *s = &x->space;
  const PatchFDKernels
                   twice = PatchFDKernelTables[PetscMemTypeHost(kern->memtype) ? PATCHFD_KERNELS_HOST_DOUBLE : PATCHFD_KERNELS_CUDA_DOUBLE];
  PatchFDCellsDesc desc;
  PetscInt        *index = NULL;
  PetscBool        positive;
  void            *metric, *sums, **plan = &x->plan[kern->id][fit];

  PetscFunctionBegin;
  PetscCall((*s->describe)(s, kern, &desc));
  desc.comp[0] = fit;
  desc.comp[1] = fit + s->ncomp / s->nfit;
  if (s->dirichlet) {
    const PetscCount n = s->ncells * PetscPowInt(s->degree + 1, s->dim);

    PetscCall(PetscMalloc1(n, &index));
    PatchFDHostFreeNodes(n, desc.points.index, s->ncomp, s->dirichlet + fit, index);
    desc.points.index = index;
  }
  PetscCall((*s->getmetric)(s, kern, fit, &metric));
  PetscCall((*kern->cellscreate)(&desc, metric, plan));
  PetscCall((*twice->malloc)(s->nlocal, &sums));
  PetscCall(SumCells(s, kern, twice, *plan, (double *)sums));
  PetscCall(FinishCells(p->A, s, kern, *plan, (const double *)sums, &positive));
  PetscCall((*twice->free)(sums));
  PetscCall(PetscFree(index));
  PetscCall((*s->restoremetric)(s, kern, &metric));
  if (!positive) p->singular = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesPrepare_Cells(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscBool transpose)
{
  const CellPatches *x = (const CellPatches *)p->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < x->space.nfit; i++)
    if (!x->plan[kern->id][i]) PetscCall(Fit(p, kern, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesCorrect_Cells(MatPatches p, PatchFDKernels kern, Vec r, Vec x)
{
  CellPatches     *c     = (CellPatches *)p->data;
  const CellSpace *space = &c->space;
  const void      *ar, *local;
  void            *ax, *sum;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(r, kern, &ar));
  PetscCall(PatchFDVecGetArray(x, kern, &ax));
  PetscCall((*space->tolocal)(space, kern, ar, &local));
  PetscCall((*space->sumbegin)(space, kern, ax, &sum));
  for (PetscInt i = 0; i < space->nfit; i++) PetscCall((*kern->cellsapply)(c->plan[kern->id][i], p->omega, local, sum));
  PetscCall((*space->sumend)(space, kern, ax, &sum));
  PetscCall(PatchFDVecRestoreArray(x, kern, &ax));
  PetscCall(PatchFDVecRestoreArrayRead(r, kern, &ar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesFinish_Cells(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscInt64 steps, Vec b, Vec x)
{
  const CellSpace *space = &((CellPatches *)p->data)->space;
  const void      *ab;
  void            *ax;

  PetscFunctionBegin;
  if (!space->fixed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ab));
  PetscCall(PatchFDVecGetArray(x, kern, &ax));
  PetscCall((*space->fixed)(space, kern, ab, ax));
  PetscCall(PatchFDVecRestoreArray(x, kern, &ax));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ab));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesView_Cells(MatPatches p, PetscViewer viewer)
{
  const CellSpace *s = &((const CellPatches *)p->data)->space;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  closed cells of degree %" PetscInt_FMT " with their %" PetscInt_FMT
                                   " nodes, summed with square-root weights\n",
                                   s->degree, PetscPowInt(s->degree + 1, s->dim)));
  PetscCall(MatPatchesViewSums(p, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  local solver fd_inexact, own matrices\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble MatPatchesBytes_Cells(MatPatches p, PatchFDKernels kern)
{
  const CellSpace *s = &((const CellPatches *)p->data)->space;
  const PetscInt   n = s->degree + 1, size = PetscPowInt(n, s->dim);

  return (PetscLogDouble)(s->ncells * s->nfit) * ((s->dim * n * (n + 1) + size + 1) * (PetscLogDouble)kern->size + size * sizeof(PetscInt));
}

static PetscErrorCode MatPatchesDestroy_Cells(MatPatches p)
{
  CellPatches *x = (CellPatches *)p->data;

  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    for (int j = 0; j < 3; j++)
      if (x->plan[i][j]) PetscCall(PatchFDKernelTables[i]->cellsdestroy(&x->plan[i][j]));
  if (x->space.destroy) PetscCall((*x->space.destroy)(&x->space));
  PetscCall(PetscFree(p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

static PetscErrorCode FindLargest(MatPatches p, PatchFDKernels kern)
{
  const CellSpace *space = &((CellPatches *)p->data)->space;
  Vec              noise;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(p->A, &noise, NULL));
  PetscCall((*space->noise)(space, noise));
  PetscCall(MatPatchesFindLargest(p, kern, noise));
  PetscCall(VecDestroy(&noise));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePatches(Mat A, PetscErrorCode (*getspace)(Mat, CellSpace *), const MatPatchesSpec *spec, MatPatches *patches)
{
  static const struct _MatPatchesOps ops = {.remedy  = "the coefficients must be positive",
                                            .prepare = MatPatchesPrepare_Cells,
                                            .correct = MatPatchesCorrect_Cells,
                                            .finish  = MatPatchesFinish_Cells,
                                            .view    = MatPatchesView_Cells,
                                            .bytes   = MatPatchesBytes_Cells,
                                            .destroy = MatPatchesDestroy_Cells};
  MatPatchesSpec                     cells;
  CellSpace                          space;
  MatPatches                         p;
  CellPatches                       *x;
  PatchFDKernels                     kern;

  PetscFunctionBegin;
  PetscCall(MatPatchesGetCellsSpec(PetscObjectComm((PetscObject)A), spec, &cells));
  PetscCall((*getspace)(A, &space));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, A, 0, 0, 0));
  PetscCall(PatchFDVecTypeGetKernels(A->defaultvectype, &kern));
  PetscCall(MatPatchesDestroy(patches));
  PetscCall(MatPatchesCreate(A, &cells, patches));
  p          = *patches;
  p->ops     = &ops;
  p->omega   = spec->damping == PETSC_DETERMINE ? 1 : spec->damping;
  p->kernels = PETSC_TRUE;
  PetscCall(PetscNew(&x));
  p->data  = x;
  x->space = space;
  PetscCall(MatPatchesPrepare_Cells(p, kern, PETSC_FALSE));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &p->singular, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (MatPatchesSpecIsChebyshev(&cells) && !p->singular) PetscCall(FindLargest(p, kern));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_Cells(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  return CreatePatches(A, MatGetCellSpace_Bakeoff, spec, patches);
}

PetscErrorCode MatCreatePatches_BoxCells(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  return CreatePatches(A, MatGetCellSpace_Box, spec, patches);
}
