/*
  The direct solve of an assembled matrix of a DMDA that is a sum of Kronecker products (patchfd/private/kroneckersum.h), as a local
  solver of a PCPATCHFD.

  A solve is b scaled by W, or at unknowns that are not free by the inverse of the diagonal entry, which is the solution there; less what
  free rows have for these; and the direct solve of a box with the eigenvectors of K_d and M_d (patchfd/private/boxsolve.h).

  On several ranks the unknowns travel to slabs of the last of these directions, and back.  That is a direction that is no ring: for others
  there are no pieces yet.  A small matrix, one that is not definite, and one with no such direction is solved by all ranks, each of which
  has all of it.
*/
#include <patchfd/private/boxsolve.h>
#include <patchfd/private/kroneckersum.h>
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

static const char who[] = "-pc_patchfd_patch box takes";

enum {
  MAX_LINE = 8192 /* eigenvectors of more unknowns take minutes */
};

/* what is made for a kernel table */
typedef struct {
  PatchFDBoxSolve solve;
  void           *there;      /* NULL where unknowns do not travel */
  Vec             scale;      /* NULL for none */
  Vec             face[3][2]; /* of the free unknowns beside others, what their rows have for these; NULL for nothing */
  void           *buffer;     /* for a face */
  PetscBool       made;
} Table;

/* directions of the solve are those of the DMDA in the order order[], which boxes and ranges have, too */
typedef struct {
  PatchFDGrid           grid;
  PatchFDKroneckerLines sum;
  int                   order[3], last;
  PetscBool             shared, symmetric;
  PatchFDCut            cut;             /* of direction `last` */
  PatchFDEigen          eigen[3], piece; /* of the DMDA's directions; of the piece */
  PatchFDBoxSolveDesc   desc;
  PatchFDRange          free; /* in the box */
  PatchFDBox            own;  /* of this rank's unknowns, in the DMDA's order */
  PatchFDHalo           in, out;
  PetscReal            *scale; /* over the box; NULL for ones */
  /* while it is set up: entries of both triangles, and the scale over this rank's unknowns */
  Mat        rows;
  PetscReal *ownscale;
  Table      table[PATCHFD_NUM_KERNELS];
} KroneckerSolve;

/* ---- who solves what ---- */

static PetscInt NumFree(const PatchFDKroneckerLines *s, int d)
{
  return s->free[d][1] - s->free[d][0];
}

/* the first cell of a rank's slab, of the NumFree() - 1 cells between free unknowns: that of the DMDA's slabs, or of equal parts */
static PetscInt FirstCell(const KroneckerSolve *k, int d, PetscBool slabs, PetscMPIInt rank, PetscMPIInt size)
{
  const PetscInt cells = NumFree(&k->sum, d) - 1;

  if (slabs && rank < size) return PetscMin(cells, PetscMax(0, k->grid.start[d][rank] - k->sum.free[d][0]));
  return (PetscInt)((PetscInt64)cells * rank / size);
}

/* the direction that is cut, the last one or the longest, and whether into the DMDA's slabs; -1 if there is none */
static int ChooseDirection(const KroneckerSolve *k, PetscMPIInt size, PetscBool *slabs)
{
  const int last = (int)k->grid.dim - 1;
  int       best = -1;

  for (int d = last; d >= 0; d--)
    if (!k->sum.ring[d] && NumFree(&k->sum, d) > size && (best < 0 || (best != last && NumFree(&k->sum, d) > NumFree(&k->sum, best))))
      best = d;
  *slabs = (PetscBool)(best == last && k->grid.nproc[last] == size);
  for (PetscMPIInt r = 0; r < size && *slabs; r++)
    *slabs = (PetscBool)(FirstCell(k, best, PETSC_TRUE, r, size) < FirstCell(k, best, PETSC_TRUE, r + 1, size));
  return best;
}

