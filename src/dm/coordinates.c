/*
  Positions of the nodes of the last field, which is the only one or the pressure: DMGetCoordinates(), DMGetCoordinatesLocal(),
  DMGetCoordinateDM(), bounding boxes.  A velocity has no nodes that its components share.

  PETSc asks a DM for its coordinate Vecs without telling the DM, so they exist from set-up on; but they allocate and compute their
  entries only when somebody looks at them.
*/
#include <patchfd/private/boximpl.h>
#include <petscdmshell.h>
#include <petsc/private/vecimpl.h>

/* what a Vec needs for its entries, also when the DM is gone */
typedef struct {
  PetscInt    dim;
  PatchFDBox  box;
  PetscReal  *nodes[3]; /* all nodes of each direction */
  DMBoxShape *shape;    /* or where they are on a mapped mesh */
} DMBoxNodes;

static PetscErrorCode DMBoxNodesDestroy(PetscCtxRt ctx)
{
  DMBoxNodes *c = PATCHFD_DESTROY_CTX(DMBoxNodes, ctx);

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(c->nodes[d]));
  PetscCall(DMBoxShapeDestroy(&c->shape));
  PetscCall(PetscFree(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxIdentity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc,
                                    PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < Nc * n; i++) u[i] = x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first access gives the Vec its array; after it, the Vec is like any other.  Duplicates have an array of their own from the start. */
static PetscErrorCode VecGetArray_Coordinates(Vec v, PetscScalar **array)
{
  PetscScalar **own = (PetscScalar **)v->data;
  DMBoxNodes   *c   = NULL;

  PetscFunctionBegin;
  v->ops->getarray = NULL;
  if (!*own) {
    PatchFDRange range;
    PetscScalar *a;

    PetscCall(PetscObjectContainerQuery((PetscObject)v, "DMBoxNodes", (void *)&c));
    for (PetscInt d = 0; d < 3; d++) {
      range[d][0] = c->box.lo[d];
      range[d][1] = c->box.lo[d] + c->box.n[d];
    }
    PetscCall(PetscMalloc1(v->map->n, &a));
    PetscCall(PatchFDHostInterpolate(c->dim, c->nodes, c->shape ? &c->shape->nodes : NULL, (const PetscInt(*)[2])range, DMBoxIdentity, NULL,
                                     0, c->dim, 0, c->dim, &c->box, a));
    PetscCall(VecReplaceArray(v, a));
  }
  *array = *own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* without an array */
PetscErrorCode DMBoxCreateCoordinateVec(DM dm, MPI_Comm comm, const PatchFDLine line[3], const PatchFDBox *b, Vec *v)
{
  DMBoxNodes *c;
  PetscInt    n;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscIntCast(dm->dim * (PetscCount)PatchFDBoxSize(b), &n));
  PetscCall(PetscNew(&c));
  c->dim   = dm->dim;
  c->box   = *b;
  c->shape = ((const DM_Box *)dm->data)->shape;
  if (c->shape) c->shape->refct++;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscMalloc1(line[d].nnodes, &c->nodes[d]));
    PetscCall(PatchFDLineNodes(&line[d], c->nodes[d]));
  }
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscCall(VecCreateSeqWithArray(comm, dm->dim, n, NULL, v));
  else PetscCall(VecCreateMPIWithArray(comm, dm->dim, n, PETSC_DETERMINE, NULL, v));
  PetscCall(PetscObjectSetName((PetscObject)*v, "coordinates"));
  PetscCall(PetscObjectContainerCompose((PetscObject)*v, "DMBoxNodes", c, DMBoxNodesDestroy));
  (*v)->ops->getarray = VecGetArray_Coordinates;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const DMBoxField *DMBoxCoordinateField(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  return &box->field[box->nfield - 1];
}

