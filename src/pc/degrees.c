/*
  PCPATCHMG on a bake-off problem: multigrid over degrees.  Levels have the degrees N, N / 2, ..., 1 on the same mesh, smoothed by
  PCPATCHFD on closed cells, mass matrices by Chebyshev's iteration with Jacobi's preconditioner; that of the lowest degree is assembled, in
  double precision whatever the vectors are, and left to PCGAMG (assembled.c).
*/
#include <petsc/private/dmimpl.h>
#include <petsc/private/pcimpl.h>
#include <petsc/private/pcmgimpl.h>
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/degrees.h>
#include <patchfd/private/vecimpl.h>
#include "patchmg.h"

/* the degree of a level, counted from the finest one, or 0 where there is none */
static PetscInt DegreeOfLevel(PetscInt degree, PetscInt below)
{
  return below > 20 ? 0 : degree >> below;
}

PetscBool PCPatchMGHasPlex(PC pc)
{
  Mat_Bakeoff *m    = NULL;
  PetscBool    plex = PETSC_FALSE;

  if (pc->dm) PetscCallAbort(PETSC_COMM_SELF, PetscObjectTypeCompare((PetscObject)pc->dm, DMPLEX, &plex));
  if (plex && pc->pmat) PetscCallAbort(PETSC_COMM_SELF, MatBakeoffFind(pc->pmat, &m));
  return (PetscBool)(plex && !m);
}

