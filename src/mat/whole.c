/*
  The whole box as one patch: fast diagonalization of a separable operator, or a factorization of the assembled matrix.  Coarse problems are small: every rank
  has all of it.  On one rank a dense inverse takes the place of the factors (src/mat/local.c): here is for which meshes.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

/* ---- by fast diagonalization ---- */

static void DirectDescribe(const Mat_Box *m, PatchFDBoxSolveDesc *desc)
{
  const DMBoxField *f = &((const DM_Box *)m->dm->data)->field[0];

  for (int d = 0; d < 3; d++) {
    desc->dir[d]    = &m->whole[d];
    desc->first[d]  = f->free[d][0];
    desc->box.lo[d] = 0;
    desc->box.n[d]  = f->line[d].nnodes;
  }
}

PetscErrorCode MatBoxDirectSetUp(Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDBoxSolveDesc desc;

  PetscFunctionBegin;
  if (m->boxsolve[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  if (!m->havewhole) {
    for (int d = 0; d < 3; d++) PetscCall(PatchFDLineEigenCreate(&box->field[0].line[d], m->form.M[0][d], m->form.A[0][d], &m->whole[d]));
    if (box->halo && !m->natural) {
      PetscSF natural;

      PetscCall(DMBoxCreateNaturalSF(m->dm, &natural));
      PetscCall(PatchFDHaloCreate(natural, box->halotype, &m->natural));
      PetscCall(PetscSFDestroy(&natural));
    }
    m->havewhole = PETSC_TRUE;
  }
  DirectDescribe(m, &desc);
  if (box->halo) {
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_b[kern->id]));
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_x[kern->id]));
  }
  PetscCall(kern->boxsolvecreate(&desc, &m->boxsolve[kern->id]));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse problems are small: every rank gathers the right-hand side, solves, and keeps what it owns */
PetscErrorCode MatBoxDirectSolve(Mat_Box *m, PatchFDKernels kern, const void *b, void *x)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDBoxSolveDesc desc;
  PatchFDRange        own;
  void               *whole_b = m->whole_b[kern->id], *whole_x = m->whole_x[kern->id];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  if (box->halo) {
    DirectDescribe(m, &desc);
    DMBoxFreeNodes(&box->field[0], PETSC_FALSE, own);
    PetscCall(PatchFDHaloBegin(m->natural, kern, 0, 1, &b));
    PetscCall(PatchFDHaloEnd(m->natural, kern, 0, 1, &whole_b));
    PetscCall(kern->boxsolveapply(m->boxsolve[kern->id], whole_b, whole_x));
    PetscCall(kern->copy(own, &desc.box, whole_x, &box->field[0].global, x));
  } else PetscCall(kern->boxsolveapply(m->boxsolve[kern->id], b, x));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- by an inverse in parity blocks ---- */

/* their number and size on the mesh that comes from so many coarsenings; nodes that are fixed are counted, too */
static void WholeBlocks(DM dm, PetscInt coarsenings, PetscInt *nblock, PetscLogDouble *size)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  *nblock = 1;
  *size   = 0;
  for (PetscInt f = 0; f < box->nfield; f++) {
    PetscLogDouble nodes = 1;

    for (int d = 0; d < 3; d++) {
      const PatchFDLine *line = &box->field[f].line[d];

      nodes *= (PetscLogDouble)((d < dm->dim ? line->ncells >> coarsenings : 1) * line->stride + line->nnodes - line->ncells * line->stride);
    }
    *size += nodes;
  }
  for (PetscInt d = 0; d < dm->dim; d++)
    if (!box->nvertices[d] && box->boundary[2 * d] == box->boundary[2 * d + 1]) *nblock *= 2;
  *size /= (PetscLogDouble)*nblock;
}

