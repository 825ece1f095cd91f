/*
  What each MPI process has of a DMBOX, as programs ask for it: cells and nodes, and values at nodes as arrays with an index for each
  direction.  Numbers of cells and nodes are those of the whole box.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/

static PetscErrorCode DMBoxCheckField(DM dm, PetscInt field, PetscBool cells, DM_Box **box)
{
  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, box));
  PetscCheck(field >= (cells ? DMBOX_CELLS : 0) && field < (*box)->nfield, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Field %" PetscInt_FMT "; -dm_box_space %s has the fields 0 to %" PetscInt_FMT "%s", field, DMBoxSpaces[(*box)->space],
             (*box)->nfield - 1, cells ? ", or DMBOX_CELLS for the cells" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetNumFields - Returns the number of fields of a `DMBOX`: scalar functions, each with its own nodes

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`, set up

  Output Parameter:
. n - 1; with the space `DMBOX_SPACE_VQ` dim; with `DMBOX_SPACE_RT` dim + 1, the components of the velocity and the pressure

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetSpace()`, `DMBoxGetCorners()`, `DMBoxVecGetArray()`
@*/
PetscErrorCode DMBoxGetNumFields(DM dm, PetscInt *n)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscAssertPointer(n, 2);
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  *n = box->nfield;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetGlobalSizes - Returns the number of nodes or cells of a `DMBOX` in each direction

  Not Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, set up
- field - the field whose nodes are counted, 0 in a space with one; or `DMBOX_CELLS`

  Output Parameters:
+ M - number in direction x, or `NULL`
. N - number in direction y, or `NULL`
- P - number in direction z, or `NULL`; 1 in directions beyond the dimension

  Level: intermediate

