/*
  The operator "stokes" of a DMBOX with the space rt: a velocity u in RT_k and a pressure p in DGQ_k,

    shift u - viscosity laplace u + grad p = f,   -div u = g.

  Component c of the velocity is continuous in its own direction, where it has stiffness and mass matrix; in the others the stiffness has
  the face terms of the symmetric interior penalty method.  So its Laplacian is a Kronecker sum, and with G_c = int psi phi' between the
  spaces of the pressure and of component c in direction c, the divergence is -G_c there with masses in the other directions, and the
  gradient its transpose (Cui, Kanschat, Multigrid methods for the Stokes problem on GPU systems).  The divergence of a velocity is in the
  space of the pressure, so that div u = 0 holds at every point.

  On sides without slip (dirichlet) the normal velocity is fixed and the tangential one given weakly; open sides (neumann) have the natural
  condition viscosity du/dn - p n = given.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>

enum {
  VISCOSITY,
  SHIFT,
  PRESSURE /* of gradient and divergence: 1, but for multiples of the operator */
};

/* ---- the form ---- */

/* The bands of a direction: of the component that is continuous there (C), and of all other fields (D) */
typedef struct {
  PatchFDBand LC, MC, LD, MD, G, Gt;
} StokesBands;

enum {
  BANDS = sizeof(StokesBands) / sizeof(PatchFDBand)
};

/* the band of component c in direction d: its Laplacian or its mass matrix */
static const PatchFDBand *Laplacian(const StokesBands b[3], PetscInt c, PetscInt d)
{
  return c == d ? &b[d].LC : &b[d].LD;
}

static const PatchFDBand *Mass(const StokesBands b[3], PetscInt c, PetscInt d)
{
  return c == d ? &b[d].MC : &b[d].MD;
}

