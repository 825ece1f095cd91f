/*
  How far finite element functions on a DMBOX are from given ones.  On the host, in double precision, for Vecs of any type; ranks compute
  their cells.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>

/*
  The deviations of Nc components, whose shifts are given, from those of f (NULL: zero): at Gauss points, or at the Gauss-Lobatto nodes of a
  degree > 0.
  MPI does not say what the maximum of NaN and a number is: NaNs are found by the sums.
*/
static PetscErrorCode DMBoxDeviation(DM dm, PetscReal time, PetscInt nodes, PetscInt nder, const PatchFDDerivative der[], PetscInt Nc,
                                     DMBoxFunctionBatchFn *f, void *ctx, Vec v, PatchFDDeviation e[])
{
  DM_Box            *box;
  PatchFDFieldPoints points[DMBOX_MAX_FIELDS];
  const PetscScalar *array, *local;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckVec(dm, v));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, v, 0, 0));
  for (PetscInt m = 0; m < Nc; m++) e[m].integral = e[m].square = e[m].largest = 0;
  PetscCall(DMBoxFieldPointsCreate(dm, nodes, PETSC_TRUE, points));
  PetscCall(DMBoxGetLocalRead(dm, v, &array, &local));
  PetscCall(PatchFDHostDeviation(dm->dim, box->nfield, points, (const PetscInt(*)[2])box->owncells, nder, der, Nc, f, ctx, time, local, e));
  PetscCall(DMBoxRestoreLocalRead(dm, v, &array, &local));
  PetscCall(DMBoxFieldPointsDestroy(dm, points));
  for (PetscInt m = 0; m < Nc; m++) {
    PetscReal sum[2] = {e[m].integral, e[m].square};

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &e[m].largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)dm)));
    e[m].integral = sum[0];
    e[m].square   = sum[1];
    if (PetscIsNanReal(sum[1])) e[m].largest = sum[1];
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, v, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same for linear elements on simplices, at Gauss points of cubes that are mapped to them */
static PetscErrorCode DMBoxComputeError_P1(DM dm, PetscReal time, DMBoxFunctionBatchFn *f, void *ctx, Vec v, PetscReal *sum,
                                           PetscReal *largest)
{
  const DM_Box      *box     = (const DM_Box *)dm->data;
  const PetscReal    unit[2] = {0, 1};
  const PetscBool    free[2] = {PETSC_FALSE, PETSC_FALSE};
  PatchFDLatticeDesc desc    = {.dim = dm->dim, .xbox = box->field[0].local};
  PetscReal          q[PATCHFD_SIMPLEX_POINTS], w[PATCHFD_SIMPLEX_POINTS], B[3][2 * PATCHFD_SIMPLEX_POINTS];
  PatchFDLine        line;
  const PetscScalar *array, *local;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckVec(dm, v));
  for (PetscInt d = 0; d < 3; d++) {
    desc.n[d] = box->cells[d];
    desc.h[d] = (box->upper[d] - box->lower[d]) / (PetscReal)box->cells[d];
  }
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 1, unit, free, &line));
  PetscCall(PatchFDLineTabulate(&line, PATCHFD_SIMPLEX_POINTS, q, w, B[0], B[1], B[2]));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(DMBoxGetLocalRead(dm, v, &array, &local));
  PetscCall(PatchFDHostLatticeError(&desc, (const PetscInt(*)[2])box->owncells, q, w, box->lower, f, ctx, time, local, sum, largest));
  PetscCall(DMBoxRestoreLocalRead(dm, v, &array, &local));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)dm)));
  if (PetscIsNanReal(*sum)) *largest = *sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeError - Computes the error of a finite element function: its distance to a given function

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function; it gets the dimension, the time, the point, the number of components, the array for the values and `ctx`.  `NULL` for
         zero: the norms of `v`