.seealso: `DMBOX`, `DMBoxGetCorners()`, `DMBoxGetNumFields()`, `DMBoxGetNodes()`, `DMBoxGetCells()`, `DMBoxGetProcesses()`
@*/
PetscErrorCode DMBoxGetGlobalSizes(DM dm, PetscInt field, PetscInt *M, PetscInt *N, PetscInt *P)
{
  DM_Box         *box;
  PatchFDBox      mesh;
  PetscInt *const n[3] = {M, N, P};

  PetscFunctionBegin;
  PetscCall(DMBoxCheckField(dm, field, PETSC_TRUE, &box));
  mesh = DMBoxMesh(&box->field[PetscMax(field, 0)]);
  for (int d = 0; d < 3; d++)
    if (n[d]) *n[d] = field == DMBOX_CELLS ? box->cells[d] : mesh.n[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the process at place p of direction d has: of its own, or with ghosts */
static void DMBoxRangeOf(const DM_Box *box, PetscInt field, PetscBool ghosts, PetscInt d, PetscInt p, PetscInt *first, PetscInt *end)
{
  const PatchFDLine *line  = &box->field[PetscMax(field, 0)].line[d];
  const PetscInt     shift = line->turn * (field < 0 ? 1 : line->stride); /* before the mesh */

  if (field >= 0 && ghosts) DMBoxLocalRange(box, &box->field[field], d, p, first, end);
  else if (field >= 0) DMBoxOwnRange(box, &box->field[field], d, p, first, end);
  else {
    *first = shift + box->splits[d][p];
    *end   = shift + box->splits[d][p + 1];
    if (ghosts) *first = PetscMax(0, *first - DMBoxGhosts(box, d));
    if (ghosts) *end = PetscMin(line->ncells, *end + DMBoxGhosts(box, d));
  }
  *first -= shift;
  *end -= shift;
}

static PetscErrorCode DMBoxGetCorners_Private(DM dm, PetscInt field, PetscBool ghosts, PetscInt *const first[3], PetscInt *const n[3])
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckField(dm, field, PETSC_TRUE, &box));
  for (int d = 0; d < 3; d++) {
    PetscInt lo, hi;

    DMBoxRangeOf(box, field, ghosts, d, box->coord[d], &lo, &hi);
    if (first[d]) *first[d] = lo;
    if (n[d]) *n[d] = hi - lo;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetCorners - Returns the nodes or cells that this MPI process owns

  Not Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, set up
- field - the field whose nodes are meant, 0 in a space with one; or `DMBOX_CELLS`

  Output Parameters:
+ x - the first one in direction x, or `NULL`
. y - the first one in direction y, or `NULL`
. z - the first one in direction z, or `NULL`
. m - how many there are in direction x, or `NULL`
. n - how many there are in direction y, or `NULL`
- p - how many there are in direction z, or `NULL`

  Level: beginner

  Notes:
  This is like `DMDAGetCorners()`: nodes are numbered from 0 in each direction, over the whole box. In a process's part of a global
  `Vec` the fields follow one another, each with x running fastest. A `Vec` of `DMBoxCreateDiffusionVec()` has cells in this order.

  A continuous field has nodes on faces between cells. They belong to the process of the cell above, and the last node to the
  process of the last cell. On meshes made by `DMCoarsen()` a process may own nothing.

.seealso: `DMBOX`, `DMBoxGetGhostCorners()`, `DMBoxGetGlobalSizes()`, `DMBoxGetOwnershipRanges()`,
          `DMBoxVecGetArray()`, `DMBoxGetNodes()`, `DMDAGetCorners()`
@*/
PetscErrorCode DMBoxGetCorners(DM dm, PetscInt field, PetscInt *x, PetscInt *y, PetscInt *z, PetscInt *m, PetscInt *n, PetscInt *p)
{
  PetscFunctionBegin;
  PetscCall(DMBoxGetCorners_Private(dm, field, PETSC_FALSE, (PetscInt *const[3]){x, y, z}, (PetscInt *const[3]){m, n, p}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetGhostCorners - Returns the nodes or cells of this MPI process in local vectors

  Not Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, set up
- field - the field whose nodes are meant, 0 in a space with one; or `DMBOX_CELLS`

  Output Parameters:
+ x - the first one in direction x, or `NULL`
. y - the first one in direction y, or `NULL`
. z - the first one in direction z, or `NULL`
. m - how many there are in direction x, or `NULL`
. n - how many there are in direction y, or `NULL`
- p - how many there are in direction z, or `NULL`

  Level: beginner

  Note:
  This is like `DMDAGetGhostCorners()`: the nodes of `DMBoxGetCorners()`, and those of one layer of cells (two for some spaces)
  around the cells of the process, inside the box, but across periodic sides: there numbers go on beyond those of the box, and are negative
  below its first node. Vectors of `DMCreateLocalVector()` have these nodes, and `DMGlobalToLocal()` fills them.

.seealso: `DMBOX`, `DMBoxGetCorners()`, `DMBoxGetGlobalSizes()`, `DMBoxVecGetArray()`, `DMCreateLocalVector()`, `DMDAGetGhostCorners()`
@*/
PetscErrorCode DMBoxGetGhostCorners(DM dm, PetscInt field, PetscInt *x, PetscInt *y, PetscInt *z, PetscInt *m, PetscInt *n, PetscInt *p)
{
  PetscFunctionBegin;
  PetscCall(DMBoxGetCorners_Private(dm, field, PETSC_TRUE, (PetscInt *const[3]){x, y, z}, (PetscInt *const[3]){m, n, p}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetOwnershipRanges - Returns the numbers of nodes or cells that the MPI processes own in each direction

  Not Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, set up
- field - the field whose nodes are counted, 0 in a space with one; or `DMBOX_CELLS`

  Output Parameters:
+ lx - of each process in direction x, or `NULL`; with the length that `DMBoxGetProcesses()` returns for this direction
. ly - in direction y, or `NULL`
- lz - in direction z, or `NULL`

  Level: intermediate

  Note:
  This is like `DMDAGetOwnershipRanges()`. The arrays belong to the `DM`.

.seealso: `DMBOX`, `DMBoxGetCorners()`, `DMBoxGetProcesses()`, `DMDAGetOwnershipRanges()`
@*/
PetscErrorCode DMBoxGetOwnershipRanges(DM dm, PetscInt field, const PetscInt *lx[], const PetscInt *ly[], const PetscInt *lz[])
{
  DM_Box                *box;
  const PetscInt **const l[3] = {lx, ly, lz};

  PetscFunctionBegin;
  PetscCall(DMBoxCheckField(dm, field, PETSC_TRUE, &box));
  for (int d = 0; d < 3; d++) {
    PetscInt **owned = &box->owned[field + 1][d];

    if (!*owned) PetscCall(PetscMalloc1(box->processes[d], owned));
    for (PetscInt p = 0; p < box->processes[d]; p++) {
      PetscInt first, end;

      DMBoxRangeOf(box, field, PETSC_FALSE, d, p, &first, &end);
      (*owned)[p] = end - first;
    }
    if (l[d]) *l[d] = *owned;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetNodes - Returns the coordinates of the nodes of a field in one direction

  Not Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`, set up
. field     - the field, 0 in a space with one
- direction - 0, 1 or 2, less than the dimension

  Output Parameter:
. x - the coordinates of all nodes of the direction, on all processes; the array must have the length of `DMBoxGetGlobalSizes()`

  Level: intermediate

  Note:
  Node (i, j, k) of the field has entries i, j and k of the arrays of the three directions as coordinates. On a mesh with a map
  (`DMBoxSetMapping()`) these are coordinates in the box; `DMGetCoordinates()` returns those in space.

.seealso: `DMBOX`, `DMBoxGetGlobalSizes()`, `DMBoxGetCorners()`, `DMBoxGetVertices()`, `DMGetCoordinates()`
@*/
PetscErrorCode DMBoxGetNodes(DM dm, PetscInt field, PetscInt direction, PetscReal x[])
{
  DM_Box            *box;
  const PatchFDLine *line;
  PatchFDBox         mesh;
  PetscReal         *all;

  PetscFunctionBegin;
  PetscAssertPointer(x, 4);
  PetscCall(DMBoxCheckField(dm, field, PETSC_FALSE, &box));
  PetscCheck(direction >= 0 && direction < dm->dim, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Direction is %" PetscInt_FMT "; in %" PetscInt_FMT " dimensions it must be at least 0 and less than %" PetscInt_FMT,
             direction, dm->dim, dm->dim);
  line = &box->field[field].line[direction];
  mesh = DMBoxMesh(&box->field[field]);
  PetscCall(PetscMalloc1(line->nnodes, &all));
  PetscCall(PatchFDLineNodes(line, all));
  PetscCall(PetscArraycpy(x, all + mesh.lo[direction], mesh.n[direction]));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ arrays ------------------------------------------------ */

/* where the nodes of a field are in the array of a global or local Vec, which its size tells, in the numbers of the mesh */
static PetscErrorCode DMBoxVecFind(DM dm, Vec v, PetscInt field, PatchFDBox *b, size_t *at)
{
  DM_Box    *box;
  PatchFDBox mesh;
  PetscInt   n;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckField(dm, field, PETSC_FALSE, &box));
  PetscValidHeaderSpecific(v, VEC_CLASSID, 2);
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck((size_t)n == box->nglobal || (size_t)n == box->nlocal, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The Vec has local size %" PetscInt_FMT ", but the DM has %" PetscInt_FMT " unknowns here, and with ghosts %" PetscInt_FMT
             "; take a Vec from DMCreateGlobalVector() or DMCreateLocalVector()",
             n, (PetscInt)box->nglobal, (PetscInt)box->nlocal);
  *b   = (size_t)n == box->nglobal ? box->field[field].global : box->field[field].local;
  mesh = DMBoxMesh(&box->field[field]);
  for (int d = 0; d < 3; d++) b->lo[d] -= mesh.lo[d];
  *at = (size_t)n == box->nglobal ? box->field[field].global0 : box->field[field].local0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* pointers to rows, and to planes of rows, so that array[k][j][i] is a node: in one dimension array[i], in two array[j][i] */
static PetscErrorCode DMBoxIndexArray(PetscInt dim, const PatchFDBox *b, PetscScalar *a, void *array)
{
  const PetscInt *lo = b->lo, *n = b->n;
  PetscScalar   **row, ***plane;

  PetscFunctionBegin;
  if (dim == 1) {
    *(PetscScalar **)array = a - lo[0];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1((size_t)n[1] * (size_t)n[2] + 1, &row));
  for (size_t r = 0; r < (size_t)n[1] * (size_t)n[2]; r++) row[r] = a + r * (size_t)n[0] - lo[0];
  if (dim == 2) {
    *(PetscScalar ***)array = row - lo[1];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(n[2] + 1, &plane));
  plane[n[2]] = row; /* what there is to free, also where there are no nodes */
  for (PetscInt k = 0; k < n[2]; k++) plane[k] = row + (size_t)k * (size_t)n[1] - lo[1];
  *(PetscScalar ****)array = plane - lo[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxUnindexArray(PetscInt dim, const PatchFDBox *b, void *array)
{
  PetscFunctionBegin;
  if (dim == 2) {
    PetscScalar **row = *(PetscScalar ***)array + b->lo[1];

    PetscCall(PetscFree(row));
  } else if (dim == 3) {
    PetscScalar ***plane = *(PetscScalar ****)array + b->lo[2];

    PetscCall(PetscFree(plane[b->n[2]]));
    PetscCall(PetscFree(plane));
  }
  *(void **)array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetIndexed(DM dm, Vec v, PetscInt field, PetscBool read, void *array)
{
  PatchFDBox         b  = {.n = {0, 0, 0}};
  size_t             at = 0;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscAssertPointer(array, 4);
  PetscCall(DMBoxVecFind(dm, v, field, &b, &at));
  if (read) PetscCall(VecGetArrayRead(v, &a));
  else PetscCall(VecGetArray(v, (PetscScalar **)&a));
  PetscCall(DMBoxIndexArray(dm->dim, &b, (PetscScalar *)PetscSafePointerPlusOffset(a, at), array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecRestoreIndexed(DM dm, Vec v, PetscInt field, PetscBool read, void *array)
{
  PatchFDBox b  = {.n = {0, 0, 0}};
  size_t     at = 0;

  PetscFunctionBegin;
  PetscAssertPointer(array, 4);
  PetscCall(DMBoxVecFind(dm, v, field, &b, &at));
  PetscCall(DMBoxUnindexArray(dm->dim, &b, array));
  if (read) PetscCall(VecRestoreArrayRead(v, NULL));
  else PetscCall(VecRestoreArray(v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxVecGetArray - Returns the values of a `Vec` at the nodes of a field as an array with an index for each direction

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, set up
. v     - a `Vec` of `DMCreateGlobalVector()` or `DMCreateLocalVector()`
- field - the field, 0 in a space with one

  Output Parameter:
. array - the array: `array[i]` in one dimension, `array[j][i]` in two, `array[k][j][i]` in three

  Level: beginner

  Notes:
  This is like `DMDAVecGetArray()`: i, j and k are numbers of nodes over the whole box, in the ranges of `DMBoxGetCorners()` for a global
  `Vec` and of `DMBoxGetGhostCorners()` for a local one. `DMBoxGetNodes()` and `DMGetCoordinates()` return the coordinates of nodes.

  You may get the arrays of several fields of a `Vec` at the same time. Call `DMBoxVecRestoreArray()` for each. The values are in double
  precision on the host, whatever the type of the `Vec` is, as with `VecGetArray()`.

  Example Usage:
.vb
  PetscScalar **u;
  PetscInt      x, y, m, n;

  DMBoxGetCorners(dm, 0, &x, &y, NULL, &m, &n, NULL);
  DMBoxVecGetArray(dm, v, 0, &u);
  for (PetscInt j = y; j < y + n; j++)
    for (PetscInt i = x; i < x + m; i++) u[j][i] = ...;
  DMBoxVecRestoreArray(dm, v, 0, &u);
.ve

.seealso: `DMBOX`, `DMBoxVecRestoreArray()`, `DMBoxVecGetArrayRead()`, `DMBoxGetCorners()`, `DMBoxGetGhostCorners()`,
          `DMBoxGetNodes()`, `DMDAVecGetArray()`
@*/
PetscErrorCode DMBoxVecGetArray(DM dm, Vec v, PetscInt field, void *array)
{
  return VecGetIndexed(dm, v, field, PETSC_FALSE, array);
}

/*@C
  DMBoxVecRestoreArray - Ends the access begun with `DMBoxVecGetArray()`

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
. v     - the `Vec`
. field - the field
- array - the array; it is `NULL` afterwards

  Level: beginner

.seealso: `DMBOX`, `DMBoxVecGetArray()`, `DMBoxVecGetArrayRead()`
@*/
PetscErrorCode DMBoxVecRestoreArray(DM dm, Vec v, PetscInt field, void *array)
{
  return VecRestoreIndexed(dm, v, field, PETSC_FALSE, array);
}

/*@C
  DMBoxVecGetArrayRead - As `DMBoxVecGetArray()`, for reading only

  Not Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, set up
. v     - a `Vec` of `DMCreateGlobalVector()` or `DMCreateLocalVector()`
- field - the field, 0 in a space with one

  Output Parameter:
. array - the array

  Level: beginner

.seealso: `DMBOX`, `DMBoxVecGetArray()`, `DMBoxVecRestoreArrayRead()`, `DMDAVecGetArrayRead()`
@*/
PetscErrorCode DMBoxVecGetArrayRead(DM dm, Vec v, PetscInt field, void *array)
{
  return VecGetIndexed(dm, v, field, PETSC_TRUE, array);
}

/*@C
  DMBoxVecRestoreArrayRead - Ends the access begun with `DMBoxVecGetArrayRead()`

  Not Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
. v     - the `Vec`
. field - the field
- array - the array; it is `NULL` afterwards

  Level: beginner

.seealso: `DMBOX`, `DMBoxVecGetArrayRead()`, `DMBoxVecGetArray()`
@*/
PetscErrorCode DMBoxVecRestoreArrayRead(DM dm, Vec v, PetscInt field, void *array)
{
  return VecRestoreIndexed(dm, v, field, PETSC_TRUE, array);
}
