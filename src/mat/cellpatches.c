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
#include <math.h>

typedef struct {
  CellSpace  space;
  PetscReal *record, *shift, *v; /* as in PatchFDCellsDesc, for plans */
  void      *plan[PATCHFD_NUM_KERNELS];
} CellPatches;

static PetscErrorCode MatPatchesPrepare_Cells(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscBool transpose)
{
  CellPatches     *x = (CellPatches *)p->data;
  const PlexCells *c = x->space.cells;

  PetscFunctionBegin;
  if (x->plan[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*kern->cellscreate)(&(PatchFDCellsDesc){.dim    = c->dim,
                                                     .degree = c->degree,
                                                     .ncomp  = c->ncomp,
                                                     .ncells = c->ncells,
                                                     .nnodes = (PetscCount)(x->space.nlocal / (size_t)c->ncomp),
                                                     .index  = c->index,
                                                     .record = x->record,
                                                     .shift  = x->shift,
                                                     .v      = x->v},
                                 &x->plan[kern->id]));
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
  const PlexCells *c = ((const CellPatches *)p->data)->space.cells;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  closed cells of degree %" PetscInt_FMT " with their %" PetscInt_FMT
                                   " nodes, summed with square-root weights\n",
                                   c->degree, c->size));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s, %" PetscInt_FMT " sweep(s)", PCPatchFDTypes[p->spec.type], p->spec.sweeps));
  if (MatPatchesSpecIsChebyshev(&p->spec)) PetscCall(PetscViewerASCIIPrintf(viewer, ", eigenvalues below %g\n", (double)p->largest));
  else PetscCall(PetscViewerASCIIPrintf(viewer, ", damping %g\n", (double)p->omega));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  local solver fd_inexact, own matrices\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble MatPatchesBytes_Cells(MatPatches p, PatchFDKernels kern)
{
  const PlexCells *c = ((const CellPatches *)p->data)->space.cells;
  const PetscInt   n = c->degree + 1;

  return (PetscLogDouble)c->ncells * ((c->dim * n * (n + 1) + c->size + 1) * (PetscLogDouble)kern->size + c->size * sizeof(PetscInt));
}

static PetscErrorCode MatPatchesDestroy_Cells(MatPatches p)
{
  CellPatches *x = (CellPatches *)p->data;

  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    if (x->plan[i]) PetscCall(PatchFDKernelTables[i]->cellsdestroy(&x->plan[i]));
  PetscCall(PetscFree3(x->record, x->shift, x->v));
  if (x->space.destroy) PetscCall((*x->space.destroy)(&x->space));
  PetscCall(PetscFree(p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbers, in double precision on the host ---- */

/* What stands on the other side of each face, in place of the cells' own numbers end[] */
static PetscErrorCode ExchangeEnds(const CellSpace *s, const PetscReal end[], PetscReal other[])
{
  const size_t nnodes = s->nlocal / (size_t)s->cells->ncomp;
  PetscReal   *local;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nnodes, &local));
  for (PetscInt k = 0; k < PATCHFD_CELL_END; k++) {
    PetscCall(PetscArrayzero(local, nnodes));
    PatchFDHostCellSidesAdd(s->cells, k, end, local);
    PetscCall((*s->sumall)(s, local));
    PatchFDHostCellSidesGet(s->cells, k, end, local, other);
  }
  PetscCall(PetscFree(local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = 1 / sqrt(diagonal of A times the number of cells) at all nodes of cells; false where a diagonal entry is not positive */
static PetscErrorCode MakeWeights(Mat A, const CellSpace *s, PetscReal v[], PetscBool *positive)
{
  const size_t       n = (size_t)s->cells->ncomp, nnodes = s->nlocal / n;
  const PetscScalar *a;
  const void        *d;
  PetscReal         *count;
  Vec                diagonal, converted;

  PetscFunctionBegin;
  *positive = PETSC_TRUE;
  PetscCall(MatCreateVecs(A, &diagonal, NULL));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->rmap->n, A->rmap->N, &converted));
  PetscCall(VecSingleConvert(diagonal, 1, converted));
  PetscCall(PetscCalloc1(nnodes, &count));
  PatchFDHostCellCount(s->cells, count);
  PetscCall((*s->sumall)(s, count));
  PetscCall(VecGetArrayRead(converted, &a));
  PetscCall((*s->tolocal)(s, &PatchFDKernelsHostDouble, a, &d));
  for (size_t i = 0; i < nnodes; i++) {
    const PetscReal entry = ((const PetscReal *)d)[i * n];

    if (!(count[i] > 0)) continue;
    *positive = (PetscBool)(*positive && entry > 0 && entry < PETSC_MAX_REAL);
    v[i]      = 1 / sqrt(entry * count[i]);
  }
  PetscCall(VecRestoreArrayRead(converted, &a));
  PetscCall(PetscFree(count));
  PetscCall(VecDestroy(&converted));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeNumbers(MatPatches p)
{
  CellPatches     *x = (CellPatches *)p->data;
  const CellSpace *s = &x->space;
  const PlexCells *c = s->cells;
  PatchFDPoints    points;
  PatchFDCellFit   fit;
  PetscReal       *other;
  PetscBool        positive;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(c->ncells * c->dim * PatchFDFitRecordSize(c->degree + 1), &x->record, c->ncells, &x->shift,
                         s->nlocal / (size_t)c->ncomp, &x->v));
  PetscCall((*s->getpoints)(s, &points));
  PetscCall(PatchFDHostCellFitCreate(&points, &fit));
  PetscCall((*s->restorepoints)(s, &points));
  PetscCall(PetscMalloc1(c->ncells * c->dim * 2 * PATCHFD_CELL_END, &other));
  PetscCall(ExchangeEnds(s, fit.end, other));
  PetscCall(PatchFDHostCellFitRecords(&fit, other, x->record));
  PetscCall(PetscArraycpy(x->shift, fit.shift, c->ncells));
  PetscCall(PetscFree(other));
  PetscCall(PatchFDHostCellFitDestroy(&fit));
  PetscCall(MakeWeights(p->A, s, x->v, &positive));
  p->singular = (PetscBool)!positive;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &p->singular, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)p->A)));
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

/* waves that no mesh resolves */
PetscErrorCode PatchFDNoise(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscReal u[], void *ctx)
{
  const PetscReal wave[3] = {7919, 10007, 12553};
  PetscReal       phase   = 0;

  for (PetscInt d = 0; d < dim; d++) phase += wave[d] * x[d] / *(const PetscReal *)ctx;
  for (PetscInt c = 0; c < n; c++) u[c] = PetscSinReal(phase + (PetscReal)c);
  return PETSC_SUCCESS;
}

static PetscErrorCode FindLargest(MatPatches p)
{
  const CellSpace *space = &((CellPatches *)p->data)->space;
  PatchFDKernels   kern;
  Vec              noise;

  PetscFunctionBegin;
  PetscCall(PatchFDVecTypeGetKernels(p->A->defaultvectype, &kern));
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

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, A, 0, 0, 0));
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
  PetscCall(MakeNumbers(p));
  if (MatPatchesSpecIsChebyshev(spec) && !p->singular) PetscCall(FindLargest(p));
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
