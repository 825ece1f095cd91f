/* The operator "diffusion" of a DMBOX: its medium, which users set */
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/vecimpl.h>
#include "diffusion.h"

PetscErrorCode DMBoxDiffusionMediumDestroy(DiffusionMedium **m)
{
  PetscFunctionBegin;
  if (*m && --(*m)->refct == 0) {
    PetscCall(DMBoxCellDataDestroy(&(*m)->Kdata));
    PetscCall(DMBoxCellDataDestroy(&(*m)->shiftdata));
    PetscCall(DMBoxCellDataDestroy(&(*m)->massdata));
    PetscCall(DMBoxDiffusionMediumDestroy(&(*m)->fine));
    PetscCall(PetscFree(*m));
  }
  *m = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxDiffusionSetMedium(DMBoxOperator op, const DiffusionMedium *medium)
{
  Diffusion       *data = (Diffusion *)op->data;
  DiffusionMedium *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  *m       = *medium;
  m->refct = 1;
  PetscCall(DMBoxDiffusionMediumDestroy(&data->medium));
  data->medium = m;
  op->version  = DMBoxOperatorNewVersion();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiffusionCheckCount(DM dm, const char who[], PetscInt n)
{
  const PetscInt dim = dm->dim;

  PetscFunctionBegin;
  PetscCheck(n == 1 || n == dim || n == dim * (dim + 1) / 2, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "%s has %" PetscInt_FMT " numbers for K; in %" PetscInt_FMT " dimensions it takes 1, %" PetscInt_FMT
             " (a diagonal) or %" PetscInt_FMT " (%s)",
             who, n, dim, dim, dim * (dim + 1) / 2, dim == 2 ? "xx, xy, yy" : "xx, xy, xz, yy, yz, zz");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetDiffusion - Sets constant coefficients of the operator `diffusion`, -div(K grad u) + s u

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
. n     - the number of entries of K: 1 for a multiple of the identity, dim for a diagonal, dim (dim + 1) / 2 for a symmetric matrix
. K     - the numbers, of a matrix row by row from its diagonal on: xx, xy, yy, or xx, xy, xz, yy, yz, zz
- shift - s, at least 0

  Options Database Keys:
+ -dm_box_diffusion K - the numbers of K, separated by commas
- -dm_box_shift s     - s

  Level: beginner

  Notes:
  The integrals use degree + 2 Gauss points in each direction of each cell, or the number of `DMBoxSetExtraPoints()`, on the mesh
  that `DMBoxSetMapping()` makes of the box.

  You may call it at any time, also after `DMSetUp()`; matrices follow (`MatBoxUpdate()`). K must be positive definite and s not
  negative. This is checked when a matrix takes the coefficients over: at its next use, or at once if it is assembled or the box has
  no Dirichlet sides.

  On a box without map and with a diagonal K use the operator `poisson`, which is much faster.

.seealso: `DMBOX`, `DMBoxGetDiffusion()`, `DMBoxSetDiffusionFunction()`, `DMBoxSetMapping()`, `DMBoxSetOperator()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetDiffusion(DM dm, PetscInt n, const PetscReal K[], PetscReal shift)
{
  DMBoxOperator   op;
  DiffusionMedium m = {.nK = n, .nconstant = n, .shift = shift};

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", "DMBoxSetDiffusion()", &op));
  PetscValidLogicalCollectiveInt(dm, n, 2);
  PetscAssertPointer(K, 3);
  PetscValidLogicalCollectiveReal(dm, shift, 4);
  PetscCall(DiffusionCheckCount(dm, "-dm_box_diffusion (DMBoxSetDiffusion())", n));
  PetscCall(PetscArraycpy(m.K, K, n));
  PetscCall(DMBoxDiffusionSetMedium(op, &m));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetDiffusion - Returns the constant coefficients of the operator `diffusion`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ n     - the number of entries of K, or `NULL`
. K     - the numbers, of length dim (dim + 1) / 2, or `NULL`
- shift - s, or `NULL`

  Level: beginner

  Note:
  If a function or a `Vec` is set (`DMBoxGetDiffusionFunction()`, `DMBoxGetDiffusionVec()`), the operator uses that instead.

.seealso: `DMBOX`, `DMBoxSetDiffusion()`, `DMBoxGetDiffusionFunction()`, `DMBoxGetDiffusionVec()`
@*/
PetscErrorCode DMBoxGetDiffusion(DM dm, PetscInt *n, PetscReal K[], PetscReal *shift)
{
  DMBoxOperator          op;
  const DiffusionMedium *m;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", "DMBoxGetDiffusion()", &op));
  m = DMBoxDiffusionGetMedium(op);
  if (n) *n = m->nconstant;
  if (K) PetscCall(PetscArraycpy(K, m->K, m->nconstant));
  if (shift) *shift = m->shift;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxSetDiffusionFunction - Sets coefficients of the operator `diffusion`, -div(K grad u) + s u, that are functions of space

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
. n     - the number of entries of K: see `DMBoxSetDiffusion()`
. K     - the function; it gets the dimension, the time 0, the point in space, the number of components (n), the array for the values and
          `ctx`.  `NULL` for the constant of `DMBoxSetDiffusion()`
. shift - the same for s, with one component; `NULL` for the constant of `DMBoxSetDiffusion()`
- ctx   - for the functions, or `NULL`

  Level: intermediate

  Notes:
  The functions are evaluated at the Gauss points, which are inside the cells, of each mesh of a hierarchy. They may jump; jumps
  along faces of cells do not reduce the order.

  You may call it at any time, also after `DMSetUp()`; matrices follow (`MatBoxUpdate()`). Call it again if the functions are the
  same but return other values.

  The functions are called later, also for DMs that are made of this one: `DMBoxSetMapping()` says how long `ctx` must exist, and how it
  is destroyed with the last of them.

.seealso: `DMBOX`, `DMBoxGetDiffusionFunction()`, `DMBoxSetDiffusion()`, `DMBoxSetMapping()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetDiffusionFunction(DM dm, PetscInt n, DMBoxFunctionFn *K, DMBoxFunctionFn *shift, void *ctx)
{
  DMBoxOperator   op;
  DiffusionMedium m;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", "DMBoxSetDiffusionFunction()", &op));
  PetscValidLogicalCollectiveInt(dm, n, 2);
  m = *DMBoxDiffusionGetMedium(op);
  if (K) PetscCall(DiffusionCheckCount(dm, "DMBoxSetDiffusionFunction()", n));
  m.nK            = K ? n : m.nconstant;
  m.Kfunction     = K;
  m.shiftfunction = shift;
  m.ctx           = ctx;
  m.Kdata = m.shiftdata = m.massdata = NULL;
  m.fine                             = NULL;
  PetscCall(DMBoxDiffusionSetMedium(op, &m));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetDiffusionFunction - Returns the functions that are coefficients of the operator `diffusion`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ n     - the number of entries of K, or `NULL`
. K     - the function, which is `NULL` if K is not a function; or `NULL`
. shift - the function, which is `NULL` if s is not a function; or `NULL`
- ctx   - their context, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetDiffusionFunction()`, `DMBoxGetDiffusion()`, `DMBoxGetDiffusionVec()`
@*/
PetscErrorCode DMBoxGetDiffusionFunction(DM dm, PetscInt *n, DMBoxFunctionFn **K, DMBoxFunctionFn **shift, void *ctx)
{
  DMBoxOperator          op;
  const DiffusionMedium *m;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", "DMBoxGetDiffusionFunction()", &op));
  m = DMBoxDiffusionGetMedium(op);
  if (n) *n = m->nK;
  if (K) *K = m->Kfunction;
  if (shift) *shift = m->shiftfunction;
  if (ctx) *(void **)ctx = m->ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxCreateDiffusionVec - Creates a `Vec` for coefficients of the operator `diffusion`, with numbers for cells or for quadrature points

  Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`, set up
. points - `PETSC_TRUE` for a group of numbers at each quadrature point, `PETSC_FALSE` for one in each cell
- n      - the length of a group

  Output Parameter:
. v - the `Vec`

  Level: intermediate

  Notes:
  Each MPI process has its cells (`DMBoxGetCorners()` with `DMBOX_CELLS`), x fastest, then y, then z. A cell has its Gauss points in
  the same order, degree + 2 in each direction (`DMBoxSetExtraPoints()`). A point or cell has its group of numbers.

  The `Vec` is in GPU memory if the vectors of the `DM` are.

.seealso: `DMBOX`, `DMBoxSetDiffusionVec()`, `DMBoxComputeDiffusionPoints()`
@*/
PetscErrorCode DMBoxCreateDiffusionVec(DM dm, PetscBool points, PetscInt n, Vec *v)
{
  DM_Box        *box;
  PatchFDKernels kern;
  PetscInt       size;

  PetscFunctionBegin;
  PetscAssertPointer(v, 4);
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscValidLogicalCollectiveBool(dm, points, 2);
  PetscValidLogicalCollectiveInt(dm, n, 3);
  PetscCheck(n >= 1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxCreateDiffusionVec() for %" PetscInt_FMT " numbers; there have to be 1 or more", n);
  PetscCall(PetscIntCast(PatchFDRangeSize((const PetscInt(*)[2])box->owncells) * (points ? DMBoxNumPoints(dm) : 1) * n, &size));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)dm), v));
  PetscCall(VecSetSizes(*v, size, PETSC_DETERMINE));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  PetscCall(VecSetType(*v, PetscMemTypeDevice(kern->memtype) ? VECCUDA : VECSTANDARD));
  PetscCall(VecSetBlockSize(*v, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointItself(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc,
                                  PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < Nc * n; i++) u[i] = x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxComputeDiffusionPoints - Computes the coordinates in space of the quadrature points of the operator `diffusion`

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX`, set up, with the operator `diffusion`
- x  - a `Vec` from `DMBoxCreateDiffusionVec()` with dim numbers for each point

  Level: intermediate

.seealso: `DMBOX`, `DMBoxCreateDiffusionVec()`, `DMBoxSetDiffusionVec()`
@*/
PetscErrorCode DMBoxComputeDiffusionPoints(DM dm, Vec x)
{
  DM_Box            *box;
  DMBoxOperator      op;
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];
  PetscScalar       *array;
  PetscCount         expected;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", "DMBoxComputeDiffusionPoints()", &op));
  PetscCheckSameComm(dm, 1, x, 2);
  PetscCall(VecGetLocalSize(x, &n));
  expected = PatchFDRangeSize((const PetscInt(*)[2])box->owncells) * DMBoxNumPoints(dm) * dm->dim;
  PetscCheck(n == expected, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "DMBoxComputeDiffusionPoints(): the Vec has local size %" PetscInt_FMT "; the points here have %" PetscCount_FMT
             " coordinates",
             n, expected);
  PetscCall(DMBoxFieldPointsCreateGauss(dm, DMBoxNumGauss(dm), PETSC_TRUE, field));
  PetscCall(VecGetArrayWrite(x, &array));
  PetscCall(PatchFDHostPointValues(dm->dim, field, (const PetscInt(*)[2])box->owncells, PointItself, NULL, dm->dim, array));
  PetscCall(VecRestoreArrayWrite(x, &array));
  PetscCall(DMBoxFieldPointsDestroy(dm, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetDiffusionVec - Sets coefficients of the operator `diffusion`, -div(K grad u) + s u, that are given for cells or for quadrature
  points

  Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`, set up
. n     - the number of entries of K: see `DMBoxSetDiffusion()`
. K     - the numbers, in a `Vec` with the layout of `DMBoxCreateDiffusionVec()`; their values are copied.  `NULL` for the constant of
          `DMBoxSetDiffusion()`
- shift - the same for s, with one number; `NULL` for the constant of `DMBoxSetDiffusion()`

  Level: intermediate

  Notes:
  On coarser and finer meshes the numbers define a function, constant in each cell or linear between its quadrature points, which is
  evaluated at the points of those meshes.

  If the vectors of the `DM` are on a GPU, so are the numbers, on coarse meshes too, and matrices take them over there. Functions
  (`DMBoxSetDiffusionFunction()`) are evaluated on the host.

  You may call it at any time after `DMSetUp()`; matrices follow (`MatBoxUpdate()`).

.seealso: `DMBOX`, `DMBoxGetDiffusionVec()`, `DMBoxCreateDiffusionVec()`, `DMBoxComputeDiffusionPoints()`, `DMBoxSetDiffusion()`,
`DMBoxSetDiffusionFunction()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetDiffusionVec(DM dm, PetscInt n, Vec K, Vec shift)
{
  DMBoxOperator   op;
  DiffusionMedium m;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", "DMBoxSetDiffusionVec()", &op));
  PetscValidLogicalCollectiveInt(dm, n, 2);
  m               = *DMBoxDiffusionGetMedium(op);
  m.Kfunction     = NULL;
  m.shiftfunction = NULL;
  m.Kdata = m.shiftdata = m.massdata = NULL;
  m.fine                             = NULL;
  if (K) {
    PetscCall(DiffusionCheckCount(dm, "DMBoxSetDiffusionVec()", n));
    PetscCall(DMBoxCellDataCreate(dm, n, K, "DMBoxSetDiffusionVec()", &m.Kdata));
  }
  m.nK = K ? n : m.nconstant;
  if (shift) PetscCall(DMBoxCellDataCreate(dm, 1, shift, "DMBoxSetDiffusionVec()", &m.shiftdata));
  PetscCall(DMBoxDiffusionSetMedium(op, &m));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetDiffusionVec - Returns the coefficients of the operator `diffusion` that were given for cells or for quadrature points

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ n     - the number of entries of K, or `NULL`
. K     - the numbers, which is `NULL` if K is not given by a `Vec`; or `NULL`
- shift - the same for s, or `NULL`

  Level: intermediate

  Note:
  Each `Vec` is the copy of the `DMBOX`; do not change it. On a mesh made by `DMRefine()` or `DMCoarsen()` it belongs to the mesh
  for which it was set.

.seealso: `DMBOX`, `DMBoxSetDiffusionVec()`, `DMBoxGetDiffusion()`, `DMBoxGetDiffusionFunction()`
@*/
PetscErrorCode DMBoxGetDiffusionVec(DM dm, PetscInt *n, Vec *K, Vec *shift)
{
  DMBoxOperator          op;
  const DiffusionMedium *m;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "diffusion", "DMBoxGetDiffusionVec()", &op));
  m = DMBoxDiffusionGetMedium(op);
  if (n) *n = m->nK;
  if (K) *K = m->Kdata ? m->Kdata->values : NULL;
  if (shift) *shift = m->shiftdata ? m->shiftdata->values : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
