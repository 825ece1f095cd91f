/*
  The whole box as one patch: fast diagonalization of a separable operator, or on one rank (for several see redundant.c) a factorization of
  the assembled matrix, unless a dense inverse takes its place (local.c; for which meshes: wholelimits.c).
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petscvecsingle.h>

/* ---- by fast diagonalization ---- */

/* do two directions have the same matrix, entry by entry? */
static PetscBool BandsEqual(const PatchFDBand *a, const PatchFDBand *b)
{
  const PetscCount size = (PetscCount)a->nclass * PatchFDBandSize(a);

  if (a->nloc != b->nloc || a->stride != b->stride || a->ncol != b->ncol || a->cstride != b->cstride || a->reach != b->reach ||
      a->ncells != b->ncells || a->nclass != b->nclass)
    return PETSC_FALSE;
  return (PetscBool)(!memcmp(a->cls, b->cls, (size_t)a->ncells * sizeof(*a->cls)) && !memcmp(a->X, b->X, (size_t)size * sizeof(*a->X)));
}

/* the eigenvectors of direction d belong to the first direction with equal lines */
static int WholeLine(const Mat_Box *m, int d)
{
  const DMBoxField *f = &((const DM_Box *)m->dm->data)->field[0];

  for (int e = 0; e < d; e++) {
    const PetscBool ends = (PetscBool)(f->free[d][0] == f->free[e][0] && f->free[d][1] == f->free[e][1] &&
                                       f->line[d].nnodes == f->line[e].nnodes && f->line[d].turn == f->line[e].turn);

    if (ends && BandsEqual(m->form.M[0][d], m->form.M[0][e]) && BandsEqual(m->form.A[0][d], m->form.A[0][e])) return e;
  }
  return d;
}

