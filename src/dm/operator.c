/*
  The operator that a DMBOX carries: registered by name, as PETSc registers its types, chosen by -dm_box_operator.  What operators do for
  matrices and solvers is in src/mat; a DM holds one with its coefficients, and copies it to the DMs that are made from it.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/

PetscFunctionList DMBoxOperatorList = NULL;

PetscErrorCode DMBoxOperatorRegister(const char name[], PetscErrorCode (*create)(DMBoxOperator))
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListAdd(&DMBoxOperatorList, name, create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOperatorCreate(MPI_Comm comm, const char name[], DMBoxOperator *op)
{
  PetscErrorCode (*create)(DMBoxOperator);

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(DMBoxOperatorList, name, &create));
  PetscCheck(create, comm, PETSC_ERR_ARG_UNKNOWN_TYPE,
             "-dm_box_operator (DMBoxSetOperator()) is %s, which does not exist; there are poisson, diffusion, biharmonic, stokes, "
             "elasticity and heat",
             name);
  PetscCall(PetscNew(op));
  PetscCall(PetscStrallocpy(name, &(*op)->name));
  (*op)->mass = -1;
  PetscCall((*create)(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOperatorDestroy(DMBoxOperator *op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  if ((*op)->ops.destroy) PetscCall((*(*op)->ops.destroy)(*op));
  PetscCall(PetscFree((*op)->name));
  PetscCall(PetscFree(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An object that keeps the contexts of a DM's functions goes with them: see DMBoxSetMapping(). */
