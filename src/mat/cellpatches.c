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
  void     *plan[PATCHFD_NUM_KERNELS];
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

static PetscErrorCode MatPatchesPrepare_Cells(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscBool transpose)
{
  CellPatches     *x = (CellPatches *)p->data;
  const CellSpace *s = &x->space;
  const PatchFDKernels
                   twice = PatchFDKernelTables[PetscMemTypeHost(kern->memtype) ? PATCHFD_KERNELS_HOST_DOUBLE : PATCHFD_KERNELS_CUDA_DOUBLE];
  PatchFDCellsDesc desc;
  PetscBool        positive;
  void            *metric, *sums;

  PetscFunctionBegin;
  if (x->plan[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*s->describe)(s, kern, &desc));
  PetscCall((*s->getmetric)(s, kern, &metric));
  PetscCall((*kern->cellscreate)(&desc, metric, &x->plan[kern->id]));
  PetscCall((*twice->malloc)(s->nlocal, &sums));
  PetscCall(SumCells(s, kern, twice, x->plan[kern->id], (double *)sums));
  PetscCall(FinishCells(p->A, s, kern, x->plan[kern->id], (const double *)sums, &positive));
  PetscCall((*twice->free)(sums));
  PetscCall((*s->restoremetric)(s, kern, &metric));
  if (!positive) p->singular = PETSC_TRUE;
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
  PetscCall((*kern->cellsapply)(c->plan[kern->id], p->omega, local, sum));
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
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s, %" PetscInt_FMT " sweep(s)", PCPatchFDTypes[p->spec.type], p->spec.sweeps));
  if (MatPatchesSpecIsChebyshev(&p->spec)) PetscCall(PetscViewerASCIIPrintf(viewer, ", eigenvalues below %g\n", (double)p->largest));
  else PetscCall(PetscViewerASCIIPrintf(viewer, ", damping %g\n", (double)p->omega));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  local solver fd_inexact, own matrices\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble MatPatchesBytes_Cells(MatPatches p, PatchFDKernels kern)
{
  const CellSpace *s = &((const CellPatches *)p->data)->space;
  const PetscInt   n = s->degree + 1, size = PetscPowInt(n, s->dim);

  return (PetscLogDouble)s->ncells * ((s->dim * n * (n + 1) + size + 1) * (PetscLogDouble)kern->size + size * sizeof(PetscInt));
}

static PetscErrorCode MatPatchesDestroy_Cells(MatPatches p)
{
  CellPatches *x = (CellPatches *)p->data;

  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    if (x->plan[i]) PetscCall(PatchFDKernelTables[i]->cellsdestroy(&x->plan[i]));
  if (x->space.destroy) PetscCall((*x->space.destroy)(&x->space));
  PetscCall(PetscFree(p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

static PetscErrorCode CheckSpec(MPI_Comm comm, const MatPatchesSpec *s)
{
  PetscFunctionBegin;
  PetscCheck((s->local == PC_PATCHFD_LOCAL_AUTO || s->local == PC_PATCHFD_LOCAL_FD_INEXACT) && s->fit <= PC_PATCHFD_FIT_OWN &&
               s->rule.exact < 0,
             comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: closed cells take -pc_patchfd_local auto or fd_inexact, -pc_patchfd_fit auto or own and no -pc_patchfd_fit_exact; "
             "found %s, %s and %g",
             PCPatchFDLocals[s->local], PCPatchFDFits[s->fit], (double)s->rule.exact);
  PetscCheck(s->variant == PC_PATCHFD_VARIANT_AUTO && s->classes == PC_PATCHFD_CLASSES_AUTO && s->precision <= PC_PATCHFD_PRECISION_SAME &&
               s->update == PC_PATCHFD_UPDATE_COLORED && s->order == PC_PATCHFD_ORDER_FORWARD && s->bricksize == PETSC_DETERMINE,
             comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: closed cells are summed from one residual: -pc_patchfd_variant %s, -pc_patchfd_classes %s, -pc_patchfd_precision "
             "%s, -pc_patchfd_update %s, -pc_patchfd_order %s and -pc_patchfd_brick_size do not apply, leave them at their defaults",
             PCPatchFDVariants[s->variant], PCPatchFDClassesTypes[s->classes], PCPatchFDPrecisions[s->precision],
             PCPatchFDUpdates[s->update], PCPatchFDOrders[s->order]);
  PetscCheck(!MatPatchesSpecIsChebyshev(s) || s->damping == PETSC_DETERMINE, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_damping %g does not apply to -pc_patchfd_type %s, which estimates its own", (double)s->damping,
             PCPatchFDTypes[s->type]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

static PetscErrorCode CreatePatches(Mat A, const CellSpace *space, const MatPatchesSpec *spec, MatPatches *patches)
{
  static const struct _MatPatchesOps ops = {.remedy  = "the coefficients must be positive",
                                            .prepare = MatPatchesPrepare_Cells,
                                            .correct = MatPatchesCorrect_Cells,
                                            .finish  = MatPatchesFinish_Cells,
                                            .view    = MatPatchesView_Cells,
                                            .bytes   = MatPatchesBytes_Cells,
                                            .destroy = MatPatchesDestroy_Cells};
  MatPatches                         p;
  CellPatches                       *x;
  PatchFDKernels                     kern;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, A, 0, 0, 0));
  PetscCall(PatchFDVecTypeGetKernels(A->defaultvectype, &kern));
  PetscCall(MatPatchesDestroy(patches));
  PetscCall(MatPatchesCreate(A, spec, patches));
  p      = *patches;
  p->ops = &ops;
  if (spec->type == PC_PATCHFD_TYPE_MULTIPLICATIVE) p->spec.type = PC_PATCHFD_TYPE_ADDITIVE; /* whatever the default is */
  p->omega   = spec->damping == PETSC_DETERMINE ? 1 : spec->damping;
  p->kernels = PETSC_TRUE;
  PetscCall(PetscNew(&x));
  p->data  = x;
  x->space = *space;
  PetscCall(MatPatchesPrepare_Cells(p, kern, PETSC_FALSE));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &p->singular, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (MatPatchesSpecIsChebyshev(spec) && !p->singular) PetscCall(FindLargest(p, kern));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_Cells(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  CellSpace space;

  PetscFunctionBegin;
  PetscCheck(spec->patch == PC_PATCHFD_PATCH_AUTO || spec->patch == PC_PATCHFD_PATCH_CELL, PetscObjectComm((PetscObject)A),
             PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_patch %s is for matrices of a DMBOX; those of a DMPLEX have closed cells, use auto or cell",
             PCPatchFDPatches[spec->patch]);
  PetscCall(CheckSpec(PetscObjectComm((PetscObject)A), spec));
  PetscCall(MatGetCellSpace_Bakeoff(A, &space));
  PetscCall(CreatePatches(A, &space, spec, patches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_BoxCells(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  CellSpace space;

  PetscFunctionBegin;
  PetscCall(CheckSpec(PetscObjectComm((PetscObject)A), spec));
  PetscCall(MatGetCellSpace_Box(A, &space));
  PetscCall(CreatePatches(A, &space, spec, patches));
  PetscFunctionReturn(PETSC_SUCCESS);
}