/* the pieces of direction d */
static PetscErrorCode CutCreate(MPI_Comm comm, KroneckerSolve *k, int d, PetscBool slabs)
{
  PatchFDThreePoint t;
  PatchFDLine       line;
  PatchFDBand       M, A;
  PetscMPIInt       size, me;
  PetscInt         *cell, n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &me));
  PetscCall(PetscMalloc1(size + 1, &cell));
  for (PetscMPIInt r = 0; r <= size; r++) cell[r] = FirstCell(k, d, slabs, r, size);
  PetscCall(PatchFDKroneckerLineCreate(&k->sum, d, &t));
  PetscCall(PatchFDThreePointLineCreate(&t, &line, &M, &A));
  PetscCall(PatchFDKroneckerLineDestroy(&t));
  PetscCall(PatchFDCutCreate(&line, &A, size, cell, &k->cut));
  PetscCall(PatchFDCutSetPiece(&k->cut, &line, &M, &A, me, &k->piece));
  PatchFDPieceFree(&line, cell[me], cell[me + 1], &k->desc.first[k->last], &n);
  k->desc.first[k->last] += k->sum.free[d][0];
  PetscCall(PetscFree(cell));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(PatchFDBandDestroy(&M));
  PetscCall(PatchFDBandDestroy(&A));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, k->cut.lambda, k->cut.size, MPIU_REAL, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* eigenvectors of all directions, or of all but the last one of the solve */
