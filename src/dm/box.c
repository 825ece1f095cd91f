/*
  DMBOX: a DM for tensor-product finite elements of any degree on a box.

  In this file, in the order in which a program meets them:
     DMCreate_Box()              - defaults and operations
     DMSetFromOptions_Box()      - options; the setters behind them are in parameters.c
     DMCreateGlobalVector_Box()
     DMView_Box()
     DMDestroy_Box()
  DMSetUp_Box() is in layout.c, the halo exchange in halo.c, local vectors in local.c, coordinates in coordinates.c, refinement, coarsening
  and cloning in hierarchy.c and coarsening.c, functions in function.c, errors in error.c, fields in fields.c, files in natural.c and, for
  ParaView, in vtk.c.  The operator that the DM carries (operator.c) makes its matrices and interpolations and arranges for solvers.
*/
#include <patchfd/private/boximpl.h>
#include <patchfd/private/vecimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>
#include <patchfd/private/sysimpl.h>
#include <petsc/private/vecimpl.h>

const char *const DMBoxSpaces[]        = {"q", "dgq", "rt", "p1", "vq", "DMBoxSpace", "DMBOX_SPACE_", NULL};
const char *const PatchFDHaloTypes[]   = {"auto", "mpi", "host", "nccl", "peer", "PatchFDHaloType", "PATCHFD_HALO_", NULL};
const char *const DMBoxBoundaryTypes[] = {"dirichlet", "neumann",           "supported",       "periodic",
                                          "symmetry",  "DMBoxBoundaryType", "DMBOX_BOUNDARY_", NULL};

/* ------------------------------------------------ options ------------------------------------------------ */

