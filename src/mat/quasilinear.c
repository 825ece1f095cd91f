/*
  What programs with equations of their own, quasilinear ones for example, need of the operator "diffusion" beside coefficients: grid
  functions and their gradients at its quadrature points, and the loads of what becomes of them there.  On the host, in double precision,
  for Vecs of any type.
*/
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

/* n numbers a point, or NULL */
static PetscErrorCode CheckPointVec(DM dm, const char who[], const char what[], PetscInt n, Vec v)
{
  PetscCount expected;
  PetscInt   size;

  PetscFunctionBegin;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(v, VEC_CLASSID, 1);
  PetscCheckSameComm(dm, 1, v, 2);
  expected = PatchFDRangeSize((const PetscInt(*)[2])((const DM_Box *)dm->data)->owncells) * DMBoxNumPoints(dm) * n;
  PetscCall(VecGetLocalSize(v, &size));
  PetscCheck(size == expected, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "%s: the Vec of %s has local size %" PetscInt_FMT "; the quadrature points here take %" PetscCount_FMT
             " (DMBoxCreateDiffusionVec() with %" PetscInt_FMT " for each)",
             who, what, size, expected, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all that is checked, and the points */
static PetscErrorCode QuasilinearBegin(DM dm, const char who[], Vec nodal, const char scalar[], Vec s, const char vector[], Vec v,
                                       PatchFDFieldPoints field[])
{
  DM_Box       *box;
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", who, &op));
  PetscCall(DMBoxCheckVec(dm, nodal));
  PetscCall(CheckPointVec(dm, who, scalar, 1, s));
  PetscCall(CheckPointVec(dm, who, vector, dm->dim, v));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, nodal, 0, 0));
  PetscCall(DMBoxFieldPointsCreateGauss(dm, DMBoxNumGauss(dm), PETSC_TRUE, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode QuasilinearEnd(DM dm, Vec nodal, PatchFDFieldPoints field[])
{
  PetscFunctionBegin;
  PetscCall(DMBoxFieldPointsDestroy(dm, field));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, nodal, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxComputeDiffusionValues - Computes a finite element function and its gradient at the quadrature points of the operator `diffusion`

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX`, set up, with the operator `diffusion`
- u  - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameters:
+ values    - a `Vec` from `DMBoxCreateDiffusionVec()` with one number for each point, or `NULL`
- gradients - one with dim numbers, derivatives by the coordinates in space, or `NULL`

  Level: intermediate

  Notes:
  Use it for coefficients that depend on the solution: compute K(u) at the points and give it to `DMBoxSetDiffusionVec()`.

  It works on the host, for vectors of any type.

.seealso: `DMBOX`, `DMBoxAddDiffusionLoad()`, `DMBoxSetDiffusionVec()`, `DMBoxCreateDiffusionVec()`, `DMBoxComputeDiffusionPoints()`
@*/
PetscErrorCode DMBoxComputeDiffusionValues(DM dm, Vec u, Vec values, Vec gradients)
{
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];
  const PetscScalar *array, *local;
  PetscScalar       *v = NULL, *g = NULL;

  PetscFunctionBegin;
  PetscCall(QuasilinearBegin(dm, "DMBoxComputeDiffusionValues()", u, "values", values, "gradients", gradients, field));
  PetscCall(DMBoxGetLocalRead(dm, u, &array, &local));
  if (values) PetscCall(VecGetArrayWrite(values, &v));
  if (gradients) PetscCall(VecGetArrayWrite(gradients, &g));
  PetscCall(PatchFDHostPointFields(dm->dim, field, (const PetscInt(*)[2])((const DM_Box *)dm->data)->owncells, local, v, g));
  if (gradients) PetscCall(VecRestoreArrayWrite(gradients, &g));
  if (values) PetscCall(VecRestoreArrayWrite(values, &v));
  PetscCall(DMBoxRestoreLocalRead(dm, u, &array, &local));
  PetscCall(QuasilinearEnd(dm, u, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxAddDiffusionLoad - Adds the integrals of a source times each basis function, and of a flux times its gradient, both given at the
  quadrature points of the operator `diffusion`

  Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`, set up, with the operator `diffusion`
. source - a `Vec` from `DMBoxCreateDiffusionVec()` with one number for each point, or `NULL` for zero
. flux   - one with dim numbers, in the directions of space, or `NULL` for zero
- b      - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides do not change

  Level: intermediate

  Notes:
  This is the weak form of an equation source - div(flux) = 0, like `f0` and `f1` of `PetscDSSetResidual()`. Use it for residuals of
  quasilinear equations, with values from `DMBoxComputeDiffusionValues()`, and for products with their Jacobians.

  With flux = K grad u and source = s u it computes the product of the operator with u, slower than `MatMult()`.

  It works on the host, for vectors of any type.

.seealso: `DMBOX`, `DMBoxComputeDiffusionValues()`, `DMBoxAddLoad()`, `DMBoxSetDiffusionVec()`, `DMBoxCreateDiffusionVec()`
@*/
PetscErrorCode DMBoxAddDiffusionLoad(DM dm, Vec source, Vec flux, Vec b)
{
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];
  const PetscScalar *s = NULL, *f = NULL;
  PetscScalar       *array;
  Vec                local;

  PetscFunctionBegin;
  PetscCall(QuasilinearBegin(dm, "DMBoxAddDiffusionLoad()", b, "sources", source, "fluxes", flux, field));
  /* cells add to nodes of other ranks, which get what is theirs */
  DMBoxFreeNodes(&((const DM_Box *)dm->data)->field[0], PETSC_TRUE, field[0].write);
  PetscCall(DMGetLocalVector(dm, &local));
  PetscCall(VecSet(local, 0));
  PetscCall(VecGetArray(local, &array));
  if (source) PetscCall(VecGetArrayRead(source, &s));
  if (flux) PetscCall(VecGetArrayRead(flux, &f));
  PetscCall(PatchFDHostPointLoad(dm->dim, field, (const PetscInt(*)[2])((const DM_Box *)dm->data)->owncells, s, f, array));
  if (flux) PetscCall(VecRestoreArrayRead(flux, &f));
  if (source) PetscCall(VecRestoreArrayRead(source, &s));
  PetscCall(VecRestoreArray(local, &array));
  PetscCall(DMLocalToGlobal(dm, local, ADD_VALUES, b));
  PetscCall(DMRestoreLocalVector(dm, &local));
  PetscCall(QuasilinearEnd(dm, b, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}
