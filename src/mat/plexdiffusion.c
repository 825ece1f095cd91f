/* -div(K grad u) + s u on a DMPLEX of quadrilaterals or hexahedra: coefficients for the operators of bakeoff.c, at quadrature points */
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>

/* the data of such a matrix, or an error */
static PetscErrorCode DiffusionGet(Mat A, Mat_Bakeoff **m)
{
  PetscFunctionBegin;
  PetscCall(BakeoffGet(A, m));
  PetscCheck((*m)->diffusion, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "The matrix is that of a bake-off problem; it has to be one of MatCreateDiffusionPlex()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNumbers(Mat A, const Mat_Bakeoff *m, PetscInt n)
{
  const PetscInt dim = m->cells.dim;

  PetscFunctionBegin;
  PetscCheck(n == 1 || n == dim || n == dim * (dim + 1) / 2, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "K has %" PetscInt_FMT " numbers; in %" PetscInt_FMT " dimensions 1, %" PetscInt_FMT " or %" PetscInt_FMT, n, dim, dim,
             dim * (dim + 1) / 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDiffusionPlexSetFunction - Sets the coefficients of a matrix of `MatCreateDiffusionPlex()` by functions

  Collective

  Input Parameters:
+ A     - the matrix
. n     - numbers of K at a point: 1, a multiple of the identity; the dimension, a diagonal; or a symmetric matrix, 3 in two
          dimensions (xx xy yy) and 6 in three (xx xy xz yy yz zz)
. K     - called at each quadrature point with `Nc` = `n` and time 0; it has to be positive definite
. shift - the same for s, with `Nc` = 1, or `NULL` for 0
- ctx   - for both

  Level: intermediate

  Notes:
  The functions are called now, and once more for each level of `PCPATCHMG`. Call this again when what they return has changed; levels and
  local solvers then are made anew at the next set-up.

  It is noticed if K is a multiple of the identity everywhere, or constant: such operators take less memory and time.

.seealso: `MatCreateDiffusionPlex()`, `MatDiffusionPlexSetJacobian()`, `DMBoxFunctionFn`
@*/
PetscErrorCode MatDiffusionPlexSetFunction(Mat A, PetscInt n, DMBoxFunctionFn *K, DMBoxFunctionFn *shift, void *ctx)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveInt(A, n, 2);
  PetscCall(DiffusionGet(A, &m));
  PetscCall(CheckNumbers(A, m, n));
  PetscCheck(K, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_NULL, "There is no function for K");
  PetscCall(MatDiffusionPlexSet_Private(A, &(PlexCoefficients){.dm = m->dm, .n = n, .K = K, .shift = shift, .ctx = ctx}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDiffusionPlexSetRobin - Adds the integral of h u v over sides to a matrix of `MatCreateDiffusionPlex()`: K du/dn + h u is given there

  Collective

  Input Parameters:
+ A      - the matrix
. label  - has faces of the mesh, such as "Face Sets" of a mesh file, or `NULL` for no such sides
. n      - how many values
. values - of the label, whose faces these are; faces have to be on the boundary
. h      - called at the quadrature points of faces with `Nc` = 1 and time 0, has to return 0 or more
- ctx    - for `h`

  Level: intermediate

  Notes:
  It replaces what was set before, and stays when K is set. `MatDiffusionPlexSetJacobian()` takes such terms from the `PetscDS`.

  Integrals are computed with N + 1 Gauss points in a direction. With `h` > 0 somewhere the constants of a body are no null space.

.seealso: `MatCreateDiffusionPlex()`, `MatDiffusionPlexSetFunction()`, `MatDiffusionPlexSetJacobian()`, `DMBoxFunctionFn`
@*/
PetscErrorCode MatDiffusionPlexSetRobin(Mat A, DMLabel label, PetscInt n, const PetscInt values[], DMBoxFunctionFn *h, void *ctx)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  if (label) PetscValidHeaderSpecific(label, DMLABEL_CLASSID, 2);
  PetscValidLogicalCollectiveInt(A, n, 3);
  if (label && n) PetscAssertPointer(values, 4);
  PetscCall(DiffusionGet(A, &m));
  PetscCheck(!label || h, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_NULL, "There is no function for h");
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " values; it has to be 0 or more", n);
  PetscCall(
    MatDiffusionPlexSetSides_Private(A, &(PlexRobin){.label = label, .n = label ? n : 0, .value = (PetscInt *)values, .h = h, .ctx = ctx}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDiffusionPlexSetVec - Sets the coefficients of a matrix of `MatCreateDiffusionPlex()` by numbers of cells

  Collective

  Input Parameters:
+ A     - the matrix
. K     - for each cell 1 number, those of a diagonal, or of a symmetric matrix, as for `MatDiffusionPlexSetFunction()`; positive definite
- shift - for each cell s, or `NULL` for 0

  Level: intermediate

  Notes:
  A process has the numbers of the cells that it owns, in the order of the points of the `DMPLEX`: that of a global vector of a clone of it
  with a `PetscFE` of degree 0 (`PetscFECreateLagrange()`). `DMLabelGetValue()` of the label "Cell Sets" says what a mesh file says of a
  cell.

  The vectors are kept, not copied. Call this again when their entries have changed.

.seealso: `MatCreateDiffusionPlex()`, `MatDiffusionPlexSetFunction()`, `MatDiffusionPlexSetJacobian()`
@*/
PetscErrorCode MatDiffusionPlexSetVec(Mat A, Vec K, Vec shift)
{
  PetscInt     n, ncells;
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(K, VEC_CLASSID, 2);
  if (shift) PetscValidHeaderSpecific(shift, VEC_CLASSID, 3);
  PetscCall(DiffusionGet(A, &m));
  ncells = (PetscInt)m->cells.ncells;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ncells, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(VecGetSize(K, &n));
  n /= PetscMax(1, ncells);
  PetscCall(CheckNumbers(A, m, n));
  PetscCall(BakeoffCheckCellVec(m, n, "K", K));
  if (shift) PetscCall(BakeoffCheckCellVec(m, 1, "the shift", shift));
  PetscCall(MatDiffusionPlexSet_Private(A, &(PlexCoefficients){.dm = m->dm, .n = n, .cellK = K, .cellshift = shift}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDiffusionPlexSetJacobian_Private(Mat A, const PlexCoefficients *what, Vec u)
{
  PlexCoefficients from = *what;
  Mat_Bakeoff     *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(from.dm, DM_CLASSID, 2);
  if (u) PetscValidHeaderSpecific(u, VEC_CLASSID, 3);
  PetscCall(DiffusionGet(A, &m));
  PetscCall(DMCreateLocalVector(from.dm, &from.local));
  PetscCall(DMPlexInsertBoundaryValues(from.dm, PETSC_TRUE, from.local, from.time, NULL, NULL, NULL));
  if (u) PetscCall(DMGlobalToLocal(from.dm, u, INSERT_VALUES, from.local));
  PetscCall(MatDiffusionPlexSet_Private(A, &from));
  PetscCall(VecDestroy(&from.local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDiffusionPlexSetJacobian - Sets the coefficients of a matrix of `MatCreateDiffusionPlex()` to those of the Jacobian of a `PetscDS`

  Collective

  Input Parameters:
+ A    - the matrix
. dm   - a `DMPLEX` with the mesh of `A` and one field
. u    - a global vector of `dm`, where the Jacobian is wanted, or `NULL` for zero
. time - passed on to boundary conditions and to the functions of the `PetscDS`
- a    - the derivative of u_t by u, from a `TS`; 0 otherwise

  Level: intermediate

  Notes:
  K is g3 and s is g0 of `PetscDSSetJacobian()`, or of `PetscDSSetJacobianPreconditioner()` if there is one, at the quadrature points, with
  auxiliary fields (`DMSetAuxiliaryVec()`), constants, and boundary values. g3 has to be symmetric and positive definite. For vectors
  both have to be the same for each component, without coupling; but with as many components as dimensions g3 may couple them, as that of a
  solid does: the matrix then is that of `MatCreateElasticityPlex()` with lambda and mu or, on the host, with any tangent that is symmetric
  and for each component by itself positive definite. g1 and g2, convection, are left out. Of boundary conditions of type
  `DM_BC_NATURAL` g0 of the boundary Jacobian (`PetscWeakFormAddBdJacobian()`) is a part of the matrix, for conditions such as
  K du/dn + h u = g.

  With the quadrature of `PetscFECreateLagrange()` the matrix is the one that `DMPlexSNESComputeJacobianFEM()` assembles, to rounding, if g1
  and g2 are zero.

.seealso: `MatCreateDiffusionPlex()`, `MatDiffusionPlexSetFunction()`, `PetscDSSetJacobian()`, `PCPATCHMG`
@*/
PetscErrorCode MatDiffusionPlexSetJacobian(Mat A, DM dm, Vec u, PetscReal time, PetscReal a)
{
  PetscFunctionBegin;
  PetscCall(MatDiffusionPlexSetJacobian_Private(A, &(PlexCoefficients){.dm = dm, .time = time, .shift_t = a}, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateDiffusionPlex - Creates the matrix-free operator of -div(K grad u) + s u on a `DMPLEX` of hexahedra or quadrilaterals

  Collective

  Input Parameter:
. dm - a `DMPLEX` with one field, a continuous Lagrange `PetscFE` of degree N = 1 to 15 without simplices, with 1 to 3 components

  Output Parameter:
. A - the matrix, a `MATSHELL`, with K = 1 and s = 0

  Options Database Keys:
+ -mat_bakeoff_factors <auto> - where geometric factors come from, with `MatSetFromOptions()`; see `MatBakeoffSetFactors()`
- -mat_bakeoff_halo <auto>    - how MPI processes exchange values, with `MatSetFromOptions()`; see `MatBakeoffSetHaloType()`

  Level: intermediate

  Notes:
  `MatDiffusionPlexSetFunction()`, `MatDiffusionPlexSetVec()` and `MatDiffusionPlexSetJacobian()` set the coefficients.

  Integrals are computed with N + 1 Gauss points in a direction. Each component has the same scalar operator. Cells may have any orientation
  and valence, and multilinear or curved geometry, that of the coordinates of `dm`. The vectors do not have nodes, or single components of
  nodes, with Dirichlet conditions (`DMAddBoundary()`); these count as zero. Other sides are natural: no flux, or
  that of `MatDiffusionPlexSetRobin()`.

  `PCPATCHMG` solves it by multigrid over degrees, with `PCPATCHFD` on the closed cells as smoother. See also the notes of
  `MatCreateBakeoff()`, whose operators are the ones with K = 1 and other quadratures.

.seealso: `MatDiffusionPlexSetFunction()`, `MatDiffusionPlexSetJacobian()`, `MatCreateBakeoff()`, `PCPATCHMG`, `PCPATCHFD`
@*/
PetscErrorCode MatCreateDiffusionPlex(DM dm, Mat *A)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(dm, DM_CLASSID, 1);
  PetscAssertPointer(A, 2);
  PetscCall(PatchFDInitializePackage());
  PetscCall(MatCreateBakeoff_Private(dm, PETSC_TRUE, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_GLOBAL, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
