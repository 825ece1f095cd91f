/*
  Local solvers on the closed cells of a DMPLEX of quadrilaterals or hexahedra (patchfd/private/patches.h): the (N + 1)^d nodes of a cell
  are a patch, solved by the fast diagonalization of a fit to the cell and its face neighbours (patchfd/private/fit.h), additive, with the
  weight 1 / sqrt(number of cells) at a node on both sides.  The correction is symmetric: for Chebyshev's iteration.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/bakeoffimpl.h>
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>
#include <math.h>

typedef struct {
  Mat_Bakeoff *m;                  /* of p->A */
  PetscReal   *record, *shift, *v; /* as in PatchFDCellsDesc, for plans */
  void        *plan[PATCHFD_NUM_KERNELS];
} CellPatches;

/* ---- what a kernel table needs ---- */

static PetscErrorCode CheckTable(Mat A, PatchFDKernels kern)
{
  PetscFunctionBegin;
  PetscCheck(kern->cellscreate, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PCPATCHFD: the cells of a DMPLEX have kernels for vectors in host memory only; the vectors are of type %s",
             A->defaultvectype);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesPrepare_Cells(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscBool transpose)
{
  CellPatches     *x = (CellPatches *)p->data;
  const PlexCells *c = &x->m->cells;

  PetscFunctionBegin;
  if (x->plan[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckTable(p->A, kern));
  PetscCall((*kern->cellscreate)(&(PatchFDCellsDesc){.dim    = c->dim,
                                                     .degree = c->degree,
                                                     .ncomp  = c->ncomp,
                                                     .ncells = c->ncells,
                                                     .index  = c->index,
                                                     .record = x->record,
                                                     .shift  = x->shift,
                                                     .v      = x->v},
                                 &x->plan[kern->id]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesCorrect_Cells(MatPatches p, PatchFDKernels kern, Vec r, Vec x)
{
  CellPatches *c = (CellPatches *)p->data;
  const void  *ar, *local;
  void        *ax, *sum;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(r, kern, &ar));
  PetscCall(PatchFDVecGetArray(x, kern, &ax));
  PetscCall(MatBakeoffGlobalToLocal(c->m, kern, ar, &local));
  PetscCall(MatBakeoffSumBegin(c->m, kern, ax, &sum));
  PetscCall((*kern->cellsapply)(c->plan[kern->id], p->omega, local, sum));
  PetscCall(MatBakeoffSumEnd(c->m, kern, ax, &sum));
  PetscCall(PatchFDVecRestoreArray(x, kern, &ax));
  PetscCall(PatchFDVecRestoreArrayRead(r, kern, &ar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesView_Cells(MatPatches p, PetscViewer viewer)
{
  const CellPatches *x = (const CellPatches *)p->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  closed cells of degree %" PetscInt_FMT " with their %" PetscInt_FMT
                                   " nodes, additive with square-root weights, damping %g, %" PetscInt_FMT " sweep(s)\n",
                                   x->m->cells.degree, x->m->cells.size, (double)p->omega, p->spec.sweeps));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  local solver fd_inexact, own matrices\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble MatPatchesBytes_Cells(MatPatches p, PatchFDKernels kern)
{
  const PlexCells *c = &((const CellPatches *)p->data)->m->cells;
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
  PetscCall(PetscFree(p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbers, in double precision on the host ---- */

/* local = the sum over all cells of the rank's values there, also those of other ranks; [owned | ghosts], one number a node */
static PetscErrorCode SumOverRanks(Mat_Bakeoff *m, PetscReal local[])
{
  const PatchFDKernels host = &PatchFDKernelsHostDouble;
  const PetscInt       n    = m->cells.ncomp;
  PetscReal           *all;

  PetscFunctionBegin;
  if (!m->sf) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(m->nlocal, &all));
  for (size_t i = 0; i < m->nlocal; i += (size_t)n) all[i] = local[i / (size_t)n];
  PetscCall(BakeoffSum(m, host, BakeoffGhosts(m, host, all), all));
  PetscCall(BakeoffBroadcast(m, host, all, BakeoffGhosts(m, host, all)));
  for (size_t i = 0; i < m->nlocal; i += (size_t)n) local[i / (size_t)n] = all[i];
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What stands on the other side of each face, in place of the cells' own numbers end[] */
static PetscErrorCode ExchangeEnds(Mat_Bakeoff *m, const PetscReal end[], PetscReal other[])
{
  const size_t nnodes = m->nlocal / (size_t)m->cells.ncomp;
  PetscReal   *local;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nnodes, &local));
  for (PetscInt k = 0; k < PATCHFD_CELL_END; k++) {
    PetscCall(PetscArrayzero(local, nnodes));
    PatchFDHostCellSidesAdd(&m->cells, k, end, local);
    PetscCall(SumOverRanks(m, local));
    PatchFDHostCellSidesGet(&m->cells, k, end, local, other);
  }
  PetscCall(PetscFree(local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = 1 / sqrt(diagonal of A times the number of cells) at all nodes; false where a diagonal entry is not positive */
static PetscErrorCode MakeWeights(Mat A, Mat_Bakeoff *m, PetscReal v[], PetscBool *positive)
{
  const PatchFDKernels host = &PatchFDKernelsHostDouble;
  const PetscBool      had  = (PetscBool)(m->kern[host->id].plan != NULL);
  const size_t         n = (size_t)m->cells.ncomp, nnodes = m->nlocal / n;
  PetscReal           *d;
  const PetscScalar   *a;
  Vec                  diagonal;

  PetscFunctionBegin;
  *positive = PETSC_TRUE;
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->rmap->n, A->rmap->N, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  if (!had) PetscCall((*host->operatordestroy)(&m->kern[host->id].plan));
  PetscCall(PetscCalloc1(nnodes, &d));
  PetscCall(VecGetArrayRead(diagonal, &a));
  for (size_t i = 0; i < m->nowned / n; i++) d[i] = PetscRealPart(a[i * n]);
  PetscCall(VecRestoreArrayRead(diagonal, &a));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(SumOverRanks(m, d)); /* ghosts get what owners have */
  PatchFDHostCellCount(&m->cells, v);
  PetscCall(SumOverRanks(m, v));
  for (size_t i = 0; i < nnodes; i++) {
    *positive = (PetscBool)(*positive && (v[i] == 0 || (d[i] > 0 && d[i] < PETSC_MAX_REAL)));
    v[i]      = v[i] > 0 ? 1 / sqrt(d[i] * v[i]) : 0;
  }
  PetscCall(PetscFree(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* h u v is to the one-dimensional matrix of a side's direction what a neighbour is */
static void AddSides(const PlexSides *s, const PetscReal end[], PetscReal other[])
{
  for (PetscCount i = 0; i < s->n; i++) {
    const PetscCount at = (PetscCount)s->side[i] * PATCHFD_CELL_END;

    if (other[at + 2] < 0) continue;
    if (other[at + 2] == 0) other[at + 2] = end[at + 2];
    other[at] += PetscMax(0, s->mean[i]);
  }
}

static PetscErrorCode MakeNumbers(MatPatches p)
{
  CellPatches     *x = (CellPatches *)p->data;
  const PlexCells *c = &x->m->cells;
  PatchFDPoints    points;
  PatchFDCellFit   fit;
  PetscReal       *other;
  PetscBool        positive;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(c->ncells * c->dim * PatchFDFitRecordSize(c->degree + 1), &x->record, c->ncells, &x->shift,
                         x->m->nlocal / (size_t)c->ncomp, &x->v));
  BakeoffDescribe(x->m, &points);
  PetscCall(PatchFDHostCellFitCreate(&points, &fit));
  PetscCall(PetscMalloc1(c->ncells * c->dim * 2 * PATCHFD_CELL_END, &other));
  PetscCall(ExchangeEnds(x->m, fit.end, other));
  AddSides(&x->m->sides, fit.end, other);
  PetscCall(PatchFDHostCellFitRecords(&fit, other, x->record));
  PetscCall(PetscArraycpy(x->shift, fit.shift, c->ncells));
  PetscCall(PetscFree(other));
  PetscCall(PatchFDHostCellFitDestroy(&fit));
  PetscCall(MakeWeights(p->A, x->m, x->v, &positive));
  p->singular = (PetscBool)!positive;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &p->singular, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)p->A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

static PetscErrorCode CheckSpec(MPI_Comm comm, const MatPatchesSpec *s)
{
  PetscFunctionBegin;
  PetscCheck(s->patch == PC_PATCHFD_PATCH_AUTO || s->patch == PC_PATCHFD_PATCH_CELL, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_patch %s is for matrices of a DMBOX; those of a DMPLEX have closed cells, use auto or cell",
             PCPatchFDPatches[s->patch]);
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_Cells(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  static const struct _MatPatchesOps ops  = {.remedy  = "the coefficients of the DMPLEX must be positive",
                                             .prepare = MatPatchesPrepare_Cells,
                                             .correct = MatPatchesCorrect_Cells,
                                             .view    = MatPatchesView_Cells,
                                             .bytes   = MatPatchesBytes_Cells,
                                             .destroy = MatPatchesDestroy_Cells};
  const MPI_Comm                     comm = PetscObjectComm((PetscObject)A);
  MatPatches                         p;
  CellPatches                       *x;
  PatchFDKernels                     kern;
  Mat_Bakeoff                       *m;

  PetscFunctionBegin;
  PetscCall(CheckSpec(comm, spec));
  PetscCall(MatBakeoffFind(A, &m));
  PetscCheck(m, comm, PETSC_ERR_SUP, "PCPATCHFD needs the layout MAT_BAKEOFF_LAYOUT_GLOBAL of a matrix of MatCreateBakeoff()");
  PetscCall(PatchFDVecTypeGetKernels(A->defaultvectype, &kern));
  PetscCall(CheckTable(A, kern));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, A, 0, 0, 0));
  PetscCall(MatPatchesDestroy(patches));
  PetscCall(MatPatchesCreate(A, spec, patches));
  p            = *patches;
  p->ops       = &ops;
  p->spec.type = PC_PATCHFD_TYPE_ADDITIVE; /* whatever the default is */
  p->omega     = spec->damping == PETSC_DETERMINE ? 1 : spec->damping;
  p->kernels   = PETSC_TRUE;
  PetscCall(PetscNew(&x));
  p->data = x;
  x->m    = m;
  PetscCall(MakeNumbers(p));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