/*
  Unless the user says it: on a GPU, for large problems of operators that fast diagonalization solves.  1e5 unknowns take less time so than the kernels and exchanges of
  the levels below; small problems coarsen as on the host, and none depends on the number of ranks
*/
static PetscErrorCode WholeDefaultLimit(DM dm, PetscInt *limit)
{
  const DM_Box  *box = (const DM_Box *)dm->data;
  PatchFDKernels kern;
  PetscBool      poisson;
  PetscInt       nblock;
  PetscLogDouble size;

  PetscFunctionBegin;
  *limit = 0;
  PetscCall(PetscStrcmp(box->op->name, "poisson", &poisson));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (!poisson || PetscMemTypeHost(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  WholeBlocks(dm, 0, &nblock, &size);
  if ((PetscLogDouble)nblock * size >= 5e5) *limit = 100000;
  if (*limit) PetscCall(PetscInfo(dm, "Levels of PCPATCHMG end at a mesh with at most %" PetscInt_FMT " unknowns, which is solved directly: -pc_patchmg_coarse_eq_limit\n", *limit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLimitCoarsenings(DM dm, PetscInt limit, PetscInt *n)
{
  PetscFunctionBegin;
  if (limit == PETSC_DECIDE) PetscCall(WholeDefaultLimit(dm, &limit));
  for (PetscInt fewer = 0; fewer < *n; fewer++) {
    PetscInt       nblock;
    PetscLogDouble size;

    WholeBlocks(dm, fewer, &nblock, &size);
    if ((PetscLogDouble)nblock * size <= (PetscLogDouble)limit) *n = fewer;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxWholeCoarsenings(DM dm, PetscInt *n)
{
  const PetscLogDouble limit = 4e9; /* operations: 0.2 s of a core; such inverses have 10 MB in single precision */
  const DM_Box        *box   = (const DM_Box *)dm->data;
  PatchFDKernels       kern;

  PetscFunctionBegin;
  if (!dm->setupcalled || box->nfield == 1 || box->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (PetscMemTypeHost(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt fewer = *n - 1; fewer > 0; fewer--) {
    PetscInt       nblock;
    PetscLogDouble size;

    WholeBlocks(dm, fewer, &nblock, &size);
    if (2 * (PetscLogDouble)nblock * size * size * size > limit) break;
    *n = fewer;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- by factorization ---- */

/*
  A matrix of several fields has zeros on its diagonal, and so needs pivots: a dense matrix, which LAPACK factors with them.  With its null space z, of norm
  one, A + s z z' solves consistent systems, and the solution has nothing of z.
*/
static PetscErrorCode FactorDense(DM dm, MatNullSpace nullspace, Mat *all)
{
  const PetscInt     limit = 12000;
  PetscInt           n;
  PetscReal          s;
  Vec                z;
  const Vec         *basis;
  VecScatter         toall;
  const PetscScalar *az;
  PetscScalar       *a;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*all, &n, NULL));
  PetscCheck(n <= limit, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "The coarsest mesh has %" PetscInt_FMT " unknowns; an operator of several fields is solved there by a dense factorization, of %" PetscInt_FMT " at most. Take -dm_box_cells that can be halved more often", n,
             limit);
  PetscCall(MatConvert(*all, MATSEQDENSE, MAT_INPLACE_MATRIX, all));
  if (!nullspace) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNullSpaceGetVecs(nullspace, NULL, NULL, &basis));
  PetscCall(VecScatterCreateToAll(basis[0], &toall, &z));
  PetscCall(VecScatterBegin(toall, basis[0], z, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(toall, basis[0], z, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterDestroy(&toall));
  PetscCall(MatNorm(*all, NORM_INFINITY, &s));
  PetscCall(VecGetArrayRead(z, &az));
  PetscCall(MatDenseGetArray(*all, &a));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n && az[j] != 0; i++) a[(PetscCount)j * n + i] += s * az[i] * az[j];
  PetscCall(MatDenseRestoreArray(*all, &a));
  PetscCall(VecRestoreArrayRead(z, &az));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every rank has the whole matrix and its factors, on the host */
PetscErrorCode MatBoxFactorSetUp(Mat A, Mat_Box *m)
{
  MatNullSpace nullspace;
  PetscMPIInt  size;
  Mat          assembled, all;

  PetscFunctionBegin;
  if (m->factors) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &assembled));
  PetscCall(MatCreateVecs(assembled, &m->factor_x, NULL));
  PetscCall(VecScatterCreateToAll(m->factor_x, &m->toall, &m->all_b));
  PetscCall(VecDuplicate(m->all_b, &m->all_x));
  if (size > 1) {
    PetscCall(MatCreateRedundantMatrix(assembled, size, MPI_COMM_NULL, MAT_INITIAL_MATRIX, &all));
    PetscCall(MatDestroy(&assembled));
  } else all = assembled;
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (MatBoxIsSaddlePoint(m)) PetscCall(FactorDense(m->dm, nullspace, &all));
  PetscCall(PCCreate(PETSC_COMM_SELF, &m->factors));
  PetscCall(PCSetOperators(m->factors, all, all));
  PetscCall(PCSetType(m->factors, PCLU));
  PetscCall(PCSetUp(m->factors));
  PetscCall(MatDestroy(&all));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFactorSolve(Mat_Box *m, Vec b, Vec x)
{
  const PetscScalar *ab, *all;
  PetscScalar       *ax;
  PetscInt           start, end;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscCall(VecGetArrayRead(b, &ab)); /* on the host, in double precision, whatever the type */
  PetscCall(VecPlaceArray(m->factor_x, ab));
  PetscCall(VecScatterBegin(m->toall, m->factor_x, m->all_b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(m->toall, m->factor_x, m->all_b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecResetArray(m->factor_x));
  PetscCall(VecRestoreArrayRead(b, &ab));
  PetscCall(PCApply(m->factors, m->all_b, m->all_x));
  PetscCall(VecGetOwnershipRange(m->factor_x, &start, &end));
  PetscCall(VecGetArrayRead(m->all_x, &all));
  PetscCall(VecGetArrayWrite(x, &ax));
  PetscCall(PetscArraycpy(ax, all + start, end - start));
  PetscCall(VecRestoreArrayWrite(x, &ax));
  PetscCall(VecRestoreArrayRead(m->all_x, &all));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFactorReset(Mat_Box *m)
{
  PetscFunctionBegin;
  PetscCall(PCDestroy(&m->factors));
  PetscCall(VecScatterDestroy(&m->toall));
  PetscCall(VecDestroy(&m->factor_x));
  PetscCall(VecDestroy(&m->all_b));
  PetscCall(VecDestroy(&m->all_x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