/* what the levels are made from, or NULL */
static PetscErrorCode GetCells(PC pc, Mat *A, Mat_Bakeoff **m)
{
  PetscFunctionBegin;
  *A = PATCHMG(pc)->cells ? PATCHMG(pc)->cells : pc->pmat;
  *m = NULL;
  if (*A) PetscCall(MatBakeoffFind(*A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchMGDegreesAreStale(PC pc, PetscBool *stale)
{
  const PC_PatchMG *p    = PATCHMG(pc);
  const PetscBool   plex = PCPatchMGHasPlex(pc);
  Mat               A;
  Mat_Bakeoff      *m;

  PetscFunctionBegin;
  PetscCall(GetCells(pc, &A, &m));
  *stale = (PetscBool)(p->degrees && (plex != (p->cells != NULL) || (m && p->degrees != ((PetscObject)A)->id) ||
                                      (plex && p->cells->rmap->N != pc->pmat->rmap->N)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The matrix of a step in time is J0 + a J1 with an a that only the TS knows, and J1 the derivative by u_t: what its diagonal says.  Other
  matrices are J0.  TSARKIMEX starts with J0 + J1 / epsilon times epsilon: less than J0, and a comes out as negative.
*/
static PetscErrorCode FindDerivativeInTime(PC pc, Vec u, PlexCoefficients *from)
{
  const PetscReal least = 0.1; /* not rounding, nor terms of the matrix that are not in J0 */
  Mat             cells = PATCHMG(pc)->cells;
  Vec             d, d0, d1;
  PetscScalar     product;
  PetscReal       norm, stiff;

  PetscFunctionBegin;
  if (!pc->dm->dmts) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(pc->pmat, &d, NULL));
  PetscCall(VecDuplicate(d, &d0));
  PetscCall(VecDuplicate(d, &d1));
  PetscCall(MatGetDiagonal(pc->pmat, d));
  PetscCall(MatDiffusionPlexSetJacobian_Private(cells, from, u));
  PetscCall(MatGetDiagonal(cells, d0));
  from->shift_t = 1;
  PetscCall(MatDiffusionPlexSetJacobian_Private(cells, from, u));
  PetscCall(MatGetDiagonal(cells, d1));
  PetscCall(VecAXPY(d1, -1, d0));
  PetscCall(VecAXPY(d, -1, d0));
  PetscCall(VecDot(d, d1, &product));
  PetscCall(VecNorm(d1, NORM_2, &norm));
  PetscCall(VecNorm(d0, NORM_2, &stiff));
  from->shift_t = norm > 0 ? PetscRealPart(product) / (norm * norm) : 0;
  if (from->shift_t * norm < -least * stiff) from->shift_t = 1 / PETSC_MACHINE_EPSILON;
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&d0));
  PetscCall(VecDestroy(&d1));
  PetscCall(PetscInfo(pc, "The matrix has %g times the derivative by u_t\n", (double)from->shift_t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a Newton step has its point, for SNESComputeJacobian() leaves it there */
PetscErrorCode PCPatchMGUpdateCells(PC pc)
{
  PlexCoefficients from = {.dm = pc->dm, .floor = 1e-8}; /* where the energy of a nonlinear problem is flat */
  PC_PatchMG      *p    = PATCHMG(pc);
  PetscInt         n, N;
  Vec              u;

  PetscFunctionBegin;
  if (PCPatchMGHasPlex(pc)) {
    if (!p->cells) PetscCall(MatCreateDiffusionPlex(pc->dm, &p->cells));
    PetscCall(MatGetLocalSize(pc->pmat, &n, NULL));
    PetscCall(MatGetSize(pc->pmat, &N, NULL));
    PetscCheck(n == p->cells->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "PCPATCHMG: the matrix has %" PetscInt_FMT " rows on this process, %" PetscInt_FMT
               " in all; a vector of the DMPLEX has %" PetscInt_FMT ", %" PetscInt_FMT " in all",
               n, N, p->cells->rmap->n, p->cells->rmap->N);
    PetscCall(PetscObjectQuery((PetscObject)pc->pmat, "__SNES_latest_X", (PetscObject *)&u));
    PetscCall(FindDerivativeInTime(pc, u, &from));
    PetscCall(MatDiffusionPlexSetJacobian_Private(p->cells, &from, u));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchMGGetNumDegrees(PC pc, PetscInt *n)
{
  Mat          A;
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(GetCells(pc, &A, &m));
  while (m && DegreeOfLevel(m->cells.degree, *n)) (*n)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* closed cells where there are kernels for them and stiffness to smooth; those of solids need the polynomial that takes more */
PetscErrorCode PCPatchMGGetDegreesSmoother(PC pc, PCType *type, PetscBool *robust)
{
  PatchFDKernels kern;
  Mat            A;
  Mat_Bakeoff   *m;

  PetscFunctionBegin;
  PetscCall(GetCells(pc, &A, &m));
  PetscCall(PatchFDVecTypeGetKernels(A->defaultvectype, &kern));
  *type   = kern->cellscreate && !BakeoffIsMass(m) ? PCPATCHFD : PCJACOBI;
  *robust = m->values.solid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- levels ---- */

/* meshes, matrices and interpolations remain as long as the matrix does: what has been set for it reaches those of the levels */
static PetscErrorCode PCPatchMGUpdateDegrees(PC pc)
{
  const PC_MG *mg = (const PC_MG *)pc->data;
  Mat          fine;
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscCall(GetCells(pc, &fine, &m));
  for (PetscInt l = 0; l < mg->nlevels - 1; l++) {
    Mat A;

    PetscCall(KSPGetOperators(mg->levels[l]->smoothd, NULL, &A));
    PetscCall(MatBakeoffFollow(A, fine));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchMGSetUpDegrees(PC pc)
{
  PC_MG_Levels **level = ((PC_MG *)pc->data)->levels;
  const PetscInt n     = ((PC_MG *)pc->data)->nlevels;
  PetscInt       most;
  Mat_Bakeoff   *m;
  Mat            fine, coarse, P;

  PetscFunctionBegin;
  PetscCall(GetCells(pc, &fine, &m));
  if (PATCHMG(pc)->degrees == ((PetscObject)fine)->id) {
    PetscCall(PCPatchMGUpdateDegrees(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCPatchMGGetNumDegrees(pc, &most));
  PetscCheck(n <= most, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCPATCHMG: -pc_mg_levels is %" PetscInt_FMT "; degrees are halved, and for degree %" PetscInt_FMT " at most %" PetscInt_FMT
             " levels are possible",
             n, m->cells.degree, most);
  PATCHMG(pc)->degrees = ((PetscObject)fine)->id;
  PetscCall(PetscObjectReference((PetscObject)fine));
  for (PetscInt l = n - 1; l >= 0; l--) {
    if (l < n - 1 || PATCHMG(pc)->cells) { /* otherwise the finest level's are those of the PC */
      PetscCall(KSPSetOperators(level[l]->smoothd, fine, fine));
      if (level[l]->smoothu != level[l]->smoothd) PetscCall(KSPSetOperators(level[l]->smoothu, fine, fine));
    }
    if (l == 0) break;
    PetscCall(MatBakeoffCreateDegree(fine, DegreeOfLevel(m->cells.degree, n - l), &coarse));
    PetscCall(MatCreateDegrees(coarse, fine, &P));
    PetscCall(PCMGSetInterpolation(pc, l, P));
    PetscCall(MatDestroy(&P));
    PetscCall(MatDestroy(&fine));
    fine = coarse;
  }
  PetscCall(MatDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}