static PetscErrorCode StokesBandsCreate(PetscInt dim, DMBoxOperator op, const PetscReal c[], const PetscReal penalty[2],
                                        const PatchFDLine line[][3], PetscInt d, StokesBands *b)
{
  const PatchFDLine *C = &line[d][d], *D = &line[dim][d];
  const PetscReal    shift = d == 0 ? c[SHIFT] : 0;

  PetscFunctionBegin;
  PetscCall(PatchFDBandMass(D, &b->MD));
  PatchFDBandScale(&b->MD, op->exponent[d][0]);
  PetscCall(PatchFDBandLaplace(D, c[VISCOSITY], shift, penalty[0], penalty[1], &b->LD));
  PatchFDBandScale(&b->LD, op->exponent[d][1]);
  if (d >= dim) PetscFunctionReturn(PETSC_SUCCESS); /* a point */
  PetscCall(PatchFDBandMass(C, &b->MC));
  PatchFDBandScale(&b->MC, op->exponent[d][0]);
  PetscCall(PatchFDBandLaplace(C, c[VISCOSITY], shift, 0, 0, &b->LC));
  PatchFDBandScale(&b->LC, op->exponent[d][1]);
  PetscCall(PatchFDBandDerivative(D, C, 1, PETSC_FALSE, &b->G));
  PetscCall(PatchFDBandDerivative(D, C, 1, PETSC_TRUE, &b->Gt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a term with the mass matrices of component c (or of the pressure, c = dim), and one other band in direction d */
static void AddTerm(const StokesBands b[3], PetscInt row, PetscInt col, PetscReal coef, PetscInt c, PetscInt d, const PatchFDBand *band,
                    PetscInt *n, PatchFDTerm term[])
{
  PatchFDTerm *t = &term[(*n)++];

  *t = (PatchFDTerm){.row = row, .col = col, .coef = coef};
  for (int e = 0; e < 3; e++) t->dir[e] = e == d ? band : Mass(b, c, e);
}

/* what weak tangential velocities bring in */
static PetscErrorCode AddLift(PetscInt dim, DMBoxOperator op, const PetscReal c[], PetscReal penalty, const PatchFDLine line[][3],
                              const StokesBands b[3], MatBoxForm *form)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) {
    const PatchFDLine *D = &line[dim][d];

    if (!D->dirichlet[0] && !D->dirichlet[1]) continue;
    PetscCall(PatchFDBandDirichlet(D, c[VISCOSITY], penalty, &form->band[form->nband]));
    PatchFDBandScale(&form->band[form->nband], op->exponent[d][1]);
    for (PetscInt i = 0; i < dim; i++)
      if (i != d) AddTerm(b, i, i, 1, i, d, &form->band[form->nband], &form->nlift, form->lift);
    form->nband++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is there a component that no side gives, so that its constants are determined by the shift alone? */
static PetscBool HasFreeComponent(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  for (PetscInt c = 0; c < dm->dim; c++) {
    PetscBool isfree = PETSC_TRUE;

    for (PetscInt i = 0; i < 2 * dm->dim; i++)
      if (box->boundary[i] == DMBOX_BOUNDARY_DIRICHLET || (box->boundary[i] == DMBOX_BOUNDARY_SYMMETRY && i / 2 == c)) isfree = PETSC_FALSE;
    if (isfree) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static PetscErrorCode DMBoxForm_Stokes(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDLine line[][3], MatBoxForm *form)
{
  const PetscReal k          = (PetscReal)((const DM_Box *)dm->data)->degree,
                  penalty[2] = {op->penalty[0] * (k + 1) * (k + 2), op->penalty[1] * 2 * (k + 1) * (k + 2)};
  const PetscInt dim         = dm->dim;
  StokesBands   *b           = (StokesBands *)form->band;

  PetscFunctionBegin;
  form->nband     = 3 * BANDS;
  form->constants = dim;
  form->nullspace = DMBoxIsClosed(dm) ? MatBoxConstants : NULL;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(StokesBandsCreate(dim, op, c, penalty, line, d, &b[d]));
    for (PetscInt f = 0; f <= dim; f++) {
      form->M[f][d] = f < dim ? Mass(b, f, d) : &b[d].MD;
      form->A[f][d] = f < dim ? Laplacian(b, f, d) : &b[d].MD;
    }
  }
  for (PetscInt i = 0; i < dim; i++) {
    form->odd[i][i] = PETSC_TRUE;
    for (PetscInt d = 0; d < dim; d++) AddTerm(b, i, i, 1, i, d, Laplacian(b, i, d), &form->nterm, form->term);
    AddTerm(b, i, dim, -c[PRESSURE], i, i, &b[i].Gt, &form->nterm, form->term);
    AddTerm(b, dim, i, -c[PRESSURE], i, i, &b[i].G, &form->nterm, form->term);
  }
  if (HasFreeComponent(dm) && c[SHIFT] == 0)
    form->defect = "constant velocities are its null space, since no side of -dm_box_boundary (DMBoxSetBoundary()) gives a component: one "
                   "must be dirichlet, or symmetry across it, or -dm_box_shift (DMBoxSetStokes()) positive";
  PetscCall(AddLift(dim, op, c, penalty[1], line, b, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- boundary data ---- */

/*
  Where velocities are given on all sides there is a solution only if what flows out through the sides balances the load of the pressure's
  row, -div u = g: net flux + int g = 0.  Interpolated data whose integrals balance do not balance to the last digit; what is left of the
  fluxes, at most this part of their absolute values, is taken from all of them alike, so that the discrete problem has a solution, whose
  divergence is -g at all points.
*/
static const PetscReal FLUX_TOLERANCE = 1e-2;

/* the fixed nodes at an end of component d, of which this rank has some: sum[0] += their flux outwards, sum[1] += its absolute value, after
   g -= change * |g| outwards */
static PetscErrorCode SideFlux(const DMBoxField *f, PetscInt d, int end, PetscReal change, PetscScalar g[], PetscReal sum[2])
{
  const PetscInt node = end ? f->line[d].nnodes - 1 : 0;
  PatchFDRange   side;
  PetscReal     *w[3] = {NULL, NULL, NULL};

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(&side[0][0], &f->own[0][0], 6));
  side[d][0] = PetscMax(side[d][0], node);
  side[d][1] = PetscMin(side[d][1], node + 1);
  for (int e = 0; e < 3; e++)
    if (e != d) PetscCall(PatchFDLineIntegrals(&f->line[e], &w[e]));
  PetscCall(PatchFDHostFlux(side, w, end ? 1 : -1, change, &f->global, g, sum));
  for (int e = 0; e < 3; e++) PetscCall(PetscFree(w[e]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoundaryFlux(DM dm, PetscReal change, Vec g, PetscReal sum[2])
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscScalar  *a;

  PetscFunctionBegin;
  sum[0] = sum[1] = 0;
  PetscCall(VecGetArray(g, &a));
  for (PetscInt d = 0; d < dm->dim; d++)
    for (int end = 0; end < 2; end++) PetscCall(SideFlux(&box->field[d], d, end, change, a + box->field[d].global0, sum));
  PetscCall(VecRestoreArray(g, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the sum of the pressure's entries in b, and of their absolute values */
static PetscErrorCode PressureLoad(DM dm, Vec b, PetscReal sum[2])
{
  const DMBoxField  *p = &((const DM_Box *)dm->data)->field[dm->dim];
  const PetscScalar *a;

  PetscFunctionBegin;
  sum[0] = sum[1] = 0;
  PetscCall(VecGetArrayRead(b, &a));
  PetscCall(PatchFDHostSum(PatchFDBoxSize(&p->global), a + p->global0, sum));
  PetscCall(VecRestoreArrayRead(b, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxLift_Stokes(DM dm, Vec g, Vec b)
{
  PetscReal flux[2], load[2], rest;
  Vec       w;

  PetscFunctionBegin;
  if (!DMBoxIsClosed(dm)) {
    PetscCall(DMBoxLift_MatBox(dm, g, b));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicate(g, &w));
  PetscCall(VecCopy(g, w));
  PetscCall(BoundaryFlux(dm, 0, w, flux));
  PetscCall(PressureLoad(dm, b, load));
  rest = flux[0] + load[0];
  PetscCheck(PetscAbsReal(rest) <= FLUX_TOLERANCE * (flux[1] + load[1]), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "The net flux through the boundary is %g, the load of -div u = g is %g: together not zero, but %g, which is %g of their "
             "absolute values, where %g is allowed. "
             "With velocities given on all sides there is no solution: balance the data (those that do, but lose that to interpolation, "
             "want a finer mesh), or open a side "
             "(-dm_box_boundary neumann, DMBoxSetBoundary())",
             (double)flux[0], (double)load[0], (double)rest, (double)(PetscAbsReal(rest) / (flux[1] + load[1])), (double)FLUX_TOLERANCE);
  if (PetscAbsReal(rest) <= FLUX_TOLERANCE * flux[1] && rest != 0) PetscCall(BoundaryFlux(dm, rest / flux[1], w, flux));
  PetscCall(DMBoxLift_MatBox(dm, w, b));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks, options, view ---- */

/*
  As for biharmonic: the sum of the squares of a polynomial of degree k - 1 at both ends of [0, h] is at most k (k + 1) / h times the
  integral of its square, so factors above k / (2 (k + 2)) of the penalty (k + 1) (k + 2) / h are enough, on any mesh.  On graded meshes
  twice that is required, a margin.
*/
static PetscErrorCode DMBoxOperatorCheck_Stokes(DM dm, DMBoxOperator op)
{
  const DM_Box   *box   = (const DM_Box *)dm->data;
  const MPI_Comm  comm  = PetscObjectComm((PetscObject)dm);
  const PetscReal k     = (PetscReal)box->degree;
  PetscReal       least = k / (2 * (k + 2));

  PetscFunctionBegin;
  PetscCheck(box->space == DMBOX_SPACE_RT, comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is %s; -dm_box_operator stokes takes rt", DMBoxSpaces[box->space]);
  for (PetscInt i = 0; i < 2 * dm->dim; i++)
    PetscCheck(box->boundary[i] != DMBOX_BOUNDARY_SUPPORTED, comm, PETSC_ERR_ARG_INCOMP,
               "-dm_box_boundary (DMBoxSetBoundary()) is supported at the %s side of direction %" PetscInt_FMT
               "; -dm_box_operator stokes takes dirichlet (the velocity is given), neumann (open), symmetry (slip) and periodic",
               i % 2 ? "upper" : "lower", i / 2);
  for (PetscInt d = 0; d < dm->dim; d++)
    if (box->nvertices[d] && !box->coarsenings) least = k / (k + 2);
  PetscCheck(PetscMin(op->penalty[0], op->penalty[1]) > least, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_penalty (DMBoxSetPenalty()) is %g,%g; -dm_box_operator stokes of degree %" PetscInt_FMT
             " takes factors above %g on this mesh: with less the viscous term need not be positive definite",
             (double)op->penalty[0], (double)op->penalty[1], box->degree, (double)least);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorSetFromOptions_Stokes(DM dm, DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  PetscReal viscosity = op->coefficient[VISCOSITY], shift = op->coefficient[SHIFT];
  PetscBool flg[2];

  PetscFunctionBegin;
  PetscCall(PetscOptionsReal("-dm_box_viscosity", "Viscosity", "DMBoxSetStokes", viscosity, &viscosity, &flg[0]));
  PetscCall(PetscOptionsReal("-dm_box_shift", "Multiple of the velocity's mass matrix added to the operator", "DMBoxSetStokes", shift,
                             &shift, &flg[1]));
  if (flg[0] || flg[1]) PetscCall(DMBoxSetStokes(dm, viscosity, shift));
  PetscCall(DMBoxOptionsPenalty(dm, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Stokes(PETSC_UNUSED PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "shift u - viscosity laplace u + grad p, -div u, viscosity = %g, shift = %g",
                                   (double)c[VISCOSITY], (double)c[SHIFT]));
  if (c[PRESSURE] != 1) PetscCall(PetscViewerASCIIPrintf(viewer, ", gradient and divergence times %g", (double)c[PRESSURE]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation, public routines ---- */

PetscErrorCode DMBoxOperatorCreate_Stokes(DMBoxOperator op)
{
  static PetscBool cite = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister("@article{CuiKanschat2024,\n"
                                   "  title  = {Multigrid methods for the {Stokes} problem on {GPU} systems},\n"
                                   "  author = {Cu Cui and Guido Kanschat},\n"
                                   "  year   = {2024}\n}\n",
                                   &cite));
  PetscCall(DMBoxOperatorSetMatBox(op));
  op->ops.setfromoptions     = DMBoxOperatorSetFromOptions_Stokes;
  op->ops.check              = DMBoxOperatorCheck_Stokes;
  op->ops.view               = DMBoxOperatorView_Stokes;
  op->ops.form               = DMBoxForm_Stokes;
  op->ops.lift               = DMBoxLift_Stokes;
  op->coefficient[VISCOSITY] = 1;
  op->coefficient[PRESSURE]  = 1;
  op->mass                   = SHIFT;
  op->saddle                 = PETSC_TRUE;
  op->rings                  = PETSC_TRUE;
  op->penalty[0] = op->penalty[1] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetStokes - Sets the coefficients of the operator `stokes`, shift u - viscosity laplace u + grad p, -div u

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
. viscosity - the viscosity, positive (default 1)
- shift     - the coefficient of the velocity's mass matrix, not negative (default 0); for example one over the time step

  Options Database Keys:
+ -dm_box_viscosity nu - the viscosity
- -dm_box_shift s      - coefficient of the velocity's mass matrix

  Level: beginner

  Notes:
  The space is `DMBOX_SPACE_RT`: velocities in RT_k and pressures in DGQ_k. The velocity is divergence-free at every point. In L2
  velocity and pressure have the order k + 1, but for pressures of degree 2 beside no-slip sides: their error in the cells there is of
  order 2, 2.5 in L2, since the tangential velocity is given by a penalty. With sides where flows slip, and periodic ones, it is 3.
  Tangential jumps have penalties, see `DMBoxSetPenalty()`.

  On sides of type `DMBOX_BOUNDARY_DIRICHLET` the velocity is zero, or what `DMBoxLiftDirichlet()` brings in. Sides of type
  `DMBOX_BOUNDARY_NEUMANN` are open: viscosity du/dn - p n is zero, or what `DMBoxAddNeumannLoad()` brings in. On sides of
  type `DMBOX_BOUNDARY_SYMMETRY` the fluid slips: the normal velocity is given, and viscosity du/dn is zero for the tangential ones.
  Without open sides the pressure is determined up to a constant, and constant pressures are the null space of the matrix. If no side
  gives a component of the velocity, as where all are open or periodic, the shift must be positive.

  The matrix is symmetric and indefinite: use `KSPFGMRES` or `KSPGMRES`, not `KSPCG`.

  You may call it at any time, also after `DMSetUp()`; matrices follow (`MatBoxUpdate()`).

  Source: C. Cui, G. Kanschat, Multigrid methods for the Stokes problem on GPU systems, section 2.

.seealso: `DMBOX`, `DMBoxGetStokes()`, `DMBoxSetOperator()`, `DMBoxSetSpace()`, `DMBoxSetPenalty()`, `DMBoxAddLoad()`,
`DMBoxLiftDirichlet()`,
          `DMBoxComputeStokesError()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetStokes(DM dm, PetscReal viscosity, PetscReal shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "stokes", "DMBoxSetStokes()", &op));
  PetscValidLogicalCollectiveReal(dm, viscosity, 2);
  PetscValidLogicalCollectiveReal(dm, shift, 3);
  PetscCheck(viscosity > 0 && !PetscIsInfOrNanReal(viscosity), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_viscosity (DMBoxSetStokes()) is %g; it must be positive and finite", (double)viscosity);
  PetscCheck(shift >= 0 && !PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_shift (DMBoxSetStokes()) is %g; it must be finite and not negative", (double)shift);
  op->coefficient[VISCOSITY] = viscosity;
  op->coefficient[SHIFT]     = shift;
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetStokes - Returns the coefficients of the operator `stokes`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ viscosity - the viscosity, or `NULL`
- shift     - the coefficient of the velocity's mass matrix, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetStokes()`
@*/
PetscErrorCode DMBoxGetStokes(DM dm, PetscReal *viscosity, PetscReal *shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "stokes", "DMBoxGetStokes()", &op));
  if (viscosity) *viscosity = op->coefficient[VISCOSITY];
  if (shift) *shift = op->coefficient[SHIFT];
  PetscFunctionReturn(PETSC_SUCCESS);
}
