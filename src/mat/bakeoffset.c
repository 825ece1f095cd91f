/* The bake-off problems: settings */
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>
#include <patchfd/private/sysimpl.h>

/* the body of the getter of a number of Mat_Bakeoff *m */
#define BAKEOFF_GET(A, number, value) \
  Mat_Bakeoff *m; \
\
  PetscFunctionBegin; \
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1); \
  PetscAssertPointer(value, 2); \
  PetscCall(BakeoffGet(A, &m)); \
  *value = number; \
  PetscFunctionReturn(PETSC_SUCCESS)

/*@
  MatBakeoffSetLambda - Sets the coefficient of the mass term of a bake-off problem with stiffness

  Logically Collective

  Input Parameters:
+ A      - a matrix of `MatCreateBakeoff()`, of one of the problems bp3 to bp6
- lambda - 0 (the default) or more

  Options Database Key:
. -mat_bakeoff_lambda <0> - the coefficient, with `MatSetFromOptions()`

  Level: intermediate

  Note:
  The operator is stiffness + `lambda` mass, the mass matrix by the same quadrature. CEED's problems have 0.

.seealso: `MatCreateBakeoff()`, `MatBakeoffGetLambda()`
@*/
PetscErrorCode MatBakeoffSetLambda(Mat A, PetscReal lambda)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveReal(A, lambda, 2);
  PetscCall(BakeoffGet(A, &m));
  PetscCheck(!BakeoffIsMass(m) && !m->diffusion, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
             "-mat_bakeoff_lambda is for the problems bp3 to bp6; this one is %s",
             m->diffusion ? "diffusion" : MatBakeoffProblems[m->problem]);
  PetscCheck(lambda >= 0 && lambda <= PETSC_MAX_REAL, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "-mat_bakeoff_lambda must be 0 or more, found %g", (double)lambda);
  if (lambda == m->lambda) PetscFunctionReturn(PETSC_SUCCESS);
  m->lambda = lambda;
  PetscCall(BakeoffReset(m));
  PetscCall(MatSetNullSpace_Bakeoff(A, m));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBakeoffGetLambda - Gets the coefficient of the mass term of a bake-off problem with stiffness

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateBakeoff()`

  Output Parameter:
. lambda - the coefficient; 0 for bp1 and bp2

  Level: intermediate

.seealso: `MatCreateBakeoff()`, `MatBakeoffSetLambda()`
@*/
PetscErrorCode MatBakeoffGetLambda(Mat A, PetscReal *lambda)
{
  BAKEOFF_GET(A, m->lambda, lambda);
}

/*@
  MatBakeoffSetFactors - Sets whether the factors at the quadrature points of a bake-off problem are stored or computed

  Logically Collective

  Input Parameters:
+ A       - a matrix of `MatCreateBakeoff()`
- factors - `MAT_BAKEOFF_FACTORS_AUTO` (the default), `MAT_BAKEOFF_FACTORS_STORED` or `MAT_BAKEOFF_FACTORS_COMPUTED`

  Options Database Key:
. -mat_bakeoff_factors <auto> - `auto`, `stored` or `computed`, with `MatSetFromOptions()`

  Level: intermediate

.seealso: `MatCreateBakeoff()`, `MatBakeoffFactorsType`, `MatBakeoffGetFactors()`
@*/
PetscErrorCode MatBakeoffSetFactors(Mat A, MatBakeoffFactorsType factors)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, factors, 2);
  PetscCall(BakeoffGet(A, &m));
  PetscCheck(factors != MAT_BAKEOFF_FACTORS_COMPUTED || m->cells.geodegree == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
             "-mat_bakeoff_factors computed needs coordinates of degree 1; those of the DMPLEX have degree %" PetscInt_FMT,
             m->cells.geodegree);
  if (factors == m->factors) PetscFunctionReturn(PETSC_SUCCESS);
  m->factors = factors;
  PetscCall(BakeoffReset(m));
  PetscCall(PetscObjectStateIncrease((PetscObject)A)); /* for recordings of the plan that there was */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBakeoffGetFactors - Gets whether the factors at the quadrature points of a bake-off problem are stored or computed

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateBakeoff()`

  Output Parameter:
. factors - what was set

  Level: intermediate

.seealso: `MatCreateBakeoff()`, `MatBakeoffSetFactors()`
@*/
PetscErrorCode MatBakeoffGetFactors(Mat A, MatBakeoffFactorsType *factors)
{
  BAKEOFF_GET(A, m->factors, factors);
}

