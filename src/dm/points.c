/*
  Points in the cells of a DMBOX, with the bases of all fields there: for integrals of functions, for errors, and for files of values at
  common points.
*/
#include <patchfd/private/boximpl.h>
#include <patchfd/private/vecimpl.h>

/* ------------------------------------------------ one direction ------------------------------------------------ */

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

/* exact to degree 2 nq - 1 */
static PetscErrorCode DMBoxQuadratureCreate(const PatchFDLine *line, PetscInt nq, PatchFDQuadrature *q)
{
  PetscFunctionBegin;
  PetscCall(DMBoxQuadratureAllocate(line, nq, q));
  PetscCall(PatchFDLineTabulate(line, nq, q->x, q->w, q->B[0], q->B[1], q->B[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the Gauss-Lobatto nodes of a degree in each cell, its ends among them, without weights */
static PetscErrorCode DMBoxQuadratureCreateNodes(const PatchFDLine *line, PetscInt degree, PatchFDQuadrature *q)
{
  const PetscBool free[2] = {PETSC_FALSE, PETSC_FALSE};
  const PetscReal unit[2] = {0, 1};
  PatchFDLine     cell, nodes;
  PetscReal      *x;

  PetscFunctionBegin;
  PetscCall(DMBoxQuadratureAllocate(line, degree + 1, q));
  PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, degree, 1, unit, free, &cell));
  PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, degree, line->ncells, line->vertices, free, &nodes));
  PetscCall(PetscMalloc1(degree + 1, &x));
  PetscCall(PatchFDLineNodes(&cell, x));
  PetscCall(PatchFDLineNodes(&nodes, q->x));
  PetscCall(PatchFDBasis(line->degree, degree + 1, x, q->B[0], q->B[1], q->B[2]));
  PetscCall(PetscFree(x));
  PetscCall(PatchFDLineDestroy(&nodes));
  PetscCall(PatchFDLineDestroy(&cell));
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

/* ------------------------------------------------ all fields ------------------------------------------------ */

static PetscErrorCode DMBoxFieldPointsCreate_Private(DM dm, PetscInt nq, PetscInt nodes, PetscBool local, PatchFDFieldPoints points[])
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    PetscInt degree = 0;

    for (PetscInt i = 0; i < box->nfield; i++) degree = PetscMax(degree, box->field[i].line[d].degree);
    for (PetscInt i = 0; i < box->nfield; i++) {
      const PatchFDLine *line = &box->field[i].line[d];

      if (d >= dm->dim) PetscCall(DMBoxQuadratureCreateEnd(line, 0, &points[i].q[d]));
      else if (nodes) PetscCall(DMBoxQuadratureCreateNodes(line, nodes, &points[i].q[d]));
      else PetscCall(DMBoxQuadratureCreate(line, nq ? nq : degree + 4, &points[i].q[d]));
    }
  }
  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f = &box->field[i];

    points[i].box = local ? f->local : f->global;
    points[i].at  = local ? f->local0 : f->global0;
    DMBoxFreeNodes(f, PETSC_FALSE, points[i].write);
    points[i].shape = box->shape && (nq || DMBoxIsMapped(box)) ? &box->shape->nodes : NULL;
    points[i].side  = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxFieldPointsCreate(DM dm, PetscInt nodes, PetscBool local, PatchFDFieldPoints points[])
{
  PetscFunctionBegin;
  PetscCall(DMBoxFieldPointsCreate_Private(dm, 0, nodes, local, points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxFieldPointsCreateGauss(DM dm, PetscInt nq, PetscBool local, PatchFDFieldPoints points[])
{
  PetscFunctionBegin;
  PetscCall(DMBoxFieldPointsCreate_Private(dm, nq, 0, local, points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxFieldPointsSetEnd(DM dm, PetscInt d, PetscInt end, const PetscReal B[], PatchFDFieldPoints points[])
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    PatchFDQuadrature *q = &points[i].q[d];

    PetscCall(DMBoxQuadratureDestroy(q));
    PetscCall(DMBoxQuadratureCreateEnd(&box->field[i].line[d], end, q));
    if (B) PetscCall(PetscArraycpy(q->B[0], B, q->degree + 1));
    points[i].side = d;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxFieldPointsDestroy(DM dm, PatchFDFieldPoints points[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < ((const DM_Box *)dm->data)->nfield; i++)
    for (PetscInt d = 0; d < 3; d++) PetscCall(DMBoxQuadratureDestroy(&points[i].q[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ values ------------------------------------------------ */

PetscErrorCode DMBoxGetLocalRead(DM dm, Vec v, const PetscScalar **array, const PetscScalar **local)
{
  PatchFDKernels kern;
  void          *l;

  PetscFunctionBegin;
  PetscCall(PatchFDVecTypeGetKernels(VECSTANDARD, &kern)); /* for PetscScalars on the host */
  PetscCall(VecGetArrayRead(v, array));
  PetscCall(DMBoxGlobalToLocalBegin(dm, kern, *array, DMBOX_WORK_X, &l));
  PetscCall(DMBoxGlobalToLocalEnd(dm, kern, *array, DMBOX_WORK_X, &l));
  *local = (const PetscScalar *)l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxRestoreLocalRead(PETSC_UNUSED DM dm, Vec v, const PetscScalar **array, const PetscScalar **local)
{
  PetscFunctionBegin;
  *local = NULL;
  PetscCall(VecRestoreArrayRead(v, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}