/* a single value is for all n */
static PetscErrorCode DMBoxCheckCount(DM dm, const char option[], PetscInt given, PetscInt n, PetscBool *spread)
{
  PetscFunctionBegin;
  PetscCheck(given == 1 || given == n, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "%s has %s%" PetscInt_FMT " values; in %" PetscInt_FMT " dimensions it takes 1 or %" PetscInt_FMT, option,
             given > n ? "at least " : "", given, dm->dim, n);
  *spread = (PetscBool)(given == 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOptionsInt(DM dm, const char option[], const char text[], const char man[],
                                      PetscErrorCode (*set)(DM, const PetscInt[]), const PetscInt current[],
                                      PatchFDOptionItems PetscOptionsObject)
{
  PetscInt  v[4] = {current[0], current[1], current[2], 0}, n = dm->dim + 1;
  PetscBool flg, spread;

  PetscFunctionBegin;
  PatchFDOptions(IntArray, PatchFDOptionsWord((PetscReal)v[0]), option, text, man, v, &n, &flg);
  if (!flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCheckCount(dm, option, n, dm->dim, &spread));
  if (spread) v[1] = v[2] = v[0];
  PetscCall((*set)(dm, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOptionsReal(DM dm, const char option[], const char text[], const char man[], PetscReal v[4], PetscBool *flg,
                                PatchFDOptionItems PetscOptionsObject)
{
  PetscInt  n = dm->dim + 1;
  PetscBool spread;

  PetscFunctionBegin;
  PetscCall(PetscOptionsRealArray(option, text, man, v, &n, flg));
  if (!*flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCheckCount(dm, option, n, dm->dim, &spread));
  if (spread) v[1] = v[2] = v[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOptionsSides(DM dm, const char option[], const char text[], const char man[], PetscReal v[6], PetscBool *flg,
                                 PatchFDOptionItems PetscOptionsObject)
{
  PetscReal w[7] = {v[0], v[1], v[2], v[3], v[4], v[5]};
  PetscInt  n    = 2 * dm->dim + 1;
  PetscBool spread;

  PetscFunctionBegin;
  PetscCall(PetscOptionsRealArray(option, text, man, w, &n, flg));
  if (!*flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCheckCount(dm, option, n, 2 * dm->dim, &spread));
  for (PetscInt s = 0; s < 2 * dm->dim; s++)
    v[s] = !spread ? w[s] : (((const DM_Box *)dm->data)->boundary[s] == DMBOX_BOUNDARY_NEUMANN ? w[0] : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCheckSide(DM dm, const char who[], PetscInt side)
{
  PetscFunctionBegin;
  PetscValidLogicalCollectiveInt(dm, side, 2);
  PetscCheck(side >= 0 && side < 2 * dm->dim, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "%s is for side %" PetscInt_FMT "; in %" PetscInt_FMT " dimensions sides are 0 to %" PetscInt_FMT
             ": lower x, upper x, lower y, ...",
             who, side, dm->dim, 2 * dm->dim - 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCheckNatural(DM dm, const char what[], PetscInt side, PetscBool given)
{
  const DMBoxBoundaryType type = ((const DM_Box *)dm->data)->boundary[side];

  PetscFunctionBegin;
  PetscCheck(!given || type == DMBOX_BOUNDARY_NEUMANN, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "%s would have no effect on side %" PetscInt_FMT ", which is %s (-dm_box_boundary, DMBoxSetBoundary()); it must be neumann",
             what, side, DMBoxBoundaryTypes[type]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxParseBoundary(DM dm, const char word[], DMBoxBoundaryType *type)
{
  PetscBool found;

  PetscFunctionBegin;
  PetscCall(PetscEnumFind(DMBoxBoundaryTypes, word, (PetscEnum *)type, &found));
  PetscCheck(found, PetscObjectComm((PetscObject)dm), PETSC_ERR_USER_INPUT,
             "-dm_box_boundary has the word \"%s\"; it takes dirichlet, neumann, supported, periodic and symmetry, once for all sides or "
             "once for "
             "each: lower "
             "x, upper x, lower y, ...",
             word);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOptionsBoundary(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  char             *word[7];
  DMBoxBoundaryType type[6];
  PetscInt          n = 2 * dm->dim + 1, component[7], ncomponent = n;
  PetscBool         flg, spread;

  PetscFunctionBegin;
  PetscCall(DMBoxGetSymmetryComponents(dm, component)); /* what -help shows */
  for (PetscInt i = 0; i < 2 * dm->dim; i++)
    if (component[i] == PETSC_DETERMINE) component[i] = i / 2;
  PetscCall(PetscOptionsIntArray("-dm_box_symmetry_components", "The component that each plane of symmetry fixes, or -1",
                                 "DMBoxSetSymmetryComponents", component, &ncomponent, &flg));
  if (flg) {
    PetscCall(DMBoxCheckCount(dm, "-dm_box_symmetry_components", ncomponent, 2 * dm->dim, &spread));
    for (PetscInt i = 1; i < 2 * dm->dim && spread; i++) component[i] = component[0];
    PetscCall(DMBoxSetSymmetryComponents(dm, component));
  }
  PetscCall(PetscOptionsStringArray("-dm_box_boundary",
                                    "dirichlet, neumann, supported, periodic or symmetry: lower x, upper x, lower y, ..., or one for all",
                                    "DMBoxSetBoundary", word, &n, &flg));
  if (!flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCheckCount(dm, "-dm_box_boundary", n, 2 * dm->dim, &spread));
  for (PetscInt i = 0; i < 2 * dm->dim; i++) PetscCall(DMBoxParseBoundary(dm, word[spread ? 0 : i], &type[i]));
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscFree(word[i]));
  PetscCall(DMBoxSetBoundary(dm, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOptionsBounds(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  DM_Box   *box      = (DM_Box *)dm->data;
  PetscReal lower[4] = {box->lower[0], box->lower[1], box->lower[2], 0}, upper[4] = {box->upper[0], box->upper[1], box->upper[2], 0};
  PetscBool flg[2];

  PetscFunctionBegin;
  PetscCall(DMBoxOptionsReal(dm, "-dm_box_lower", "Lower corner", "DMBoxSetBounds", lower, &flg[0], PetscOptionsObject));
  PetscCall(DMBoxOptionsReal(dm, "-dm_box_upper", "Upper corner", "DMBoxSetBounds", upper, &flg[1], PetscOptionsObject));
  if (flg[0] || flg[1]) PetscCall(DMBoxSetBounds(dm, lower, upper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which operator, and its own options */
static PetscErrorCode DMBoxOptionsOperator(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  DM_Box   *box = (DM_Box *)dm->data;
  char      name[256];
  PetscBool flg;

  PetscFunctionBegin;
  PetscCall(
    PetscOptionsFList("-dm_box_operator", "The operator", "DMBoxSetOperator", DMBoxOperatorList, box->op->name, name, sizeof(name), &flg));
  if (flg) PetscCall(DMBoxSetOperator(dm, name));
  if (box->op->ops.setfromoptions) PetscCall((*box->op->ops.setfromoptions)(dm, box->op, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one number is for both precisions */
static PetscErrorCode DMBoxOptionsExtraPoints(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  DM_Box   *box      = (DM_Box *)dm->data;
  PetscInt  extra[2] = {box->extra[0], box->extra[1]}, n = 2;
  PetscBool flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsIntArray("-dm_box_extra_points",
                                 "Gauss points in a direction of a cell, more than the degree, in double and in single precision",
                                 "DMBoxSetExtraPoints", extra, &n, &flg));
  if (flg) PetscCall(DMBoxSetExtraPoints(dm, extra[0], extra[n == 1 ? 0 : 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMSetFromOptions_Box(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  DM_Box         *box = (DM_Box *)dm->data;
  PetscInt        dim = dm->dim, degree;
  DMBoxSpace      space;
  PatchFDHaloType halo      = box->halotype;
  PetscReal       threshold = box->semicoarsening;
  PetscBool3      galerkin  = box->galerkin;
  PetscBool       flg;

  PetscFunctionBegin;
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "DMSetFromOptions() cannot be called after DMSetUp() for a DMBOX");
  PetscOptionsHeadBegin(PetscOptionsObject, "DMBOX options");
  PetscCall(PetscOptionsInt("-dm_box_dim", "Dimension: 1, 2 or 3", "DMSetDimension", dim, &dim, &flg));
  if (flg) PetscCall(DMSetDimension(dm, dim));
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCall(DMBoxOptionsInt(dm, "-dm_box_cells", "Number of cells in each direction, before refinement", "DMBoxSetCells", DMBoxSetCells,
                            box->cells, PetscOptionsObject));
  PetscCall(
    PetscOptionsInt("-dm_refine", "How often the cells are divided by two in each direction", "DMRefine", box->refine, &box->refine, &flg));
  PetscCheck(box->refine >= 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_refine is %" PetscInt_FMT "; it must be at least 0", box->refine);
  PetscCall(DMBoxOptionsBounds(dm, PetscOptionsObject));
  PetscCall(PetscOptionsInt("-dm_box_degree", "Polynomial degree", "DMBoxSetDegree", box->degree, &degree, &flg));
  if (flg) PetscCall(DMBoxSetDegree(dm, degree));
  PetscCall(PetscOptionsEnum("-dm_box_space", "Finite element space", "DMBoxSetSpace", DMBoxSpaces, (PetscEnum)box->space,
                             (PetscEnum *)&space, &flg));
  if (flg) PetscCall(DMBoxSetSpace(dm, space));
  PetscCall(PetscOptionsEnum("-dm_box_halo", "How values that other ranks need travel", "DMBoxSetHaloType", PatchFDHaloTypes,
                             (PetscEnum)halo, (PetscEnum *)&halo, &flg));
  if (flg) PetscCall(DMBoxSetHaloType(dm, halo));
  PatchFDOptions(Real, PatchFDOptionsWord(threshold), "-dm_box_semicoarsening",
                 "DMCoarsen() leaves out directions that are coupled less than this times the strongest", "DMBoxSetSemicoarsening",
                 threshold, &threshold, &flg);
  if (flg) PetscCall(DMBoxSetSemicoarsening(dm, threshold));
  PatchFDOptions(Bool3, galerkin == PETSC_BOOL3_UNKNOWN ? "auto" : NULL, "-dm_box_galerkin",
                 "Operators of coarse meshes are those of the finer ones", "DMBoxSetGalerkin", galerkin, &galerkin, &flg);
  if (flg) PetscCall(DMBoxSetGalerkin(dm, galerkin));
  PetscCall(DMBoxOptionsExtraPoints(dm, PetscOptionsObject));
  PetscCall(DMBoxOptionsBoundary(dm, PetscOptionsObject));
  PetscCall(DMBoxOptionsInt(dm, "-dm_box_processes", "Number of processes in each direction", "DMBoxSetProcesses", DMBoxSetProcesses,
                            box->processes, PetscOptionsObject));
  PetscCall(DMBoxOptionsMapping(dm, PetscOptionsObject));
  PetscCall(DMBoxOptionsOperator(dm, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ what the operator does ------------------------------------------------ */

static PetscErrorCode DMCreateMatrix_Box(DM dm, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMBoxCheckCoordinates(dm));
  PetscCall((*((DM_Box *)dm->data)->op->ops.creatematrix)(dm, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCreateInterpolation_Box(DM coarse, DM fine, Mat *P, Vec *scale)
{
  PetscFunctionBegin;
  PetscCall((*((DM_Box *)coarse->data)->op->ops.createinterpolation)(coarse, fine, P, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ the other operations ------------------------------------------------ */

static PetscErrorCode DMCreateGlobalVector_Box(DM dm, Vec *v)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(
    PatchFDVecCreate(PetscObjectComm((PetscObject)dm), dm->vectype, (PetscInt)box->nglobal, DMBoxHasRoom(dm) ? box->room : NULL, v));
  PetscCall(VecSetDM(*v, dm));
  PetscCall(VecSetOperation(*v, VECOP_VIEW, (PetscVoidFn *)VecView_Box));
  PetscCall(VecSetOperation(*v, VECOP_LOAD, (PetscVoidFn *)VecLoad_Box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxViewDirection(DM dm, PetscInt d, PetscViewer viewer)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%c: %" PetscInt_FMT "%s cells in [%g, %g]", (char)('x' + d), box->cells[d],
                                   box->vertices[d] ? " graded" : "", (double)box->lower[d], (double)box->upper[d]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall(PetscViewerASCIIPrintf(viewer, ", boundary %s %s", DMBoxBoundaryTypes[box->boundary[2 * d]],
                                   DMBoxBoundaryTypes[box->boundary[2 * d + 1]]));
  if (box->processes[d] > 0) PetscCall(PetscViewerASCIIPrintf(viewer, ", processes %" PetscInt_FMT, box->processes[d]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMView_Box(DM dm, PetscViewer viewer)
{
  DM_Box   *box;
  PetscBool isascii, isvtk, isstring;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERVTK, &isvtk));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &isstring));
  PetscCheck(isascii || isvtk || isstring, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "DMView() of a DMBOX has nothing for a viewer of type %s; it takes ascii and vtk", ((PetscObject)viewer)->type_name);
  if (isvtk) PetscCall(DMBoxViewMeshVTK(dm, viewer));
  if (!isascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "dimension %" PetscInt_FMT ", space %s, degree %" PetscInt_FMT "\n", dm->dim,
                                   DMBoxSpaces[box->space], box->degree));
  PetscCall(PetscViewerASCIIPrintf(viewer, "operator %s: ", box->op->name));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall((*box->op->ops.view)(dm->dim, box->op->coefficient, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (dm->setupcalled) {
    PetscInt n = 0;

    for (PetscInt i = 0; i < box->nfield; i++) {
      const PatchFDBox mesh = DMBoxMesh(&box->field[i]);

      n += (PetscInt)PatchFDBoxSize(&mesh);
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " unknowns\n", n));
  } else PetscCall(PetscViewerASCIIPrintf(viewer, "not set up yet, to be refined %" PetscInt_FMT " times\n", box->refine));
  for (PetscInt d = 0; d < dm->dim; d++) PetscCall(DMBoxViewDirection(dm, d, viewer));
  PetscCall(DMBoxViewMapping(dm, viewer));
  PetscCall(DMBoxViewSemicoarsening(dm, viewer));
  if (box->restricted)
    PetscCall(PetscViewerASCIIPrintf(viewer, "Galerkin operator of the finer mesh, with %" PetscInt_FMT " Gauss points in a direction\n",
                                     DMBoxNumGauss(dm)));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMDestroy_Box(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCall(DMBoxResetLayout(dm));
  PetscCall(DMBoxOperatorDestroy(&box->op));
  PetscCall(DMBoxShapeDestroy(&box->shape));
  PetscCall(DMBoxShapeDestroy(&box->mapfrom));
  PetscCall(DMBoxShapeDestroy(&box->known));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(box->vertices[d]));
  PetscCall(PetscFree(dm->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   DMBOX - "box" - tensor-product finite elements of any degree on a box that is divided into boxes

   Options Database Keys:
+  -dm_box_dim dim             - dimension: 1, 2 or 3 (default 3, or what `DMSetDimension()` says)
.  -dm_box_cells nx,ny,nz      - number of cells in each direction, before refinement; one number is for all (default 2)
.  -dm_refine r                - divide the cells by two in each direction r times (default 0)
.  -dm_box_lower x,y,z         - lower corner; one number is for all (default 0)
.  -dm_box_upper x,y,z         - upper corner; one number is for all (default 1)
.  -dm_box_degree k            - polynomial degree in each direction, at least 1 (default 1)
.  -dm_box_space (q|dgq|rt|p1) - finite element space: continuous, discontinuous with interior penalties, velocity and pressure, or linear
  on simplices (default q)
.  -dm_box_boundary b0,b1,...  - dirichlet, neumann, supported or periodic at each side, in the order lower x, upper x, lower y, ...; one
  word is for all (default dirichlet)
.  -dm_box_symmetry_components - elasticity: the component that is fixed by the plane of symmetry at each side, -1 for that across the side
.  -dm_box_operator name       - the operator: poisson (default), biharmonic, stokes, diffusion or heat
.  -dm_box_mapping type        - diffusion, elasticity: the image of the box, none (default), sine, sine1, sine2, kershaw, kershaw_smooth or
                                 annulus
.  -dm_box_mapping_parameter a - its parameter, see `DMBoxMappingType`
.  -dm_box_mapping_degree m    - of the images of cells: 1, or -1 (default) for the degree of the space
.  -dm_box_mapping_file f      - diffusion: the points of a structured VTK file are those of the box in space
.  -dm_box_processes px,py,pz  - number of MPI processes in each direction, -1 for any (default: slabs while they are thick, see Notes)
.  -dm_box_galerkin (true|false|auto) - coarse meshes have element-wise Galerkin operators, for `diffusion` (default auto: where they jump
  much inside coarse cells), see `DMBoxSetGalerkin()`
.  -dm_box_semicoarsening t    - leave out directions that are coupled less than t times the strongest when cells are halved; 0: none
  (default 0.17 for poisson, 0.5 for diffusion), see `DMBoxSetSemicoarsening()`
.  -dm_box_extra_points e,s    - diffusion: Gauss points in a direction of a cell, more than the degree, in double and in single precision
  (default 2,determine), see `DMBoxSetExtraPoints()`
.  -dm_box_halo type           - how values travel between MPI processes: auto (default), mpi, host, nccl or peer, see `PatchFDHaloType`
.  -dm_box_diffusion kx,ky,kz  - diffusion coefficient in each direction, positive; one number is for all (default 1)
.  -dm_box_shift s             - the operator is -div(diffusion grad u) + s u (default 0); also for biharmonic, stokes and diffusion
.  -dm_box_bending D           - biharmonic: bending stiffness (default 1)
.  -dm_box_viscosity nu        - stokes: viscosity (default 1)
.  -dm_box_capacity c          - heat: capacity of a volume (default 1)
.  -dm_box_conductivity kx,... - heat: conductivity in each direction (default 1)
.  -dm_box_robin h0,...        - poisson, diffusion and heat: h in D du/dn + h u = g on each side (default 0)
.  -dm_box_outside T0,...      - heat: temperature outside of each side (default 0)
.  -dm_box_steady              - heat: source, fluxes and given values do not depend on time (default false)
.  -dm_box_penalty in,bd       - factors of the penalties on faces between cells and on Dirichlet sides, for dgq, biharmonic and stokes
  (default 1)
.  -dm_vec_type type           - type of the vectors: standard (default), single or cuda
-  -dm_mat_type type           - type of the matrices

   Level: beginner

   Notes:
   The unknowns are values at Gauss-Lobatto nodes. The space q has (number of cells) k + 1 of them in each direction, the space dgq
   k + 1 in each cell. On each MPI process they are numbered with x fastest, then y, then z. Processes are numbered in the same way.

   With q, the unknowns on a Dirichlet side stay in the vectors. The matrix has rows and columns of the identity there, and
   `DMBoxLiftDirichlet()` brings boundary values into a right-hand side. With dgq, Dirichlet conditions are weak and there are no
   such nodes. Two periodic sides have one node in common, the one at the lower side.

   The space rt has dim + 1 fields. The components of the velocity are continuous of degree k + 1 in their own direction and
   discontinuous of degree k in the others; the pressure is discontinuous of degree k. On each process the fields follow one another
   in vectors. `DMCreateFieldIS()` and `DMCreateFieldDecomposition()` name them `velocity` and `pressure`, for `PCFIELDSPLIT`.
   Components have no nodes in common: `DMGetCoordinates()` returns the nodes of the pressure, and `DMBoxInterpolateFunction()`
   calls functions at the nodes of each component.

   `DMCreateMatrix()` makes the operator and `DMCreateInterpolation()` the interpolation, both matrix-free. `KSPSetDM()` is all that
   a solver needs: no `KSPSetComputeOperators()`, no `KSPSetOperators()`. `DMRefine()` doubles and `DMCoarsen()` halves the number
   of cells, the latter only in directions of strong coupling (`DMBoxSetSemicoarsening()`).

   Coefficients are constant and the mesh is the box itself, except for the operators diffusion (`DMBoxSetDiffusionFunction()`,
   `DMBoxSetMapping()`) and heat. `DMBoxSetVertices()` makes graded meshes.

   `DMBoxGetCorners()` returns the cells and nodes of each process. `DMBoxVecGetArray()` returns the values of a `Vec` as an array
   with an index for each direction.

   `VecView()` with a `PETSCVIEWERVTK` writes a file for ParaView, for instance `-ksp_view_solution vtk:u.vts`. With rt it has
   velocities as vectors and pressures, at the Gauss-Lobatto points of degree k + 1 in each cell. `DMView()` writes the mesh alone
   (`-dm_view vtk:mesh.vts`), with the rank of the process that owns each node.

   Without `DMBoxSetProcesses()` processes get slabs of the last direction while these have several cells, otherwise the pieces for which
   a V-cycle sends and copies least. If no grid of processes fits the cells, there is an error. On levels made by `DMCoarsen()`
   processes may own nothing.

   Call `DMSetMatType()` after `DMSetType()`, which replaces the type `MATAIJ`, PETSc's default for every `DM`. With 32-bit indices
   and more than 2^31 / dim nodes there are no coordinates: `DMGetCoordinates()` returns `NULL`.

.seealso: `DMBoxCreate()`, `DMBoxSetCells()`, `DMBoxSetBounds()`, `DMBoxSetVertices()`, `DMBoxSetDegree()`, `DMBoxSetSpace()`,
`DMBoxSetBoundary()`,
          `DMBoxSetProcesses()`, `DMBoxGetCorners()`, `DMBoxVecGetArray()`, `DMBoxSetPoisson()`, `DMBoxSetBiharmonic()`,
          `DMBoxSetStokes()`, `DMBoxSetDiffusion()`, `DMBoxSetMapping()`, `DMBoxGetNumCoarsenings()`, `DMBoxSetSemicoarsening()`,
          `DMBoxSetGalerkin()`, `DMBoxInterpolateFunction()`, `DMBoxAddLoad()`, `DMBoxAddNeumannLoad()`, `DMBoxComputeError()`,
          `DMBoxComputeStokesError()`, `DMBoxLiftDirichlet()`, `PCPATCHFD`, `PCPATCHMG`, `DMSetType()`
M*/
PetscErrorCode DMCreate_Box(DM dm)
{
  DM_Box   *box;
  PetscBool aij;

  PetscFunctionBegin;
  PetscCall(PetscNew(&box));
  dm->data = box;
  for (PetscInt d = 0; d < 3; d++) {
    box->cells[d]     = 2;
    box->upper[d]     = 1;
    box->processes[d] = PETSC_DECIDE;
  }
  box->degree    = 1;
  box->mapdegree = PETSC_DETERMINE;
  for (int i = 0; i < 6; i++) box->symmetry[i] = PETSC_DETERMINE;
  box->extra[0]       = 1;
  box->extra[1]       = PETSC_DETERMINE;
  box->semicoarsening = PETSC_DETERMINE;
  box->galerkin       = PETSC_BOOL3_UNKNOWN;
  box->lowering       = -1;
  box->folding        = -1;
  if (dm->dim == PETSC_DETERMINE) PetscCall(DMSetDimension(dm, 3));
  /* MATAIJ is what DMCreate() says */
  PetscCall(PetscStrcmp(dm->mattype, MATAIJ, &aij));
  if (aij) PetscCall(DMSetMatType(dm, MATSHELL));

  dm->ops->setfromoptions          = DMSetFromOptions_Box;
  dm->ops->setup                   = DMSetUp_Box;
  dm->ops->view                    = DMView_Box;
  dm->ops->destroy                 = DMDestroy_Box;
  dm->ops->clone                   = DMClone_Box;
  dm->ops->createglobalvector      = DMCreateGlobalVector_Box;
  dm->ops->refine                  = DMRefine_Box;
  dm->ops->coarsen                 = DMCoarsen_Box;
  dm->ops->creatematrix            = DMCreateMatrix_Box;
  dm->ops->createinterpolation     = DMCreateInterpolation_Box;
  dm->ops->createlocalvector       = DMCreateLocalVector_Box;
  dm->ops->globaltolocalbegin      = DMGlobalToLocalBegin_Box;
  dm->ops->globaltolocalend        = DMGlobalToLocalEnd_Box;
  dm->ops->localtoglobalbegin      = DMLocalToGlobalBegin_Box;
  dm->ops->localtoglobalend        = DMLocalToGlobalEnd_Box;
  dm->ops->localtolocalbegin       = DMLocalToLocalBegin_Box;
  dm->ops->localtolocalend         = DMLocalToLocalEnd_Box;
  dm->ops->getlocaltoglobalmapping = DMGetLocalToGlobalMapping_Box;
  dm->ops->createfieldis           = DMCreateFieldIS_Box;
  dm->ops->createcoordinatedm      = DMCreateCoordinateDM_Box;
  dm->ops->getlocalboundingbox     = DMGetLocalBoundingBox_Box;
  PetscCall(DMBoxOperatorCreate(PetscObjectComm((PetscObject)dm), "poisson", &box->op));
  PetscCall((*box->op->ops.setup)(dm));
  PetscCall(DMCoarsenHookAdd(dm, NULL, DMRestrictHook_Box, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
