/*
  Functions of space on a DMBOX: nodal interpolation, load vectors, errors.  Set-up work: on the host, in double precision, for Vecs of any type.

  Each rank computes the rows that it owns, from its cells and the layer of cells below that touches its nodes; only the error
  needs values of other ranks.
*/
#include <patchfd/private/assembly.h>
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
             "The Vec has local size %" PetscInt_FMT ", but the DM has %" PetscInt_FMT " unknowns here; take a Vec from DMCreateGlobalVector()", n, (PetscInt)box->nglobal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ quadrature ------------------------------------------------ */

static PetscErrorCode DMBoxQuadratureAllocate(const PatchFDLine *line, PetscInt nq, PatchFDQuadrature *q)
{
  const PetscInt np = line->ncells * nq, nb = nq * (line->degree + 1);

  PetscFunctionBegin;
  q->degree = line->degree;
  q->stride = line->stride;
  q->nq     = nq;
  PetscCall(PetscCalloc6(np, &q->x, np, &q->w, line->ncells, &q->h, nb, &q->B[0], nb, &q->B[1], nb, &q->B[2]));
  for (PetscInt c = 0; c < line->ncells; c++) q->h[c] = line->vertices[c + 1] - line->vertices[c];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* exact to degree 2k + 7: far below the discretization error for smooth functions */
static PetscErrorCode DMBoxQuadratureCreate(const PatchFDLine *line, PatchFDQuadrature *q)
{
  PetscFunctionBegin;
  PetscCall(DMBoxQuadratureAllocate(line, line->degree + 4, q));
  PetscCall(PatchFDLineTabulate(line, q->nq, q->x, q->w, q->B[0], q->B[1], q->B[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the one point at an end of the line, in the first or last cell, for values only; a point line is its own end */
static PetscErrorCode DMBoxQuadratureCreateEnd(const PatchFDLine *line, PetscInt end, PatchFDQuadrature *q)
{
  const PetscInt cell = end ? line->ncells - 1 : 0;

  PetscFunctionBegin;
  PetscCall(DMBoxQuadratureAllocate(line, 1, q));
  q->x[cell]                   = line->vertices[end ? line->ncells : 0];
  q->w[cell]                   = 1;
  q->B[0][end ? q->degree : 0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxQuadratureDestroy(PatchFDQuadrature *q)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(q->x, q->w, q->h, q->B[0], q->B[1], q->B[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxQuadraturesCreate(DM dm, PatchFDQuadrature q[3])
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    if (d < dm->dim) PetscCall(DMBoxQuadratureCreate(&box->field[0].line[d], &q[d]));
    else PetscCall(DMBoxQuadratureCreateEnd(&box->field[0].line[d], 0, &q[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxQuadraturesDestroy(PatchFDQuadrature q[3])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) PetscCall(DMBoxQuadratureDestroy(&q[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ interpolation ------------------------------------------------ */

/*@C
  DMBoxInterpolateFunction - Sets a vector to the values of a function at the nodes

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function; it gets the dimension, the time, the point, the number of components (1), the array for the values and `ctx`
- ctx  - for the function, or `NULL`

  Output Parameter:
. v - the vector, from `DMCreateGlobalVector()`; also the entries on Dirichlet sides are set

  Level: beginner

.seealso: `DMBOX`, `DMBoxAddLoad()`, `DMBoxComputeError()`, `DMBoxLiftDirichlet()`
@*/
PetscErrorCode DMBoxInterpolateFunction(DM dm, PetscReal time, DMBoxFunction f, void *ctx, Vec v)
{
  DM_Box           *box;
  const DMBoxField *field;
  PetscReal        *nodes[3];
  PetscScalar      *array;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  field = &box->field[0];
  PetscCall(DMBoxCheckVec(dm, v));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, v, 0, 0));
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscMalloc1(field->line[d].nnodes, &nodes[d]));
    PetscCall(PatchFDLineNodes(&field->line[d], nodes[d]));
  }
  PetscCall(VecGetArrayWrite(v, &array));
  PetscCall(PatchFDHostInterpolate(dm->dim, nodes, (const PetscInt(*)[2])field->own, f, ctx, time, 1, &field->global, array));
  PetscCall(VecRestoreArrayWrite(v, &array));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(nodes[d]));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, v, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ load vectors ------------------------------------------------ */

/* cells that touch owned nodes, and the owned nodes without Dirichlet condition */
static void DMBoxLoadRanges(const DM_Box *box, PatchFDRange cells, PatchFDRange write)
{
  DMBoxFreeNodes(&box->field[0], PETSC_FALSE, write);
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
. f    - the function; it gets the dimension, the time, the point, the number of components (1), the array for the values and `ctx`
. ctx  - for the function, or `NULL`
- b    - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides are left as they are

  Level: beginner

  Note:
  Uses degree + 4 Gauss points in each direction of each cell.

.seealso: `DMBOX`, `DMBoxAddNeumannLoad()`, `DMBoxLiftDirichlet()`, `DMBoxInterpolateFunction()`, `DMBoxComputeError()`
@*/
PetscErrorCode DMBoxAddLoad(DM dm, PetscReal time, DMBoxFunction f, void *ctx, Vec b)
{
  DM_Box           *box;
  PatchFDQuadrature q[3];
  PatchFDRange      cells, write;
  PetscScalar      *array;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckVec(dm, b));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, b, 0, 0));
  PetscCall(DMBoxQuadraturesCreate(dm, q));
  DMBoxLoadRanges(box, cells, write);
  PetscCall(VecGetArray(b, &array));
  PetscCall(PatchFDHostLoad(dm->dim, q, (const PetscInt(*)[2])cells, (const PetscInt(*)[2])write, f, ctx, time, &box->field[0].global, array));
  PetscCall(VecRestoreArray(b, &array));
  PetscCall(DMBoxQuadraturesDestroy(q));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, b, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* in direction d the quadrature is the end point alone */
PetscErrorCode DMBoxAddSideLoad(DM dm, PetscInt d, PetscInt end, const PetscReal B[], PetscReal time, DMBoxFunction f, void *ctx, Vec b)
{
  DM_Box           *box = (DM_Box *)dm->data;
  PatchFDQuadrature q[3];
  PatchFDRange      cells, write;
  PetscScalar      *array;
  const PetscInt    cell = end ? box->cells[d] - 1 : 0;

  PetscFunctionBegin;
  DMBoxLoadRanges(box, cells, write);
  cells[d][0] = PetscMax(cells[d][0], cell);
  cells[d][1] = PetscMin(cells[d][1], cell + 1);
  if (cells[d][0] >= cells[d][1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxQuadraturesCreate(dm, q));
  PetscCall(DMBoxQuadratureDestroy(&q[d]));
  PetscCall(DMBoxQuadratureCreateEnd(&box->field[0].line[d], end, &q[d]));
  if (B) PetscCall(PetscArraycpy(q[d].B[0], B, q[d].degree + 1));
  PetscCall(VecGetArray(b, &array));
  PetscCall(PatchFDHostLoad(dm->dim, q, (const PetscInt(*)[2])cells, (const PetscInt(*)[2])write, f, ctx, time, &box->field[0].global, array));
  PetscCall(VecRestoreArray(b, &array));
  PetscCall(DMBoxQuadraturesDestroy(q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxAddNeumannLoad - Adds the integrals of a flux times each basis function over the Neumann sides to a vector

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. flux - the function, the outward flux (diffusion times normal derivative); it gets the dimension, the time, the point on the boundary, the number
         of components (1), the array for the values and `ctx`
. ctx  - for the function, or `NULL`
- b    - the vector, from `DMCreateGlobalVector()`; entries on Dirichlet sides are left as they are

  Level: intermediate

  Notes:
  Unknowns on an edge between two Neumann sides get the integrals over both.  The function is told the point, not the side: at Gauss points,
  which are inside the sides, the point tells the side.

  In one dimension the integral over a side is the value at the end.

.seealso: `DMBOX`, `DMBoxAddLoad()`, `DMBoxSetBoundary()`
@*/
PetscErrorCode DMBoxAddNeumannLoad(DM dm, PetscReal time, DMBoxFunction flux, void *ctx, Vec b)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckVec(dm, b));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, b, 0, 0));
  for (PetscInt d = 0; d < dm->dim; d++) {
    for (PetscInt end = 0; end < 2; end++) {
      if (box->boundary[2 * d + end] == DMBOX_NEUMANN) PetscCall(DMBoxAddSideLoad(dm, d, end, NULL, time, flux, ctx, b));
    }
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, b, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ errors ------------------------------------------------ */

/* of the Nc derivatives of v that `order` lists: the sum over them of the integrals of squares, and the largest */
static PetscErrorCode DMBoxErrorOfDerivatives(DM dm, PetscReal time, PetscInt Nc, const PetscInt order[][3], DMBoxFunction f, void *ctx, Vec v, PetscReal *sum, PetscReal *largest)
{
  PatchFDKernels     kern;
  DM_Box            *box;
  PatchFDQuadrature  q[3];
  const PetscScalar *array;
  void              *local;

  PetscFunctionBegin;
  *sum = *largest = 0;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(PatchFDVecTypeGetKernels(VECSTANDARD, &kern)); /* for PetscScalars on the host, whatever the type of v */
  PetscCall(DMBoxCheckVec(dm, v));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, v, 0, 0));
  PetscCall(DMBoxQuadraturesCreate(dm, q));
  PetscCall(VecGetArrayRead(v, &array));
  PetscCall(DMBoxGlobalToLocalBegin(dm, kern, array, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(dm, kern, array, DMBOX_WORK_X, &local));
  PetscCall(PatchFDHostError(dm->dim, q, (const PetscInt(*)[2])box->owncells, Nc, order, f, ctx, time, &box->field[0].local, (const PetscScalar *)local, sum, largest));
  PetscCall(VecRestoreArrayRead(v, &array));
  PetscCall(DMBoxQuadraturesDestroy(q));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)dm)));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, v, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeError - Computes how far a finite element function is from a given one

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the function gets
. f    - the function; it gets the dimension, the time, the point, the number of components (1), the array for the values and `ctx`
. ctx  - for the function, or `NULL`
- v    - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameters:
+ l2  - the L2 norm of the difference, or `NULL`
- max - the largest difference at the quadrature points, or `NULL`

  Level: beginner

  Note:
  Uses degree + 4 Gauss points in each direction of each cell.

.seealso: `DMBOX`, `DMBoxInterpolateFunction()`, `DMBoxAddLoad()`, `DMBoxComputeBendingError()`
@*/
PetscErrorCode DMBoxComputeError(DM dm, PetscReal time, DMBoxFunction f, void *ctx, Vec v, PetscReal *l2, PetscReal *max)
{
  const PetscInt value[1][3] = {{0, 0, 0}};
  PetscReal      sum, largest;

  PetscFunctionBegin;
  PetscCall(DMBoxErrorOfDerivatives(dm, time, 1, value, f, ctx, v, &sum, &largest));
  if (l2) *l2 = PetscSqrtReal(sum);
  /* MPI does not say what the maximum of NaN and a number is */
  if (max) *max = PetscIsNanReal(sum) ? sum : largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxComputeBendingError - Computes how far the second derivatives of a finite element function are from given ones

  Collective

  Input Parameters:
+ dm      - the `DM` of type `DMBOX`, set up
. time    - the time that the function gets
. hessian - the second derivatives; the function gets the dimension, the time, the point, the number of components (dim * dim), the array for the values,
            d2u / dx_i dx_j at i * dim + j, and `ctx`
. ctx     - for the function, or `NULL`
- v       - the vector of nodal values, from `DMCreateGlobalVector()`

  Output Parameter:
. h2 - the broken H2 seminorm of the difference: the square root of the sum over all cells of the integrals of the squares of all its second derivatives

  Level: beginner

  Note:
  Uses degree + 4 Gauss points in each direction of each cell.  Jumps of the derivatives between cells are not counted.

.seealso: `DMBOX`, `DMBoxComputeError()`, `DMBoxSetBiharmonic()`
@*/
PetscErrorCode DMBoxComputeBendingError(DM dm, PetscReal time, DMBoxFunction hessian, void *ctx, Vec v, PetscReal *h2)
{
  DM_Box   *box;
  PetscInt  order[9][3] = {{0}};
  PetscReal sum, largest;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  for (PetscInt i = 0; i < dm->dim * dm->dim; i++) {
    order[i][i / dm->dim]++;
    order[i][i % dm->dim]++;
  }
  PetscCall(DMBoxErrorOfDerivatives(dm, time, dm->dim * dm->dim, (const PetscInt(*)[3])order, hessian, ctx, v, &sum, &largest));
  *h2 = PetscSqrtReal(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}