static PetscErrorCode EigenCreate(KroneckerSolve *k, PetscBool all)
{
  PetscFunctionBegin;
  for (int q = 0; q < 3; q++) {
    const int         d = k->order[q];
    PatchFDThreePoint t;

    if (!all && q == k->last) continue;
    k->desc.dir[q]   = &k->eigen[d];
    k->desc.first[q] = k->sum.free[d][0];
    if (k->eigen[d].n) continue;
    PetscCall(PatchFDKroneckerLineCreate(&k->sum, d, &t));
    PetscCall(PatchFDThreePointEigenCreate(&t, &k->eigen[d]));
    PetscCall(PatchFDKroneckerLineDestroy(&t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* eigenvectors, and who solves what */
static PetscErrorCode Distribute(Mat A, PatchFDKernels kern, KroneckerSolve *k, PetscBool *slabs, PetscBool *singular)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscMPIInt    size;
  int            d;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  for (int q = 0; q < 3; q++) k->order[q] = q;
  k->last   = k->grid.dim == 2 ? 1 : 2; /* of PatchFDBoxSolve */
  *singular = PETSC_FALSE;
  if (!PatchFDRangeSize(k->sum.free)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int e = 0; e < 3; e++)
    PetscCheck(NumFree(&k->sum, e) <= MAX_LINE, comm, PETSC_ERR_SUP,
               "PCPATCHFD: %s at most %d unknowns in a direction, found %" PetscInt_FMT " in direction %d of the DMDA; use -pc_type mg",
               who, MAX_LINE, NumFree(&k->sum, e), e);
  d         = ChooseDirection(k, size, slabs);
  k->shared = (PetscBool)(size > 1 && k->grid.dim > 1 && d >= 0 &&
                          (PetscLogDouble)PatchFDRangeSize(k->sum.free) >= PatchFDBoxSolveShareLimit(kern));
  if (k->shared) {
    k->order[k->last] = d;
    k->order[d]       = k->last;
    PetscCall(EigenCreate(k, PETSC_FALSE));
    PetscCall(CutCreate(comm, k, d, *slabs));
    k->desc.dir[k->last] = &k->piece;
    PetscCall(PatchFDBoxSolveIsDefinite(k->desc.dir, k->last, &k->cut, &k->shared));
  }
  if (k->shared) PetscFunctionReturn(PETSC_SUCCESS);
  for (int q = 0; q < 3; q++) k->order[q] = q;
  PetscCall(EigenCreate(k, PETSC_TRUE));
  PetscCall(PatchFDBoxSolveIsSingular((PetscObject)A, k->desc.dir, k->sum.constants, singular));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the unknowns of a rank in the DMDA, and where they are solved, both in the DMDA's order */
static void Boxes(const KroneckerSolve *k, PetscMPIInt rank, PetscMPIInt size, PatchFDBox *own, PatchFDBox *there)
{
  const PetscInt *nproc = k->grid.nproc, p[3] = {rank % nproc[0], rank / nproc[0] % nproc[1], rank / nproc[0] / nproc[1]};
  const int       d = k->order[k->last];

  for (int e = 0; e < 3; e++) {
    own->lo[e]   = k->grid.start[e][p[e]];
    own->n[e]    = k->grid.start[e][p[e] + 1] - own->lo[e];
    there->lo[e] = 0;
    there->n[e]  = k->sum.n[e];
  }
  if (!k->shared) return;
  if (rank > 0) there->lo[d] = k->sum.free[d][0] + k->cut.cell[rank];
  there->n[d] = (rank < size - 1 ? k->sum.free[d][0] + k->cut.cell[rank + 1] : k->sum.n[d]) - there->lo[d];
}

/* boxes, and what brings unknowns to where they are solved, and back */
static PetscErrorCode MakeBoxes(MPI_Comm comm, KroneckerSolve *k, PetscBool slabs)
{
  const int  *order[2] = {NULL, k->order};
  PatchFDBox *box[2];
  PetscMPIInt size, me;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &me));
  PetscCall(PetscMalloc2(size, &box[0], size, &box[1]));
  for (PetscMPIInt r = 0; r < size; r++) Boxes(k, r, size, &box[0][r], &box[1][r]);
  k->own = box[0][me];
  for (int q = 0; q < 3; q++) {
    const int d = k->order[q];

    k->desc.box.lo[q] = box[1][me].lo[d];
    k->desc.box.n[q]  = box[1][me].n[d];
    k->free[q][0]     = PetscMax(k->sum.free[d][0], box[1][me].lo[d]);
    k->free[q][1]     = PetscMin(k->sum.free[d][1], box[1][me].lo[d] + box[1][me].n[d]);
  }
  if (size > 1 && !(k->shared && slabs)) {
    const PatchFDBox *const there[2] = {box[0], box[1]}, *const back[2] = {box[1], box[0]};
    const int *const reverse[2] = {order[1], order[0]};

    PetscCall(PatchFDBoxHaloCreate(comm, PATCHFD_HALO_AUTO, there, order, &k->in));
    if (k->shared) PetscCall(PatchFDBoxHaloCreate(comm, PATCHFD_HALO_AUTO, back, reverse, &k->out));
  }
  PetscCall(PetscFree2(box[0], box[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* if there is anything but ones */
static PetscErrorCode KeepScale(KroneckerSolve *k)
{
  const PatchFDKernels host = &PatchFDKernelsHostDouble;
  const void          *from = k->ownscale;
  PetscBool            all  = PETSC_TRUE;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) all = (PetscBool)(all && NumFree(&k->sum, d) == k->sum.n[d]);
  if (all && !k->sum.weighted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(PatchFDBoxSize(&k->desc.box), &k->scale));
  if (!k->in) PetscCall(PetscArraycpy(k->scale, k->ownscale, PatchFDBoxSize(&k->desc.box)));
  else {
    PetscCall(PatchFDHaloBegin(k->in, host, 0, 1, &from));
    PetscCall(PatchFDHaloEnd(k->in, host, 0, 1, (void *const *)&k->scale));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- for a kernel table ---- */

/* numbers in a Vec like v, of this process */
static PetscErrorCode VecOf(Vec v, size_t n, const PetscReal x[], Vec *w)
{
  VecType    type;
  PetscReal *a;

  PetscFunctionBegin;
  PetscCall(VecGetType(v, &type));
  PetscCall(PatchFDVecCreate(PETSC_COMM_SELF, type, (PetscInt)n, NULL, w));
  PetscCall(VecGetArrayWrite(*w, &a));
  PetscCall(PetscArraycpy(a, x, n));
  PetscCall(VecRestoreArrayWrite(*w, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the free unknowns that are the first (end 0) or last ones of a direction of the solve; false if they are not here or have no neighbour */
static PetscBool FaceBox(const KroneckerSolve *k, int q, int end, PatchFDBox *b)
{
  const int      d    = k->order[q];
  const PetscInt at   = end ? k->sum.free[d][1] - 1 : k->sum.free[d][0];
  const PetscInt next = end ? at + 1 : at - 1;

  for (int e = 0; e < 3; e++) {
    b->lo[e] = e == q ? at : k->free[e][0];
    b->n[e]  = e == q ? 1 : k->free[e][1] - k->free[e][0];
  }
  return (PetscBool)(at >= k->free[q][0] && at < k->free[q][1] && next >= 0 && next < k->sum.n[d] && PatchFDBoxSize(b));
}

/* minus W A of the free unknowns of a side for those beside them */
static PetscErrorCode FaceCreate(const KroneckerSolve *k, int q, int end, Vec v, Vec *face)
{
  const PatchFDKroneckerLines *s = &k->sum;
  PetscReal                   *line[3], *x, coupling;
  PatchFDBox                   b;

  PetscFunctionBegin;
  if (!FaceBox(k, q, end, &b)) PetscFunctionReturn(PETSC_SUCCESS);
  coupling = (end ? s->up : s->down)[k->order[q]][b.lo[q]];
  if (coupling == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int e = 0; e < 3; e++) {
    const int d = k->order[e];

    PetscCall(PetscMalloc1(s->n[d], &line[e]));
    for (PetscInt i = 0; i < s->n[d]; i++) line[e][i] = s->w[d][i] * (e == q ? -coupling : s->m[d][i]);
  }
  PetscCall(PetscMalloc1(PatchFDBoxSize(&b), &x));
  PatchFDHostProduct(&b, (const PetscReal *const *)line, x);
  PetscCall(VecOf(v, PatchFDBoxSize(&b), x, face));
  PetscCall(PetscFree(x));
  for (int e = 0; e < 3; e++) PetscCall(PetscFree(line[e]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeTable(MPI_Comm comm, KroneckerSolve *k, PatchFDKernels kern, Vec v, Table *t)
{
  PatchFDBoxSolveRanks ranks = {.comm = comm, .cut = &k->cut, .halo = PATCHFD_HALO_AUTO};
  size_t               most  = 0;

  PetscFunctionBegin;
  if (t->made) PetscFunctionReturn(PETSC_SUCCESS);
  t->made = PETSC_TRUE;
  if (k->in) PetscCall(kern->malloc(PatchFDBoxSize(&k->desc.box), &t->there));
  if (k->scale) PetscCall(VecOf(v, PatchFDBoxSize(&k->desc.box), k->scale, &t->scale));
  if (!PatchFDRangeSize(k->sum.free)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int f = 0; f < 6; f++) {
    PatchFDBox b;

    PetscCall(FaceCreate(k, f / 2, f % 2, v, &t->face[f / 2][f % 2]));
    if (t->face[f / 2][f % 2] && FaceBox(k, f / 2, f % 2, &b)) most = PetscMax(most, PatchFDBoxSize(&b));
  }
  if (most) PetscCall(kern->malloc(most, &t->buffer));
  PetscCall(PatchFDBoxSolveCreate(kern, k->grid.dim, &k->desc, k->shared ? &ranks : NULL, &t->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesPrepare_KroneckerSum(MatPatches p, PETSC_UNUSED PatchFDKernels kern, PetscBool transpose)
{
  PetscFunctionBegin;
  PetscCheck(!transpose || ((const KroneckerSolve *)p->data)->symmetric, PetscObjectComm((PetscObject)p->A), PETSC_ERR_SUP,
             "PCPATCHFD: -pc_patchfd_patch box has the transpose of a symmetric matrix of a DMDA alone; this one has rows divided by "
             "volumes, "
             "or entries for unknowns of Dirichlet conditions. Assemble it without, as by MatZeroRowsColumns()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

/* z at the free unknowns loses what their rows have for those beside them */
static PetscErrorCode Lift(const KroneckerSolve *k, PatchFDKernels kern, const Table *t, void *z)
{
  const PatchFDRange none = {{0, 0}, {0, 0}, {0, 0}};

  PetscFunctionBegin;
  for (int q = 0; q < 3; q++) {
    for (int end = 0; end < 2; end++) {
      PatchFDBox   b;
      PatchFDRange here, beside;
      const void  *a;

      if (!t->face[q][end]) continue;
      (void)FaceBox(k, q, end, &b);
      for (int e = 0; e < 3; e++) {
        here[e][0]   = b.lo[e];
        here[e][1]   = b.lo[e] + b.n[e];
        beside[e][0] = here[e][0] + (e != q ? 0 : (end ? 1 : -1));
        beside[e][1] = beside[e][0] + b.n[e];
      }
      PetscCall(PatchFDVecGetArrayRead(t->face[q][end], kern, &a));
      b.lo[q] = beside[q][0];
      PetscCall(kern->copy((const PetscInt(*)[2])beside, &k->desc.box, z, &b, t->buffer));
      PetscCall(kern->multiply(PatchFDBoxSize(&b), a, t->buffer, PETSC_FALSE, t->buffer));
      b.lo[q] = here[q][0];
      PetscCall(kern->fixed((const PetscInt(*)[2])here, none, 1, &k->desc.box, z, 1, &b, t->buffer));
      PetscCall(PatchFDVecRestoreArrayRead(t->face[q][end], kern, &a));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const KroneckerSolve *k, PatchFDKernels kern, const Table *t, const void *b, void *x)
{
  const size_t n = PatchFDBoxSize(&k->desc.box);
  const void  *scale;

  PetscFunctionBegin;
  if (t->scale) {
    PetscCall(PatchFDVecGetArrayRead(t->scale, kern, &scale));
    PetscCall(kern->multiply(n, scale, b, PETSC_FALSE, x));
    PetscCall(PatchFDVecRestoreArrayRead(t->scale, kern, &scale));
    PetscCall(Lift(k, kern, t, x));
    b = x;
  }
  if (t->solve) PetscCall(PatchFDBoxSolveApply(t->solve, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesSweep_KroneckerSum(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscInt64 its, PETSC_UNUSED PetscInt n,
                                                   PETSC_UNUSED const PetscInt colors[], PETSC_UNUSED PetscBool zero, Vec b, Vec x)
{
  KroneckerSolve *k = (KroneckerSolve *)p->data;
  Table          *t = &k->table[kern->id];
  PatchFDRange    own;
  const void     *ab;
  void           *ax;

  PetscFunctionBegin;
  PetscCall(MakeTable(PetscObjectComm((PetscObject)p->A), k, kern, b, t));
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, p->A, b, x, 0));
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ab));
  PetscCall(PatchFDVecGetArrayWrite(x, kern, &ax));
  if (k->in) {
    PetscCall(PatchFDHaloBegin(k->in, kern, 0, 1, &ab));
    PetscCall(PatchFDHaloEnd(k->in, kern, 0, 1, &t->there));
  }
  PetscCall(Solve(k, kern, t, k->in ? t->there : ab, k->in ? t->there : ax));
  if (k->out) {
    PetscCall(PatchFDHaloBegin(k->out, kern, 0, 1, (const void *const *)&t->there));
    PetscCall(PatchFDHaloEnd(k->out, kern, 0, 1, &ax));
  } else if (k->in) {
    for (int d = 0; d < 3; d++) {
      own[d][0] = k->own.lo[d];
      own[d][1] = k->own.lo[d] + k->own.n[d];
    }
    PetscCall(kern->copy((const PetscInt(*)[2])own, &k->desc.box, t->there, &k->own, ax));
  }
  PetscCall(PatchFDVecRestoreArrayWrite(x, kern, &ax));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ab));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, p->A, b, x, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- view, creation ---- */

static PetscErrorCode MatPatchesView_KroneckerSum(MatPatches p, PetscViewer viewer)
{
  const KroneckerSolve        *k = (const KroneckerSolve *)p->data;
  const PatchFDKroneckerLines *s = &k->sum;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  whole box as one patch: direct solve by fast diagonalization\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  sum of Kronecker products on %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                                   " unknowns of a DMDA of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT "%s%s\n",
                                   NumFree(s, 0), NumFree(s, 1), NumFree(s, 2), s->n[0], s->n[1], s->n[2],
                                   s->weighted ? ", rows divided by volumes" : "", s->constants ? ", constants in its null space" : ""));
  if (k->shared) PetscCall(PetscViewerASCIIPrintf(viewer, "  ranks share it in direction %d\n", k->order[k->last]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesDestroy_KroneckerSum(MatPatches p)
{
  KroneckerSolve *k = (KroneckerSolve *)p->data;

  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++) {
    Table *t = &k->table[i];

    if (!t->made) continue;
    PetscCall(PatchFDBoxSolveDestroy(&t->solve));
    PetscCall(PatchFDKernelTables[i]->free(t->there));
    PetscCall(PatchFDKernelTables[i]->free(t->buffer));
    PetscCall(VecDestroy(&t->scale));
    for (int f = 0; f < 6; f++) PetscCall(VecDestroy(&t->face[f / 2][f % 2]));
  }
  PetscCall(PatchFDHaloDestroy(&k->in));
  PetscCall(PatchFDHaloDestroy(&k->out));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEigenDestroy(&k->eigen[d]));
  PetscCall(PatchFDEigenDestroy(&k->piece));
  PetscCall(PatchFDCutDestroy(&k->cut));
  PetscCall(PatchFDKroneckerLinesDestroy(&k->sum));
  PetscCall(PatchFDGridDestroy(&k->grid));
  PetscCall(PetscFree(k->scale));
  PetscCall(PetscFree(k->ownscale));
  PetscCall(MatDestroy(&k->rows));
  PetscCall(PetscFree(p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* entries of both triangles */
static PetscErrorCode FullMatrix(Mat A, Mat *full)
{
  PetscBool symmetric;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &symmetric, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (symmetric) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, full));
  else {
    PetscCall(PetscObjectReference((PetscObject)A));
    *full = A;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(MatPatches p, DM da)
{
  const MPI_Comm               comm = PetscObjectComm((PetscObject)p->A);
  KroneckerSolve              *k    = (KroneckerSolve *)p->data;
  const PatchFDKroneckerLines *lines;
  PetscBool                    regular = PETSC_TRUE, slabs = PETSC_FALSE;
  PatchFDKernels               kern;
  VecType                      type;

  PetscFunctionBegin;
  PetscCall(MatGetKroneckerLines(p->A, &lines));
  if (!lines) PetscCall(MatCheckDMDA(p->A, da, who, PETSC_TRUE));
  PetscCall(PatchFDGridCreate(p->A, da, &k->grid));
  if (lines) PetscCall(PatchFDKroneckerLinesCopy(lines, &k->sum));
  else {
    PetscCall(FullMatrix(p->A, &k->rows));
    PetscCall(MatReadKroneckerLines(k->rows, &k->grid, who, &k->sum, &k->ownscale, &regular));
    PetscCall(MatDestroy(&k->rows));
  }
  p->singular = (PetscBool)!regular;
  if (regular) {
    PetscCall(MatGetVecType(p->A, &type));
    PetscCall(PatchFDVecTypeGetKernels(type, &kern));
    PetscCall(Distribute(p->A, kern, k, &slabs, &p->singular));
    PetscCall(MakeBoxes(comm, k, slabs));
    PetscCall(KeepScale(k));
    k->symmetric = PETSC_TRUE;
    for (int d = 0; d < 3 && PatchFDRangeSize(k->sum.free); d++) {
      const PetscBool none = (PetscBool)(k->sum.down[d][k->sum.free[d][0]] == 0 && k->sum.up[d][k->sum.free[d][1] - 1] == 0);

      k->symmetric = (PetscBool)(k->symmetric && !k->sum.weighted && (k->sum.ring[d] || none));
    }
  }
  PetscCall(PetscFree(k->ownscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_KroneckerSum(Mat A, DM da, const MatPatchesSpec *spec, MatPatches *patches)
{
  static const struct _MatPatchesOps ops =
    {.remedy  = "an eigenvalue that is zero and not of constants, a row of zeros, or entries that are "
                "not finite",
     .prepare = MatPatchesPrepare_KroneckerSum,
     .sweep   = MatPatchesSweep_KroneckerSum,
     .view    = MatPatchesView_KroneckerSum,
     .destroy = MatPatchesDestroy_KroneckerSum};
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);

  PetscFunctionBegin;
  PetscCall(MatPatchesCheckSpec(comm, spec));
  PetscCheck(spec->bricksize == PETSC_DETERMINE && spec->rule.exact < 0, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_brick_size and -pc_patchfd_fit_exact are for patches; with -pc_patchfd_patch box leave them");
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, A, 0, 0, 0));
  PetscCall(MatPatchesDestroy(patches));
  PetscCall(MatPatchesCreate(A, spec, patches));
  (*patches)->ops        = &ops;
  (*patches)->omega      = 1;
  (*patches)->overwrites = PETSC_TRUE;
  PetscCall(PetscNew((KroneckerSolve **)&(*patches)->data));
  PetscCall(SetUp(*patches, da));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
