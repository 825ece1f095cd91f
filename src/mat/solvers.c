/*
  The operator of a DMBOX in KSP, SNES and TS: what these solvers need of a DM to work without callbacks of the user's.

     KSP    A is the operator, at each set-up with the coefficients that the DM has
     SNES   F(u) = A u, Jacobian A
     TS     F(t, u, u') = M u' + A u, Jacobian a M + A; M is the mass matrix

  a M + A is the same operator with another shift.  The DM keeps a apart from the shift (`rate` in boximpl.h), because the shift is the
  user's, and both go down a hierarchy of DMs together.
*/
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/vecimpl.h>
#include <petsc/private/kspimpl.h>
#include <petscts.h>

/* ---- KSP, and the matrices of all solvers ---- */

/* Called by KSPSetUp(): matrices that a DMBOX made take over its coefficients, whatever else is the user's business. */
static PetscErrorCode DMBoxComputeOperators(KSP ksp, Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  DM dm;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &dm));
  PetscCall(MatBoxUpdateStep(A, dm));
  if (P != A) PetscCall(MatBoxUpdateStep(P, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices of a Newton step, the first of which may be a MATMFFD: those only want to be told that they are new. */
static PetscErrorCode DMBoxComputeJacobian(DM dm, PetscReal rate, Mat A, Mat P)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  if (box->op->rate != rate) {
    box->op->rate = rate;
    PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  }
  PetscCall(MatBoxComputeJacobian(P, dm));
  if (A != P) {
    PetscCall(MatBoxComputeJacobian(A, dm));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  An operator to evaluate functions with, beside the one that the solver uses.  It lives on the DM, but is the matrix of a clone: as the
  DM's own it would keep the DM from being destroyed.  A mass matrix depends on no data of the operator, only on the map.
*/
static PetscErrorCode DMBoxGetMatrix(DM dm, const char name[], PetscBool mass, const PetscReal coefficient[], Mat *A)
{
  PetscBool made;
  DM        clone;
  DM_Box   *box;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)dm, name, (PetscObject *)A));
  made = (PetscBool)(*A != NULL);
  if (!made) {
    PetscCall(DMClone(dm, &clone));
    PetscCall(DMSetMatType(clone, MATSHELL));
    PetscCall(DMCreateMatrix(clone, A));
    PetscCall(DMDestroy(&clone));
    PetscCall(PetscObjectCompose((PetscObject)dm, name, (PetscObject)*A));
    PetscCall(PetscObjectDereference((PetscObject)*A));
  }
  PetscCall(MatGetDM(*A, &clone));
  box = (DM_Box *)clone->data;
  if (made && mass && box->mapversion == ((const DM_Box *)dm->data)->mapversion) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCopyOperatorData(dm, clone));
  PetscCall(PetscArraycpy(box->op->coefficient, coefficient, DMBOX_MAX_COEFFICIENTS));
  PetscCall(MatBoxUpdate(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- SNES ---- */

/*@C
  DMBoxSNESComputeFunction - The function F(u) = A u of a `SNES`, with the operator A of its `DMBOX`

  Collective

  Input Parameters:
+ snes - the `SNES`; its `DM`, from `SNESSetDM()`, is a `DMBOX`
. u    - the point
- ctx  - not used

  Output Parameter:
. f - A u, and u at the Dirichlet nodes

  Level: intermediate

  Notes:
  With the right-hand side b of `SNESSolve()` the equation is A u = b. A `SNES` with a `DMBOX` and without a function uses this one
  if its type works with a matrix (`SNESNEWTONLS`, `SNESNEWTONTR`, `SNESKSPONLY`). For other types pass it to `SNESSetFunction()`.

  A function of your own may call this one and add to its result.

.seealso: `DMBOX`, `DMBoxSNESComputeJacobian()`, `SNESSetDM()`, `SNESSetFunction()`, `DMBoxLiftDirichlet()`
@*/
PetscErrorCode DMBoxSNESComputeFunction(SNES snes, Vec u, Vec f, PETSC_UNUSED void *ctx)
{
  DM      dm;
  DM_Box *box;
  Mat     A;

  PetscFunctionBegin;
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxGetMatrix(dm, "DMBoxOperator", PETSC_FALSE, box->op->coefficient, &A));
  PetscCall(MatMult(A, u, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxSNESComputeJacobian - The Jacobian of a `SNES`: the operator of its `DMBOX`, with the current coefficients

  Collective

  Input Parameters:
+ snes - the `SNES`; its `DM`, from `SNESSetDM()`, is a `DMBOX`
. u    - the point, not used
- ctx  - not used

  Output Parameters:
+ A - the Jacobian
- P - the matrix for the preconditioner, made by `DMCreateMatrix()` of the `DMBOX`, as by default in `SNES`

  Level: intermediate

  Note:
  A `SNES` with a `DMBOX` and a matrix-free matrix uses this Jacobian if no other was set, also with a function of your own. It is
  then exact if the terms that you add do not depend on u.

.seealso: `DMBOX`, `DMBoxSNESComputeFunction()`, `DMBoxSetPoisson()`, `SNESSetJacobian()`
@*/
PetscErrorCode DMBoxSNESComputeJacobian(SNES snes, PETSC_UNUSED Vec u, Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  DM dm;

  PetscFunctionBegin;
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(DMBoxComputeJacobian(dm, 0, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The defaults stay on the DM.  A TS that gets it later, with functions from DMTSSetIFunction() only, would leave them there and use them.
   */
static PetscErrorCode DMBoxCheckNoTS(SNES snes)
{
  DM               dm;
  TSIFunctionFn   *i   = NULL;
  TSRHSFunctionFn *rhs = NULL;

  PetscFunctionBegin;
  PetscCall(SNESGetDM(snes, &dm));
  if (!dm->dmts) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMTSGetIFunction(dm, &i, NULL));
  PetscCall(DMTSGetRHSFunction(dm, &rhs, NULL));
  PetscCheck(!i && !rhs, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "This DMBOX was used by a SNES and then given to a TS; give each of them a DM of its own, made by DMClone()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxDefaultFunction(SNES snes, Vec u, Vec f, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(DMBoxCheckNoTS(snes));
  PetscCall(DMBoxSNESComputeFunction(snes, u, f, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxDefaultJacobian(SNES snes, Vec u, Mat A, Mat P, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(DMBoxCheckNoTS(snes));
  PetscCall(DMBoxSNESComputeJacobian(snes, u, A, P, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxMissingIJacobian(SNES snes, PETSC_UNUSED Vec u, PETSC_UNUSED Mat A, PETSC_UNUSED Mat P, PETSC_UNUSED void *ctx)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_WRONGSTATE,
          "The TS has no Jacobian, and PETSc cannot find one by differences for the matrix-free operator of a DMBOX: "
          "use TSSetIJacobian(), with DMBoxTSComputeIJacobian() if the operator of the DMBOX is meant; or -dm_mat_type aij");
}

/* ts is known to the DM as the context of this function */
static PetscErrorCode DMBoxSetTSDefaults(DM dm)
{
  TSIJacobianFn   *i   = NULL;
  TSI2JacobianFn  *i2  = NULL;
  TSRHSJacobianFn *rhs = NULL;

  PetscFunctionBegin;
  PetscCall(DMTSGetIJacobian(dm, &i, NULL));
  PetscCall(DMTSGetI2Jacobian(dm, &i2, NULL));
  PetscCall(DMTSGetRHSJacobian(dm, &rhs, NULL));
  if (!i && !i2 && !rhs) PetscCall(DMSNESSetJacobian(dm, DMBoxMissingIJacobian, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Only when a SNES has the DM: callbacks that are on a DM before hide those that the user gave to the SNES or TS before SNESSetDM().
  Without a Jacobian PETSc would call NULL for a MATSHELL; for assembled matrices it has differences.
*/
PetscErrorCode DMBoxSetSNESDefaults(DM dm)
{
  SNESFunctionFn *f = NULL;
  SNESJacobianFn *J = NULL;
  PetscBool       shell;

  PetscFunctionBegin;
  if (!dm->dmsnes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(dm->mattype, MATSHELL, &shell));
  PetscCall(DMSNESGetFunction(dm, &f, NULL));
  PetscCall(DMSNESGetJacobian(dm, &J, NULL));
  if (!f) PetscCall(DMSNESSetFunction(dm, DMBoxDefaultFunction, NULL));
  if (J || (f && !shell)) PetscFunctionReturn(PETSC_SUCCESS);
  if (f == SNESTSFormFunction) PetscCall(DMBoxSetTSDefaults(dm));
  else PetscCall(DMSNESSetJacobian(dm, DMBoxDefaultJacobian, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- TS ---- */

/* TSARKIMEX adds the right-hand side to u', not to M u'; PETSc finds that out in debug builds only */
static PetscErrorCode DMBoxCheckTS(TS ts, DM dm)
{
  TSRHSFunctionFn *rhs;
  PetscBool        arkimex;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ts, TSARKIMEX, &arkimex));
  if (!arkimex) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMTSGetRHSFunction(dm, &rhs, NULL));
  PetscCheck(!rhs, PetscObjectComm((PetscObject)ts), PETSC_ERR_SUP,
             "TSARKIMEX takes the function of TSSetRHSFunction() for u' and not for M u', so that the mass matrix of the DMBOX would be "
             "lost: subtract it in an "
             "IFunction of your own that calls DMBoxTSComputeIFunction(), or use another -ts_type");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = M v + A u, v the first or second derivative in time */
static PetscErrorCode DMBoxTSFunction(TS ts, Vec u, Vec v, Vec f)
{
  PetscReal mass[DMBOX_MAX_COEFFICIENTS] = {0};
  DM        dm;
  DM_Box   *box;
  Mat       A, M;

  PetscFunctionBegin;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckTS(ts, dm));
  PetscCheck(box->op->mass >= 0, PetscObjectComm((PetscObject)ts), PETSC_ERR_SUP,
             "The operator %s of the DMBOX (-dm_box_operator) has no mass matrix for a TS", box->op->name);
  PetscCall(DMBoxGetMatrix(dm, "DMBoxOperator", PETSC_FALSE, box->op->coefficient, &A));
  mass[box->op->mass] = 1;
  PetscCall(DMBoxGetMatrix(dm, "DMBoxMass", PETSC_TRUE, mass, &M));
  PetscCall(MatMult(M, v, f));
  PetscCall(MatMultAdd(A, u, f, f));
  PetscCall(DMBoxSetFixedVec(dm, f, 1, u)); /* nodes with a Dirichlet condition have no derivative in time */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxTSComputeIFunction - The implicit function F(t, u, u') = M u' + A u of a `TS`, with the operator A and the mass matrix M of its
  `DMBOX`

  Collective

  Input Parameters:
+ ts   - the `TS`; its `DM`, from `TSSetDM()`, is a `DMBOX`
. t    - the time, not used
. u    - the solution
. udot - its derivative in time
- ctx  - not used

  Output Parameter:
. f - M u' + A u, and u at the Dirichlet nodes

  Level: intermediate

  Notes:
  Pass it to the `TS` with

.vb
  TSSetDM(ts, dm);
  TSSetIFunction(ts, NULL, DMBoxTSComputeIFunction, NULL);
  TSSetIJacobian(ts, NULL, NULL, DMBoxTSComputeIJacobian, NULL);
.ve
  for M u' + A u = 0. For M u' + A u = G(t, u), pass G to `TSSetRHSFunction()`; `DMBoxAddLoad()` makes loads. Its entries at
  Dirichlet nodes are the values there (zero without such a function). `DMBoxLiftDirichlet()` sets them and accounts for constant
  values at the other nodes. Values that change in time also need their contribution to M u'.

  A function of your own may call this one and add to its result.

  With `TSARKIMEX` subtract the load in an IFunction of your own: PETSc takes a right-hand side function for u', not for M u'.
  Explicit methods do not apply.

.seealso: `DMBOX`, `DMBoxTSComputeIJacobian()`, `DMBoxAddLoad()`, `DMBoxLiftDirichlet()`, `TSSetIFunction()`, `TSSetRHSFunction()`
@*/
PetscErrorCode DMBoxTSComputeIFunction(TS ts, PETSC_UNUSED PetscReal t, Vec u, Vec udot, Vec f, PETSC_UNUSED void *ctx)
{
  PetscFunctionBegin;
  PetscCall(DMBoxTSFunction(ts, u, udot, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxTSComputeIJacobian - The Jacobian a M + A of `DMBoxTSComputeIFunction()`

  Collective

  Input Parameters:
+ ts   - the `TS`; its `DM`, from `TSSetDM()`, is a `DMBOX`
. t    - the time, not used
. u    - the solution, not used
. udot - its derivative in time, not used
. a    - the derivative of `udot` with respect to `u`, from the time integrator
- ctx  - not used

  Output Parameters:
+ A - the Jacobian
- P - the matrix for the preconditioner, made by `DMCreateMatrix()` of the `DMBOX`, as by default in `TS`

  Level: intermediate

  Note:
  This is the operator of the `DMBOX` with the shift increased by `a`, on all levels of `PCPATCHMG`. When `a` or the coefficients
  change, only small one-dimensional objects are made again.

.seealso: `DMBOX`, `DMBoxTSComputeIFunction()`, `TSSetIJacobian()`, `PCPATCHMG`
@*/
PetscErrorCode DMBoxTSComputeIJacobian(TS ts, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, PETSC_UNUSED Vec udot, PetscReal a, Mat A,
                                       Mat P, PETSC_UNUSED void *ctx)
{
  DM dm;

  PetscFunctionBegin;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMBoxComputeJacobian(dm, a, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxTSComputeI2Function - The implicit function F(t, u, u', u'') = M (u'' + c u') + A u of a `TS` of second order, with the operator A
  and the mass matrix M of its `DMBOX`

  Collective

  Input Parameters:
+ ts  - the `TS`, of type `TSALPHA2`; its `DM`, from `TSSetDM()`, is a `DMBOX`
. t   - the time, not used
. u   - the solution
. v   - its first derivative in time
. a   - its second derivative
- ctx - `NULL`, or the address of the damping c, a `PetscReal`

  Output Parameter:
. f - M (u'' + c u') + A u, and u at the Dirichlet nodes

  Level: intermediate

  Notes:
  Pass it to the `TS` with

.vb
  TSSetDM(ts, dm);
  TSSetI2Function(ts, NULL, DMBoxTSComputeI2Function, NULL);
  TSSetI2Jacobian(ts, NULL, NULL, DMBoxTSComputeI2Jacobian, NULL);
.ve
  for M u'' + A u = 0: a vibrating solid of density 1 with the operator `elasticity`. For another density divide the moduli by it, and the
  loads. With damping both get its address in place of the last `NULL`.

  For loads write a function of your own that calls this one and subtracts them from its result. The Jacobian should be
  `DMBoxTSComputeI2Jacobian()` itself: the coarse levels of `PCPATCHMG` know it, and could not evaluate one of yours.

  The `SNES` must evaluate the function after its last step, as `SNESNEWTONLS` does: `SNESKSPONLY` would leave velocities as they were.

.seealso: `DMBOX`, `DMBoxTSComputeI2Jacobian()`, `DMBoxTSComputeIFunction()`, `DMBoxSetElasticity()`, `TSSetI2Function()`
@*/
PetscErrorCode DMBoxTSComputeI2Function(TS ts, PETSC_UNUSED PetscReal t, Vec u, Vec v, Vec a, Vec f, void *ctx)
{
  Vec w;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(a, &w));
  PetscCall(VecWAXPY(w, ctx ? *(const PetscReal *)ctx : 0, v, a));
  PetscCall(DMBoxTSFunction(ts, u, w, f));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxTSComputeI2Jacobian - The Jacobian (da + c dv) M + A of `DMBoxTSComputeI2Function()`

  Collective

  Input Parameters:
+ ts  - the `TS`; its `DM`, from `TSSetDM()`, is a `DMBOX`
. t   - the time, not used
. u   - the solution, not used
. v   - its first derivative in time, not used
. a   - its second derivative, not used
. dv  - the derivative of `v` with respect to `u`, from the time integrator
. da  - that of `a`
- ctx - `NULL`, or the address of c

  Output Parameters:
+ A - the Jacobian
- P - the matrix for the preconditioner, made by `DMCreateMatrix()` of the `DMBOX`, as by default in `TS`

  Level: intermediate

  Note:
  As with `DMBoxTSComputeIJacobian()`, this is the operator of the `DMBOX` with another shift, on all levels of `PCPATCHMG`.

.seealso: `DMBOX`, `DMBoxTSComputeI2Function()`, `TSSetI2Jacobian()`, `PCPATCHMG`
@*/
PetscErrorCode DMBoxTSComputeI2Jacobian(TS ts, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, PETSC_UNUSED Vec v, PETSC_UNUSED Vec a,
                                        PetscReal dv, PetscReal da, Mat A, Mat P, void *ctx)
{
  DM dm;

  PetscFunctionBegin;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMBoxComputeJacobian(dm, da + (ctx ? *(const PetscReal *)ctx : 0) * dv, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the levels of multigrid ---- */

/* whether the Jacobian that a SNES or TS put on the DM is the operator, which depends on nothing but coefficients */
static PetscErrorCode DMBoxJacobianIsOperator(DM dm, PetscBool *is)
{
  SNESJacobianFn  *J   = NULL;
  TSIJacobianFn   *i   = NULL;
  TSI2JacobianFn  *i2  = NULL;
  TSRHSJacobianFn *rhs = NULL;

  PetscFunctionBegin;
  if (dm->dmsnes) PetscCall(DMSNESGetJacobian(dm, &J, NULL));
  if (dm->dmts) {
    PetscCall(DMTSGetIJacobian(dm, &i, NULL));
    PetscCall(DMTSGetI2Jacobian(dm, &i2, NULL));
    PetscCall(DMTSGetRHSJacobian(dm, &rhs, NULL));
  }
  *is = (PetscBool)(J == DMBoxSNESComputeJacobian || J == DMBoxDefaultJacobian ||
                    (J == SNESTSFormJacobian && (i == DMBoxTSComputeIJacobian || i2 == DMBoxTSComputeI2Jacobian) && !rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  On coarse levels SNES would evaluate function and Jacobian of the user's at a restricted solution.  Not every TS can do that (TSALPHA
  combines it with Vecs of the finest level), and here it would be work for nothing: the coefficients were restricted before.
*/
static PetscErrorCode DMRestrictHook_BoxSolvers(DM fine, PETSC_UNUSED Mat restrct, PETSC_UNUSED Vec rscale, PETSC_UNUSED Mat inject,
                                                DM coarse, PETSC_UNUSED void *ctx)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)coarse, DMBOX, &is));
  if (is) PetscCall(DMBoxJacobianIsOperator(fine, &is));
  if (is) PetscCall(DMKSPSetComputeOperators(coarse, DMBoxComputeOperators, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A refined DM shares the DMKSP of the coarser one, which knows whose it is by the address of that DM.  When that DM is gone, a new one can
  get its address, on some ranks, and write what is not its own: only the others make an object then.  So each DM has its own.
*/
static PetscErrorCode DMRefineHook_BoxSolvers(PETSC_UNUSED DM coarse, DM fine, PETSC_UNUSED void *ctx)
{
  DMKSP own;

  PetscFunctionBegin;
  PetscCall(DMGetDMKSPWrite(fine, &own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMSetUpSolvers_MatBox(DM dm)
{
  PetscFunctionBegin;
  PetscCall(DMKSPSetComputeOperators(dm, DMBoxComputeOperators, NULL));
  PetscCall(DMRefineHookAdd(dm, DMRefineHook_BoxSolvers, NULL, NULL)); /* after PETSc's */
  PetscCall(DMCoarsenHookAdd(dm, NULL, DMRestrictHook_BoxSolvers, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
