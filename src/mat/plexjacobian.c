/*
  The Jacobian of a DMPLEX without a matrix: with the matrix type `patchfd`, DMCreateMatrix() makes the operator of MatCreateDiffusionPlex()
  and, since that is the one thing that SNES and TS ask of their DM before they need a Jacobian, has it computed in place of the assembled
  one.  The constructor of DMPLEX is PETSc's own, followed by a look at the type of matrix.
*/
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/compat.h>
#include <patchfd/private/sysimpl.h>
#include <petsc/private/dmimpl.h>
#include <petscts.h>

/* A may be another matrix, such as MATMFFD; then P may leave out what it has no terms for */
static PetscErrorCode Compute(DM dm, Vec u, PetscReal time, PetscReal a, Mat A, Mat P)
{
  const PlexCoefficients from = {.dm = dm, .time = time, .shift_t = a, .exact = (PetscBool)(A == P)};

  PetscFunctionBegin;
  PetscCall(MatDiffusionPlexSetJacobian_Private(P, &from, u));
  if (A != P) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESJacobian_Plex(SNES snes, Vec u, Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  DM dm;

  PetscFunctionBegin;
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(Compute(dm, u, 0, 0, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TSIJacobian_Plex(TS ts, PetscReal t, Vec u, PETSC_UNUSED Vec udot, PetscReal a, Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  DM dm;

  PetscFunctionBegin;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(Compute(dm, u, t, a, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's, for all other types of matrices; all DMPLEX have the same */
static PetscErrorCode (*create)(DM), (*creatematrix)(DM, Mat *), (*clone)(DM, DM *), (*setfromoptions)(DM, PatchFDOptionItems);

static void Install(DM);

PetscErrorCode DMPlexSetJacobian_PatchFD(DM dm)
{
  TSIJacobianFn *i = NULL;
  PetscBool      plex, ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMPLEX, &plex));
  PetscCall(PetscStrcmp(dm->mattype, MATPATCHFD, &ours));
  if (!plex || !ours) PetscFunctionReturn(PETSC_SUCCESS);
  if (dm->dmts) PetscCall(DMTSGetIJacobian(dm, &i, NULL));
  if (i) PetscCall(DMTSSetIJacobian(dm, TSIJacobian_Plex, NULL));
  else PetscCall(DMSNESSetJacobian(dm, SNESJacobian_Plex, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the assembly that our Jacobian was to replace */
static PetscErrorCode MatZeroEntries_Plex(Mat A)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
          "A matrix of type %s (-dm_mat_type) cannot be assembled.  If the Jacobian of the DMPLEX was set after the matrix had been made, "
          "call SNESSetFromOptions() or TSSetFromOptions() with PCPATCHMG afterwards, or DMCreateMatrix()",
          MATPATCHFD);
}

static PetscErrorCode DMCreateMatrix_Plex(DM dm, Mat *A)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(dm->mattype, MATPATCHFD, &ours));
  if (!ours) {
    PetscCall((*creatematrix)(dm, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreateDiffusionPlex(dm, A));
  PetscCall(MatSetDM(*A, dm));
  PetscCall(MatSetOperation(*A, MATOP_ZERO_ENTRIES, (PetscVoidFn *)MatZeroEntries_Plex));
  PetscCall(DMPlexSetJacobian_PatchFD(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMClone_Plex(DM dm, DM *newdm)
{
  PetscFunctionBegin;
  PetscCall((*clone)(dm, newdm));
  Install(*newdm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which may put another mesh in the place of dm, with PETSc's operations */
static PetscErrorCode DMSetFromOptions_Plex(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall((*setfromoptions)(dm, PetscOptionsObject));
  Install(dm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Install(DM dm)
{
  dm->ops->creatematrix   = DMCreateMatrix_Plex;
  dm->ops->clone          = DMClone_Plex;
  dm->ops->setfromoptions = DMSetFromOptions_Plex;
}

static PetscErrorCode DMCreate_Plex(DM dm)
{
  PetscFunctionBegin;
  PetscCall((*create)(dm));
  creatematrix   = dm->ops->creatematrix;
  clone          = dm->ops->clone;
  setfromoptions = dm->ops->setfromoptions;
  Install(dm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMPlexRegister_PatchFD(void)
{
  PetscErrorCode (*registered)(DM);

  PetscFunctionBegin;
  PetscCall(DMRegisterAll());
  PetscCall(PetscFunctionListFind(DMList, DMPLEX, &registered));
  if (registered != DMCreate_Plex) create = registered;
  PetscCall(DMRegister(DMPLEX, DMCreate_Plex));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATPATCHFD - "patchfd" - The matrix type with which a `DMPLEX` has a matrix-free Jacobian

  Options Database Key:
. -dm_mat_type patchfd - nothing is assembled

  Level: intermediate

  Notes:
  For a `DMPLEX` of quadrilaterals or hexahedra with one continuous `PetscFE` and a `PetscDS`. `DMCreateMatrix()` makes the operator of
  `MatCreateDiffusionPlex()`, a `MATSHELL`. The Jacobian of a `SNES` or `TS` with this `DM` then evaluates g0 and g3 of the `PetscDS` at
  the quadrature points of all cells, see `MatDiffusionPlexSetJacobian()`, in place of assembling a matrix. Precondition it with
  `PCPATCHMG`.

  Jacobians with other terms (g1, g2, on boundaries others than g0) are errors, but with `-snes_mf_operator`: then the operator is PETSc's
  finite differences, and the preconditioner leaves these terms out. `TSARKIMEX` scales its first Jacobian, which takes an assembled one.

  The type is known to a `DMPLEX` that was made after the library was loaded (`-dll_append`, or `PatchFDInitializePackage()`).

.seealso: `MatCreateDiffusionPlex()`, `PCPATCHMG`, `DMSetMatType()`
M*/
