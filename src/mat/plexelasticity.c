/*
  -div(2 mu eps(u) + lambda div u I) + s u on a DMPLEX of quadrilaterals or hexahedra: the material, for the operators of bakeoff.c, whose
  components then are coupled
*/
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>

/* what all ways to give a material have in common */
static PetscErrorCode SetMaterial(Mat A, DMBoxPlaneType plane, PlexCoefficients *from)
{
  const PetscReal locked = 9.001; /* lambda / mu for Poisson's ratio 0.45, but for rounding */
  Mat_Bakeoff    *m;

  PetscFunctionBegin;
  PetscCall(BakeoffGet(A, &m));
  PetscCheck(m->diffusion && m->cells.ncomp == m->cells.dim, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "The matrix has to be one of MatCreateElasticityPlex(), with as many components as dimensions; found %s and %" PetscInt_FMT
             " components in %" PetscInt_FMT " dimensions",
             m->diffusion ? "one of MatCreateDiffusionPlex()" : "a bake-off problem", m->cells.ncomp, m->cells.dim);
  PetscCheck(plane == DMBOX_PLANE_STRAIN || plane == DMBOX_PLANE_STRESS, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "The type %d of plane must be strain or stress", (int)plane);
  from->dm      = m->dm;
  from->n       = 2;
  from->solid   = PETSC_TRUE;
  from->missing = plane == DMBOX_PLANE_STRESS ? (PetscReal)(m->cells.dim - 1) : 2;
  PetscCall(MatDiffusionPlexSet_Private(A, from));
  PetscCheck(m->cells.degree > 1 || m->values.largest <= locked, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "Poisson's ratio is above 0.45 (lambda / mu = %g), where elements of degree 1 lock: displacements are far too small. Take "
             "degree 2 or more",
             (double)m->values.largest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatElasticityPlexSetModuli - Sets a material that is the same everywhere, for a matrix of `MatCreateElasticityPlex()`

  Collective

  Input Parameters:
+ A     - the matrix
. young - Young's modulus, positive
. ratio - Poisson's ratio, more than -1 and less than 1/2
. plane - in two dimensions `DMBOX_PLANE_STRAIN` or `DMBOX_PLANE_STRESS`
- shift - s, the coefficient of the mass matrix; for example the density over the square of the time step

  Options Database Keys:
+ -mat_elasticity_young <1>           - Young's modulus, with `MatSetFromOptions()`
. -mat_elasticity_poisson_ratio <0.3> - Poisson's ratio
. -mat_elasticity_plane <strain>      - `strain` or `stress`
- -mat_elasticity_shift <0>           - s

  Level: intermediate

  Note:
  With degree 1 a ratio above 0.45 is an error: such elements lock.

.seealso: `MatCreateElasticityPlex()`, `MatElasticityPlexGetModuli()`, `MatElasticityPlexSetFunction()`, `MatElasticityPlexSetVec()`
@*/
PetscErrorCode MatElasticityPlexSetModuli(Mat A, PetscReal young, PetscReal ratio, DMBoxPlaneType plane, PetscReal shift)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveReal(A, young, 2);
  PetscValidLogicalCollectiveReal(A, ratio, 3);
  PetscValidLogicalCollectiveEnum(A, plane, 4);
  PetscValidLogicalCollectiveReal(A, shift, 5);
  PetscCheck(young > 0 && young <= PETSC_MAX_REAL && ratio > -1 && ratio < 0.5, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "-mat_elasticity_young is %g and -mat_elasticity_poisson_ratio %g; Young's modulus has to be positive and finite, Poisson's "
             "ratio more than -1 and less than 0.5",
             (double)young, (double)ratio);
  PetscCheck(!PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "-mat_elasticity_shift is %g; it has to be finite", (double)shift);
  PetscCall(SetMaterial(A, plane, &(PlexCoefficients){.number = {young, ratio, shift}}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatElasticityPlexGetModuli - Returns what `MatElasticityPlexSetModuli()` has set

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateElasticityPlex()`, whose material is the same everywhere

  Output Parameters:
+ young - Young's modulus, or `NULL`
. ratio - Poisson's ratio, or `NULL`
. plane - `DMBOX_PLANE_STRAIN` or `DMBOX_PLANE_STRESS`, or `NULL`; in three dimensions both are the same
- shift - s, or `NULL`

  Level: intermediate

.seealso: `MatCreateElasticityPlex()`, `MatElasticityPlexSetModuli()`
@*/
PetscErrorCode MatElasticityPlexGetModuli(Mat A, PetscReal *young, PetscReal *ratio, DMBoxPlaneType *plane, PetscReal *shift)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(BakeoffGet(A, &m));
  PetscCheck(PlexCoefficientsAreModuli(&m->from), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has no material that is the same everywhere, by MatElasticityPlexSetModuli()");
  if (young) *young = m->from.number[0];
  if (ratio) *ratio = m->from.number[1];
  if (plane) *plane = m->from.missing < 2 ? DMBOX_PLANE_STRESS : DMBOX_PLANE_STRAIN;
  if (shift) *shift = m->from.number[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_ElasticityPlex(Mat A, PatchFDOptionItems PetscOptionsObject)
{
  PetscReal      young, ratio, shift;
  DMBoxPlaneType plane;
  PetscBool      set[4];
  Mat_Bakeoff   *m;

  PetscFunctionBegin;
  PetscCall(MatSetFromOptions_Bakeoff(A, PetscOptionsObject));
  PetscCall(BakeoffGet(A, &m));
  if (!PlexCoefficientsAreModuli(&m->from)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatElasticityPlexGetModuli(A, &young, &ratio, &plane, &shift));
  PetscOptionsHeadBegin(PetscOptionsObject, "Elasticity options");
  PetscCall(PetscOptionsReal("-mat_elasticity_young", "Young's modulus", "MatElasticityPlexSetModuli", young, &young, &set[0]));
  PetscCall(PetscOptionsReal("-mat_elasticity_poisson_ratio", "Poisson's ratio", "MatElasticityPlexSetModuli", ratio, &ratio, &set[1]));
  PetscCall(PetscOptionsEnum("-mat_elasticity_plane", "No strain or no stress in the direction that is missing",
                             "MatElasticityPlexSetModuli", DMBoxPlaneTypes, (PetscEnum)plane, (PetscEnum *)&plane, &set[2]));
  PetscCall(
    PetscOptionsReal("-mat_elasticity_shift", "Coefficient of the mass matrix", "MatElasticityPlexSetModuli", shift, &shift, &set[3]));
  PetscOptionsHeadEnd();
  if (set[0] || set[1] || set[2] || set[3]) PetscCall(MatElasticityPlexSetModuli(A, young, ratio, plane, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatElasticityPlexSetFunction - Sets a material that is a function of space, for a matrix of `MatCreateElasticityPlex()`

  Collective

  Input Parameters:
+ A      - the matrix
. moduli - called at each quadrature point with `Nc` = 2 and time 0: Young's modulus, positive, and Poisson's ratio, more than -1 and less
           than 1/2
. shift  - the same for s, with `Nc` = 1, or `NULL` for 0
. plane  - in two dimensions `DMBOX_PLANE_STRAIN` or `DMBOX_PLANE_STRESS`
- ctx    - for both functions

  Level: intermediate

  Notes:
  The functions are called now, and once more for each level of `PCPATCHMG`. Call this again when what they return has changed; levels and
  local solvers then are made anew at the next set-up.

  With degree 1 a ratio above 0.45 is an error: such elements lock.

.seealso: `MatCreateElasticityPlex()`, `MatElasticityPlexSetModuli()`, `MatElasticityPlexSetVec()`, `DMBoxFunctionFn`
@*/
PetscErrorCode MatElasticityPlexSetFunction(Mat A, DMBoxFunctionFn *moduli, DMBoxFunctionFn *shift, DMBoxPlaneType plane, void *ctx)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, plane, 4);
  PetscCheck(moduli, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_NULL, "There is no function for Young's modulus and Poisson's ratio");
  PetscCall(SetMaterial(A, plane, &(PlexCoefficients){.K = moduli, .shift = shift, .ctx = ctx}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatElasticityPlexSetVec - Sets a material by numbers of cells, for a matrix of `MatCreateElasticityPlex()`

  Collective

  Input Parameters:
+ A      - the matrix
. moduli - for each cell Young's modulus, positive, and Poisson's ratio, more than -1 and less than 1/2
. shift  - for each cell s, or `NULL` for 0
- plane  - in two dimensions `DMBOX_PLANE_STRAIN` or `DMBOX_PLANE_STRESS`

  Level: intermediate

  Note:
  The order of the cells, how long the vectors are kept, and when to call it again is as for `MatDiffusionPlexSetVec()`.

.seealso: `MatCreateElasticityPlex()`, `MatElasticityPlexSetModuli()`, `MatElasticityPlexSetFunction()`, `MatDiffusionPlexSetVec()`
@*/
PetscErrorCode MatElasticityPlexSetVec(Mat A, Vec moduli, Vec shift, DMBoxPlaneType plane)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(moduli, VEC_CLASSID, 2);
  if (shift) PetscValidHeaderSpecific(shift, VEC_CLASSID, 3);
  PetscValidLogicalCollectiveEnum(A, plane, 4);
  PetscCall(BakeoffGet(A, &m));
  PetscCall(BakeoffCheckCellVec(m, 2, "Young's modulus and Poisson's ratio", moduli));
  if (shift) PetscCall(BakeoffCheckCellVec(m, 1, "the shift", shift));
  PetscCall(SetMaterial(A, plane, &(PlexCoefficients){.cellK = moduli, .cellshift = shift}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateElasticityPlex - Creates the matrix-free operator of -div(2 mu eps(u) + lambda div u I) + s u on a `DMPLEX` of hexahedra or
  quadrilaterals: displacements of an isotropic, linearly elastic solid

  Collective

  Input Parameter:
. dm - a `DMPLEX` with one field, a continuous Lagrange `PetscFE` of degree N = 1 to 15 without simplices, as many components as
       dimensions

  Output Parameter:
. A - the matrix, a `MATSHELL`, with Young's modulus 1, Poisson's ratio 0.3, plane strain, and s = 0

  Options Database Keys:
+ -mat_elasticity_young <1>           - Young's modulus, with `MatSetFromOptions()`; see `MatElasticityPlexSetModuli()`
. -mat_elasticity_poisson_ratio <0.3> - Poisson's ratio
. -mat_elasticity_plane <strain>      - plane strain or stress
- -mat_elasticity_shift <0>           - s

  Level: intermediate

  Notes:
  `MatElasticityPlexSetModuli()`, `MatElasticityPlexSetFunction()` and `MatElasticityPlexSetVec()` set the material. Where the Jacobian of a
  `PetscDS` is that of such a solid, or the tangent of one with large strains, `MatDiffusionPlexSetJacobian()`, `PCPATCHMG` and `MATPATCHFD`
  take it from there.

  Integrals are computed with N + 1 Gauss points in a direction. Cells may have any orientation and valence, and multilinear or curved
  geometry. The vectors do not have nodes with Dirichlet conditions (`DMAddBoundary()`), which are clamped. Where these conditions are for
  some of the components, the vectors do not have these components: x on a side across x is a plane of symmetry. Other sides are free,
  or have a traction that the right-hand side brings in, or springs (`MatDiffusionPlexSetRobin()`). Rigid motions that Dirichlet
  conditions leave to bodies without springs are the null space of the matrix. `MatConvert()` to `MATAIJ` makes an assembled
  matrix, which has the rigid motions as near null space, for `PCGAMG`.

  With conditions for some of the components each product and each step of the smoother copies its vectors to arrays with all components
  and back; without them nothing is copied.

  `PCPATCHMG` solves it by multigrid over degrees. Its smoother, `PCPATCHFD` on the closed cells, solves for each component by itself, with
  three steps of Chebyshev's iteration: iterations grow with lambda / mu. At Poisson's ratio 0.3 they are those of -div(K grad u), at 0.45
  about twice as many; nearer to 1/2 it is no good solver, and elements of degree 2 lose accuracy. Images of boxes are solved better by a
  `DMBOX` with the operator `elasticity`, which also has projected divergences (`DMBoxSetLambdaDegree()`).

.seealso: `MatElasticityPlexSetModuli()`, `MatElasticityPlexSetFunction()`, `MatElasticityPlexSetVec()`,
          `MatElasticityPlexComputeStresses()`, `MatCreateDiffusionPlex()`, `PCPATCHMG`, `PCPATCHFD`, `DMBoxSetElasticModuli()`
@*/
PetscErrorCode MatCreateElasticityPlex(DM dm, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateDiffusionPlex(dm, A));
  (*A)->ops->setfromoptions = MatSetFromOptions_ElasticityPlex;
  PetscCall(MatElasticityPlexSetModuli(*A, 1, 0.3, DMBOX_PLANE_STRAIN, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
