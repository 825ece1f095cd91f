/*
  A sum of Kronecker products on a DMDA that is given by its one-dimensional matrices (patchfd/private/kroneckersum.h), for the direct
  solve of codes that assemble no matrix.  Its product is a loop on the host.
*/
#include <patchfd/private/kroneckersum.h>
#include <patchfd/private/sysimpl.h>
#include <petsc/private/dmimpl.h>
#include <petscdmda.h>
#include <petscpatchfd.h> /*I "petscpatchfd.h" I*/

static PetscErrorCode MatMult_KroneckerSum(Mat A, Vec x, Vec y)
{
  PatchFDKroneckerLines *lines;
  PatchFDBox             own, ghosted;
  const PetscScalar     *ax;
  PetscScalar           *ay;
  PetscInt               width;
  Vec                    local;
  DM                     da;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &lines));
  PetscCall(MatGetDM(A, &da));
  PetscCall(DMDAGetStencilWidth(da, &width));
  PetscCheck(width >= 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "MatMult() of a matrix of MatCreateKroneckerSum() needs the stencil width 1 of its DMDA, found %" PetscInt_FMT, width);
  PetscCall(DMDAGetCorners(da, &own.lo[0], &own.lo[1], &own.lo[2], &own.n[0], &own.n[1], &own.n[2]));
  PetscCall(DMDAGetGhostCorners(da, &ghosted.lo[0], &ghosted.lo[1], &ghosted.lo[2], &ghosted.n[0], &ghosted.n[1], &ghosted.n[2]));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, x, INSERT_VALUES, local));
  PetscCall(VecGetArrayRead(local, &ax));
  PetscCall(VecGetArrayWrite(y, &ay));
  PatchFDHostKroneckerApply(lines, &ghosted, ax, &own, ay);
  PetscCall(VecRestoreArrayWrite(y, &ay));
  PetscCall(VecRestoreArrayRead(local, &ax));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_KroneckerSum(Mat A)
{
  PatchFDKroneckerLines *lines;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &lines));
  PetscCall(PatchFDKroneckerLinesDestroy(lines));
  PetscCall(PetscFree(lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetKroneckerLines(Mat A, const PatchFDKroneckerLines **lines)
{
  PetscVoidFn *destroy = NULL;
  PetscBool    shell;

  PetscFunctionBegin;
  *lines = NULL;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, &shell));
  if (shell) PetscCall(MatShellGetOperation(A, MATOP_DESTROY, &destroy));
  if (shell && destroy == (PetscVoidFn *)MatDestroy_KroneckerSum) PetscCall(MatShellGetContext(A, (void *)lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is entry i of coupling[] used? */
static PetscBool HasNext(PetscInt n, PetscBool ring, PetscInt i)
{
  return (PetscBool)(i + 1 < n || (ring && n > 1));
}

static PetscErrorCode CheckLine(MPI_Comm comm, int d, PetscInt n, PetscBool ring, const PetscReal mass[], const PetscReal coupling[],
                                const PetscReal rest[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(mass[i] > 0 && !PetscIsInfOrNanReal(mass[i]), comm, PETSC_ERR_ARG_OUTOFRANGE,
               "MatCreateKroneckerSum() takes positive mass[], found %g at index %" PetscInt_FMT " of direction %d", (double)mass[i], i, d);
    PetscCheck((!HasNext(n, ring, i) || !PetscIsInfOrNanReal(coupling[i])) && !(rest && PetscIsInfOrNanReal(rest[i])), comm,
               PETSC_ERR_ARG_OUTOFRANGE,
               "MatCreateKroneckerSum() takes finite coupling[] and rest[], found %g and %g at index %" PetscInt_FMT " of direction %d",
               (double)coupling[i], rest ? (double)rest[i] : 0, i, d);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetLine(int d, PetscBool ring, const PetscReal mass[], const PetscReal coupling[], const PetscReal rest[],
                    PatchFDKroneckerLines *s)
{
  const PetscInt n = s->n[d];

  for (PetscInt i = 0; i < n; i++) {
    const PetscInt at = n == 2 ? 0 : i; /* around a ring of two the same neighbour again */

    s->m[d][i]   = mass[i];
    s->s[d][i]   = rest ? rest[i] / mass[i] : 0;
    s->w[d][i]   = 1;
    s->constants = (PetscBool)(s->constants && s->s[d][i] == 0);
    if (!HasNext(n, ring, i)) continue;
    s->up[d][at] -= coupling[i];
    s->down[d][(at + 1) % n] -= coupling[i];
  }
}

/*@
  MatCreateKroneckerSum - Creates the matrix of differences on a lattice from its one-dimensional matrices, for a direct solve

  Collective

  Input Parameters:
+ da       - a `DMDA` with one degree of freedom a node, n_d nodes in direction d of its dimension; stencil width 1 at least for `MatMult()`
. mass     - n_0 numbers of direction 0, then n_1 of direction 1, and so on: the diagonal of M_d, positive
. coupling - the same: number i couples the nodes i and i + 1 of K_d; the last one of a direction closes the ring of a periodic `DMDA`,
             and is not used otherwise
- rest     - the same: what the rows of K_d add up to, or `NULL` for zero

  Output Parameter:
. A - the matrix, a `MATSHELL` with the vectors of `da`

  Level: intermediate

  Notes:
  A = K_x x M_y x M_z + M_x x K_y x M_z + M_x x M_y x K_z, with (K_d u)_i = coupling_i (u_i - u_{i+1}) + coupling_{i-1} (u_i - u_{i-1}) +
  rest_i u_i. All processes give the same numbers, which are copied.

  For -div grad u on cells of the lengths h_i, mass is h, and coupling_i is 2 / (h_i + h_{i+1}), the inverse distance of the centres. rest
  is zero at Neumann sides; a Dirichlet side adds 2 / h_i in the cell beside it, a shift s adds s h_i everywhere in one of the directions.

.vb
  MatCreateKroneckerSum(da, mass, coupling, rest, &A);
  KSPSetOperators(ksp, A, A);
  KSPSetType(ksp, KSPPREONLY);
  KSPGetPC(ksp, &pc);
  PCSetType(pc, PCPATCHFD);
  PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX);
.ve

  Set-up diagonalizes each direction, which for 500 nodes takes hundredths of a second, and touches nothing that is as long as a vector.
  With all of rest zero constants are the null space: what the right-hand side has of them is dropped. `MatMult()` is a loop on the host.

.seealso: `PCPATCHFD`, `PCPatchFDSetPatch()`, `DMDACreate3d()`, `KSPPREONLY`
@*/
PetscErrorCode MatCreateKroneckerSum(DM da, const PetscReal mass[], const PetscReal coupling[], const PetscReal rest[], Mat *A)
{
  const PetscReal        one = 1;
  PatchFDKroneckerLines *s;
  DMBoundaryType         boundary[3];
  PetscInt               dim, n[3], dof, own[3], at = 0;
  PetscBool              periodic[3];
  MPI_Comm               comm;

  PetscFunctionBegin;
  PetscValidHeaderSpecificType(da, DM_CLASSID, 1, DMDA);
  PetscAssertPointer(mass, 2);
  PetscAssertPointer(coupling, 3);
  if (rest) PetscAssertPointer(rest, 4);
  PetscAssertPointer(A, 5);
  PetscCall(PatchFDInitializePackage());
  comm = PetscObjectComm((PetscObject)da);
  PetscCall(DMDAGetInfo(da, &dim, &n[0], &n[1], &n[2], NULL, NULL, NULL, &dof, NULL, &boundary[0], &boundary[1], &boundary[2], NULL));
  PetscCheck(dof == 1, comm, PETSC_ERR_SUP, "MatCreateKroneckerSum() takes a DMDA with one degree of freedom a node, found %" PetscInt_FMT,
             dof);
  for (int d = 0; d < dim; at += n[d++]) {
    periodic[d] = (PetscBool)(boundary[d] == DM_BOUNDARY_PERIODIC);
    PetscCall(CheckLine(comm, d, n[d], periodic[d], mass + at, coupling + at, rest ? rest + at : NULL));
  }
  PetscCall(PetscNew(&s));
  s->dim       = dim;
  s->constants = PETSC_TRUE;
  for (int d = 0; d < 3; d++) s->free[d][1] = s->n[d] = n[d];
  PetscCall(PatchFDKroneckerLinesAllocate(s));
  at = 0;
  for (int d = 0; d < dim; at += n[d++]) {
    s->ring[d] = (PetscBool)(periodic[d] && n[d] > 2);
    SetLine(d, periodic[d], mass + at, coupling + at, rest ? rest + at : NULL, s);
  }
  for (int d = (int)dim; d < 3; d++) SetLine(d, PETSC_FALSE, &one, NULL, NULL, s);
  PetscCall(DMDAGetCorners(da, NULL, NULL, NULL, &own[0], &own[1], &own[2]));
  PetscCall(MatCreateShell(comm, own[0] * own[1] * own[2], own[0] * own[1] * own[2], PETSC_DETERMINE, PETSC_DETERMINE, s, A));
  PetscCall(MatShellSetManageScalingShifts(*A)); /* which the lines would know nothing of */
  PetscCall(MatShellSetVecType(*A, da->vectype));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT, (PetscVoidFn *)MatMult_KroneckerSum));
  PetscCall(MatShellSetOperation(*A, MATOP_DESTROY, (PetscVoidFn *)MatDestroy_KroneckerSum));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatSetDM(*A, da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
