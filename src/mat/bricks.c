/*
  Bricks of an assembled matrix of a DMDA (patchfd/private/bricks.h) on distributed Vecs.

  A brick belongs to the rank that owns its first unknown.  That rank has copies of all its bricks' unknowns and of those next to them:
  before each colour these are fetched from the Vec, and afterwards the bricks' unknowns are put back, so that it does not matter where the
  ranks' parts of the DMDA end.  On one rank kernels work on the Vec itself.
*/
#include <patchfd/private/bricks.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petscsf.h>

typedef struct _MatBricks *MatBricks;
struct _MatBricks {
  DM              da;
  PatchFDBricks   desc;
  PatchFDGrid     grid;
  PatchFDRowKinds kinds;                            /* of all ranks, but for nalone */
  PetscInt64      nbrick, nalone;                   /* of all ranks */
  PetscInt64      count[PATCHFD_FIT_MAX_STEPS + 1]; /* bricks of all ranks by steps */
  PetscInt       *alone;                            /* this rank's rows without couplings, */
  PetscReal      *inverse;
  PetscSF         fetch, put;            /* from the Vec to the box; the same for the unknowns of bricks alone.  NULL on one rank */
  void           *plan[2], *x[2], *b[2]; /* by kernel table, double and float: arrays over the box */
};

static const PatchFDBricksKernels *BricksTable(PatchFDKernels kern)
{
  return kern->size == sizeof(double) ? &PatchFDBricksDouble : &PatchFDBricksFloat;
}

static int BricksIndex(PatchFDKernels kern)
{
  return kern->size != sizeof(double);
}

