/*
  The operator "poisson" of a DMBOX: -div(diffusion grad u) + shift u, with constant coefficients, diffusion diagonal.

  With stiffness K_d and mass M_d of the lines it is a Kronecker sum, A_0 (x) M_1 (x) M_2 + M_0 (x) A_1 (x) M_2 + M_0 (x) M_1 (x) A_2 with
  A_d = diffusion_d K_d, and the shift times the mass matrix in A_0.  On a discontinuous space (dgq) K_d has the face terms of the symmetric interior
  penalty method (Arnold, SIAM J. Numer. Anal. 19, 1982): a face belongs to one direction, so the sum stays one, and patches stay exact by
  fast diagonalization.
*/
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/

enum {
  SHIFT = 3 /* its place among the coefficients, after diffusion */
};

/* ---- the form ---- */

static PetscErrorCode DMBoxForm_Poisson(DM dm, DMBoxOperator op, const PetscReal c[], MatBoxForm *form)
{
  const DM_Box   *box     = (const DM_Box *)dm->data;
  const PetscReal penalty = (PetscReal)(box->degree * (box->degree + 1));
  PatchFDBand    *A = form->band, *M = A + 3, *L = M + 3;
  PetscBool       weak = PETSC_FALSE; /* are there sides with weak Dirichlet conditions? */

  PetscFunctionBegin;
  form->nband    = 6;
  form->nterm    = 3;
  form->singular = (PetscBool)(c[SHIFT] == 0);
  form->spd      = (PetscBool)(c[SHIFT] >= 0);
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *line = &box->field[0].line[d];

    PetscCall(PatchFDBandLaplace(line, c[d], d == 0 ? c[SHIFT] : 0, op->penalty[0] * penalty, op->penalty[1] * 2 * penalty, &A[d]));
    PetscCall(PatchFDBandMass(line, &M[d]));
    PatchFDBandScale(&A[d], op->exponent[d][1]);
    PatchFDBandScale(&M[d], op->exponent[d][0]);
    form->A[d]     = &A[d];
    form->M[d]     = &M[d];
    form->singular = (PetscBool)(form->singular && !line->dirichlet[0] && !line->dirichlet[1]);
    form->spd      = (PetscBool)(form->spd && c[d] > 0);
    weak           = (PetscBool)(weak || (line->continuity == PATCHFD_DISCONTINUOUS && (line->dirichlet[0] || line->dirichlet[1])));
  }
  for (int d = 0; d < 3; d++) {
    form->term[d]        = (PatchFDTerm){.coef = 1, .dir = {&M[0], &M[1], &M[2]}};
    form->term[d].dir[d] = &A[d];
  }
  for (int d = 0; d < 3 && weak; d++) { /* a Kronecker sum, too: in directions without such sides a zero matrix */
    PetscCall(PatchFDBandDirichlet(&box->field[0].line[d], c[d], op->penalty[1] * 2 * penalty, &L[d]));
    PatchFDBandScale(&L[d], op->exponent[d][1]);
    form->lift[d]        = (PatchFDTerm){.coef = 1, .dir = {&M[0], &M[1], &M[2]}};
    form->lift[d].dir[d] = &L[d];
    form->nband++;
    form->nlift++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With cells of length h_d, the mass in direction d is near h_d and the stiffness near diffusion_d / h_d + shift h_d.  Masses times 1 / h_d and stiffnesses
  times 1 / (h_d c), c being the largest of diffusion_d / h_d^2 and shift, are near one, and every term of the operator is multiplied by the same number,
  1 / (c h_0 h_1 h_2).  All factors are powers of two.
*/
static PetscErrorCode DMBoxOperatorScale_Poisson(DM dm, DMBoxOperator op, int *exponent)
{
  const DM_Box    *box       = (const DM_Box *)dm->data;
  const PetscReal *diffusion = op->coefficient, shift = op->coefficient[SHIFT];
  int              h[3] = {0, 0, 0}, c = shift == 0 ? INT_MIN : ilogb(shift);
  PetscBool        near;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dm->dim; d++) {
    h[d] = ilogb((box->upper[d] - box->lower[d]) / (PetscReal)box->cells[d]);
    c    = PetscMax(c, ilogb(diffusion[d]) - 2 * h[d]);
  }
  *exponent = -c - h[0] - h[1] - h[2];
  /* there is room for meshes as fine as memory allows; what is left alone costs nothing */
  near = (PetscBool)(PetscAbs(c) <= 40 && PetscAbs(*exponent) <= 24);
  for (int d = 0; d < 3; d++) near = (PetscBool)(near && PetscAbs(h[d]) <= 16);
  if (near) *exponent = 0;
  for (int d = 0; d < 3; d++) {
    op->exponent[d][0] = near ? 0 : -h[d];
    op->exponent[d][1] = near ? 0 : -h[d] - c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options, view ---- */

static PetscErrorCode DMBoxOperatorSetFromOptions_Poisson(DM dm, DMBoxOperator op, PetscOptionItems PetscOptionsObject)
{
  PetscReal v[4] = {op->coefficient[0], op->coefficient[1], op->coefficient[2], 0}, shift = op->coefficient[SHIFT], penalty[3] = {op->penalty[0], op->penalty[1], 0};
  PetscInt  n    = 3;
  PetscBool flg[2];

  PetscFunctionBegin;
  PetscCall(DMBoxOptionsReal(dm, "-dm_box_diffusion", "Diffusion coefficient in each direction", "DMBoxSetPoisson", v, &flg[0], PetscOptionsObject));
  PetscCall(PetscOptionsReal("-dm_box_shift", "Multiple of the mass matrix added to the operator", "DMBoxSetPoisson", shift, &shift, &flg[1]));
  if (flg[0] || flg[1]) PetscCall(DMBoxSetPoisson(dm, v, shift));
  PetscCall(PetscOptionsRealArray("-dm_box_penalty", "Factors of the interior penalties, between cells and at Dirichlet sides", "DMBoxSetPenalty", penalty, &n, &flg[0]));
  if (!flg[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(n <= 2, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_penalty has at least %" PetscInt_FMT " values; it takes one for all faces, or two: between cells, and at Dirichlet sides", n);
  PetscCall(DMBoxSetPenalty(dm, penalty[0], penalty[n - 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Poisson(PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "-div(D grad u) + shift u, D ="));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscViewerASCIIPrintf(viewer, " %g", (double)c[d]));
  PetscCall(PetscViewerASCIIPrintf(viewer, ", shift = %g", (double)c[SHIFT]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation, public routines ---- */

PetscErrorCode DMBoxOperatorCreate_Poisson(DMBoxOperator op)
{
  PetscFunctionBegin;
  PetscCall(DMBoxOperatorSetMatBox(op));
  op->ops.setfromoptions = DMBoxOperatorSetFromOptions_Poisson;
  op->ops.view           = DMBoxOperatorView_Poisson;
  op->ops.scale          = DMBoxOperatorScale_Poisson;
  op->ops.form           = DMBoxForm_Poisson;
  for (int d = 0; d < 3; d++) op->coefficient[d] = 1;
  op->mass       = SHIFT;
  op->penalty[0] = op->penalty[1] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetPoisson - Sets the coefficients of the operator `poisson`, -div(diffusion grad u) + shift u

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
. diffusion - the diffusion coefficient in each direction, of length dim, positive
- shift     - the coefficient of the mass matrix; a negative one makes the operator indefinite when it exceeds the smallest eigenvalue of the diffusion term

  Options Database Keys:
+ -dm_box_diffusion kx,ky,kz - diffusion coefficients; one number is for all directions
- -dm_box_shift s            - coefficient of the mass matrix

  Level: beginner

  Note:
  May be called at any time, also after `DMSetUp()`.  A matrix that this `DM` made takes the coefficients over in `MatBoxUpdate()`.
  A `KSP` with this `DM` does that for all levels of a multigrid solver when it is set up anew, that is, after `KSPSetOperators()` with the matrices it has.

.seealso: `DMBOX`, `DMBoxGetPoisson()`, `DMBoxSetOperator()`, `DMCreateMatrix()`, `MatBoxUpdate()`, `KSPGetOperators()`, `KSPSetOperators()`
@*/
PetscErrorCode DMBoxSetPoisson(DM dm, const PetscReal diffusion[], PetscReal shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscAssertPointer(diffusion, 2);
  PetscCall(DMBoxGetOperatorOfType(dm, "poisson", "DMBoxSetPoisson()", &op));
  PetscValidLogicalCollectiveReal(dm, shift, 3);
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscCheck(diffusion[d] > 0 && !PetscIsInfOrNanReal(diffusion[d]), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
               "-dm_box_diffusion (DMBoxSetPoisson()) is %g in direction %" PetscInt_FMT "; it must be positive and finite", (double)diffusion[d], d);
  }
  PetscCheck(!PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_shift (DMBoxSetPoisson()) is %g; it must be finite", (double)shift);
  for (PetscInt d = 0; d < dm->dim; d++) op->coefficient[d] = diffusion[d];
  op->coefficient[SHIFT] = shift;
  PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetPoisson - Returns the coefficients of the operator `poisson`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ diffusion - the diffusion coefficient in each direction, of length dim, or `NULL`
- shift     - the coefficient of the mass matrix, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetPoisson()`
@*/
PetscErrorCode DMBoxGetPoisson(DM dm, PetscReal diffusion[], PetscReal *shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "poisson", "DMBoxGetPoisson()", &op));
  for (PetscInt d = 0; diffusion && d < dm->dim; d++) diffusion[d] = op->coefficient[d];
  if (shift) *shift = op->coefficient[SHIFT];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetPenalty - Sets the factors of the penalties of the interior penalty method on a discontinuous space

  Logically Collective

  Input Parameters:
+ dm       - the `DM` of type `DMBOX`
. interior - the factor on faces between cells, positive (default 1)
- boundary - the factor on Dirichlet sides, positive (default 1)

  Options Database Key:
. -dm_box_penalty interior,boundary - the factors; one number is for both

  Level: intermediate

  Notes:
  Jumps across a face between cells of lengths h and H, perpendicular to the face, have the penalty `interior` k (k + 1) (1/h + 1/H) / 2, and values
  on a Dirichlet side 2 `boundary` k (k + 1) / h; k is the degree. With factors much below 1 the operator is no longer positive definite.

  Must be called before `DMSetUp()`. Continuous spaces have no penalties.

.seealso: `DMBOX`, `DMBoxGetPenalty()`, `DMBoxSetSpace()`, `DMBoxSetPoisson()`
@*/
PetscErrorCode DMBoxSetPenalty(DM dm, PetscReal interior, PetscReal boundary)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "poisson", "DMBoxSetPenalty()", &op));
  PetscValidLogicalCollectiveReal(dm, interior, 2);
  PetscValidLogicalCollectiveReal(dm, boundary, 3);
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE, "DMBoxSetPenalty() must be called before DMSetUp()");
  PetscCheck(interior > 0 && boundary > 0 && !PetscIsInfOrNanReal(interior + boundary), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_penalty (DMBoxSetPenalty()) is %g,%g; the factors must be positive and finite", (double)interior, (double)boundary);
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
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "poisson", "DMBoxGetPenalty()", &op));
  if (interior) *interior = op->penalty[0];
  if (boundary) *boundary = op->penalty[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}
