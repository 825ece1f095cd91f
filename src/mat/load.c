/*
  Load vectors, Neumann data and errors from values at the nodes in a Vec: products with matrices that the kernels of the DM's operator
  apply, where the vectors are.

  Operators are linear in their coefficients, and one of these multiplies the mass matrix: with it alone the form of an operator is that of
  the mass matrix, on mapped meshes, too.  Only the pressure of `stokes` has no mass there: it is a discontinuous field by itself, with the
  terms of `poisson`.  The mass matrix of a side has the values at the end of the line in one direction, and masses in the others.

  The DM keeps the matrices and their plans: loads may be wanted in each time step.
*/
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

/* which nodes the matrices see: all of them, but loads are for free ones only */
enum {
  LOAD_MASS,
  ERROR_MASS,
  ERROR_ENERGY,
  PRESSURE_MASS,
  LOAD_SIDE, /* and 5 more */
  NUM_MATRICES = LOAD_SIDE + 6
};

typedef struct {
  Mat_Box *matrix[NUM_MATRICES]; /* made on first use */
} Loads;

/* ---- what the DM keeps ---- */

static PetscErrorCode LoadsDestroy(PetscCtxRt ctx)
{
  Loads *l = PATCHFD_DESTROY_CTX(Loads, ctx);

  PetscFunctionBegin;
  for (int i = 0; i < NUM_MATRICES; i++) {
    if (l->matrix[i]) PetscCall(MatBoxReset(l->matrix[i]));
    PetscCall(PetscFree(l->matrix[i]));
  }
  PetscCall(PetscFree(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LoadsGet(DM dm, Loads **l)
{
  static const char name[] = "DMBoxLoads";

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)dm, name, (void *)l));
  if (*l) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(l));
  PetscCall(PetscObjectContainerCompose((PetscObject)dm, name, *l, LoadsDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrices ---- */

/* a product of masses, but in direction d, if that is one, the values at an end, for a component; its bands go to band[3] */
static PetscErrorCode SideTerm(const PatchFDLine line[3], PetscInt component, PetscInt d, int end, PatchFDBand band[3], PatchFDTerm *term)
{
  PetscFunctionBegin;
  *term = (PatchFDTerm){.row = component, .col = component, .coef = 1, .dir = {&band[0], &band[1], &band[2]}};
  for (int e = 0; e < 3; e++) {
    if (e == d) PetscCall(PatchFDBandEnd(&line[e], end, &band[e]));
    else PetscCall(PatchFDBandMass(&line[e], &band[e]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all fields but a multiplier, whose part of the matrix is zero */
static PetscErrorCode SideForm(DM dm, PetscInt side, MatBoxForm *form)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield - (box->op->saddle ? 1 : 0); i++, form->nband += 3)
    PetscCall(SideTerm(box->field[i].line, i, side / 2, side % 2, &form->band[form->nband], &form->term[form->nterm++]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for the cells at a side; others have nothing there */
static PetscErrorCode SideGetPlan(Mat_Box *m, PatchFDKernels kern, PetscInt side)
{
  const PetscInt      d = side / 2, cell = side % 2 ? ((const DM_Box *)m->dm->data)->cells[d] - 1 : 0;
  PatchFDOperatorDesc desc;
  PatchFDField        field[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  if (m->mult[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  MatBoxDescribe(m, field, &desc);
  desc.cells[d][0] = PetscMax(desc.cells[d][0], cell);
  desc.cells[d][1] = PetscMax(desc.cells[d][0], PetscMin(desc.cells[d][1], cell + 1));
  PetscCall(MatBoxOperatorCreate(m, kern, &desc, NULL, &m->mult[kern->id]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PressureForm(DM dm, MatBoxForm *form)
{
  const PatchFDLine *line = ((const DM_Box *)dm->data)->field[dm->dim].line;
  PatchFDBand       *A = form->band, *M = A + 3;

  PetscFunctionBegin;
  form->nband = 6;
  form->nterm = 3;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDBandLaplace(&line[d], 0, d == 0 ? 1 : 0, 0, 0, &A[d]));
    PetscCall(PatchFDBandMass(&line[d], &M[d]));
    form->term[d]        = (PatchFDTerm){.coef = 1, .dir = {&M[0], &M[1], &M[2]}};
    form->term[d].dir[d] = &A[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on the pressure's part of global arrays: its nodes belong to one cell each */
static PetscErrorCode PressureGetPlan(Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box       *box   = (const DM_Box *)m->dm->data;
  const DMBoxField   *p     = &box->field[m->dm->dim];
  PatchFDField        field = {.xbox = p->global, .ybox = p->global};
  PatchFDOperatorDesc desc  = {.nfield = 1, .nterm = m->form.nterm, .field = &field, .term = m->form.term};

  PetscFunctionBegin;
  if (m->mult[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy(field.read, p->own, 3));
  PetscCall(PetscArraycpy(field.write, p->own, 3));
  PetscCall(PetscArraycpy(desc.cells, box->owncells, 3));
  PetscCall(kern->operatorcreate(&desc, &m->mult[kern->id]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* made anew where coefficients or coordinates are others than before */
static PetscErrorCode LoadsGetMatrix(DM dm, Loads *l, int which, Mat_Box **matrix)
{
  const DMBoxOperator op = ((const DM_Box *)dm->data)->op;
  MatBoxCoefficients  c  = {.identity = 0};
  PetscBool           same;
  Mat_Box            *m;

  PetscFunctionBegin;
  if (!l->matrix[which]) PetscCall(PetscNew(&l->matrix[which]));
  *matrix = m = l->matrix[which];
  m->dm       = dm; /* which holds this: no reference */
  m->fixed    = which == ERROR_MASS || which == ERROR_ENERGY ? MATBOX_FIXED_BOTH : MATBOX_FIXED_COLUMNS;
  if (which == ERROR_ENERGY) c = MatBoxCoefficientsOfDM(dm, 0);
  else c.operator[op->mass] = 1;
  PetscCall(PetscArraycmp(c.operator, m->c.operator, DMBOX_MAX_COEFFICIENTS, &same));
  if (m->form.nterm && same && m->version == op->version) PetscFunctionReturn(PETSC_SUCCESS);
  if (which < PRESSURE_MASS) PetscCall(MatBoxBuild(m, &c));
  else if (!m->form.nterm) PetscCall(which == PRESSURE_MASS ? PressureForm(dm, &m->form) : SideForm(dm, which - LOAD_SIDE, &m->form));
  m->c       = c;
  m->version = op->version;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

typedef struct {
  DM     dm;
  Loads *l;
  int    which;
} Product;

/* y = y0 + alpha times the matrix times x */
static PetscErrorCode ProductApply(void *ctx, PatchFDKernels kern, PetscReal alpha, const void *x, const void *y0, void *y)
{
  const Product *p   = (const Product *)ctx;
  const DM_Box  *box = (const DM_Box *)p->dm->data;
  Mat_Box       *m, *pressure;

  PetscFunctionBegin;
  PetscCall(LoadsGetMatrix(p->dm, p->l, p->which, &m));
  if (p->which >= LOAD_SIDE) PetscCall(SideGetPlan(m, kern, p->which - LOAD_SIDE));
  PetscCall(MatBoxApply(m, kern, alpha, x, y0, y));
  if (box->op->saddle && (p->which == LOAD_MASS || p->which == ERROR_MASS)) { /* which has added nothing there */
    const size_t at = box->field[p->dm->dim].global0 * kern->size;

    PetscCall(LoadsGetMatrix(p->dm, p->l, PRESSURE_MASS, &pressure));
    PetscCall(PressureGetPlan(pressure, kern));
    PetscCall(kern->operatorapply(pressure->mult[kern->id], alpha, (const char *)x + at, (char *)y + at, (char *)y + at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = y0 + matrix x */
static PetscErrorCode LoadsMult(DM dm, int which, Vec x, Vec y0, Vec y)
{
  Product p = {.dm = dm, .which = which};

  PetscFunctionBegin;
  PetscCall(LoadsGet(dm, &p.l));
  PetscCall(MatApplyArrays(ProductApply, &p, 1, x, y0, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is the operator one of bands with a mass matrix, and has it vectors like these?  who: the routine, and what is there in its place for
   `heat` */
static PetscErrorCode LoadsCheck(DM dm, const char who[], const char instead[], Vec x, Vec y, DM_Box **box)
{
  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, box));
  PetscCheck((*box)->op->ops.form && (*box)->op->mass >= 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "%s is for -dm_box_operator poisson, diffusion, biharmonic, stokes and elasticity (DMBoxSetOperator()); this DMBOX has %s: "
             "use %s",
             who, (*box)->op->name, instead);
  PetscCall(DMBoxCheckVec(dm, x));
  if (!y) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCheckVec(dm, y));
  PetscCheck(x != y, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_IDN, "%s got the same Vec twice; it takes two different ones", who);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- public routines ---- */

/*@
  DMBoxAddLoadVec - Adds the integrals of a function, given by its values at the nodes, times each basis function to a vector

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX`, set up
. f  - the values at all nodes, Dirichlet sides included, from `DMCreateGlobalVector()`, filled for example by
       `DMBoxInterpolateFunctionBatch()`
- b  - the vector, not `f` itself, of the same type; entries on Dirichlet sides do not change

  Level: beginner

  Notes:
  This is the fastest way to a load vector: b += M f with the mass matrix M, one product with the kernels of the operator. It runs
  where the vectors are, on a GPU if they are there, and in their precision. You evaluate the function once per node, on the GPU if
  you like; `DMBoxAddLoadBatch()` evaluates it at (1 + 4 / degree)^dim times as many points.

  The function is replaced by its interpolant, the error of which has the order of the space. For smooth functions the order of the
  solution is the same as with `DMBoxAddLoad()`. Both agree to rounding if `f` is in the space; with `diffusion` on mapped meshes
  they agree up to quadrature errors.

  With the space `DMBOX_SPACE_RT`, `f` has the force at the nodes of the velocity, and g of -div u = g at those of the pressure, as
  in `DMBoxAddLoad()`.

  For the operator `heat` use `DMBoxAddHeatLoad()`.

.seealso: `DMBOX`, `DMBoxAddLoad()`, `DMBoxAddLoadBatch()`, `DMBoxInterpolateFunctionBatch()`, `DMBoxAddNeumannLoadVec()`,
`DMBoxComputeErrorVec()`, `DMBoxLiftDirichlet()`
@*/
PetscErrorCode DMBoxAddLoadVec(DM dm, Vec f, Vec b)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(LoadsCheck(dm, "DMBoxAddLoadVec()", "DMBoxAddHeatLoad()", f, b, &box));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, f, b, 0));
  PetscCall(LoadsMult(dm, LOAD_MASS, f, b, b));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, f, b, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxAddNeumannLoadVec - Adds the integrals of a flux, given by its values at the nodes, times each basis function over Neumann sides to a
  vector

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. side - the side, 2 d for the lower and 2 d + 1 for the upper one of direction d; it must be a Neumann side.  `PETSC_DETERMINE` for all
         Neumann sides
. flux - values of the outward flux (diffusion times normal derivative) at the nodes of the side, from `DMCreateGlobalVector()`; other
         entries are not used
- b    - the vector, not `flux` itself, of the same type; entries on Dirichlet sides do not change

  Level: intermediate

  Notes:
  Like `DMBoxAddLoadVec()`, this is a product with a mass matrix, here that of the side, where the vectors are.

  Fluxes on the two sides of an edge differ. If nodes are on several Neumann sides, call this once for each side, with the values of
  that side.

  With the space `DMBOX_SPACE_RT` the flux is the traction, at the nodes of the velocity on the side.

  With the operator `diffusion`, where meshes may be mapped, use `DMBoxAddNeumannLoadBatch()`.

.seealso: `DMBOX`, `DMBoxAddNeumannLoad()`, `DMBoxAddNeumannLoadBatch()`, `DMBoxAddLoadVec()`, `DMBoxSetBoundary()`
@*/
PetscErrorCode DMBoxAddNeumannLoadVec(DM dm, PetscInt side, Vec flux, Vec b)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(LoadsCheck(dm, "DMBoxAddNeumannLoadVec()", "DMBoxSetHeatFlux()", flux, b, &box));
  PetscValidLogicalCollectiveInt(dm, side, 2);
  PetscCheck(!box->shape, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "DMBoxAddNeumannLoadVec() is for meshes that are boxes; -dm_box_operator %s has them mapped: use DMBoxAddNeumannLoadBatch()",
             box->op->name);
  PetscCheck(side == PETSC_DETERMINE || (side >= 0 && side < 2 * dm->dim), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxAddNeumannLoadVec(): side %" PetscInt_FMT "; it must be from 0 to %" PetscInt_FMT
             ", or PETSC_DETERMINE for all Neumann sides",
             side, 2 * dm->dim - 1);
  PetscCheck(side == PETSC_DETERMINE || box->boundary[side] == DMBOX_BOUNDARY_NEUMANN, PetscObjectComm((PetscObject)dm),
             PETSC_ERR_ARG_INCOMP,
             "DMBoxAddNeumannLoadVec(): -dm_box_boundary (DMBoxSetBoundary()) is %s on side %" PetscInt_FMT "; it must be neumann",
             DMBoxBoundaryTypes[box->boundary[side]], side);
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, flux, b, 0));
  for (PetscInt s = 0; s < 2 * dm->dim; s++)
    if (box->boundary[s] == DMBOX_BOUNDARY_NEUMANN && (side == PETSC_DETERMINE || side == s))
      PetscCall(LoadsMult(dm, LOAD_SIDE + (int)s, flux, b, b));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, flux, b, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the root of e' A e; w has room */
static PetscErrorCode MatrixNorm(DM dm, int which, Vec e, Vec w, PetscReal *norm)
{
  PetscScalar square;

  PetscFunctionBegin;
  PetscCall(LoadsMult(dm, which, e, NULL, w));
  PetscCall(VecDot(e, w, &square));
  /* rounding may make it negative */
  *norm = PetscIsNanScalar(square) ? PetscRealPart(square) : PetscSqrtReal(PetscMax(0, PetscRealPart(square)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxComputeErrorVec - Computes norms of the difference of two finite element functions, given by their values at the nodes

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX`, set up
. u  - a vector from `DMCreateGlobalVector()`, a solution for example
- v  - the values of a function to compare with, of the type of `u`; `NULL` for zero: norms of `u`

  Output Parameters:
+ l2     - the L2 norm of u - v, or `NULL`
- energy - the energy norm, the square root of (u - v)' A (u - v), or `NULL`: for `poisson` with diffusion 1 and shift 0 the H1 seminorm,
           in a discontinuous space with the terms on faces

  Level: beginner

  Notes:
  Each norm is one product with the kernels of the operator, where the vectors are and in their precision.

  All nodes count, also those on Dirichlet sides, whatever rows the matrix of `DMCreateMatrix()` has there.

  Nodal values of an exact solution, from `DMBoxInterpolateFunctionBatch()`, are those of its interpolant. The result does not
  contain the error of interpolation and may be much smaller than that of `DMBoxComputeError()`. Use it to watch a solver converge,
  or to compare two solutions.

  The norms are over all fields. The energy norm needs a positive semidefinite operator, so `stokes` has none.

  The `DM` keeps two work vectors; `DMClearGlobalVectors()` frees them.

.seealso: `DMBOX`, `DMBoxComputeError()`, `DMBoxComputeErrorBatch()`, `DMBoxComputeGradientError()`, `DMBoxInterpolateFunctionBatch()`,
`DMBoxAddLoadVec()`
@*/
PetscErrorCode DMBoxComputeErrorVec(DM dm, Vec u, Vec v, PetscReal *l2, PetscReal *energy)
{
  DM_Box        *box;
  PatchFDKernels kern[2];
  Vec            e = u, w;

  PetscFunctionBegin;
  PetscCall(LoadsCheck(dm, "DMBoxComputeErrorVec()", "DMBoxComputeErrorBatch()", u, v, &box));
  PetscCall(PetscLogEventBegin(PATCHFD_Function, dm, u, 0, 0));
  if (energy) {
    Loads   *l;
    Mat_Box *m;

    PetscCall(LoadsGet(dm, &l));
    PetscCall(LoadsGetMatrix(dm, l, ERROR_ENERGY, &m));
    PetscCheck(m->form.spd, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
               "DMBoxComputeErrorVec(): -dm_box_operator %s is not positive semidefinite with these coefficients, so it makes no norm: "
               "pass NULL for the energy",
               box->op->name);
  }
  PetscCall(DMGetGlobalVector(dm, &w));
  PetscCall(PatchFDVecGetKernels(u, &kern[0]));
  PetscCall(PatchFDVecGetKernels(w, &kern[1]));
  PetscCheck(kern[0] == kern[1], PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "DMBoxComputeErrorVec(): the Vec is of type %s, but those of the DM (-dm_vec_type) are %s; take a Vec from "
             "DMCreateGlobalVector()",
             ((PetscObject)u)->type_name, ((PetscObject)w)->type_name);
  if (v) {
    PetscCall(DMGetGlobalVector(dm, &e));
    PetscCall(PatchFDVecDifference(e, u, v));
  }
  if (l2) PetscCall(MatrixNorm(dm, ERROR_MASS, e, w, l2));
  if (energy) PetscCall(MatrixNorm(dm, ERROR_ENERGY, e, w, energy));
  if (v) PetscCall(DMRestoreGlobalVector(dm, &e));
  PetscCall(DMRestoreGlobalVector(dm, &w));
  PetscCall(PetscLogEventEnd(PATCHFD_Function, dm, u, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
