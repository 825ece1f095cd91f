/*
  The setters and getters of a DMBOX.  What describes the mesh can be set until DMSetUp(), the coefficients of the operator at any time.
  Values are checked together in DMSetUp(), in layout.c.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/

/*@
  DMBoxCreate - Creates a `DMBOX`

  Collective

  Input Parameters:
+ comm   - the MPI communicator
. dim    - the dimension: 1, 2 or 3
. cells  - the number of cells in each direction, of length `dim`
- degree - the polynomial degree, at least 1

  Output Parameter:
. dm - the new `DM`

  Level: beginner

  Note:
  Call `DMSetFromOptions()`, so that options have an effect, and then `DMSetUp()`.

.seealso: `DMBOX`, `DMSetFromOptions()`, `DMSetUp()`, `DMBoxSetBounds()`, `DMBoxSetBoundary()`, `DMBoxSetPoisson()`
@*/
PetscErrorCode DMBoxCreate(MPI_Comm comm, PetscInt dim, const PetscInt cells[], PetscInt degree, DM *dm)
{
  PetscFunctionBegin;
  PetscAssertPointer(dm, 5);
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMCreate(comm, dm));
  PetscCall(DMSetDimension(*dm, dim));
  PetscCall(DMSetType(*dm, DMBOX));
  PetscCall(DMBoxSetCells(*dm, cells));
  PetscCall(DMBoxSetDegree(*dm, degree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetCells - Sets the number of cells

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
- cells - the number of cells in each direction, of length dim, at least 1 each

  Options Database Key:
. -dm_box_cells nx,ny,nz - number of cells; one number is for all directions

  Level: beginner

  Notes:
  The option `-dm_refine` r multiplies these numbers by 2 to the power r in `DMSetUp()`.

  Call `DMSetDimension()` first.

.seealso: `DMBOX`, `DMBoxGetCells()`, `DMBoxSetVertices()`
@*/
PetscErrorCode DMBoxSetCells(DM dm, const PetscInt cells[])
{
  DMBOX_SET_ARRAY(dm, box->cells, dm->dim, cells);
}

/*@
  DMBoxGetCells - Returns the number of cells

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. cells - the number of cells in each direction, of length dim

  Level: beginner

  Note:
  After `DMSetUp()` the number includes refinement by `-dm_refine`.

.seealso: `DMBOX`, `DMBoxSetCells()`
@*/
PetscErrorCode DMBoxGetCells(DM dm, PetscInt cells[])
{
  DMBOX_GET_ARRAY(dm, box->cells, dm->dim, cells);
}

/*@
  DMBoxSetBounds - Sets the corners of the box

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
. lower - the lower corner, of length dim
- upper - the upper corner, of length dim, larger than `lower` in each direction

  Options Database Keys:
+ -dm_box_lower x,y,z - lower corner; one number is for all directions
- -dm_box_upper x,y,z - upper corner; one number is for all directions

  Level: beginner

.seealso: `DMBOX`, `DMBoxGetBounds()`, `DMBoxSetVertices()`
@*/
PetscErrorCode DMBoxSetBounds(DM dm, const PetscReal lower[], const PetscReal upper[])
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscAssertPointer(lower, 2);
  PetscAssertPointer(upper, 3);
  PetscCall(DMBoxGetContextToChange(dm, &box));
  for (PetscInt d = 0; d < dm->dim; d++) {
    box->lower[d] = lower[d];
    box->upper[d] = upper[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetBounds - Returns the corners of the box

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ lower - the lower corner, of length dim, or `NULL`
- upper - the upper corner, of length dim, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetBounds()`
@*/
PetscErrorCode DMBoxGetBounds(DM dm, PetscReal lower[], PetscReal upper[])
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  for (PetscInt d = 0; d < dm->dim; d++) {
    if (lower) lower[d] = box->lower[d];
    if (upper) upper[d] = box->upper[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetVertices - Sets the coordinates of the vertices of one direction, for a graded mesh

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
. direction - 0, 1 or 2, less than the dimension
. n         - the number of vertices, or 0 for cells of equal length again
- vertices  - the coordinates, increasing, from the lower to the upper end of the box

  Level: intermediate

  Notes:
  This sets the number of cells of the direction to `n` - 1, and its bounds to the first and last coordinate. If `DMBoxSetCells()`,
  `DMBoxSetBounds()` or their options give other values, `DMSetUp()` is in error.

  Refinement divides each cell into two of equal length.

  With cells of different lengths the set-up of solvers takes more memory and time, and some kernels are slower.

.seealso: `DMBOX`, `DMBoxGetVertices()`, `DMBoxSetCells()`, `DMBoxSetBounds()`
@*/
PetscErrorCode DMBoxSetVertices(DM dm, PetscInt direction, PetscInt n, const PetscReal vertices[])
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscCheck(direction >= 0 && direction < dm->dim, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Direction is %" PetscInt_FMT "; in %" PetscInt_FMT " dimensions it must be at least 0 and less than %" PetscInt_FMT,
             direction, dm->dim, dm->dim);
  PetscCheck(n == 0 || n >= 2, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Number of vertices is %" PetscInt_FMT "; it must be at least 2, or 0 for cells of equal length", n);
  PetscCall(PetscFree(box->vertices[direction]));
  box->nvertices[direction] = n;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscAssertPointer(vertices, 4);
  PetscCall(PetscMalloc1(n, &box->vertices[direction]));
  PetscCall(PetscArraycpy(box->vertices[direction], vertices, n));
  box->cells[direction] = n - 1;
  box->lower[direction] = vertices[0];
  box->upper[direction] = vertices[n - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetVertices - Returns the coordinates of the vertices of one direction of a graded mesh

  Not Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
- direction - 0, 1 or 2, less than the dimension

  Output Parameters:
+ n        - the number of vertices, or 0 if the cells are of equal length
- vertices - the coordinates, or `NULL`; they belong to the `DM`

  Level: intermediate

  Note:
  After `DMSetUp()` the vertices include refinement by `-dm_refine`.

.seealso: `DMBOX`, `DMBoxSetVertices()`, `DMBoxGetBounds()`, `DMBoxGetNodes()`
@*/
PetscErrorCode DMBoxGetVertices(DM dm, PetscInt direction, PetscInt *n, const PetscReal *vertices[])
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCheck(direction >= 0 && direction < dm->dim, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Direction is %" PetscInt_FMT "; in %" PetscInt_FMT " dimensions it must be at least 0 and less than %" PetscInt_FMT,
             direction, dm->dim, dm->dim);
  if (n) *n = box->nvertices[direction];
  if (vertices) *vertices = box->vertices[direction];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetDegree - Sets the polynomial degree

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
- degree - the degree in each direction, at least 1

  Options Database Key:
. -dm_box_degree k - polynomial degree

  Level: beginner

.seealso: `DMBOX`, `DMBoxGetDegree()`, `DMBoxSetSpace()`
@*/
PetscErrorCode DMBoxSetDegree(DM dm, PetscInt degree)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscValidLogicalCollectiveInt(dm, degree, 2);
  box->degree = degree;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetDegree - Returns the polynomial degree

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. degree - the degree in each direction

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetDegree()`
@*/
PetscErrorCode DMBoxGetDegree(DM dm, PetscInt *degree)
{
  DMBOX_GET(dm, box->degree, degree);
}

/*@
  DMBoxSetExtraPoints - Sets the number of Gauss points in each direction of a cell, for operators by quadrature

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
. extra  - 1 or 2: the number of points minus the degree
- single - the same for matrices in single precision, those of a `DM` whose vectors are of type `VECSINGLE` or `VECSINGLECUDA`; or
           `PETSC_DETERMINE`

  Options Database Key:
. -dm_box_extra_points extra,single - the numbers, the second one may be `determine`; one number is for both

  Level: intermediate

  Notes:
  The default is 1 and `PETSC_DETERMINE`, which is `extra`.

  With constant coefficients on parallelepipeds, 1 is exact. Otherwise the order of convergence is the same, and quadrature errors are
  larger if coefficients or the map vary within cells. In 3D there are 1.4 (degree 7) to 2.4 (degree 2) times fewer points.

  `single` is for matrices in single precision, which are preconditioners (`PCSINGLE`) and may differ from the operator. If
  coefficients vary much within cells, fewer points cost iterations.

.seealso: `DMBOX`, `DMBoxGetExtraPoints()`, `DMBoxSetDiffusion()`, `DMBoxCreateDiffusionVec()`, `PCSINGLE`
@*/
PetscErrorCode DMBoxSetExtraPoints(DM dm, PetscInt extra, PetscInt single)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscValidLogicalCollectiveInt(dm, extra, 2);
  PetscValidLogicalCollectiveInt(dm, single, 3);
  PetscCheck(extra >= 1 && extra <= 2 && ((single >= 1 && single <= 2) || single == PETSC_DETERMINE), PetscObjectComm((PetscObject)dm),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_extra_points (DMBoxSetExtraPoints()) is %" PetscInt_FMT ",%" PetscInt_FMT
             "; both must be 1 or 2, or the second one determine",
             extra, single);
  box->extra[0] = extra;
  box->extra[1] = single;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetExtraPoints - Returns the number of Gauss points in each direction of a cell, for operators by quadrature

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ extra  - the number of points minus the degree, or `NULL`
- single - the same for matrices in single precision, or `PETSC_DETERMINE`; or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetExtraPoints()`
@*/
PetscErrorCode DMBoxGetExtraPoints(DM dm, PetscInt *extra, PetscInt *single)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  if (extra) *extra = box->extra[0];
  if (single) *single = box->extra[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetSpace - Sets the finite element space

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
- space - `DMBOX_SPACE_Q`: continuous, or `DMBOX_SPACE_DGQ`: discontinuous, of the degree of `DMBoxSetDegree()` in each direction;
          `DMBOX_SPACE_RT`: a velocity and a pressure; `DMBOX_SPACE_P1`: linear on simplices; `DMBOX_SPACE_VQ`: continuous vector
          fields

  Options Database Key:
. -dm_box_space (q|dgq|rt|p1|vq) - finite element space

  Level: beginner

.seealso: `DMBOX`, `DMBoxGetSpace()`, `DMBoxSetDegree()`
@*/
PetscErrorCode DMBoxSetSpace(DM dm, DMBoxSpace space)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscValidLogicalCollectiveEnum(dm, space, 2);
  box->space = space;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetSpace - Returns the finite element space

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. space - the space

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetSpace()`
@*/
PetscErrorCode DMBoxGetSpace(DM dm, DMBoxSpace *space)
{
  DMBOX_GET(dm, box->space, space);
}

/*@
  DMBoxSetBoundary - Sets the boundary condition of each side

  Logically Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
- type - `DMBOX_BOUNDARY_DIRICHLET`, `DMBOX_BOUNDARY_NEUMANN`, `DMBOX_BOUNDARY_SUPPORTED`, `DMBOX_BOUNDARY_PERIODIC` or
         `DMBOX_BOUNDARY_SYMMETRY` for each side, of length 2 dim, in the order lower x, upper x, lower y, ...

  Options Database Key:
. -dm_box_boundary b0,b1,... - dirichlet, neumann, supported, periodic or symmetry for each side; one word is for all sides

  Level: beginner

  Notes:
  Unknowns where a Dirichlet and a Neumann side meet are Dirichlet unknowns.

  With Neumann or periodic conditions on all sides and no shift the operator is singular.

  Periodic sides come in pairs: both sides of a direction, which needs two cells at least, are the same points. There is one node for
  both, at the lower side. Ghost nodes (`DMBoxGetGhostCorners()`) go on beyond the sides, and have negative numbers below the lower one.
  Where patches see the cells beside them, with the spaces `DMBOX_SPACE_DGQ` and `DMBOX_SPACE_RT` and for
  plates, they take multiples of four cells around a ring, otherwise even numbers; a mesh with another number is not coarsened, but
  solved directly.

  For `stokes` velocities are given on Dirichlet sides, Neumann sides are open, and flows slip along planes of symmetry. If no side is
  open, the pressure is determined up to a constant, and the data must balance (`DMBoxLiftDirichlet()`). If no side gives a component,
  the shift must be positive.

  For `elasticity` Dirichlet sides are clamped, Neumann sides free or loaded (`DMBoxAddNeumannLoad()`), and planes of symmetry fix the
  component across them alone.

.seealso: `DMBOX`, `DMBoxGetBoundary()`, `DMBoxSetSymmetryComponents()`, `DMBoxAddNeumannLoad()`, `DMBoxLiftDirichlet()`
@*/
PetscErrorCode DMBoxSetBoundary(DM dm, const DMBoxBoundaryType type[])
{
  DMBOX_SET_ARRAY(dm, box->boundary, 2 * dm->dim, type);
}

/*@
  DMBoxGetBoundary - Returns the boundary condition of each side

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. type - the conditions, of length 2 dim, in the order lower x, upper x, lower y, ...

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetBoundary()`
@*/
PetscErrorCode DMBoxGetBoundary(DM dm, DMBoxBoundaryType type[])
{
  DMBOX_GET_ARRAY(dm, box->boundary, 2 * dm->dim, type);
}

/*@
  DMBoxSetSymmetryComponents - Sets which component planes of symmetry fix, for displacements on a box with a map

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`, with the space `DMBOX_SPACE_VQ`
- component - for each side, of length 2 dim, in the order lower x, upper x, lower y, ...: 0 to dim - 1, or `PETSC_DETERMINE` (default) for
              the direction of the box across the side; sides of other types than `DMBOX_BOUNDARY_SYMMETRY` take nothing else

  Options Database Key:
. -dm_box_symmetry_components c0,c1,... - the components, -1 for the default; one number is for all sides

  Level: intermediate

  Note:
  Components are those in space. On a quarter of an annulus, for example, both ends of the angle are sides of direction 1: on one of them
  component 1 is zero by symmetry, on the other component 0.

.seealso: `DMBOX`, `DMBoxGetSymmetryComponents()`, `DMBoxSetBoundary()`, `DMBoxSetMapping()`
@*/
PetscErrorCode DMBoxSetSymmetryComponents(DM dm, const PetscInt component[])
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscAssertPointer(component, 2);
  PetscCall(DMBoxGetContextToChange(dm, &box));
  for (PetscInt i = 0; i < 2 * dm->dim; i++) {
    PetscValidLogicalCollectiveInt(dm, component[i], 2);
    PetscCheck(component[i] == PETSC_DETERMINE || (component[i] >= 0 && component[i] < dm->dim), PetscObjectComm((PetscObject)dm),
               PETSC_ERR_ARG_OUTOFRANGE,
               "-dm_box_symmetry_components (DMBoxSetSymmetryComponents()) is %" PetscInt_FMT " for side %" PetscInt_FMT
               "; it must be 0 to %" PetscInt_FMT ", or -1 (PETSC_DETERMINE)",
               component[i], i, dm->dim - 1);
  }
  PetscCall(PetscArraycpy(box->symmetry, component, 2 * dm->dim));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetSymmetryComponents - Returns what `DMBoxSetSymmetryComponents()` has set

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. component - the components, of length 2 dim

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetSymmetryComponents()`
@*/
PetscErrorCode DMBoxGetSymmetryComponents(DM dm, PetscInt component[])
{
  DMBOX_GET_ARRAY(dm, box->symmetry, 2 * dm->dim, component);
}