/*
  Not by DMSetCoordinates(), whose hooks would make coordinate DMs on all coarser levels.  A mesh may have so many nodes that PetscInt
  cannot count their coordinates: it has none then
*/
PetscErrorCode DMBoxSetUpCoordinates(DM dm)
{
  const DMBoxField *f    = DMBoxCoordinateField(dm);
  const PatchFDBox  mesh = DMBoxMesh(f);
  const PetscReal   size = (PetscReal)dm->dim * (PetscReal)mesh.n[0] * (PetscReal)mesh.n[1] * (PetscReal)mesh.n[2];

  PetscFunctionBegin;
  if (size > (PetscReal)PETSC_INT_MAX) {
    PetscCall(PetscInfo(dm, "There are %g coordinates of nodes, and PetscInt ends at %" PetscInt_FMT ": DMGetCoordinates() returns NULL\n",
                        (double)size, PETSC_INT_MAX));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMBoxCreateCoordinateVec(dm, PetscObjectComm((PetscObject)dm), f->line, &f->global, &dm->coordinates[0].x));
  PetscCall(DMBoxCreateCoordinateVec(dm, PETSC_COMM_SELF, f->line, &f->local, &dm->coordinates[0].xl));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dim components at these nodes, global and local Vecs in its order, and scatters between them */
PetscErrorCode DMCreateCoordinateDM_Box(DM dm, DM *cdm)
{
  DM_Box           *box;
  const DMBoxField *f;
  Vec               x, xl;
  IS                global, local;
  VecScatter        scatter;
  PetscInt         *index, *own, start, end, n, m = 0;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  f = DMBoxCoordinateField(dm);
  PetscCall(DMBoxCreateCoordinateVec(dm, PetscObjectComm((PetscObject)dm), f->line, &f->global, &x));
  PetscCall(DMBoxCreateCoordinateVec(dm, PETSC_COMM_SELF, f->line, &f->local, &xl));
  PetscCall(DMShellCreate(PetscObjectComm((PetscObject)dm), cdm));
  PetscCall(DMSetDimension(*cdm, dm->dim));
  PetscCall(DMShellSetGlobalVector(*cdm, x));
  PetscCall(DMShellSetLocalVector(*cdm, xl));
  n = (PetscInt)PatchFDBoxSize(&f->local);
  PetscCall(DMBoxGetFieldsLocalToGlobal(dm, box->nfield - 1, &index));
  PetscCall(ISCreateBlock(PetscObjectComm((PetscObject)dm), dm->dim, n, index, PETSC_COPY_VALUES, &global));
  PetscCall(VecScatterCreate(x, global, xl, NULL, &scatter));
  PetscCall(DMShellSetGlobalToLocalVecScatter(*cdm, scatter));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&global));
  /* and back, for the nodes that this rank owns, without images of them */
  PetscCall(VecGetOwnershipRange(x, &start, &end));
  PetscCall(PetscMalloc1((end - start) / dm->dim, &own));
  for (PetscInt k = f->own[2][0]; k < f->own[2][1]; k++)
    for (PetscInt j = f->own[1][0]; j < f->own[1][1]; j++)
      for (PetscInt i = f->own[0][0]; i < f->own[0][1]; i++) own[m++] = (PetscInt)PatchFDBoxNode(&f->local, i, j, k);
  PetscCall(ISCreateBlock(PETSC_COMM_SELF, dm->dim, m, own, PETSC_OWN_POINTER, &local));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, end - start, start, 1, &global));
  PetscCall(VecScatterCreate(xl, local, x, global, &scatter));
  PetscCall(DMShellSetLocalToGlobalVecScatter(*cdm, scatter));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&global));
  PetscCall(ISDestroy(&local));
  PetscCall(PetscFree(index));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&xl));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* around the cells that this rank owns, or the nodes that it owns of a mapped mesh; cell numbers if cs and ce are given */
PetscErrorCode DMGetLocalBoundingBox_Box(DM dm, PetscReal lmin[], PetscReal lmax[], PetscInt cs[], PetscInt ce[])
{
  DM_Box   *box;
  PetscBool empty = PETSC_FALSE;
  PetscReal lower[3], upper[3];

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  for (PetscInt d = 0; d < dm->dim; d++) empty = (PetscBool)(empty || box->owncells[d][0] >= box->owncells[d][1]);
  for (PetscInt d = 0; d < dm->dim; d++) {
    lower[d] = empty ? PETSC_MAX_REAL : box->field[0].line[d].vertices[box->owncells[d][0]];
    upper[d] = empty ? PETSC_MIN_REAL : box->field[0].line[d].vertices[box->owncells[d][1]];
    if (cs) cs[d] = box->splits[d][box->coord[d]];
    if (ce) ce[d] = box->splits[d][box->coord[d] + 1];
  }
  if (box->shape && !empty) {
    PetscReal(*b)[3] = box->shape->bounds;

    if (!box->shape->bounded) PatchFDHostBounds(dm->dim, &box->shape->nodes, (const PetscInt(*)[2])box->owncells, box->degree, b[0], b[1]);
    box->shape->bounded = PETSC_TRUE;
    PetscCall(PetscArraycpy(lower, b[0], dm->dim));
    PetscCall(PetscArraycpy(upper, b[1], dm->dim));
  }
  for (PetscInt d = 0; d < dm->dim; d++) {
    if (lmin) lmin[d] = lower[d];
    if (lmax) lmax[d] = upper[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
