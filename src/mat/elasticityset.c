/* The operator "elasticity" of a DMBOX: its material, which users set */
#include "elasticity.h" /*I "petscpatchfd.h" I*/

static PetscErrorCode Changed(DM dm, DMBoxOperator op)
{
  PetscFunctionBegin;
  if (dm->setupcalled) PetscCall(DMBoxElasticityVersion(dm, op));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetElasticity - Sets the coefficients of the operator `elasticity`, shift u - div (2 mu eps(u) + lambda div u)

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
. lambda - Lame's first parameter (default 15/26); dim lambda + 2 mu must be positive
. mu     - the shear modulus, positive (default 5/13)
- shift  - the coefficient of the mass matrix, not negative (default 0); for example the density over the square of the time step

  Options Database Keys:
+ -dm_box_lambda lambda - Lame's first parameter
. -dm_box_mu mu         - the shear modulus
- -dm_box_shift s       - coefficient of the mass matrix

  Level: beginner

  Notes:
  The space is `DMBOX_SPACE_VQ`: one field for each component of the displacement. eps(u) is the symmetric part of the gradient of u.
  The defaults are Young's modulus 1 and Poisson's ratio 0.3; `DMBoxSetElasticModuli()` takes such numbers, also for plane stress.

  Sides of type `DMBOX_BOUNDARY_DIRICHLET` are clamped: the displacement is zero, or that of `DMBoxLiftDirichlet()`. Sides of type
  `DMBOX_BOUNDARY_NEUMANN` are free, or have the traction that `DMBoxAddNeumannLoad()` brings in. On planes of symmetry
  (`DMBOX_BOUNDARY_SYMMETRY`) the component across the side is given, and the tangential traction is zero.

  Rigid motions that no side holds are the null space of the matrix if the shift is zero. Assembled matrices (`-dm_mat_type aij`) have
  all rigid motions as near null space, for `PCGAMG`.

  For nearly incompressible materials see `DMBoxSetLambdaDegree()`.

  You may call it at any time, also after `DMSetUp()`; matrices follow (`MatBoxUpdate()`). Where the material varies
  (`DMBoxSetElasticModuliFunction()`) lambda and mu are 1: a call with these sets the shift alone, one with others makes the material
  constant.

.seealso: `DMBOX`, `DMBoxGetElasticity()`, `DMBoxSetElasticModuli()`, `DMBoxSetLambdaDegree()`, `DMBoxSetOperator()`, `DMBoxSetSpace()`,
          `DMBoxAddLoad()`, `DMBoxAddNeumannLoad()`, `DMBoxLiftDirichlet()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetElasticity(DM dm, PetscReal lambda, PetscReal mu, PetscReal shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetElasticity()", &op));
  PetscValidLogicalCollectiveReal(dm, lambda, 2);
  PetscValidLogicalCollectiveReal(dm, mu, 3);
  PetscValidLogicalCollectiveReal(dm, shift, 4);
  PetscCheck(mu > 0 && (PetscReal)dm->dim * lambda + 2 * mu > 0 && !PetscIsInfOrNanReal(lambda) && !PetscIsInfOrNanReal(mu),
             PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_lambda and -dm_box_mu (DMBoxSetElasticity()) are %g and %g; mu and dim lambda + 2 mu must be positive and finite",
             (double)lambda, (double)mu);
  PetscCheck(shift >= 0 && !PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_shift (DMBoxSetElasticity()) is %g; it must be finite and not negative", (double)shift);
  if (lambda != op->coefficient[LAMBDA] || mu != op->coefficient[MU]) { /* a shift alone leaves a material that varies */
    PetscCall(DMBoxMaterialDestroy(&((Elasticity *)op->data)->material));
    ((Elasticity *)op->data)->plane = DMBOX_PLANE_STRAIN;
    op->points                      = PETSC_FALSE;
  }
  op->coefficient[LAMBDA] = lambda;
  op->coefficient[MU]     = mu;
  op->coefficient[SHIFT]  = shift;
  PetscCall(Changed(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetElasticity - Returns the coefficients of the operator `elasticity`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ lambda - Lame's first parameter, or `NULL`
. mu     - the shear modulus, or `NULL`
- shift  - the coefficient of the mass matrix, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetElasticity()`, `DMBoxGetElasticModuli()`
@*/
PetscErrorCode DMBoxGetElasticity(DM dm, PetscReal *lambda, PetscReal *mu, PetscReal *shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxGetElasticity()", &op));
  if (lambda) *lambda = op->coefficient[LAMBDA];
  if (mu) *mu = op->coefficient[MU];
  if (shift) *shift = op->coefficient[SHIFT];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetElasticModuli - Sets the material of the operator `elasticity` by Young's modulus and Poisson's ratio

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
. young - Young's modulus E, positive (default 1)
. ratio - Poisson's ratio nu, more than -1 and less than 1/2 (default 0.3)
- plane - in one and two dimensions, what holds in the directions that are missing: `DMBOX_PLANE_STRAIN` (default) or
          `DMBOX_PLANE_STRESS`; in three dimensions both are the same

  Options Database Keys:
+ -dm_box_young E               - Young's modulus
. -dm_box_poisson_ratio nu      - Poisson's ratio
- -dm_box_plane (strain|stress) - what holds in the directions that are missing

  Level: beginner

  Note:
  It sets mu = E / (2 (1 + nu)), and lambda = 2 mu nu / (1 - 2 nu) or, without stress, 2 mu nu / (1 - (dim - 1) nu), as
  `DMBoxSetElasticity()` does; the shift stays.

.seealso: `DMBOX`, `DMBoxGetElasticModuli()`, `DMBoxSetElasticity()`, `DMBoxPlaneType`
@*/
PetscErrorCode DMBoxSetElasticModuli(DM dm, PetscReal young, PetscReal ratio, DMBoxPlaneType plane)
{
  const PetscReal mu = 0.5 * young / (1 + ratio), missing = DMBoxMissingDirections(dm, plane);
  DMBoxOperator   op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetElasticModuli()", &op));
  PetscValidLogicalCollectiveEnum(dm, plane, 4);
  PetscCheck(young > 0 && !PetscIsInfOrNanReal(young), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_young (DMBoxSetElasticModuli()) is %g; it must be positive and finite", (double)young);
  PetscCheck(ratio > -1 && ratio < 0.5, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_poisson_ratio (DMBoxSetElasticModuli()) is %g; it must be more than -1 and less than 0.5", (double)ratio);
  PetscCheck(plane == DMBOX_PLANE_STRAIN || plane == DMBOX_PLANE_STRESS, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_plane (DMBoxSetElasticModuli()) is %d; it must be strain or stress", (int)plane);
  PetscCall(DMBoxSetElasticity(dm, 2 * mu * ratio / (1 - missing * ratio), mu, op->coefficient[SHIFT]));
  ((Elasticity *)op->data)->plane = plane;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetElasticModuli - Returns Young's modulus and Poisson's ratio of the operator `elasticity`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ young - Young's modulus, or `NULL`
- ratio - Poisson's ratio, or `NULL`

  Level: beginner

  Note:
  They are computed from lambda and mu for three dimensions or plane strain. After `DMBOX_PLANE_STRESS` they are those of the material
  that has the same lambda and mu in plane strain.

.seealso: `DMBOX`, `DMBoxSetElasticModuli()`, `DMBoxGetElasticity()`
@*/
PetscErrorCode DMBoxGetElasticModuli(DM dm, PetscReal *young, PetscReal *ratio)
{
  PetscReal lambda, mu;

  PetscFunctionBegin;
  PetscCall(DMBoxGetElasticity(dm, &lambda, &mu, NULL));
  if (young) *young = mu * (3 * lambda + 2 * mu) / (lambda + mu);
  if (ratio) *ratio = 0.5 * lambda / (lambda + mu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetLambdaDegree - Sets the degree to which the operator `elasticity` projects the divergence in its lambda terms

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
- degree - the degree in each direction and cell, 0 or more; the degree k of the space and more: no projection. `PETSC_DETERMINE`
           (default): k - 2 from Poisson's ratio 0.49 on (lambda = 49 mu), in two and three dimensions, no projection below

  Options Database Key:
. -dm_box_lambda_degree q - the degree

  Level: intermediate

  Notes:
  The terms are lambda (pi div u, pi div v), with the L2 projection pi of each cell. With q = k - 2 the error does not grow as Poisson's
  ratio goes to 1/2, and neither do the iterations of `PCPATCHMG`; its order in the displacement is k in the limit, and the pressure
  -lambda pi div u converges. Without projection displacements lose orders, and pressures are wrong. q = k - 1 has smaller errors on
  uniform meshes, but solvers need twice the iterations and more.

  Elements of degree 1 lock, and no projection gives them a good solver: for them a ratio above 0.45 is an error, unless a degree is set.
  In one dimension nothing locks.

.seealso: `DMBOX`, `DMBoxGetLambdaDegree()`, `DMBoxSetElasticity()`, `DMBoxSetDegree()`
@*/
PetscErrorCode DMBoxSetLambdaDegree(DM dm, PetscInt degree)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetLambdaDegree()", &op));
  PetscValidLogicalCollectiveInt(dm, degree, 2);
  PetscCheck(degree >= 0 || degree == PETSC_DETERMINE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_lambda_degree (DMBoxSetLambdaDegree()) is %" PetscInt_FMT "; it must be 0 or more, or determine", degree);
  op->projection = degree;
  PetscCall(Changed(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetLambdaDegree - Returns what `DMBoxSetLambdaDegree()` has set

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. degree - the degree, or `PETSC_DETERMINE`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetLambdaDegree()`
@*/
PetscErrorCode DMBoxGetLambdaDegree(DM dm, PetscInt *degree)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscAssertPointer(degree, 2);
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxGetLambdaDegree()", &op));
  *degree = op->projection;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- materials that vary ---- */

/* a material in place of the one that the operator has; it takes the data over */
static PetscErrorCode SetMaterial(DM dm, DMBoxOperator op, const ElasticMaterial *material)
{
  Elasticity *data = (Elasticity *)op->data;

  PetscFunctionBegin;
  PetscCheck(dm->dim > 1, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "Materials of -dm_box_operator elasticity may vary in 2 or 3 dimensions; -dm_box_dim (DMSetDimension()) is %" PetscInt_FMT,
             dm->dim);
  PetscCheck(material->plane == DMBOX_PLANE_STRAIN || material->plane == DMBOX_PLANE_STRESS, PetscObjectComm((PetscObject)dm),
             PETSC_ERR_ARG_OUTOFRANGE, "The type %d of plane must be strain or stress", (int)material->plane);
  PetscCall(DMBoxMaterialDestroy(&data->material));
  PetscCall(PetscNew(&data->material));
  *data->material         = *material;
  data->material->refct   = 1;
  op->points              = PETSC_TRUE;
  op->coefficient[LAMBDA] = op->coefficient[MU] = 1;
  if (dm->setupcalled) PetscCall(DMBoxSetUpMapping(dm));
  PetscCall(Changed(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the numbers that there are, where others are not given */
static PetscErrorCode GetConstants(DM dm, DMBoxOperator op, PetscReal constant[2])
{
  const ElasticMaterial *m = ((const Elasticity *)op->data)->material;

  PetscFunctionBegin;
  if (m) PetscCall(PetscArraycpy(constant, m->constant, 2));
  else PetscCall(DMBoxGetElasticModuli(dm, &constant[0], &constant[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxSetElasticModuliFunction - Sets a material of the operator `elasticity` that is a function of space

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, in two or three dimensions
. young - Young's modulus, positive: a function that gets the dimension, the time 0, the point in space, the number of components (1), the
          array for the value and `ctx`; `NULL` for the constant that `DMBoxGetElasticModuli()` returns
. ratio - the same for Poisson's ratio, more than -1 and less than 1/2
. plane - in two dimensions `DMBOX_PLANE_STRAIN` or `DMBOX_PLANE_STRESS`
- ctx   - for the functions, or `NULL`

  Level: intermediate

  Notes:
  The functions are evaluated at the Gauss points, which are inside the cells, degree + 1 in each direction (`DMBoxSetExtraPoints()`), of
  each mesh of a hierarchy. They may jump; jumps along faces of cells do not reduce the order.

  Afterwards lambda and mu of `DMBoxSetElasticity()` are 1: factors of those at the points. `DMBoxSetElasticity()` and
  `DMBoxSetElasticModuli()` make the material constant again.

  The lambda terms are projected in all cells (`DMBoxSetLambdaDegree()`) if Poisson's ratio is 0.49 or more somewhere.

  You may call it at any time, also after `DMSetUp()`; matrices follow (`MatBoxUpdate()`). Call it again if the functions are the same but
  return other values. The functions are called later, also for DMs that are made of this one: `DMBoxSetMapping()` says how long `ctx` must
  exist.

.seealso: `DMBOX`, `DMBoxGetElasticModuliFunction()`, `DMBoxSetElasticModuliVec()`, `DMBoxSetElasticModuli()`, `DMBoxSetMapping()`
@*/
PetscErrorCode DMBoxSetElasticModuliFunction(DM dm, DMBoxFunctionFn *young, DMBoxFunctionFn *ratio, DMBoxPlaneType plane, void *ctx)
{
  DMBoxOperator   op;
  ElasticMaterial m = {.function = {young, ratio}, .ctx = ctx, .plane = plane};

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetElasticModuliFunction()", &op));
  PetscValidLogicalCollectiveEnum(dm, plane, 4);
  PetscCall(GetConstants(dm, op, m.constant));
  PetscCall(SetMaterial(dm, op, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetElasticModuliFunction - Returns the functions that are the material of the operator `elasticity`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ young - Young's modulus, `NULL` if it is no function; or `NULL`
. ratio - Poisson's ratio, `NULL` if it is no function; or `NULL`
- ctx   - their context, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetElasticModuliFunction()`, `DMBoxGetElasticModuliVec()`
@*/
PetscErrorCode DMBoxGetElasticModuliFunction(DM dm, DMBoxFunctionFn **young, DMBoxFunctionFn **ratio, void *ctx)
{
  DMBoxOperator          op;
  const ElasticMaterial *m;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxGetElasticModuliFunction()", &op));
  m = ((const Elasticity *)op->data)->material;
  if (young) *young = m ? m->function[0] : NULL;
  if (ratio) *ratio = m ? m->function[1] : NULL;
  if (ctx) *(void **)ctx = m ? m->ctx : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetElasticModuliVec - Sets a material of the operator `elasticity` that is given for cells or for quadrature points

  Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, in two or three dimensions, set up
. young - Young's modulus, positive, in a `Vec` with the layout of `DMBoxCreateDiffusionVec()` and one number for each cell or point; its
          values are copied. `NULL` for the constant that `DMBoxGetElasticModuli()` returns
. ratio - the same for Poisson's ratio, more than -1 and less than 1/2
- plane - in two dimensions `DMBOX_PLANE_STRAIN` or `DMBOX_PLANE_STRESS`

  Level: intermediate

  Notes:
  On coarser and finer meshes the numbers define a function, constant in each cell or linear between its quadrature points, which is
  evaluated at the points of those meshes.

  What `DMBoxSetElasticModuliFunction()` says of coefficients, projections and changes is true here, too.

.seealso: `DMBOX`, `DMBoxGetElasticModuliVec()`, `DMBoxCreateDiffusionVec()`, `DMBoxSetElasticModuliFunction()`, `DMBoxSetElasticModuli()`
@*/
PetscErrorCode DMBoxSetElasticModuliVec(DM dm, Vec young, Vec ratio, DMBoxPlaneType plane)
{
  DMBoxOperator   op;
  ElasticMaterial m = {.plane = plane};

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetElasticModuliVec()", &op));
  PetscValidLogicalCollectiveEnum(dm, plane, 4);
  PetscCall(GetConstants(dm, op, m.constant));
  if (young) PetscCall(DMBoxCellDataCreate(dm, 1, young, "DMBoxSetElasticModuliVec()", &m.data[0]));
  if (ratio) PetscCall(DMBoxCellDataCreate(dm, 1, ratio, "DMBoxSetElasticModuliVec()", &m.data[1]));
  PetscCall(SetMaterial(dm, op, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetElasticModuliVec - Returns the material of the operator `elasticity` that was given for cells or for quadrature points

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ young - Young's modulus, `NULL` if it is not given by a `Vec`; or `NULL`
- ratio - Poisson's ratio, `NULL` if it is not given by a `Vec`; or `NULL`

  Level: intermediate

  Note:
  Each `Vec` is the copy of the `DMBOX`; do not change it. On a mesh made by `DMRefine()` or `DMCoarsen()` it belongs to the mesh for which
  it was set.

.seealso: `DMBOX`, `DMBoxSetElasticModuliVec()`, `DMBoxGetElasticModuliFunction()`
@*/
PetscErrorCode DMBoxGetElasticModuliVec(DM dm, Vec *young, Vec *ratio)
{
  DMBoxOperator          op;
  const ElasticMaterial *m;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxGetElasticModuliVec()", &op));
  m = ((const Elasticity *)op->data)->material;
  if (young) *young = m && m->data[0] ? m->data[0]->values : NULL;
  if (ratio) *ratio = m && m->data[1] ? m->data[1]->values : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