/* what depends on the numbers of the matrix */
static PetscErrorCode Forget(MatBricks b)
{
  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(i ? PatchFDBricksFloat.destroy(&b->plan[i]) : PatchFDBricksDouble.destroy(&b->plan[i]));
  PetscCall(PatchFDHostBricksDestroy(&b->desc));
  PetscCall(PetscArrayzero(b->count, PATCHFD_FIT_MAX_STEPS + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(MatBricks *bricks)
{
  MatBricks b = *bricks;

  PetscFunctionBegin;
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Forget(b));
  for (int i = 0; i < 2; i++) PetscCall(PetscFree2(b->x[i], b->b[i]));
  PetscCall(PetscFree2(b->alone, b->inverse));
  PetscCall(PatchFDGridDestroy(&b->grid));
  PetscCall(PetscSFDestroy(&b->fetch));
  PetscCall(PetscSFDestroy(&b->put));
  PetscCall(DMDestroy(&b->da));
  PetscCall(PetscFree(b));
  *bricks = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bricks and what a rank has of them ---- */

/* do rows couple unknowns that differ in more than one direction? */
static PetscBool HasCorners(const PatchFDStencil *s)
{
  for (PetscInt e = 0; e < s->n; e++)
    if (PetscAbsInt(s->offset[e][0]) + PetscAbsInt(s->offset[e][1]) + PetscAbsInt(s->offset[e][2]) > 1) return PETSC_TRUE;
  return PETSC_FALSE;
}

enum {
  BEST_SIZE = 8 /* by measurement (benchmarks/bricks) */
};

/* bricks begin at the first unknown of `coupled` and are cut where it ends: nothing is left for one rank of what another has begun */
static PetscErrorCode MakeBricks(MatBricks b, PetscInt size)
{
  const PatchFDRowKinds *kinds   = &b->kinds;
  PatchFDBricks         *d       = &b->desc;
  const PetscInt         corners = HasCorners(&d->stencil);
  PatchFDRange           range;
  PetscInt               at[3];
  PetscCount             i = 0;

  PetscFunctionBegin;
  d->dim    = b->grid.dim;
  d->ncolor = corners ? 1 << d->dim : 2;
  b->nbrick = 1;
  for (int e = 0; e < 3; e++) {
    const PetscInt lo = kinds->coupled[e][0], hi = kinds->coupled[e][1], all = b->grid.start[e][b->grid.nproc[e]];
    PetscInt       n = d->n[e] = e < d->dim ? PetscMax(1, PetscMin(size == PETSC_DETERMINE ? BEST_SIZE : size, hi - lo)) : 1, end[2];

    for (int s = 0; s < 2; s++) range[e][s] = PetscMax(0, PetscMin(hi - lo, b->grid.own[e][s] - lo) + n - 1) / n;
    b->nbrick *= (hi - lo + n - 1) / n;
    for (int s = 0; s < 2; s++) d->nodes[e][s] = end[s] = PetscMin(lo + range[e][s] * n, hi);
    if (b->fetch) {
      end[0] = PetscMax(0, end[0] - 1);
      end[1] = PetscMin(all, end[1] + 1);
    } else {
      end[0] = 0;
      end[1] = all;
    }
    d->box.lo[e] = end[0];
    d->box.n[e]  = end[1] - end[0];
  }
  d->nbrick = PatchFDRangeSize((const PetscInt(*)[2])range);
  PetscCall(PetscMalloc1(3 * d->nbrick, &d->first));
  PetscCall(PetscMalloc1(d->nbrick, &d->order));
  d->ngroup = d->ncolor;
  PetscCall(PetscMalloc3(d->ngroup + 1, &d->group, d->ngroup, &d->color, d->ngroup, &d->steps));
  for (PetscInt c = 0; c < d->ncolor; c++) {
    d->color[c] = c;
    d->steps[c] = 1;
    d->group[c] = i;
    for (at[2] = range[2][0]; at[2] < range[2][1]; at[2]++) {
      for (at[1] = range[1][0]; at[1] < range[1][1]; at[1]++) {
        for (at[0] = range[0][0]; at[0] < range[0][1]; at[0]++) {
          if (c != (corners ? at[0] % 2 + 2 * (at[1] % 2) + 4 * (at[2] % 2) : (at[0] + at[1] + at[2]) % 2)) continue;
          for (int e = 0; e < 3; e++) d->first[3 * i + e] = kinds->coupled[e][0] + at[e] * d->n[e];
          d->order[i] = i;
          i++;
        }
      }
    }
  }
  d->group[d->ncolor] = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* who owns unknown i of a direction */
static PetscInt OwnerOf(const PatchFDGrid *g, int d, PetscInt i)
{
  PetscInt owner = 0;

  while (g->start[d][owner + 1] <= i) owner++;
  return owner;
}

/* from a Vec of the matrix to the unknowns of a range, in an array over the box */
static PetscErrorCode MakeSF(Mat A, const PatchFDGrid *g, const PatchFDBox *box, const PatchFDRange range, PetscSF sf)
{
  const PetscInt n = (PetscInt)PatchFDRangeSize(range);
  PetscInt      *leaf, at[3], i = 0;
  PetscSFNode   *root;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &leaf));
  PetscCall(PetscMalloc1(n, &root));
  for (at[2] = range[2][0]; at[2] < range[2][1]; at[2]++) {
    for (at[1] = range[1][0]; at[1] < range[1][1]; at[1]++) {
      for (at[0] = range[0][0]; at[0] < range[0][1]; at[0]++, i++) {
        PetscInt owner[3], rest[3], width[3];

        for (int d = 0; d < 3; d++) {
          owner[d] = OwnerOf(g, d, at[d]);
          rest[d]  = at[d] - g->start[d][owner[d]];
          width[d] = g->start[d][owner[d] + 1] - g->start[d][owner[d]];
        }
        leaf[i] = (PetscInt)PatchFDBoxNode(box, at[0], at[1], at[2]);
        root[i] = (PetscSFNode){.rank  = (owner[2] * g->nproc[1] + owner[1]) * g->nproc[0] + owner[0],
                                .index = (rest[2] * width[1] + rest[1]) * width[0] + rest[0]};
      }
    }
  }
  PetscCall(MatGetLocalSize(A, &i, NULL));
  PetscCall(PetscSFSetGraph(sf, i, n, leaf, PETSC_OWN_POINTER, root, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeSFs(Mat A, MatBricks b)
{
  const PatchFDBricks *d = &b->desc;
  PatchFDRange         all;

  PetscFunctionBegin;
  for (int e = 0; e < 3; e++) {
    all[e][0] = d->box.lo[e];
    all[e][1] = d->nbrick ? d->box.lo[e] + d->box.n[e] : d->box.lo[e];
  }
  PetscCall(MakeSF(A, &b->grid, &d->box, (const PetscInt(*)[2])all, b->fetch));
  PetscCall(MakeSF(A, &b->grid, &d->box, d->nodes, b->put));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the rows of the bricks, over the box, from those who own them */
static PetscErrorCode ReadRows(Mat A, MatBricks b, PetscReal **row)
{
  const PetscInt n = b->desc.stencil.n;
  PetscInt       local;
  PetscReal     *own;
  MPI_Datatype   type;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &local, NULL));
  PetscCall(PetscMalloc1((PetscCount)local * n, &own));
  PetscCall(PatchFDHostRowsRead(A, &b->grid, &b->desc.stencil, own, b->alone, b->inverse));
  *row = own;
  if (!b->put) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(PatchFDBoxSize(&b->desc.box) * (size_t)n, row));
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)n, MPIU_REAL, &type));
  PetscCallMPI(MPI_Type_commit(&type));
  PetscCall(PetscSFBcastBegin(b->put, type, own, *row, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(b->put, type, own, *row, MPI_REPLACE));
  PetscCallMPI(MPI_Type_free(&type));
  PetscCall(PetscFree(own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- set-up ---- */

static PetscErrorCode MakePlan(MatBricks b, PatchFDKernels kern)
{
  const int    i    = BricksIndex(kern);
  const size_t size = PatchFDBoxSize(&b->desc.box) * kern->size;

  PetscFunctionBegin;
  PetscCall(BricksTable(kern)->create(&b->desc, &b->plan[i]));
  if (b->fetch && !b->x[i]) PetscCall(PetscCalloc2(size, (char **)&b->x[i], size, (char **)&b->b[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* how many steps each brick takes, from a plan that is not kept; definite: has the iteration not shown that one of this rank is not? */
static PetscErrorCode ChooseSteps(MatBricks b, const PatchFDFitRule *rule, PetscBool *definite)
{
  PatchFDBricks *d = &b->desc;
  PetscReal     *alpha, *beta, *bound;
  void          *plan = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(d->nbrick * rule->lanczos, &alpha, d->nbrick * rule->lanczos, &beta, 2 * d->nbrick, &bound));
  PetscCall(PatchFDBricksDouble.create(d, &plan));
  PetscCall(PatchFDBricksDouble.cg(plan, rule->lanczos, alpha, beta, definite));
  PetscCall(PatchFDBricksDouble.destroy(&plan));
  PetscCall(PatchFDHostFitBounds(d->nbrick, rule->lanczos, alpha, beta, bound));
  PetscCall(PatchFDHostBricksSetSteps(rule, bound, d));
  PetscCall(PetscFree3(alpha, beta, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where bricks are and what ranks exchange, which depends on the places of the matrix' entries alone */
static PetscErrorCode MakeLayout(Mat A, PetscInt size, MatBricks b)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscMPIInt    ranks;

  PetscFunctionBegin;
  PatchFDStencilCreate(b->kinds.entries, &b->desc.stencil);
  b->nalone = b->kinds.nalone;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &b->nalone, 1, MPIU_INT64, MPI_SUM, comm));
  PetscCall(PetscMalloc2(b->kinds.nalone, &b->alone, b->kinds.nalone, &b->inverse));
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  if (ranks > 1) {
    PetscCall(PetscSFCreate(comm, &b->fetch));
    PetscCall(PetscSFCreate(comm, &b->put));
  }
  PetscCall(MakeBricks(b, size));
  if (ranks > 1) PetscCall(MakeSFs(A, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the layout that there was before, if it is that of A as it is now */
static PetscErrorCode TakeLayout(Mat A, DM da, PetscInt size, MatPatches before, MatBricks *bricks)
{
  MatBricks       b = (MatBricks)before->data;
  PatchFDRowKinds kinds;
  PetscBool       same;

  PetscFunctionBegin;
  *bricks = NULL;
  if (before->A != A || b->da != da || before->spec.bricksize != size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatScanRows(A, &b->grid, "bricks take", &kinds));
  same = (PetscBool)(kinds.entries == b->kinds.entries && kinds.nalone == b->kinds.nalone);
  same = (PetscBool)(same && !memcmp(kinds.coupled, b->kinds.coupled, sizeof(kinds.coupled)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, PATCHFD_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  before->data = NULL;
  *bricks      = b;
  b->kinds     = kinds;
  PetscCall(Forget(b));
  PetscCall(MakeBricks(b, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* singular: they must not be used */
static PetscErrorCode MakeNumbers(Mat A, const PatchFDFitRule *rule, PatchFDKernels kern, MatBricks b, PetscBool *singular)
{
  PetscReal *row;
  PetscBool  definite = PETSC_TRUE;

  PetscFunctionBegin;
  *singular = (PetscBool)(b->kinds.irregular != PETSC_INT_MAX);
  if (*singular) {
    PetscCall(PetscInfo(A,
                        "Row %" PetscInt_FMT " has a diagonal entry that is not positive, or entries that are not finite: bricks do not "
                        "take it\n",
                        b->kinds.irregular));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ReadRows(A, b, &row));
  b->desc.row = row;
  PetscCall(PatchFDHostBricksFit(&b->desc));
  if (rule->lanczos) PetscCall(ChooseSteps(b, rule, &definite));
  PetscCall(MakePlan(b, kern));
  PetscCall(PetscFree(row));
  b->desc.row = NULL;
  for (PetscInt i = 0; i < b->desc.ngroup; i++) b->count[b->desc.steps[i]] += b->desc.group[i + 1] - b->desc.group[i];
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, b->count, PATCHFD_FIT_MAX_STEPS + 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &definite, 1, PATCHFD_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  *singular = (PetscBool)!definite;
  if (*singular) PetscCall(PetscInfo(A, "A brick is not positive definite\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

static PetscErrorCode Fetch(MatBricks b, PatchFDKernels kern, const void *from, void *to)
{
  PetscFunctionBegin;
  PetscCall(PetscSFBcastBegin(b->fetch, (*kern->datatype)(), from, to, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(b->fetch, (*kern->datatype)(), from, to, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Put(MatBricks b, PatchFDKernels kern, const void *from, void *to)
{
  PetscFunctionBegin;
  PetscCall(PetscSFReduceBegin(b->put, (*kern->datatype)(), from, to, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(b->put, (*kern->datatype)(), from, to, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* this rank's colours one after another */
static PetscErrorCode Sweep(MatBricks b, PatchFDKernels kern, PetscInt n, const PetscInt colors[], PetscReal omega, PetscBool zero,
                            const void *rhs, void *x)
{
  const PatchFDBricksKernels *k = BricksTable(kern);
  const int                   i = BricksIndex(kern);

  PetscFunctionBegin;
  PetscCall((*k->alone)(b->kinds.nalone, b->alone, b->inverse, PETSC_FALSE, rhs, x));
  if (b->fetch) PetscCall(Fetch(b, kern, rhs, b->b[i]));
  for (PetscInt c = 0; c < n; c++) {
    const PetscBool solve = (PetscBool)(zero && c == 0 && b->nalone == 0);

    if (b->fetch) PetscCall(Fetch(b, kern, x, b->x[i]));
    PetscCall((*k->apply)(b->plan[i], colors[c], solve, omega, b->fetch ? b->b[i] : rhs, b->fetch ? b->x[i] : x));
    if (b->fetch) PetscCall(Put(b, kern, b->x[i], x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesSweep_Bricks(MatPatches p, PatchFDKernels kern, PetscInt64 its, PetscInt n, const PetscInt colors[],
                                             PetscBool zero, Vec rhs, Vec x)
{
  const void *ba;
  void       *xa;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(rhs, kern, &ba));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  for (PetscInt64 i = 0; i < its; i++) PetscCall(Sweep((MatBricks)p->data, kern, n, colors, p->omega, (PetscBool)(zero && i == 0), ba, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(rhs, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesCorrect_Bricks(MatPatches p, PatchFDKernels kern, Vec r, Vec x)
{
  MatBricks                   b = (MatBricks)p->data;
  const PatchFDBricksKernels *k = BricksTable(kern);
  const int                   i = BricksIndex(kern);
  const void                 *ra;
  void                       *xa;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(r, kern, &ra));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  PetscCall((*k->alone)(b->kinds.nalone, b->alone, b->inverse, PETSC_TRUE, ra, xa));
  if (b->fetch) {
    PetscCall(Fetch(b, kern, ra, b->b[i]));
    PetscCall(Fetch(b, kern, xa, b->x[i]));
  }
  for (PetscInt c = 0; c < b->desc.ncolor; c++)
    PetscCall((*k->apply)(b->plan[i], c, PETSC_TRUE, p->omega, b->fetch ? b->b[i] : ra, b->fetch ? b->x[i] : xa));
  if (b->fetch) PetscCall(Put(b, kern, b->x[i], xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(r, kern, &ra));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bricks are smoothed on the host alone */
static PetscErrorCode CheckHost(Mat A, PatchFDKernels kern)
{
  PetscFunctionBegin;
  PetscCheck(kern && PetscMemTypeHost(kern->memtype), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PCPATCHFD: bricks of a DMDA have kernels for the host alone; use -dm_vec_type standard -dm_mat_type aij, or on a GPU a DMBOX "
             "with -dm_box_operator diffusion, or -pc_type jacobi under chebyshev");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesPrepare_Bricks(MatPatches p, PatchFDKernels kern, PetscBool transpose)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)p->A);
  PetscBool      set, symmetric;

  PetscFunctionBegin;
  PetscCall(CheckHost(p->A, kern));
  PetscCheck(((MatBricks)p->data)->plan[BricksIndex(kern)], comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: the Vecs are of another precision (%s) than those that its matrix makes; convert them with VecSingleConvert(), or "
             "use PCSINGLE",
             kern->name);
  if (!transpose) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSymmetricKnown(p->A, &set, &symmetric));
  PetscCheck(set && symmetric, comm, PETSC_ERR_ARG_WRONGSTATE,
             "PCPATCHFD: the transpose of a smoother with bricks is the smoother in reverse where the matrix is symmetric; if this one is, "
             "MatSetOption(mat, MAT_SYMMETRIC, PETSC_TRUE) says so");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- view, creation ---- */

static PetscErrorCode MatPatchesView_Bricks(MatPatches p, PetscViewer viewer)
{
  const MatBricks      b         = (const MatBricks)p->data;
  const PatchFDBricks *d         = &b->desc;
  const char          *separator = "";

  PetscFunctionBegin;
  PetscCall(MatPatchesViewSteps(p, "bricks", NULL, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt64_FMT " bricks of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " unknowns of "
                                   "a DMDA, ",
                                   b->nbrick, d->n[0], d->n[1], d->n[2]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " colors, rows of %" PetscInt_FMT " entries\n", d->ncolor, d->stencil.n));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  unknowns that are coupled to no other: %" PetscInt64_FMT "\n", b->nalone));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks by inner steps:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  for (int i = 0; i <= PATCHFD_FIT_MAX_STEPS; i++) {
    if (!b->count[i]) continue;
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s %" PetscInt64_FMT " take %d", separator, b->count[i], i));
    separator = ",";
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesDestroy_Bricks(MatPatches p)
{
  PetscFunctionBegin;
  PetscCall(Destroy((MatBricks *)&p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_Bricks(Mat A, DM da, const MatPatchesSpec *spec, MatPatches *patches)
{
  static const struct _MatPatchesOps ops = {.remedy  = "bricks take matrices like those of -div(K grad u), with positive diagonal entries",
                                            .prepare = MatPatchesPrepare_Bricks,
                                            .sweep   = MatPatchesSweep_Bricks,
                                            .correct = MatPatchesCorrect_Bricks,
                                            .view    = MatPatchesView_Bricks,
                                            .destroy = MatPatchesDestroy_Bricks};
  MatPatches                         p   = *patches;
  MatBricks                          b   = NULL;
  VecType                            type;
  PatchFDKernels                     kern = NULL;

  PetscFunctionBegin;
  PetscCall(MatPatchesCheckBricksSpec(PetscObjectComm((PetscObject)A), spec));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PatchFDVecTypeGetKernels(type, &kern));
  PetscCall(CheckHost(A, kern));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, A, 0, 0, 0));
  PetscCall(MatCheckDMDA(A, da, "bricks take", PETSC_FALSE));
  if (p && p->ops == &ops) PetscCall(TakeLayout(A, da, spec->bricksize, p, &b));
  PetscCall(MatPatchesDestroy(patches));
  PetscCall(MatPatchesCreate(A, spec, patches));
  p      = *patches;
  p->ops = &ops;
  if (b) p->data = b;
  else {
    PetscCall(PetscNew((MatBricks *)&p->data));
    b = (MatBricks)p->data;
    PetscCall(PetscObjectReference((PetscObject)da));
    b->da = da;
    PetscCall(PatchFDGridCreate(A, da, &b->grid));
    PetscCall(MatScanRows(A, &b->grid, "bricks take", &b->kinds));
    PetscCall(MakeLayout(A, spec->bricksize, b));
  }
  PetscCall(MakeNumbers(A, &spec->rule, kern, b, &p->singular));
  p->omega = spec->damping;
  /* each brick has neighbours: sums of all corrections are too large by up to a factor of two */
  if (p->omega == PETSC_DETERMINE) p->omega = MatPatchesSpecIsAdditive(spec) ? 0.75 : 1;
  p->ncolor = b->desc.ncolor;
  p->turns  = PETSC_TRUE; /* bricks of the last colour would find no residual but what their fits leave */
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
