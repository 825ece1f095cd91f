/*
  The map from the box of a DMBOX to space.  A mesh keeps where its nodes are (box->shape); within a cell positions are polynomials, those
  of the space or multilinear ones.  A map that is a function is evaluated on each mesh of a hierarchy; given coordinates are those of one
  mesh, and finer and coarser ones take their nodes from its polynomials.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>
#include <patchfd/private/vecimpl.h>

const char *const DMBoxMappingTypes[] = {"none",       "sine", "sine1", "sine2", "kershaw", "kershaw_smooth", "annulus", "DMBoxMappingType",
                                         "DMBOX_MAP_", NULL};

const PetscReal DMBoxMappingParameters[] = {0, 0.1, 0.2, 0.1, 0.3, 0.3, 0.5};

/* ------------------------------------------------ set-up, copies, options ------------------------------------------------ */

PetscErrorCode DMBoxCheckMapping(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCheck(!DMBoxIsMapped(box) || box->op->mapped, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "This DMBOX has a map to space (-dm_box_mapping, DMBoxSetMapping()), and -dm_box_operator %s is for boxes as they are; "
             "diffusion and elasticity take one",
             box->op->name);
  PetscCheck(!DMBoxHasPoints(box) || dm->dim > 1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_operator %s takes 2 or 3 dimensions%s; -dm_box_dim (DMSetDimension()) is %" PetscInt_FMT, box->op->name,
             DMBoxIsMapped(box) ? " with a map" : "", dm->dim);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mesh with its box as it is has a shape, too, so that operators by quadrature need not tell */
PetscErrorCode DMBoxSetUpMapping(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  if (!DMBoxHasPoints(box) || box->shape) PetscFunctionReturn(PETSC_SUCCESS); /* a clone has that of the DM */
  box->shape = box->known;
  box->known = NULL;
  if (!box->shape) {
    PetscCall(DMBoxShapeCreate(dm, &box->shape));
    if (box->mapfrom) {
      PetscCall(DMBoxShapeEvaluate(dm, box->mapfrom, box->shape));
      PetscCall(DMBoxShapeFillGhosts(dm, box->shape));
    } else PetscCall(DMBoxShapeInterpolate(dm, box->shape));
    PetscCall(DMBoxShapeStraighten(dm, DMBoxGetMappingDegree_Private(dm), box->shape));
  }
  if (box->mapfrom) { /* what comes next begins here */
    PetscCall(DMBoxShapeDestroy(&box->mapfrom));
    box->mapfrom = box->shape;
    box->shape->refct++;
  }
  if (!box->mayfold && !box->restricted) PetscCall(DMBoxCheckShape(dm, box->shape));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCopyMapping(DM from, DM to)
{
  const DM_Box *a = (const DM_Box *)from->data;
  DM_Box       *b = (DM_Box *)to->data;

  PetscFunctionBegin;
  b->maptype      = a->maptype;
  b->mapparameter = a->mapparameter;
  b->map          = a->map;
  b->mapctx       = a->mapctx;
  b->mapversion   = a->mapversion;
  b->mapdegree    = a->mapdegree;
  b->mapfrom      = a->mapfrom;
  if (b->mapfrom) b->mapfrom->refct++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the Vecs of coordinates are those of the mesh as it was */
static PetscErrorCode DMBoxRenewCoordinates(DM dm)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&dm->coordinates[0].x));
  PetscCall(VecDestroy(&dm->coordinates[0].xl));
  PetscCall(DMBoxSetUpCoordinates(dm));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxUpdateMapping(DM from, DM to)
{
  const DM_Box *a = (const DM_Box *)from->data;
  DM_Box       *b = (DM_Box *)to->data;

  PetscFunctionBegin;
  if (a->mapversion == b->mapversion) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxShapeDestroy(&b->mapfrom));
  PetscCall(DMBoxShapeDestroy(&b->shape));
  PetscCall(DMBoxCopyMapping(from, to));
  PetscCall(DMBoxSetUpMapping(to));
  PetscCall(DMBoxRenewCoordinates(to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxViewMapping(DM dm, PetscViewer viewer)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  if (!DMBoxIsMapped(box)) PetscFunctionReturn(PETSC_SUCCESS);
  if (box->map || box->mapfrom)
    PetscCall(PetscViewerASCIIPrintf(viewer, "mapped by %s", box->map ? "a function" : "the coordinates of its nodes"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "mapped: %s, parameter %g", DMBoxMappingTypes[box->maptype], (double)box->mapparameter));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall(PetscViewerASCIIPrintf(viewer, ", cells of degree %" PetscInt_FMT "\n", DMBoxGetMappingDegree_Private(dm)));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ public routines ------------------------------------------------ */

/*@C
  DMBoxSetMapping - Sets the map from the box of a `DMBOX` to space, by a function

  Logically Collective

  Input Parameters:
+ dm  - the `DM` of type `DMBOX`
. map - the function, or `NULL` for the box as it is; it gets the dimension, the time 0, a point of the box, the number of components (dim),
        the array for the point in space and `ctx`
- ctx - for the function, or `NULL`

  Level: intermediate

  Notes:
  The map is evaluated at the nodes. Within a cell it is the polynomial of the degree of the space through these values, or, after
  `DMBoxSetMappingDegree()`, the multilinear map through the corners. It must keep the orientation of the box: if a cell is inverted
  at a quadrature point, `DMSetUp()` is in error.

  The map is for the operators `diffusion` and `elasticity`. Call this routine before `DMSetUp()`.

  All points are then points in space: those that functions get in `DMBoxInterpolateFunction()`, `DMBoxAddLoad()`,
  `DMBoxAddNeumannLoad()`, `DMBoxComputeError()` and similar routines, those of `DMGetCoordinates()`, and those in files for
  ParaView.

  DMs made by `DMRefine()`, `DMCoarsen()` and `DMClone()` also use the map, at their own nodes. So `ctx` must exist as long as `dm` and
  such DMs, and with them solvers and matrices that reference them. To have it destroyed with the last of them, compose an object that
  owns it with `dm`, before they are made, under the name "DMBoxFunctions": all of them reference it. One object owns the contexts of
  all functions of `dm`.
.vb
     PetscObjectContainerCompose((PetscObject)dm, "DMBoxFunctions", ctx, destroy); // PETSc 3.22: PetscContainerCreate() and its kin
.ve

.seealso: `DMBOX`, `DMBoxGetMapping()`, `DMBoxSetMappingType()`, `DMBoxSetMappingCoordinates()`, `DMBoxSetMappingFile()`,
`DMBoxSetMappingDegree()`, `DMBoxSetDiffusion()`
@*/
PetscErrorCode DMBoxSetMapping(DM dm, DMBoxFunctionFn *map, void *ctx)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscCall(DMBoxShapeDestroy(&box->mapfrom));
  box->maptype = DMBOX_MAPPING_NONE;
  box->map     = map;
  box->mapctx  = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetMapping - Returns the function that maps the box of a `DMBOX` to space

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ map - the function, or `NULL` if there is none: the mesh is the box, has a map of `DMBoxGetMappingType()`, or has given coordinates, which
        `DMGetCoordinates()` returns
- ctx - its context, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetMapping()`, `DMBoxGetMappingType()`, `DMBoxGetMappingDegree()`, `DMGetCoordinates()`
@*/
PetscErrorCode DMBoxGetMapping(DM dm, DMBoxFunctionFn **map, void *ctx)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  if (map) *map = box->map;
  if (ctx) *(void **)ctx = box->mapctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetMappingType - Sets the map from the box of a `DMBOX` to space, by a name

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
. type      - the map
- parameter - its parameter, or `PETSC_DETERMINE` for its default

  Options Database Keys:
+ -dm_box_mapping (none|sine|sine1|sine2|kershaw|kershaw_smooth|annulus) - the map
- -dm_box_mapping_parameter a                                            - its parameter

  Level: beginner

  Note:
  Call it before `DMSetUp()`. `DMBoxSetMapping()` describes maps.

.seealso: `DMBOX`, `DMBoxMappingType`, `DMBoxGetMappingType()`, `DMBoxSetMapping()`, `DMBoxSetMappingDegree()`
@*/
PetscErrorCode DMBoxSetMappingType(DM dm, DMBoxMappingType type, PetscReal parameter)
{
  DM_Box   *box;
  PetscReal a = parameter;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscValidLogicalCollectiveEnum(dm, type, 2);
  PetscValidLogicalCollectiveReal(dm, parameter, 3);
  PetscCheck(type >= DMBOX_MAPPING_NONE && type <= DMBOX_MAPPING_ANNULUS, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxSetMappingType() got %d; DMBoxMappingType has the maps", (int)type);
  if (parameter == (PetscReal)PETSC_DETERMINE) a = DMBoxMappingParameters[type];
  PetscCheck(!PetscIsInfOrNanReal(a), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_mapping_parameter (DMBoxSetMappingType()) is %g; it must be finite", (double)a);
  PetscCheck(type < DMBOX_MAPPING_KERSHAW || (a > 0 && (type == DMBOX_MAPPING_ANNULUS ? a < 1 : a <= 1)), PetscObjectComm((PetscObject)dm),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_mapping_parameter (DMBoxSetMappingType()) is %g; -dm_box_mapping %s takes numbers above 0 and %s 1", (double)a,
             DMBoxMappingTypes[type], type == DMBOX_MAPPING_ANNULUS ? "below" : "up to");
  PetscCall(DMBoxSetMapping(dm, NULL, NULL));
  box->maptype      = type;
  box->mapparameter = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetMappingType - Returns the named map from the box of a `DMBOX` to space

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ type      - the map, or `NULL`
- parameter - its parameter, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxMappingType`, `DMBoxSetMappingType()`, `DMBoxGetMapping()`, `DMBoxGetMappingDegree()`
@*/
PetscErrorCode DMBoxGetMappingType(DM dm, DMBoxMappingType *type, PetscReal *parameter)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  if (type) *type = box->maptype;
  if (parameter) *parameter = box->mapparameter;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetMappingDegree - Sets the degree of the images of the cells of a `DMBOX` with a map

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
- degree - 1 for multilinear images, which agree with the map only at the corners, or `PETSC_DETERMINE` (default) for the degree of
           the space

  Options Database Key:
. -dm_box_mapping_degree m - the degree, -1 for that of the space

  Level: intermediate

  Note:
  Call it before `DMSetUp()`.

.seealso: `DMBOX`, `DMBoxGetMappingDegree()`, `DMBoxSetMapping()`, `DMBoxSetMappingType()`
@*/
PetscErrorCode DMBoxSetMappingDegree(DM dm, PetscInt degree)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscValidLogicalCollectiveInt(dm, degree, 2);
  PetscCheck(degree == 1 || degree == PETSC_DETERMINE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_mapping_degree (DMBoxSetMappingDegree()) is %" PetscInt_FMT
             "; it takes 1, for multilinear cells, and -1 (PETSC_DETERMINE), for the degree of the space",
             degree);
  box->mapdegree = degree;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetMappingDegree - Returns the degree of the images of the cells of a `DMBOX` with a map

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. degree - what was set: 1, or `PETSC_DETERMINE` for the degree of the space

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetMappingDegree()`
@*/
PetscErrorCode DMBoxGetMappingDegree(DM dm, PetscInt *degree)
{
  DMBOX_GET(dm, box->mapdegree, degree);
}

/*@
  DMBoxSetMappingCoordinates - Sets the map from the box of a `DMBOX` to space, by the coordinates of its nodes

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX`, set up, with an operator that takes a map (diffusion, elasticity)
- x  - dim coordinates for each node, with the layout of the `Vec` of `DMGetCoordinates()`; their values are copied

  Level: intermediate

  Notes:
  Within a cell the map is the polynomial of the degree of the space through these points, or, after `DMBoxSetMappingDegree()`, the
  multilinear map through the corners. DMs made by `DMRefine()` and `DMCoarsen()` take their nodes from these polynomials.

  You may call it again with other coordinates. Matrices of this `DM` (`MatBoxUpdate()`) and of the coarser meshes of a multigrid
  solver follow. Other DMs that were made before keep their map.

  Coordinates with which a cell is inverted are an error; the `DM` then keeps its old ones.

.seealso: `DMBOX`, `DMBoxSetMapping()`, `DMGetCoordinates()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetMappingCoordinates(DM dm, Vec x)
{
  DM_Box            *box;
  DMBoxShape        *shape;
  const PetscScalar *array;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscValidHeaderSpecific(x, VEC_CLASSID, 2);
  PetscCheckSameComm(dm, 1, x, 2);
  PetscCheck(box->op->mapped, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "DMBoxSetMappingCoordinates(): -dm_box_operator %s is for boxes as they are; diffusion and elasticity take a map",
             box->op->name);
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n == dm->dim * (PetscCount)PatchFDBoxSize(&box->field[0].global), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The Vec of coordinates has local size %" PetscInt_FMT ", but the DM has %" PetscInt_FMT " nodes here with %" PetscInt_FMT
             " coordinates; duplicate the Vec of DMGetCoordinates()",
             n, (PetscInt)PatchFDBoxSize(&box->field[0].global), dm->dim);
  PetscCall(DMBoxShapeCreate(dm, &shape));
  PetscCall(VecGetArrayRead(x, &array));
  PatchFDHostCopyNodes(dm->dim, (const PetscInt(*)[2])box->field[0].own, &box->field[0].global, array, &shape->nodes);
  PetscCall(VecRestoreArrayRead(x, &array));
  PetscCall(DMBoxShapeFillGhosts(dm, shape));
  PetscCall(DMBoxShapeStraighten(dm, box->mapdegree, shape));
  PetscCall(DMBoxCheckShape(dm, shape)); /* the DM still has what it had */
  PetscCall(DMBoxShapeDestroy(&box->shape));
  PetscCall(DMBoxShapeDestroy(&box->mapfrom));
  box->shape = box->mapfrom = shape;
  shape->refct++;
  box->maptype     = DMBOX_MAPPING_NONE;
  box->map         = NULL;
  box->op->version = box->mapversion = DMBoxOperatorNewVersion();
  PetscCall(DMBoxRenewCoordinates(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
