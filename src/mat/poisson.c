/*
  The operator "poisson" of a DMBOX: -div(diffusion grad u) + shift u, with constant coefficients, diffusion diagonal; diffusion du/dn + h u
  is given on sides that are not Dirichlet sides.

  With stiffness K_d and mass M_d of the lines it is a Kronecker sum, A_0 (x) M_1 (x) M_2 + M_0 (x) A_1 (x) M_2 + M_0 (x) M_1 (x) A_2 with
  A_d = diffusion_d K_d, and the shift times the mass matrix in A_0.  A side belongs to one direction, too: h is
  added to A_d at the node at the end.  On a discontinuous space (dgq) K_d has the face terms of the
  symmetric interior penalty method (Arnold, SIAM J. Numer. Anal. 19, 1982): a face belongs to one direction, so the sum stays one, and
  patches stay exact by fast diagonalization.
*/
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/

enum {
  SHIFT = 3, /* its place among the coefficients, after diffusion */
  ROBIN = 4  /* six numbers */
};

/* ---- the form ---- */

static PetscErrorCode DMBoxForm_Poisson(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDLine lines[][3], MatBoxForm *form)
{
  const PetscReal penalty = DMBoxPenalty(dm);
  PatchFDBand    *A = form->band, *M = A + 3, *L = M + 3;
  PetscBool       weak = PETSC_FALSE; /* are there sides with weak Dirichlet conditions? */

  PetscFunctionBegin;
  form->nband     = 6;
  form->nterm     = 3;
  form->separable = PETSC_TRUE;
  form->constants = c[SHIFT] == 0 && !DMBoxHasRobin(op, c) && DMBoxHasOnly(dm, DMBOX_BOUNDARY_NEUMANN) ? 0 : -1;
  form->nullspace = form->constants == 0 ? MatBoxConstants : NULL;
  form->spd       = (PetscBool)(c[SHIFT] >= 0);
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *line = &lines[0][d];

    PetscCall(PatchFDBandLaplace(line, c[d], d == 0 ? c[SHIFT] : 0, op->penalty[0] * penalty, op->penalty[1] * 2 * penalty, &A[d]));
    for (int e = 0; e < 2; e++) {
      const PetscReal h = c[ROBIN + 2 * d + e];

      if (h != 0) PetscCall(PatchFDBandAddEnd(e, h, &A[d]));
      form->spd = (PetscBool)(form->spd && h >= 0);
    }
    PetscCall(PatchFDBandMass(line, &M[d]));
    PatchFDBandScale(&A[d], op->exponent[d][1]);
    PatchFDBandScale(&M[d], op->exponent[d][0]);
    form->A[0][d] = &A[d];
    form->M[0][d] = &M[d];
    form->spd     = (PetscBool)(form->spd && c[d] > 0);
    weak          = (PetscBool)(weak || (line->continuity == PATCHFD_DISCONTINUOUS && (line->dirichlet[0] || line->dirichlet[1])));
  }
  for (int d = 0; d < 3; d++) {
    form->term[d]        = (PatchFDTerm){.coef = 1, .dir = {&M[0], &M[1], &M[2]}};
    form->term[d].dir[d] = &A[d];
  }
  for (int d = 0; d < 3 && weak; d++) { /* a Kronecker sum, too: in directions without such sides a zero matrix */
    PetscCall(PatchFDBandDirichlet(&lines[0][d], c[d], op->penalty[1] * 2 * penalty, &L[d]));
    PatchFDBandScale(&L[d], op->exponent[d][1]);
    form->lift[d]        = (PatchFDTerm){.coef = 1, .dir = {&M[0], &M[1], &M[2]}};
    form->lift[d].dir[d] = &L[d];
    form->nband++;
    form->nlift++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With cells of length h_d, the mass in direction d is near h_d and the stiffness near diffusion_d / h_d + shift h_d.  Masses times 1 / h_d
  and stiffnesses times 1 / (h_d c), c being the largest of diffusion_d / h_d^2 and shift, are near one, and every term of the operator is
  multiplied by the same number, 1 / (c h_0 h_1 h_2).  All factors are powers of two.
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

static PetscErrorCode DMBoxCoupling_Poisson(DM dm, DMBoxOperator op, PetscReal coupling[])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < dm->dim; d++) coupling[d] = op->coefficient[d] / PetscSqr(DMBoxMeanCellSize((const DM_Box *)dm->data, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks, options, view ---- */

static PetscErrorCode DMBoxOperatorCheck_Poisson(DM dm, DMBoxOperator op)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCheck(box->space == DMBOX_SPACE_Q || box->space == DMBOX_SPACE_DGQ, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is %s; -dm_box_operator poisson takes q and dgq", DMBoxSpaces[box->space]);
  for (PetscInt i = 0; i < 2 * dm->dim; i++)
    PetscCheck(box->boundary[i] != DMBOX_BOUNDARY_SUPPORTED, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
               "-dm_box_boundary (DMBoxSetBoundary()) is supported at the %s side of direction %" PetscInt_FMT
               "; -dm_box_operator poisson takes dirichlet, neumann and periodic",
               i % 2 ? "upper" : "lower", i / 2);
  PetscCall(DMBoxCheckRobin(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorSetFromOptions_Poisson(DM dm, DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  PetscReal v[4] = {op->coefficient[0], op->coefficient[1], op->coefficient[2], 0}, shift = op->coefficient[SHIFT];
  PetscBool flg[2];

  PetscFunctionBegin;
  PetscCall(DMBoxOptionsReal(dm, "-dm_box_diffusion", "Diffusion coefficient in each direction", "DMBoxSetPoisson", v, &flg[0],
                             PetscOptionsObject));
  PetscCall(
    PetscOptionsReal("-dm_box_shift", "Multiple of the mass matrix added to the operator", "DMBoxSetPoisson", shift, &shift, &flg[1]));
  if (flg[0] || flg[1]) PetscCall(DMBoxSetPoisson(dm, v, shift));
  PetscCall(DMBoxOptionsRobin(dm, op, PetscOptionsObject));
  PetscCall(DMBoxOptionsPenalty(dm, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Poisson(PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "-div(D grad u) + shift u, D ="));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscViewerASCIIPrintf(viewer, " %g", (double)c[d]));
  PetscCall(PetscViewerASCIIPrintf(viewer, ", shift = %g", (double)c[SHIFT]));
  PetscCall(DMBoxViewRobin(dim, &c[ROBIN], viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation, public routines ---- */

PetscErrorCode DMBoxOperatorCreate_Poisson(DMBoxOperator op)
{
  PetscFunctionBegin;
  PetscCall(DMBoxOperatorSetMatBox(op));
  op->ops.setfromoptions = DMBoxOperatorSetFromOptions_Poisson;
  op->ops.check          = DMBoxOperatorCheck_Poisson;
  op->ops.view           = DMBoxOperatorView_Poisson;
  op->ops.scale          = DMBoxOperatorScale_Poisson;
  op->ops.form           = DMBoxForm_Poisson;
  op->ops.coupling       = DMBoxCoupling_Poisson;
  for (int d = 0; d < 3; d++) op->coefficient[d] = 1;
  op->mass       = SHIFT;
  op->robin      = ROBIN;
  op->rings      = PETSC_TRUE;
  op->penalty[0] = op->penalty[1] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetPoisson - Sets the coefficients of the operator `poisson`, -div(diffusion grad u) + shift u

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
. diffusion - the diffusion coefficient in each direction, of length dim, positive
- shift     - the coefficient of the mass matrix; the operator is indefinite if it is below minus the smallest eigenvalue of the
              diffusion term

  Options Database Keys:
+ -dm_box_diffusion kx,ky,kz - diffusion coefficients; one number is for all directions
- -dm_box_shift s            - coefficient of the mass matrix

  Level: beginner

  Note:
  You may call it at any time, also after `DMSetUp()`. Matrices of this `DM` follow, and so do solvers with them. `MatBoxUpdate()`
  lists the exceptions.

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
               "-dm_box_diffusion (DMBoxSetPoisson()) is %g in direction %" PetscInt_FMT "; it must be positive and finite",
               (double)diffusion[d], d);
  }
  PetscCheck(!PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_shift (DMBoxSetPoisson()) is %g; it must be finite", (double)shift);
  for (PetscInt d = 0; d < dm->dim; d++) op->coefficient[d] = diffusion[d];
  op->coefficient[SHIFT] = shift;
  PetscCall(DMBoxChanged(dm));
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