static PetscErrorCode DMBoxCopyFunctions(DM from, DM to)
{
  PetscObject functions;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)from, "DMBoxFunctions", &functions));
  PetscCall(PetscObjectCompose((PetscObject)to, "DMBoxFunctions", functions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another operator takes the place of one with another name. */
PetscErrorCode DMBoxCopyOperator(DM from, DM to)
{
  const DMBoxOperator a = ((const DM_Box *)from->data)->op;
  DMBoxOperator      *b = &((DM_Box *)to->data)->op;
  PetscBool           same, changed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(a->name, (*b)->name, &same));
  if (!same) {
    PetscCall(DMBoxOperatorDestroy(b));
    PetscCall(DMBoxOperatorCreate(PetscObjectComm((PetscObject)to), a->name, b));
  }
  if (same) PetscCall(PetscArraycmp(a->coefficient, (*b)->coefficient, DMBOX_MAX_COEFFICIENTS, &same));
  if (same) PetscCall(PetscArraycmp(a->penalty, (*b)->penalty, 2, &same));
  if (same) PetscCall(PetscArraycmp(&a->exponent[0][0], &(*b)->exponent[0][0], 6, &same));
  if (same && !a->ops.copy) same = (PetscBool)(a->projection == (*b)->projection && a->version == (*b)->version);
  if (a->ops.copy) PetscCall((*a->ops.copy)(from, to, &changed));
  PetscCall(DMBoxCopyFunctions(from, to));
  if (same && !changed && a->rate == (*b)->rate) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy((*b)->coefficient, a->coefficient, DMBOX_MAX_COEFFICIENTS));
  PetscCall(PetscArraycpy((*b)->penalty, a->penalty, 2));
  PetscCall(PetscArraycpy(&(*b)->exponent[0][0], &a->exponent[0][0], 6));
  (*b)->rate       = a->rate;
  (*b)->projection = a->projection;
  if (!a->ops.copy) (*b)->version = a->version;
  PetscCall(DMBoxChanged(to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCopyOperatorData(DM from, DM to)
{
  const DMBoxOperator op      = ((const DM_Box *)from->data)->op;
  PetscBool           changed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(DMBoxUpdateMapping(from, to));
  if (op->ops.copy) PetscCall((*op->ops.copy)(from, to, &changed));
  PetscCall(DMBoxCopyFunctions(from, to));
  if (changed) PetscCall(PetscObjectStateIncrease((PetscObject)to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxScaleOperator(DM dm, const PetscReal coefficient[], int *exponent)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(PetscArraycpy(box->op->coefficient, coefficient, DMBOX_MAX_COEFFICIENTS));
  *exponent = 0;
  if (box->op->ops.scale) PetscCall((*box->op->ops.scale)(dm, box->op, exponent));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGetOperatorOfType(DM dm, const char name[], const char who[], DMBoxOperator *op)
{
  DM_Box   *box;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCall(PetscStrcmp(box->op->name, name, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "%s is for -dm_box_operator %s (DMBoxSetOperator()); this DMBOX has %s", who, name, box->op->name);
  *op = box->op;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetOperator - Sets the operator of a `DMBOX`

  Logically Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
- name - the operator: `poisson`, `diffusion`, `biharmonic`, `stokes`, `elasticity`, `heat`

  Options Database Key:
. -dm_box_operator name - the operator

  Level: beginner

  Notes:
  A new operator gets its default coefficients. If the `DMBOX` has the operator already, its coefficients stay.

  Call it before `DMSetUp()`.

.seealso: `DMBOX`, `DMBoxGetOperator()`, `DMBoxSetSpace()`, `DMBoxSetPoisson()`, `DMBoxSetBiharmonic()`, `DMBoxSetStokes()`,
`DMBoxSetDiffusion()`, `DMBoxSetElasticity()`
@*/
PetscErrorCode DMBoxSetOperator(DM dm, const char name[])
{
  DM_Box       *box;
  DMBoxOperator op;
  PetscBool     same;

  PetscFunctionBegin;
  PetscAssertPointer(name, 2);
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "DMBoxSetOperator() must be called before DMSetUp()");
  PetscCall(PetscStrcmp(box->op->name, name, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxOperatorCreate(PetscObjectComm((PetscObject)dm), name, &op));
  PetscCall(DMBoxOperatorDestroy(&box->op));
  box->op = op;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetOperator - Returns the name of the operator of a `DMBOX`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. name - the name; it belongs to the `DMBOX`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetOperator()`
@*/
PetscErrorCode DMBoxGetOperator(DM dm, const char *name[])
{
  DMBOX_GET(dm, box->op->name, name);
}

/* the operator, if it is one with penalties */
static PetscErrorCode DMBoxGetPenalized(DM dm, const char who[], DMBoxOperator *op)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCheck(box->op->penalty[0] > 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "%s is for operators with penalties, such as poisson, biharmonic and stokes; this DMBOX has %s (-dm_box_operator)", who,
             box->op->name);
  *op = box->op;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetPenalty - Sets the factors of the penalties of an interior penalty method

  Logically Collective

  Input Parameters:
+ dm       - the `DM` of type `DMBOX`
. interior - the factor on faces between cells, positive (default 1)
- boundary - the factor on Dirichlet sides, positive (default 1)

  Options Database Key:
. -dm_box_penalty interior,boundary - the factors; one number is for both

  Level: intermediate

  Notes:
  `poisson` has penalties for jumps of values on discontinuous spaces, `biharmonic` for jumps of normal derivatives, and `stokes`
  for jumps of tangential velocities.

  Let k be the degree, and h and H the lengths of two cells perpendicular to their common face. The penalty of a jump is `interior`
  k (k + 1) (1/h + 1/H) / 2. On a Dirichlet side, for `biharmonic` a clamped one, it is 2 `boundary` k (k + 1) / h. For `stokes` it
  has (k + 1) (k + 2) in place of k (k + 1).

  The operator is positive definite if both factors are above 1/2 (`poisson`), (k - 1) / (2 (k + 1)) (`biharmonic`), or k / (2 (k +
  2)) (viscous term of `stokes`). Factors that are too small for `biharmonic` and `stokes` are an error; on meshes with vertices of
  `DMBoxSetVertices()` these ask for twice the bound. For `poisson` they are not checked.

  Call it before `DMSetUp()`.

  Source for `poisson`: D. N. Arnold, An interior penalty finite element method with discontinuous elements, 1982.

.seealso: `DMBOX`, `DMBoxGetPenalty()`, `DMBoxSetSpace()`, `DMBoxSetPoisson()`
@*/
PetscErrorCode DMBoxSetPenalty(DM dm, PetscReal interior, PetscReal boundary)
{
  DMBoxOperator op = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetPenalized(dm, "DMBoxSetPenalty()", &op));
  PetscValidLogicalCollectiveReal(dm, interior, 2);
  PetscValidLogicalCollectiveReal(dm, boundary, 3);
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "DMBoxSetPenalty() must be called before DMSetUp()");
  PetscCheck(interior > 0 && boundary > 0 && !PetscIsInfOrNanReal(interior + boundary), PetscObjectComm((PetscObject)dm),
             PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_penalty (DMBoxSetPenalty()) is %g,%g; the factors must be positive and finite",
             (double)interior, (double)boundary);
  op->penalty[0] = interior;
  op->penalty[1] = boundary;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetPenalty - Returns the factors of the penalties of the interior penalty method

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ interior - the factor on faces between cells, or `NULL`
- boundary - the factor on Dirichlet sides, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetPenalty()`
@*/
PetscErrorCode DMBoxGetPenalty(DM dm, PetscReal *interior, PetscReal *boundary)
{
  DMBoxOperator op = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetPenalized(dm, "DMBoxGetPenalty()", &op));
  if (interior) *interior = op->penalty[0];
  if (boundary) *boundary = op->penalty[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOptionsPenalty(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  const DMBoxOperator op         = ((DM_Box *)dm->data)->op;
  PetscReal           penalty[3] = {op->penalty[0], op->penalty[1], 0};
  PetscInt            n          = 3;
  PetscBool           flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsRealArray("-dm_box_penalty", "Factors of the interior penalties, between cells and at Dirichlet sides",
                                  "DMBoxSetPenalty", penalty, &n, &flg));
  if (!flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(n <= 2, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_penalty has at least %" PetscInt_FMT
             " values; it takes one for all faces, or two: between cells, and at Dirichlet sides",
             n);
  PetscCall(DMBoxSetPenalty(dm, penalty[0], penalty[n - 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxLiftDirichlet - Puts Dirichlet data into a right-hand side of the operator of a `DMBOX`

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX`
. g  - a vector whose entries at the nodes of the Dirichlet sides are the data; its other entries are not used
- b  - the load vector, for example from `DMBoxAddLoad()`

  Output Parameter:
. b - in a continuous space: at the free nodes b minus the contribution of the data, and at the Dirichlet nodes the data; in a
      discontinuous space: b plus the boundary integrals of the data; with `DMBOX_SPACE_RT` the former for normal velocities and the
      latter for tangential ones

  Level: intermediate

  Notes:
  In a continuous space the rows of A at Dirichlet nodes are rows of the identity. So the solution of A u = b has the data at these
  nodes.

  With the operator `stokes` and no open sides the data must balance: the net outward flux through the sides plus the integral of g
  in -div u = g must be zero. Call `DMBoxAddLoad()` for g before this routine. An imbalance above 1e-2 of the sum of the absolute
  fluxes and loads is an error. A smaller one, as interpolation leaves it, is subtracted from the fluxes at all nodes in proportion
  to their absolute values. The velocity then has exactly the divergence -g, and normal velocities on the sides differ from the data
  by that proportion.

  Call this routine also for zero data if the integral of g may differ from zero. Without it a solver removes the inconsistent part
  of the right-hand side, and the velocity has another divergence.

.seealso: `DMBOX`, `DMBoxAddLoad()`, `DMBoxInterpolateFunction()`, `DMBoxSetOperator()`, `DMBoxSetStokes()`
@*/
PetscErrorCode DMBoxLiftDirichlet(DM dm, Vec g, Vec b)
{
  DM_Box  *box;
  PetscInt ng, nb;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscValidHeaderSpecific(g, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(b, VEC_CLASSID, 3);
  PetscCall(VecGetLocalSize(g, &ng));
  PetscCall(VecGetLocalSize(b, &nb));
  PetscCheck((size_t)ng == box->nglobal && (size_t)nb == box->nglobal, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The vectors have %" PetscInt_FMT " and %" PetscInt_FMT " local entries; this DMBOX has %" PetscInt_FMT " nodes on this rank",
             ng, nb, (PetscInt)box->nglobal);
  PetscCall((*box->op->ops.lift)(dm, g, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