. ctx  - for the function, or `NULL`
- v    - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameters:
+ l2  - the L2 norm of the difference, or `NULL`
- max - the largest difference at the quadrature points, or `NULL`

  Level: beginner

  Notes:
  The integrals use degree + 4 Gauss points in each direction of each cell, degree + 5 with the space `DMBOX_SPACE_RT`, and 4 in
  each direction of each simplex with `DMBOX_SPACE_P1`.

  Functions have one component, with the space `DMBOX_SPACE_VQ` dim. With `DMBOX_SPACE_RT` they have dim + 1, the velocity and the
  pressure. The norms are
  over all components, as in `DMComputeL2Diff()`. `DMBoxComputeStokesError()` computes separate norms.

  The function is called at each Gauss point, on the host. `DMBoxComputeErrorBatch()` is several times faster.
  `DMBoxComputeErrorVec()`, which compares nodal values, is faster by orders of magnitude, above all on a GPU.

.seealso: `DMBOX`, `DMBoxComputeErrorBatch()`, `DMBoxComputeErrorVec()`, `DMBoxInterpolateFunction()`, `DMBoxAddLoad()`,
`DMBoxComputeBendingError()`, `DMBoxComputeStokesError()`
@*/
PetscErrorCode DMBoxComputeError(DM dm, PetscReal time, DMBoxFunctionFn *f, void *ctx, Vec v, PetscReal *l2, PetscReal *max)
{
  PatchFDPointwise p = {f, ctx};

  PetscFunctionBegin;
  PetscCall(DMBoxComputeErrorBatch(dm, time, f ? PatchFDHostPointwise : NULL, &p, v, l2, max));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeErrorBatch - As `DMBoxComputeError()`, with a function that gets many points at once

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function.  `NULL` for zero
. ctx  - for the function, or `NULL`
- v    - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameters:
+ l2  - the L2 norm of the difference, or `NULL`
- max - the largest difference at the quadrature points, or `NULL`

  Level: intermediate

  Note:
  A call gets the quadrature points of one cell, with `DMBOX_SPACE_P1` those of one simplex.

.seealso: `DMBOX`, `DMBoxFunctionBatchFn`, `DMBoxComputeError()`, `DMBoxComputeErrorVec()`, `DMBoxComputeGradientErrorBatch()`,
`DMBoxComputeStokesErrorBatch()`
@*/
PetscErrorCode DMBoxComputeErrorBatch(DM dm, PetscReal time, DMBoxFunctionBatchFn *f, void *ctx, Vec v, PetscReal *l2, PetscReal *max)
{
  DM_Box           *box;
  PatchFDDerivative value[DMBOX_MAX_FIELDS] = {{0}};
  PatchFDDeviation  e[DMBOX_MAX_FIELDS]     = {{0}};
  PetscReal         sum = 0, largest = 0;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  for (PetscInt i = 0; i < box->nfield; i++) value[i].component = value[i].field = i;
  if (box->space == DMBOX_SPACE_P1) PetscCall(DMBoxComputeError_P1(dm, time, f, ctx, v, &sum, &largest));
  else PetscCall(DMBoxDeviation(dm, time, 0, box->nfield, value, box->nfield, f, ctx, v, e));
  for (PetscInt i = 0; i < box->nfield; i++) {
    sum += e[i].square;
    if (e[i].largest > largest || PetscIsNanReal(e[i].largest)) largest = e[i].largest;
  }
  if (l2) *l2 = PetscSqrtReal(sum);
  if (max) *max = largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeGradientError - Computes the error of the gradient of a finite element function

  Collective

  Input Parameters:
+ dm       - the `DM` of type `DMBOX`, set up
. time     - the time that the function gets
. gradient - the gradient; the function gets the dimension, the time, the point, the number of components (dim), the array for the values
             and `ctx`.  `NULL` for zero
. ctx      - for the function, or `NULL`
- v        - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameter:
. h1 - the broken H1 seminorm of the difference: the square root of the sum over all cells of the integrals of the squares of all its
       derivatives

  Level: beginner

  Notes:
  The integrals use degree + 4 Gauss points in each direction of each cell. Jumps between cells do not count.

  The space must have one field: `DMBOX_SPACE_Q` or `DMBOX_SPACE_DGQ`.

.seealso: `DMBOX`, `DMBoxComputeGradientErrorBatch()`, `DMBoxComputeError()`, `DMBoxSetMapping()`
@*/
PetscErrorCode DMBoxComputeGradientError(DM dm, PetscReal time, DMBoxFunctionFn *gradient, void *ctx, Vec v, PetscReal *h1)
{
  PatchFDPointwise p = {gradient, ctx};

  PetscFunctionBegin;
  PetscCall(DMBoxComputeGradientErrorBatch(dm, time, gradient ? PatchFDHostPointwise : NULL, &p, v, h1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeGradientErrorBatch - As `DMBoxComputeGradientError()`, with a function that gets many points at once

  Collective

  Input Parameters:
+ dm       - the `DM` of type `DMBOX`, set up
. time     - the time that the function gets
. gradient - the gradient, dim components.  `NULL` for zero
. ctx      - for the function, or `NULL`
- v        - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameter:
. h1 - the broken H1 seminorm of the difference

  Level: intermediate

.seealso: `DMBOX`, `DMBoxFunctionBatchFn`, `DMBoxComputeGradientError()`, `DMBoxComputeErrorBatch()`, `DMBoxComputeErrorVec()`
@*/
PetscErrorCode DMBoxComputeGradientErrorBatch(DM dm, PetscReal time, DMBoxFunctionBatchFn *gradient, void *ctx, Vec v, PetscReal *h1)
{
  DM_Box            *box;
  PatchFDFieldPoints points[DMBOX_MAX_FIELDS];
  PatchFDDeviation   e[3] = {{0}};
  const PetscScalar *array, *local;
  PetscReal          sum = 0;

  PetscFunctionBegin;
  PetscAssertPointer(h1, 6);
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckVec(dm, v));
  PetscCheck(box->nfield == 1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "DMBoxComputeGradientError() is for a space with one field; -dm_box_space (DMBoxSetSpace()) is %s", DMBoxSpaces[box->space]);
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, v, 0, 0));
  PetscCall(DMBoxFieldPointsCreate(dm, 0, PETSC_TRUE, points));
  PetscCall(DMBoxGetLocalRead(dm, v, &array, &local));
  PetscCall(PatchFDHostGradientDeviation(dm->dim, points, (const PetscInt(*)[2])box->owncells, gradient, ctx, time, local, e));
  PetscCall(DMBoxRestoreLocalRead(dm, v, &array, &local));
  PetscCall(DMBoxFieldPointsDestroy(dm, points));
  for (PetscInt d = 0; d < dm->dim; d++) sum += e[d].square;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
  *h1 = PetscSqrtReal(sum);
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, v, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeBendingError - Computes the error of the second derivatives of a finite element function

  Collective

  Input Parameters:
+ dm      - the `DM` of type `DMBOX`, set up
. time    - the time that the function gets
. hessian - the second derivatives; the function gets the dimension, the time, the point, the number of components (dim * dim), the array
            for the values,
            d2u / dx_i dx_j at i * dim + j, and `ctx`.  `NULL` for zero
. ctx     - for the function, or `NULL`
- v       - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameter:
. h2 - the broken H2 seminorm of the difference: the square root of the sum over all cells of the integrals of the squares of all its second
       derivatives

  Level: beginner

  Notes:
  The integrals use degree + 4 Gauss points in each direction of each cell. Jumps of the derivatives between cells do not count.

  The space must have one field: `DMBOX_SPACE_Q` or `DMBOX_SPACE_DGQ`.

.seealso: `DMBOX`, `DMBoxComputeError()`, `DMBoxSetBiharmonic()`
@*/
PetscErrorCode DMBoxComputeBendingError(DM dm, PetscReal time, DMBoxFunctionFn *hessian, void *ctx, Vec v, PetscReal *h2)
{
  DM_Box           *box;
  PatchFDPointwise  p      = {hessian, ctx};
  PatchFDDerivative der[9] = {{0}};
  PatchFDDeviation  e[9]   = {{0}};
  PetscReal         sum    = 0;

  PetscFunctionBegin;
  PetscAssertPointer(h2, 6);
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCheck(box->nfield == 1 && box->space != DMBOX_SPACE_P1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "DMBoxComputeBendingError() is for a space with one field, q or dgq; -dm_box_space (DMBoxSetSpace()) is %s",
             DMBoxSpaces[box->space]);
  PetscCheck(!box->shape, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "DMBoxComputeBendingError() is for meshes that are boxes; -dm_box_operator %s has them mapped", box->op->name);
  for (PetscInt i = 0; i < dm->dim * dm->dim; i++) {
    der[i].component = i;
    der[i].order[i / dm->dim]++;
    der[i].order[i % dm->dim]++;
  }
  PetscCall(DMBoxDeviation(dm, time, 0, dm->dim * dm->dim, der, dm->dim * dm->dim, hessian ? PatchFDHostPointwise : NULL, &p, v, e));
  for (PetscInt i = 0; i < dm->dim * dm->dim; i++) sum += e[i].square;
  *h2 = PetscSqrtReal(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ velocity and pressure ------------------------------------------------ */

/* a constant in the error of the pressure does not count where the pressure is determined up to one: it is found first, and then subtracted
   */
static PetscErrorCode DMBoxFlowValues(DM dm, PetscReal time, DMBoxFunctionBatchFn *f, void *ctx, Vec v, PetscReal *u, PetscReal *p)
{
  const DM_Box     *box                   = (const DM_Box *)dm->data;
  PatchFDDerivative der[DMBOX_MAX_FIELDS] = {{0}};
  PatchFDDeviation  e[DMBOX_MAX_FIELDS]   = {{0}};
  PetscReal         volume = 1, sum = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i <= dm->dim; i++) der[i].component = der[i].field = i;
  PetscCall(DMBoxDeviation(dm, time, 0, dm->dim + 1, der, dm->dim + 1, f, ctx, v, e));
  for (PetscInt i = 0; i < dm->dim; i++) sum += e[i].square;
  if (u) *u = PetscSqrtReal(sum);
  if (p && DMBoxIsClosed(dm)) {
    for (PetscInt d = 0; d < dm->dim; d++) volume *= box->upper[d] - box->lower[d];
    e[dm->dim].shift = e[dm->dim].integral / volume;
    PetscCall(DMBoxDeviation(dm, time, 0, dm->dim + 1, der, dm->dim + 1, f, ctx, v, e));
  }
  if (p) *p = PetscSqrtReal(e[dm->dim].square);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxFlowGradient(DM dm, PetscReal time, DMBoxFunctionBatchFn *gradient, void *ctx, Vec v, PetscReal *h1)
{
  PatchFDDerivative der[9] = {{0}};
  PatchFDDeviation  e[9]   = {{0}};
  PetscReal         sum    = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < dm->dim * dm->dim; i++) {
    der[i].component = i;
    der[i].field     = i / dm->dim;
    der[i].order[i % dm->dim]++;
  }
  PetscCall(DMBoxDeviation(dm, time, 0, dm->dim * dm->dim, der, dm->dim * dm->dim, gradient, ctx, v, e));
  for (PetscInt i = 0; i < dm->dim * dm->dim; i++) sum += e[i].square;
  *h1 = PetscSqrtReal(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one component, the sum of the derivatives of all fields in their own directions */
static PetscErrorCode DMBoxFlowDivergence(DM dm, PetscReal time, Vec v, PetscReal *div)
{
  const DM_Box     *box    = (const DM_Box *)dm->data;
  PatchFDDerivative der[3] = {{0}};
  PatchFDDeviation  e      = {0};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < dm->dim; i++) {
    der[i].field = i;
    der[i].order[i]++;
  }
  PetscCall(DMBoxDeviation(dm, time, box->degree + 1, dm->dim, der, 1, NULL, NULL, v, &e));
  *div = e.largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCheckFlow(DM dm)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCheck(box->space == DMBOX_SPACE_RT, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "DMBoxComputeStokesError() is for -dm_box_space rt (DMBoxSetSpace()); this DMBOX has %s", DMBoxSpaces[box->space]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeStokesError - Computes the errors of a velocity and a pressure, and the largest divergence of the velocity

  Collective

  Input Parameters:
+ dm       - the `DM` of type `DMBOX` with the space `DMBOX_SPACE_RT`, set up
. time     - the time that the functions get
. f        - the velocity and then the pressure; the function gets the dimension, the time, the point, the number of components (dim + 1),
             the array for the
             values and `ctx`.  `NULL` for zero: norms instead of errors
. gradient - the derivatives of the velocity; the function gets the number of components dim * dim, and du_i / dx_j is at i * dim + j.
             `NULL` for zero
. ctx      - for the functions, or `NULL`
- v        - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameters:
+ u   - the L2 norm of the difference of the velocities, over all components, or `NULL`
. h1  - its broken H1 seminorm: the square root of the sum over all cells of the integrals of the squares of all its derivatives, or `NULL`
. p   - the L2 norm of the difference of the pressures, or `NULL`.  Without open sides (`DMBOX_BOUNDARY_NEUMANN`)
        the pressure is determined up to a constant, and the mean of the difference is subtracted first
- div - the largest absolute value of the divergence of `v`, whatever `f` is, or `NULL`

  Level: beginner

  Notes:
  The integrals use degree + 5 Gauss points in each direction of each cell. Jumps between cells do not count.

  The divergence is evaluated at the k + 2 Gauss-Lobatto points in each direction of each cell, which include its corners, edges and
  faces.

.seealso: `DMBOX`, `DMBoxComputeStokesErrorBatch()`, `DMBoxComputeError()`, `DMBoxSetStokes()`, `DMBoxInterpolateFunction()`
@*/
PetscErrorCode DMBoxComputeStokesError(DM dm, PetscReal time, DMBoxFunctionFn *f, DMBoxFunctionFn *gradient, void *ctx, Vec v, PetscReal *u,
                                       PetscReal *h1, PetscReal *p, PetscReal *div)
{
  PatchFDPointwise values = {f, ctx}, derivatives = {gradient, ctx};

  PetscFunctionBegin;
  PetscCall(DMBoxCheckFlow(dm));
  if (u || p) PetscCall(DMBoxFlowValues(dm, time, f ? PatchFDHostPointwise : NULL, &values, v, u, p));
  if (h1) PetscCall(DMBoxFlowGradient(dm, time, gradient ? PatchFDHostPointwise : NULL, &derivatives, v, h1));
  if (div) PetscCall(DMBoxFlowDivergence(dm, time, v, div));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeStokesErrorBatch - As `DMBoxComputeStokesError()`, with functions that get many points at once

  Collective

  Input Parameters:
+ dm       - the `DM` of type `DMBOX` with the space `DMBOX_SPACE_RT`, set up
. time     - the time that the functions get
. f        - the velocity and then the pressure, dim + 1 components.  `NULL` for zero
. gradient - the derivatives of the velocity, dim * dim components.  `NULL` for zero
. ctx      - for the functions, or `NULL`
- v        - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameters:
+ u   - the L2 norm of the difference of the velocities, or `NULL`
. h1  - its broken H1 seminorm, or `NULL`
. p   - the L2 norm of the difference of the pressures, without the mean where there are no open sides, or `NULL`
- div - the largest absolute value of the divergence of `v`, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxFunctionBatchFn`, `DMBoxComputeStokesError()`, `DMBoxComputeErrorBatch()`
@*/
PetscErrorCode DMBoxComputeStokesErrorBatch(DM dm, PetscReal time, DMBoxFunctionBatchFn *f, DMBoxFunctionBatchFn *gradient, void *ctx,
                                            Vec v, PetscReal *u, PetscReal *h1, PetscReal *p, PetscReal *div)
{
  PetscFunctionBegin;
  PetscCall(DMBoxCheckFlow(dm));
  if (u || p) PetscCall(DMBoxFlowValues(dm, time, f, ctx, v, u, p));
  if (h1) PetscCall(DMBoxFlowGradient(dm, time, gradient, ctx, v, h1));
  if (div) PetscCall(DMBoxFlowDivergence(dm, time, v, div));
  PetscFunctionReturn(PETSC_SUCCESS);
}
