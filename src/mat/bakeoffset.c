/* The bake-off problems: settings, and vectors */
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/

const char *const MatBakeoffProblems[] = {"bp1", "bp2", "bp3", "bp4", "bp5", "bp6", "MatBakeoffProblem", "MAT_BAKEOFF_", NULL};
const char *const MatBakeoffLayouts[]  = {"global", "element", "MatBakeoffLayout", "MAT_BAKEOFF_LAYOUT_", NULL};
const char *const MatBakeoffFactorsTypes[] = {"auto", "stored", "computed", "MatBakeoffFactorsType", "MAT_BAKEOFF_FACTORS_", NULL};

/* ---- options ---- */

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
  PetscCheck(!BakeoffIsMass(m), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
             "-mat_bakeoff_lambda is for the problems bp3 to bp6; this one is %s", MatBakeoffProblems[m->problem]);
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
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(lambda, 2);
  PetscCall(BakeoffGet(A, &m));
  *lambda = m->lambda;
  PetscFunctionReturn(PETSC_SUCCESS);
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
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(factors, 2);
  PetscCall(BakeoffGet(A, &m));
  *factors = m->factors;
  PetscFunctionReturn(PETSC_SUCCESS);
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
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(BakeoffGet(A, &m));
  *type = m->halotype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetFromOptions_Bakeoff(Mat A, PatchFDOptionItems PetscOptionsObject)
{
  Mat_Bakeoff      *m;
  MatBakeoffFactorsType factors;
  PatchFDHaloType     halo;
  PetscReal         lambda;
  PetscBool         set;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  factors = m->factors;
  lambda  = m->lambda;
  PetscOptionsHeadBegin(PetscOptionsObject, "Bake-off problem options");
  PetscCall(PetscOptionsReal("-mat_bakeoff_lambda", "Coefficient of the mass term", "MatBakeoffSetLambda", lambda, &lambda, &set));
  if (set) PetscCall(MatBakeoffSetLambda(A, lambda));
  PetscCall(PetscOptionsEnum("-mat_bakeoff_factors", "Where factors come from", "MatBakeoffSetFactors", MatBakeoffFactorsTypes,
                             (PetscEnum)factors, (PetscEnum *)&factors, &set));
  if (set) PetscCall(MatBakeoffSetFactors(A, factors));
  halo = m->halotype;
  PetscCall(PetscOptionsEnum("-mat_bakeoff_halo", "How values at nodes of several processes travel", "MatBakeoffSetHaloType",
                             PatchFDHaloTypes, (PetscEnum)halo, (PetscEnum *)&halo, &set));
  if (set) PetscCall(MatBakeoffSetHaloType(A, halo));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors ---- */

PetscErrorCode MatCreateVecs_Bakeoff(Mat A, Vec *right, Vec *left)
{
  Mat_Bakeoff *m;
  Vec         *v[2] = {right, left};

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  for (int i = 0; i < 2; i++) {
    const size_t room[2] = {0, m->halo ? m->nleaf : 0};

    if (!v[i]) continue;
    PetscCall(PatchFDVecCreate(PetscObjectComm((PetscObject)A), A->defaultvectype, A->rmap->n, room, v[i]));
    PetscCall(VecSetBlockSize(*v[i], m->cells.ncomp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* checks the sizes of vectors, and what the layout is; kernels of the element vector */
static PetscErrorCode BakeoffCheckVecs(Mat A, Vec global, Vec element, Mat_Bakeoff **m, PatchFDKernels *kern)
{
  PetscInt ng, ne;

  PetscFunctionBegin;
  PetscCall(BakeoffGet(A, m));
  PetscCheck((*m)->layout == MAT_BAKEOFF_LAYOUT_ELEMENT, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has the layout global: its vectors are global ones");
  PetscCall(VecGetLocalSize(global, &ng));
  PetscCall(VecGetLocalSize(element, &ne));
  PetscCheck((size_t)ng == (*m)->nowned && (size_t)ne == (*m)->nleaf, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The vectors have local sizes %" PetscInt_FMT " and %" PetscInt_FMT "; a global one has %" PetscInt_FMT
             ", one of elements %" PetscInt_FMT,
             ng, ne, (PetscInt)(*m)->nowned, (PetscInt)(*m)->nleaf);
  PetscCall(PatchFDVecGetKernels(element, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBakeoffGlobalToElement - Makes a vector of elements from a global vector, for a matrix with the layout `MAT_BAKEOFF_LAYOUT_ELEMENT`

  Collective

  Input Parameters:
+ A      - a matrix of `MatCreateBakeoff()`
- global - a vector of the `DM`

  Output Parameter:
. element - a vector of `MatCreateVecs()`: each nodal value, divided by the square root of the number of cells that have the node

  Level: intermediate

  Note:
  Scalar products and norms are those of the global vectors. `MatBakeoffElementToGlobal()` is the transpose and the inverse. Nodes
  with Dirichlet conditions get zero.

.seealso: `MatCreateBakeoff()`, `MatBakeoffElementToGlobal()`
@*/
PetscErrorCode MatBakeoffGlobalToElement(Mat A, Vec global, Vec element)
{
  Mat_Bakeoff   *m;
  PatchFDKernels kern;
  Vec            scale, inverse;
  const void    *ag;
  void          *ae;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(global, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(element, VEC_CLASSID, 3);
  PetscCall(BakeoffCheckVecs(A, global, element, &m, &kern));
  PetscCall(BakeoffGetScale(m, kern, element, &scale, &inverse));
  PetscCall(VecSet(element, 0));
  PetscCall(PatchFDVecGetArrayRead(global, kern, &ag));
  PetscCall(PatchFDVecGetArray(element, kern, &ae));
  PetscCall(BakeoffBroadcast(m, kern, ag, ae));
  PetscCall(PatchFDVecRestoreArray(element, kern, &ae));
  PetscCall(PatchFDVecRestoreArrayRead(global, kern, &ag));
  PetscCall(VecPointwiseMult(element, scale, element));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBakeoffElementToGlobal - Makes a global vector from a vector of elements, for a matrix with the layout `MAT_BAKEOFF_LAYOUT_ELEMENT`

  Collective

  Input Parameters:
+ A       - a matrix of `MatCreateBakeoff()`
- element - a vector of `MatCreateVecs()`

  Output Parameter:
. global - a vector of the `DM`: for each node the sum of its values, divided by the square root of their number

  Level: intermediate

.seealso: `MatCreateBakeoff()`, `MatBakeoffGlobalToElement()`
@*/
PetscErrorCode MatBakeoffElementToGlobal(Mat A, Vec element, Vec global)
{
  Mat_Bakeoff    *m;
  PatchFDKernels  kern;
  BakeoffKernels *k;
  Vec             scale, inverse, w;
  const void     *aw;
  void           *ag;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(element, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(global, VEC_CLASSID, 3);
  PetscCall(BakeoffCheckVecs(A, global, element, &m, &kern));
  PetscCall(BakeoffGetKernels(m, kern, &k));
  PetscCall(BakeoffGetScale(m, kern, element, &scale, &inverse));
  PetscCall(BakeoffGetWork(k, 0, element));
  w = k->work[0];
  PetscCall(VecPointwiseMult(w, scale, element));
  PetscCall(PatchFDVecGetArrayRead(w, kern, &aw));
  PetscCall(PatchFDVecGetArrayWrite(global, kern, &ag));
  PetscCall((*kern->zero)(m->nowned, ag));
  PetscCall(BakeoffSum(m, kern, aw, ag));
  PetscCall(PatchFDVecRestoreArrayWrite(global, kern, &ag));
  PetscCall(PatchFDVecRestoreArrayRead(w, kern, &aw));
  PetscFunctionReturn(PETSC_SUCCESS);
}