/*@
  MatBakeoffSetHaloType - Sets how MPI processes exchange the values at common nodes, in the layout `MAT_BAKEOFF_LAYOUT_GLOBAL`

  Collective

  Input Parameters:
+ A    - a matrix of `MatCreateBakeoff()`
- type - see `PatchFDHaloType`; `PATCHFD_HALO_AUTO` is the default

  Options Database Key:
. -mat_bakeoff_halo <auto> - `auto`, `mpi`, `host`, `nccl` or `peer`, with `MatSetFromOptions()`

  Level: advanced

  Note:
  See `DMBoxSetHaloType()`. The layout `MAT_BAKEOFF_LAYOUT_ELEMENT` always uses a `PetscSF`.

.seealso: `MatCreateBakeoff()`, `MatBakeoffGetHaloType()`, `DMBoxSetHaloType()`
@*/
PetscErrorCode MatBakeoffSetHaloType(Mat A, PatchFDHaloType type)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, type, 2);
  PetscCall(BakeoffGet(A, &m));
  if (type == m->halotype) PetscFunctionReturn(PETSC_SUCCESS);
  m->halotype = type;
  if (m->halo) {
    PetscCall(PatchFDHaloDestroy(&m->halo));
    PetscCall(PatchFDHaloCreate(m->sf, type, &m->halo));
  }
  PetscCall(PetscObjectStateIncrease((PetscObject)A)); /* for recordings */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBakeoffGetHaloType - Gets how MPI processes exchange the values at common nodes

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateBakeoff()`

  Output Parameter:
. type - what was set

  Level: advanced

.seealso: `MatCreateBakeoff()`, `MatBakeoffSetHaloType()`
@*/
PetscErrorCode MatBakeoffGetHaloType(Mat A, PatchFDHaloType *type)
{
  BAKEOFF_GET(A, m->halotype, type);
}

/* ---- coefficients ---- */

PetscErrorCode MatDiffusionPlexSetSides_Private(Mat A, const PlexRobin *robin)
{
  Mat_Bakeoff  *m;
  PatchFDPoints points;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  if (robin) {
    PlexRobin own = *robin;

    PetscCall(PetscObjectReference((PetscObject)own.label));
    PetscCall(PetscMalloc1(own.n, &own.value));
    PetscCall(PetscArraycpy(own.value, robin->value, own.n));
    PetscCall(PlexRobinDestroy(&m->robin));
    m->robin = own;
  }
  BakeoffDescribe(m, &points);
  PetscCall(BakeoffReset(m));
  PetscCall(PlexSidesDestroy(&m->sides));
  PetscCall(PlexSidesCreate(&m->robin, &m->from, m->dm, &m->cells, points.gauss, &m->sides));
  m->version++;
  PetscCall(MatSetNullSpace_Bakeoff(A, m));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDiffusionPlexSet_Private(Mat A, const PlexCoefficients *from)
{
  PlexPointValues values;
  Mat_Bakeoff    *m;
  PatchFDPoints   points;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, A, 0, 0, 0));
  BakeoffDescribe(m, &points);
  PetscCall(PlexPointValuesCreate(from, &m->cells, points.gauss, &values));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, A, 0, 0, 0));
  PetscCall(PlexPointValuesDestroy(&m->values));
  m->values = values;
  PetscCall(PetscObjectReference((PetscObject)from->dm));
  PetscCall(PetscObjectReference((PetscObject)from->local));
  PetscCall(PetscObjectReference((PetscObject)from->cellK));
  PetscCall(PetscObjectReference((PetscObject)from->cellshift));
  PetscCall(PlexCoefficientsDestroy(&m->from));
  m->from = *from;
  PetscCall(MatDiffusionPlexSetSides_Private(A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options ---- */

PetscErrorCode MatSetFromOptions_Bakeoff(Mat A, PatchFDOptionItems PetscOptionsObject)
{
  Mat_Bakeoff *m;
  PetscReal    lambda;
  PetscBool    set;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscOptionsHeadBegin(PetscOptionsObject, "Bake-off problem options");
  PetscCall(PetscOptionsReal("-mat_bakeoff_lambda", "Coefficient of the mass term", "MatBakeoffSetLambda", m->lambda, &lambda, &set));
  if (set) PetscCall(MatBakeoffSetLambda(A, lambda));
  PATCHFD_OPTION_ENUM("-mat_bakeoff_factors", "Where factors come from", MatBakeoffSetFactors, A, MatBakeoffFactorsTypes, m->factors);
  PATCHFD_OPTION_ENUM("-mat_bakeoff_halo", "How values at nodes of several processes travel", MatBakeoffSetHaloType, A, PatchFDHaloTypes,
                      m->halotype);
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}
