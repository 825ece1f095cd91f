/*
  Functions of space on a DMBOX: nodal interpolation and load vectors.  Set-up work: on the host, in double precision, for Vecs of any type.
  Functions have a component for each field.

  Each rank computes the rows that it owns, from its cells and the layer of cells below that touches its nodes.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode DMBoxCheckVec(DM dm, Vec v)
{
  DM_Box  *box = (DM_Box *)dm->data;
  PetscInt n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(v, VEC_CLASSID, 1);
  PetscCheckSameComm(dm, 1, v, 2);
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == (PetscInt)box->nglobal, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The Vec has local size %" PetscInt_FMT ", but the DM has %" PetscInt_FMT
             " unknowns here; take a Vec from DMCreateGlobalVector()",
             n, (PetscInt)box->nglobal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ interpolation ------------------------------------------------ */

PetscErrorCode DMBoxVisitNodes(DM dm, PetscInt i, PetscInt side, PetscReal time, DMBoxFunctionBatchFn *f, void *ctx, PetscScalar a[])
{
  const DM_Box     *box   = (const DM_Box *)dm->data;
  const DMBoxField *field = &box->field[i];
  const PetscInt    s = side / 2, node = side % 2 ? field->line[s].nnodes - 1 : 0;
  PatchFDRange      range;
  PetscReal        *nodes[3];

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(range, field->own, 3));
  if (side >= 0) {
    range[s][0] = PetscMax(range[s][0], node);
    range[s][1] = PetscMin(range[s][1], node + 1);
  }
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscMalloc1(field->line[d].nnodes, &nodes[d]));
    PetscCall(PatchFDLineNodes(&field->line[d], nodes[d]));
  }
  PetscCall(PatchFDHostInterpolate(dm->dim, nodes, box->shape ? &box->shape->nodes : NULL, (const PetscInt(*)[2])range, f, ctx, time,
                                   box->nfield, i, a ? 1 : 0, &field->global, a ? a + field->global0 : NULL));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(nodes[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxInterpolateFunction - Sets a vector to the values of a function at the nodes

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function; it gets the dimension, the time, the point, the number of components, the array for the values and `ctx`
- ctx  - for the function, or `NULL`

  Output Parameter:
. v - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides are also set

  Level: beginner

  Notes:
  Functions have one component, with the space `DMBOX_SPACE_VQ` dim. With `DMBOX_SPACE_RT` they have dim + 1, the velocity and then
  the pressure; each component is taken at its own nodes.

  The function is called for each node, on the host. `DMBoxInterpolateFunctionBatch()` is faster.

.seealso: `DMBOX`, `DMBoxInterpolateFunctionBatch()`, `DMBoxAddLoad()`, `DMBoxComputeError()`, `DMBoxLiftDirichlet()`
@*/
PetscErrorCode DMBoxInterpolateFunction(DM dm, PetscReal time, DMBoxFunctionFn *f, void *ctx, Vec v)
{
  PatchFDPointwise p = {f, ctx};

  PetscFunctionBegin;
  DMBoxCheckFunction(dm, f, 3);
  PetscCall(DMBoxInterpolateFunctionBatch(dm, time, PatchFDHostPointwise, &p, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxInterpolateFunctionBatch - As `DMBoxInterpolateFunction()`, with a function that gets many points at once

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function
- ctx  - for the function, or `NULL`

  Output Parameter:
. v - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides are also set

  Level: intermediate

  Note:
  A call gets a part of a row of nodes. `DMBoxAddLoadVec()` makes a load vector from the nodal values.

.seealso: `DMBOX`, `DMBoxFunctionBatchFn`, `DMBoxInterpolateFunction()`, `DMBoxAddLoadVec()`, `DMBoxLiftDirichlet()`
@*/
PetscErrorCode DMBoxInterpolateFunctionBatch(DM dm, PetscReal time, DMBoxFunctionBatchFn *f, void *ctx, Vec v)
{
  DM_Box      *box;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  DMBoxCheckFunction(dm, f, 3);
  PetscCall(DMBoxCheckVec(dm, v));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, v, 0, 0));
  PetscCall(VecGetArrayWrite(v, &array));
  for (PetscInt i = 0; i < box->nfield; i++) PetscCall(DMBoxVisitNodes(dm, i, -1, time, f, ctx, array));
  PetscCall(VecRestoreArrayWrite(v, &array));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, v, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ load vectors ------------------------------------------------ */

void DMBoxLoadCells(const DM_Box *box, PatchFDRange cells)
{
  for (PetscInt d = 0; d < 3; d++) {
    const PetscBool empty = (PetscBool)(box->owncells[d][0] >= box->owncells[d][1]);

    cells[d][0] = empty ? 0 : PetscMax(box->owncells[d][0] - 1, 0);
    cells[d][1] = empty ? 0 : box->owncells[d][1];
  }
}

/*@C
  DMBoxAddLoad - Adds the integrals of a function times each basis function to a vector: the right-hand side of a weak problem

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function; it gets the dimension, the time, the point, the number of components, the array for the values and `ctx`
. ctx  - for the function, or `NULL`
- b    - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides do not change

  Level: beginner

  Notes:
  The integrals use degree + 4 Gauss points in each direction of each cell, degree + 5 with the space `DMBOX_SPACE_RT`.

  Functions have one component, with the space `DMBOX_SPACE_VQ` dim. With `DMBOX_SPACE_RT` they have dim + 1: the force f on the
  velocity, and g, the right-hand side of -div u = g, which is integrated with the basis functions of the pressure. If there are no
  open sides, g must balance the flux through the sides. `DMBoxLiftDirichlet()` checks this; call it after this routine.

  The function is called at each Gauss point, on the host. `DMBoxAddLoadBatch()` is several times faster. `DMBoxAddLoadVec()` is
  faster by orders of magnitude, above all on a GPU.

.seealso: `DMBOX`, `DMBoxAddLoadBatch()`, `DMBoxAddLoadVec()`, `DMBoxAddNeumannLoad()`, `DMBoxLiftDirichlet()`,
`DMBoxInterpolateFunction()`, `DMBoxComputeError()`
@*/
PetscErrorCode DMBoxAddLoad(DM dm, PetscReal time, DMBoxFunctionFn *f, void *ctx, Vec b)
{
  PatchFDPointwise p = {f, ctx};

  PetscFunctionBegin;
  DMBoxCheckFunction(dm, f, 3);
  PetscCall(DMBoxAddLoadBatch(dm, time, PatchFDHostPointwise, &p, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxAddLoadBatch - As `DMBoxAddLoad()`, with a function that gets many points at once

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function
. ctx  - for the function, or `NULL`
- b    - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides do not change

  Level: intermediate

  Note:
  A call gets the quadrature points of one cell. The integrals are those of `DMBoxAddLoad()`. For smooth functions the load of nodal
  values, `DMBoxInterpolateFunctionBatch()` and `DMBoxAddLoadVec()`, is as good and takes a fraction of the time.

.seealso: `DMBOX`, `DMBoxFunctionBatchFn`, `DMBoxAddLoad()`, `DMBoxAddLoadVec()`, `DMBoxAddNeumannLoadBatch()`
@*/
PetscErrorCode DMBoxAddLoadBatch(DM dm, PetscReal time, DMBoxFunctionBatchFn *f, void *ctx, Vec b)
{
  DM_Box            *box;
  PatchFDFieldPoints points[DMBOX_MAX_FIELDS];
  PatchFDRange       cells;
  PetscScalar       *array;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCheck(box->space != DMBOX_SPACE_P1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "DMBoxAddLoad() integrates products of polynomials; with -dm_box_space p1 use DMBoxAddHeatLoad()");
  DMBoxCheckFunction(dm, f, 3);
  PetscCall(DMBoxCheckVec(dm, b));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, b, 0, 0));
  PetscCall(DMBoxFieldPointsCreate(dm, 0, PETSC_FALSE, points));
  DMBoxLoadCells(box, cells);
  PetscCall(VecGetArray(b, &array));
  PetscCall(PatchFDHostLoad(dm->dim, box->nfield, points, (const PetscInt(*)[2])cells, f, ctx, time, array));
  PetscCall(VecRestoreArray(b, &array));
  PetscCall(DMBoxFieldPointsDestroy(dm, points));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, b, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxAddSideLoad(DM dm, PetscInt d, PetscInt end, const PetscReal B[], PetscReal time, PetscInt Nc, DMBoxFunctionBatchFn *f,
                                void *ctx, Vec b)
{
  DM_Box            *box = (DM_Box *)dm->data;
  PatchFDFieldPoints points[DMBOX_MAX_FIELDS];
  PatchFDRange       cells;
  PetscScalar       *array;
  const PetscInt     cell = end ? box->cells[d] - 1 : 0;

  PetscFunctionBegin;
  DMBoxLoadCells(box, cells);
  cells[d][0] = PetscMax(cells[d][0], cell);
  cells[d][1] = PetscMin(cells[d][1], cell + 1);
  PetscCall(VecGetArray(b, &array)); /* on all ranks: none knows the norm that the vector had */
  if (cells[d][0] < cells[d][1]) {
    PetscCall(DMBoxFieldPointsCreate(dm, 0, PETSC_FALSE, points));
    PetscCall(DMBoxFieldPointsSetEnd(dm, d, end, B, points));
    PetscCall(PatchFDHostLoad(dm->dim, Nc, points, (const PetscInt(*)[2])cells, f, ctx, time, array));
    PetscCall(DMBoxFieldPointsDestroy(dm, points));
  }
  PetscCall(VecRestoreArray(b, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxAddNeumannLoad - Adds the integrals of a flux times each basis function over the Neumann sides to a vector

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. flux - the function, the outward flux (diffusion times normal derivative); it gets the dimension, the time, the point on the boundary, the
         number
         of components, the array for the values and `ctx`
. ctx  - for the function, or `NULL`
- b    - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides do not change

  Level: intermediate

  Notes:
  Unknowns on an edge between two Neumann sides get the integrals over both. The function gets the point, not the side. Gauss points
  are inside the sides, so the coordinates of a point tell its side.

  In one dimension the integral over a side is the value at the end.

  Without Neumann sides nothing is added, and `-info` says so.

  Functions have one component. With the spaces `DMBOX_SPACE_VQ` and `DMBOX_SPACE_RT` they have dim: the traction, for `stokes`
  viscosity du/dn - p n on the open side.

  `DMBoxAddNeumannLoadBatch()` calls the function for many points at once. `DMBoxAddNeumannLoadVec()` takes nodal values.

.seealso: `DMBOX`, `DMBoxAddLoad()`, `DMBoxAddNeumannLoadBatch()`, `DMBoxAddNeumannLoadVec()`, `DMBoxSetBoundary()`
@*/
PetscErrorCode DMBoxAddNeumannLoad(DM dm, PetscReal time, DMBoxFunctionFn *flux, void *ctx, Vec b)
{
  PatchFDPointwise p = {flux, ctx};

  PetscFunctionBegin;
  DMBoxCheckFunction(dm, flux, 3);
  PetscCall(DMBoxAddNeumannLoadBatch(dm, time, PatchFDHostPointwise, &p, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxAddNeumannLoadBatch - As `DMBoxAddNeumannLoad()`, with a function that gets many points at once

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. flux - the function, the outward flux (diffusion times normal derivative)
. ctx  - for the function, or `NULL`
- b    - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides do not change

  Level: intermediate

  Note:
  All points of a call are on one side of one cell, so the first point tells the side.

.seealso: `DMBOX`, `DMBoxFunctionBatchFn`, `DMBoxAddNeumannLoad()`, `DMBoxAddNeumannLoadVec()`, `DMBoxAddLoadBatch()`
@*/
PetscErrorCode DMBoxAddNeumannLoadBatch(DM dm, PetscReal time, DMBoxFunctionBatchFn *flux, void *ctx, Vec b)
{
  DM_Box   *box;
  PetscInt  Nc;
  PetscBool any = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCheck(box->space != DMBOX_SPACE_P1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "DMBoxAddNeumannLoad() integrates products of polynomials; with -dm_box_space p1 use DMBoxAddHeatLoad()");
  DMBoxCheckFunction(dm, flux, 3);
  PetscCall(DMBoxCheckVec(dm, b));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, b, 0, 0));
  Nc = PetscMin(box->nfield, dm->dim); /* all but a pressure */
  for (PetscInt d = 0; d < dm->dim; d++) {
    for (PetscInt end = 0; end < 2; end++) {
      if (box->boundary[2 * d + end] != DMBOX_BOUNDARY_NEUMANN) continue;
      PetscCall(DMBoxAddSideLoad(dm, d, end, NULL, time, Nc, flux, ctx, b));
      any = PETSC_TRUE;
    }
  }
  if (!any) PetscCall(PetscInfo(dm, "DMBoxAddNeumannLoad() adds nothing: no side is neumann (-dm_box_boundary)\n"));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, b, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