static PetscErrorCode WholeLineGet(Mat_Box *m, int direction, const PatchFDEigen **e)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  const int     d   = WholeLine(m, direction);

  PetscFunctionBegin;
  if (!m->havewhole[d]) PetscCall(PatchFDLineEigenCreate(&box->field[0].line[d], m->form.M[0][d], m->form.A[0][d], &m->whole[d]));
  m->havewhole[d] = PETSC_TRUE;
  *e              = &m->whole[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  On several ranks a small problem is solved by all of them, each of which gathers the right-hand side and keeps what it owns.  A larger
  one they share (patchfd/private/boxsolve.h): that needs slabs of cells, which a mesh that is cut otherwise is sent to and from, and a
  definite operator.
*/
static PetscBool DirectHasSlabs(const DM_Box *box, PetscInt dim)
{
  return (PetscBool)(box->processes[0] == 1 && (dim == 2 || box->processes[1] == 1));
}

/* in the last direction: those of the mesh's slabs, or equal parts */
static PetscInt DirectFirstCell(DM dm, PetscMPIInt rank, PetscMPIInt ranks)
{
  const DM_Box  *box = (const DM_Box *)dm->data;
  const PetscInt c   = dm->dim - 1;

  return DirectHasSlabs(box, dm->dim) ? box->splits[c][rank] : (PetscInt)((PetscInt64)box->cells[c] * rank / ranks);
}

static PetscErrorCode DirectIsShared(DM dm, PatchFDKernels kern, PetscBool *shared)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  *shared = (PetscBool)(size > 1 && dm->dim > 1 && !box->field[0].line[dm->dim - 1].turn &&
                        (PetscLogDouble)PatchFDRangeSize(box->field[0].free) >= PatchFDBoxSolveShareLimit(kern));
  for (PetscMPIInt r = 0; r < size && *shared; r++) *shared = (PetscBool)(DirectFirstCell(dm, r, size) < DirectFirstCell(dm, r + 1, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* each rank diagonalizes its piece and hears of the others' */
static PetscErrorCode DirectCutCreate(Mat_Box *m)
{
  const MPI_Comm     comm = PetscObjectComm((PetscObject)m->dm);
  const int          c    = (int)m->dm->dim - 1;
  const PatchFDLine *line = &((const DM_Box *)m->dm->data)->field[0].line[c];
  const PatchFDBand *M = m->form.M[0][c], *A = m->form.A[0][c];
  PetscMPIInt        size, me;
  PetscInt          *cell;

  PetscFunctionBegin;
  if (m->cut.npiece) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &me));
  PetscCall(PetscMalloc1(size + 1, &cell));
  for (PetscMPIInt r = 0; r <= size; r++) cell[r] = DirectFirstCell(m->dm, r, size);
  PetscCall(PatchFDCutCreate(line, A, size, cell, &m->cut));
  PetscCall(PetscFree(cell));
  PetscCall(PatchFDCutSetPiece(&m->cut, line, M, A, me, &m->piece));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, m->cut.lambda, m->cut.size, MPIU_REAL, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DirectIsDefinite(Mat_Box *m, PetscBool *definite)
{
  const int           last   = (int)m->dm->dim - 1;
  const PatchFDEigen *dir[3] = {NULL, NULL, NULL};

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    if (d != last) PetscCall(WholeLineGet(m, d, &dir[d]));
  PetscCall(PatchFDBoxSolveIsDefinite(dir, last, &m->cut, definite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes that a rank owns in its global array or, given the first cells of slabs, those of its slab */
static void DirectBox(DM dm, const PetscInt cell[], PetscMPIInt rank, PatchFDBox *b)
{
  const DM_Box     *box = (const DM_Box *)dm->data;
  const DMBoxField *f   = &box->field[0];

  for (int d = 0; d < 3; d++) {
    const PetscInt p = d == 0 ? rank % box->processes[0]
                              : (d == 1 ? rank / box->processes[0] % box->processes[1] : rank / box->processes[0] / box->processes[1]);
    PetscInt       lo, end;

    PatchFDLineUnknowns(&f->line[d], &lo, &end);
    if (!cell) DMBoxOwnRange(box, f, d, p, &lo, &end);
    else if (d == dm->dim - 1) {
      lo = PetscMax(lo, cell[rank] * f->line[d].stride);
      if (cell[rank + 1] < box->cells[d]) end = cell[rank + 1] * f->line[d].stride;
    }
    b->lo[d] = lo;
    b->n[d]  = end - lo;
  }
}

/* from global arrays to slabs, or back */
static PetscErrorCode DirectCreateHalo(DM dm, const PetscInt cell[], PetscBool back, PatchFDHalo *halo)
{
  const MPI_Comm   comm     = PetscObjectComm((PetscObject)dm);
  const int *const order[2] = {NULL, NULL};
  PetscMPIInt      size;
  PatchFDBox      *box[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc2(size, &box[0], size, &box[1]));
  for (PetscMPIInt r = 0; r < size; r++) {
    DirectBox(dm, NULL, r, &box[back][r]);
    DirectBox(dm, cell, r, &box[!back][r]);
  }
  PetscCall(PatchFDBoxHaloCreate(comm, ((const DM_Box *)dm->data)->halotype, (const PatchFDBox *const *)box, order, halo));
  PetscCall(PetscFree2(box[0], box[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what brings global arrays to where they are solved, and back; nothing where they are there already */
static PetscErrorCode DirectHalosCreate(Mat_Box *m, PetscBool shared)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)m->dm), &size));
  if (size == 1 || m->direct[shared].in || (shared && DirectHasSlabs(box, m->dm->dim))) PetscFunctionReturn(PETSC_SUCCESS);
  if (shared) {
    PetscCall(DirectCreateHalo(m->dm, m->cut.cell, PETSC_FALSE, &m->direct[1].in));
    PetscCall(DirectCreateHalo(m->dm, m->cut.cell, PETSC_TRUE, &m->direct[1].out));
  } else {
    PetscSF sf;

    PetscCall(DMBoxCreateNaturalSF(m->dm, &sf));
    PetscCall(PatchFDHaloCreate(sf, box->halotype, &m->direct[0].in));
    PetscCall(PetscSFDestroy(&sf));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* box: of the arrays that are solved, those of this rank or what the halos bring */
static PetscErrorCode DirectDescribe(Mat_Box *m, PetscBool shared, PatchFDBoxSolveDesc *desc)
{
  const DM_Box     *box = (const DM_Box *)m->dm->data;
  const DMBoxField *f   = &box->field[0];
  const int         c   = (int)m->dm->dim - 1;
  PetscMPIInt       me;
  PetscInt          n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)m->dm), &me));
  desc->box = DMBoxMesh(f);
  for (int d = 0; d < 3; d++) {
    PatchFDLineUnknowns(&f->line[d], &desc->first[d], &n);
    if (!shared || d != c) PetscCall(WholeLineGet(m, d, &desc->dir[d]));
  }
  if (!shared) PetscFunctionReturn(PETSC_SUCCESS);
  desc->dir[c] = &m->piece;
  PatchFDPieceFree(&f->line[c], m->cut.cell[me], m->cut.cell[me + 1], &desc->first[c], &n);
  DirectBox(m->dm, m->direct[shared].in ? m->cut.cell : NULL, me, &desc->box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxDirectSetUp(Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box        *box    = (const DM_Box *)m->dm->data;
  PetscBool           *shared = &m->shared[kern->id];
  PatchFDBoxSolveRanks ranks  = {.comm = PetscObjectComm((PetscObject)m->dm), .cut = &m->cut, .halo = box->halotype};
  PatchFDBoxSolveDesc  desc;

  PetscFunctionBegin;
  if (m->boxsolve[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscCall(DirectIsShared(m->dm, kern, shared));
  if (*shared) {
    PetscCall(DirectCutCreate(m));
    PetscCall(DirectIsDefinite(m, shared));
  }
  PetscCall(DirectHalosCreate(m, *shared));
  PetscCall(DirectDescribe(m, *shared, &desc));
  if (!*shared) /* otherwise it is definite */
    PetscCall(PatchFDBoxSolveIsSingular((PetscObject)m->dm, desc.dir, (PetscBool)(m->nullspace != NULL), &m->wholesingular));
  if (m->direct[*shared].in) {
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_b[kern->id]));
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_x[kern->id]));
  }
  PetscCall(PatchFDBoxSolveCreate(kern, m->dm->dim, &desc, *shared ? &ranks : NULL, &m->boxsolve[kern->id]));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxDirectSolve(Mat_Box *m, PatchFDKernels kern, const void *b, void *x)
{
  const DM_Box         *box    = (const DM_Box *)m->dm->data;
  const PetscBool       shared = m->shared[kern->id];
  const MatBoxTransfer *t      = &m->direct[shared];
  PatchFDBoxSolveDesc   desc;
  PatchFDRange          own;
  void                 *there_b = m->whole_b[kern->id], *there_x = m->whole_x[kern->id];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  if (t->in) {
    PetscCall(PatchFDHaloBegin(t->in, kern, 0, 1, &b));
    PetscCall(PatchFDHaloEnd(t->in, kern, 0, 1, &there_b));
  }
  PetscCall(PatchFDBoxSolveApply(m->boxsolve[kern->id], t->in ? there_b : b, t->in ? there_x : x));
  if (t->out) {
    PetscCall(PatchFDHaloBegin(t->out, kern, 0, 1, (const void *const *)&there_x));
    PetscCall(PatchFDHaloEnd(t->out, kern, 0, 1, &x));
  } else if (t->in) {
    PetscCall(DirectDescribe(m, shared, &desc));
    DMBoxFreeNodes(&box->field[0], PETSC_FALSE, own);
    PetscCall(kern->copy(own, &desc.box, there_x, &box->field[0].global, x));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- by factorization ---- */

/*
  A saddle point has zeros on its diagonal, and so needs pivots: a dense matrix, which LAPACK factors with them.  With an orthonormal basis
  of the null space, A + s (the sum of its z z') solves consistent systems, and the solution has nothing of z.
*/
static PetscErrorCode FactorDense(PetscInt nz, const Vec basis[], Mat A)
{
  PetscInt           n;
  PetscReal          s;
  const PetscScalar *z;
  PetscScalar       *a;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatNorm(A, NORM_INFINITY, &s));
  for (PetscInt k = 0; k < nz; k++) {
    PetscCall(VecGetArrayRead(basis[k], &z));
    PetscCall(MatDenseGetArray(A, &a));
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n && z[j] != 0; i++) a[(PetscCount)j * n + i] += s * z[i] * z[j];
    PetscCall(MatDenseRestoreArray(A, &a));
    PetscCall(VecRestoreArrayRead(basis[k], &z));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of an operator whose null space are the constants: the first unknown is fixed; what right-hand sides and solutions have of constants is
   removed (MatBoxFactorSolve()) */
static PetscErrorCode FactorFix(Mat_Box *m, Mat A)
{
  const PetscInt first = 0;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &m->factor_null));
  PetscCall(MatZeroRowsColumns(A, 1, &first, 1, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc sees pivots that are nearly zero in their rows, but not all matrices that are singular but for rounding have one: two steps of
  inverse iteration, scaled by the diagonal, as in src/host/dense.c
*/
static PetscErrorCode FactorIsSingular(PC factors, Mat A, PetscBool *singular)
{
  const PetscReal most   = 1e14;
  PetscReal       growth = 0;
  Vec             d, r, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &d, &r));
  PetscCall(VecDuplicate(r, &x));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecSqrtAbs(d));
  PetscCall(VecSetRandom(r, NULL));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecNormalize(r, NULL));
    PetscCall(VecPointwiseMult(r, d, r));
    PetscCall(PCApply(factors, r, x));
    PetscCall(VecPointwiseMult(r, d, x));
    PetscCall(VecNorm(r, NORM_2, &growth));
  }
  *singular = (PetscBool) !(growth <= most);
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same for a dense matrix, a saddle point, whose diagonal is no scale: LAPACK's pivots, of which it sees those that are zero */
static PetscErrorCode FactorDenseIsSingular(PC factors, PetscBool *singular)
{
  const PetscReal rounding = 1e-14;
  PetscReal       least, largest;
  Mat             F;
  Vec             pivots;

  PetscFunctionBegin;
  PetscCall(PCFactorGetMatrix(factors, &F));
  PetscCall(MatCreateVecs(F, &pivots, NULL));
  PetscCall(MatGetDiagonal(F, pivots));
  PetscCall(VecAbs(pivots));
  PetscCall(VecMin(pivots, NULL, &least));
  PetscCall(VecMax(pivots, NULL, &largest));
  PetscCall(VecDestroy(&pivots));
  *singular = (PetscBool)(least <= rounding * largest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More than these take minutes and gigabytes, on each rank (src/mat/redundant.c) */
static PetscErrorCode FactorCheckSize(Mat A, const Mat_Box *m, PetscBool dense)
{
  const PetscInt limit = dense ? 12000 : (m->dm->dim == 3 ? 30000 : 300000), *n = ((const DM_Box *)m->dm->data)->cells;
  PetscInt       N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCheck(N <= limit, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "-pc_patchfd_patch box, the default on the coarsest mesh of PCPATCHMG, has every process factor the %s matrix of the whole "
             "mesh: at most %" PetscInt_FMT " unknowns, found %" PetscInt_FMT " of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
             " cells. Take -dm_box_cells that can be halved more often, or an assembled matrix (-dm_mat_type aij) and a preconditioner "
             "for it",
             dense ? "dense" : "sparse", limit, N, n[0], n[1], n[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of one rank, on the host */
PetscErrorCode MatBoxFactorSetUp(Mat A, Mat_Box *m)
{
  PetscBool      constants = PETSC_FALSE, dense;
  PetscInt       nz        = 0;
  const Vec     *z         = NULL;
  PCFailedReason reason;
  Mat            assembled;

  PetscFunctionBegin;
  if (m->factors) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  if (m->nullspace) PetscCall(MatNullSpaceGetVecs(m->nullspace, &constants, &nz, &z));
  dense = (PetscBool)(MatBoxIsSaddlePoint(m) || nz);
  PetscCall(FactorCheckSize(A, m, dense));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &assembled));
  PetscCall(MatCreateVecs(assembled, &m->factor_x, &m->factor_b));
  if (dense) {
    PetscCall(MatConvert(assembled, MATSEQDENSE, MAT_INPLACE_MATRIX, &assembled));
    PetscCall(FactorDense(nz, z, assembled));
  } else if (constants) PetscCall(FactorFix(m, assembled));
  PetscCall(PCCreate(PETSC_COMM_SELF, &m->factors));
  PetscCall(PCSetOperators(m->factors, assembled, assembled));
  PetscCall(PCSetType(m->factors, PCLU));
  PetscCall(PCSetUp(m->factors));
  PetscCall(PCGetFailedReason(m->factors, &reason));
  m->wholesingular = (PetscBool)(reason != 0);
  if (!m->wholesingular && dense) PetscCall(FactorDenseIsSingular(m->factors, &m->wholesingular));
  else if (!m->wholesingular) PetscCall(FactorIsSingular(m->factors, assembled, &m->wholesingular));
  PetscCall(MatDestroy(&assembled));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFactorSolve(Mat_Box *m, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscCall(VecSingleConvert(b, 1, m->factor_b));
  if (m->factor_null) {
    PetscCall(MatNullSpaceRemove(m->factor_null, m->factor_b));
    PetscCall(VecSetValue(m->factor_b, 0, 0, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(m->factor_b));
    PetscCall(VecAssemblyEnd(m->factor_b));
  }
  PetscCall(PCApply(m->factors, m->factor_b, m->factor_x));
  if (m->factor_null) PetscCall(MatNullSpaceRemove(m->factor_null, m->factor_x));
  PetscCall(VecSingleConvert(m->factor_x, 1, x));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
