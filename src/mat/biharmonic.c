/*
  The operator "biharmonic" of a DMBOX: the bending of plates, bending laplace^2 u + shift u, by C0 interior penalties on a continuous
  space.

  With mass M_d, stiffness L_d and the C0 interior penalty matrix B_d of the lines it is the sum over directions of B_d with masses in the
  others, and over pairs of directions of 2 L_d (x) L_e with the mass in the third (Cui, Witte, Bonizzoni, Kanschat, Tensor-product vertex
  patch smoothers for biharmonic problems, eq. 8, 23 and 25).  The first part is a Kronecker sum; the second is what makes local solvers by
  fast diagonalization inexact.

  u is given on all sides, strongly.  On clamped sides (dirichlet) its normal derivative is given, weakly; on simply supported ones the
  second normal derivative, which is the natural condition of the Hessian's inner product, so that these sides have no terms in the
  operator.
*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/

enum {
  BENDING,
  SHIFT
};

/* ---- the form ---- */

static PetscErrorCode DMBoxForm_Biharmonic(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDLine line[][3], MatBoxForm *form)
{
  const PetscReal penalty = DMBoxPenalty(dm);
  PatchFDBand    *B = form->band, *M = B + 3, *L = M + 3;

  PetscFunctionBegin;
  form->nband     = 9;
  form->constants = c[SHIFT] == 0 && DMBoxHasOnly(dm, DMBOX_BOUNDARY_PERIODIC) ? 0 : -1;
  form->nullspace = form->constants == 0 ? MatBoxConstants : NULL;
  form->spd       = (PetscBool)(c[BENDING] > 0 && c[SHIFT] >= 0);
  for (int d = 0; d < 3; d++) {
    const int scale[2] = {op->exponent[d][0], op->exponent[d][1]};

    PetscCall(
      PatchFDBandBilaplace(&line[0][d], c[BENDING], d == 0 ? c[SHIFT] : 0, op->penalty[0] * penalty, op->penalty[1] * 2 * penalty, &B[d]));
    PetscCall(PatchFDBandMass(&line[0][d], &M[d]));
    PetscCall(PatchFDBandLaplace(&line[0][d], 1, 0, 0, 0, &L[d]));
    PatchFDBandScale(&B[d], 2 * scale[1] - scale[0]);
    PatchFDBandScale(&M[d], scale[0]);
    PatchFDBandScale(&L[d], scale[1]);
    form->A[0][d] = &B[d];
    form->M[0][d] = &M[d];
  }
  for (PetscInt d = 0; d < dm->dim; d++) {
    PatchFDTerm *t = &form->term[form->nterm++];

    *t        = (PatchFDTerm){.coef = 1, .dir = {&M[0], &M[1], &M[2]}};
    t->dir[d] = &B[d];
  }
  for (PetscInt d = 0; d < dm->dim; d++) {
    for (PetscInt e = 0; e < d; e++) {
      PatchFDTerm *t = &form->term[form->nterm++];

      *t        = (PatchFDTerm){.coef = 2 * c[BENDING], .dir = {&M[0], &M[1], &M[2]}};
      t->dir[d] = &L[d];
      t->dir[e] = &L[e];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  As for poisson: masses times 1 / h_d and stiffnesses times 1 / (h_d c) are near one, c being the largest of 1 / h_d^2, and so are the
  penalty matrices times 1 / (h_d c^2).  The coefficient of the sum is brought near one by the power that all terms are multiplied with,
  through the masses.
*/
static PetscErrorCode DMBoxOperatorScale_Biharmonic(DM dm, DMBoxOperator op, int *exponent)
{
  const DM_Box *box  = (const DM_Box *)dm->data;
  int           h[3] = {0, 0, 0}, c = INT_MIN;
  PetscBool     near;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dm->dim; d++) {
    h[d] = ilogb((box->upper[d] - box->lower[d]) / (PetscReal)box->cells[d]);
    c    = PetscMax(c, -2 * h[d]);
  }
  *exponent = -2 * c - h[0] - h[1] - h[2];
  near      = (PetscBool)(PetscAbs(2 * c) <= 40 && PetscAbs(*exponent) <= 24);
  for (int d = 0; d < 3; d++) near = (PetscBool)(near && PetscAbs(h[d]) <= 16);
  if (near) *exponent = 0;
  for (int d = 0; d < 3; d++) {
    op->exponent[d][0] = near ? 0 : -h[d];
    op->exponent[d][1] = near ? 0 : -h[d] - c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks, options, view ---- */

/*
  The sum of the squares of a polynomial of degree k - 2 at both ends of [0, h] is at most k (k - 1) / h times the integral of its square.
  With Young's inequality in each cell the form is positive definite if both factors are above (k - 1) / (2 (k + 1)), on any mesh
  (doc/method/plates.md).  On graded meshes twice that is required, a margin, but where coarsening made them so.
*/
static PetscErrorCode DMBoxCheckPenalty_Biharmonic(DM dm, DMBoxOperator op)
{
  const DM_Box   *box   = (const DM_Box *)dm->data;
  const PetscReal k     = (PetscReal)box->degree;
  PetscReal       least = (k - 1) / (2 * (k + 1));

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dm->dim; d++)
    if (box->nvertices[d] && !box->coarsenings) least = (k - 1) / (k + 1);
  PetscCheck(PetscMin(op->penalty[0], op->penalty[1]) > least, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_penalty (DMBoxSetPenalty()) is %g,%g; -dm_box_operator biharmonic of degree %" PetscInt_FMT
             " takes factors above %g on this mesh: with less it need not be positive definite",
             (double)op->penalty[0], (double)op->penalty[1], box->degree, (double)least);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorCheck_Biharmonic(DM dm, DMBoxOperator op)
{
  const DM_Box  *box  = (const DM_Box *)dm->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)dm);

  PetscFunctionBegin;
  PetscCheck(box->space == DMBOX_SPACE_Q, comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is %s; -dm_box_operator biharmonic takes q", DMBoxSpaces[box->space]);
  PetscCheck(box->degree >= 2, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_degree (DMBoxSetDegree()) is %" PetscInt_FMT "; -dm_box_operator biharmonic takes 2 or more", box->degree);
  for (PetscInt i = 0; i < 2 * dm->dim; i++)
    PetscCheck(box->boundary[i] != DMBOX_BOUNDARY_NEUMANN, comm, PETSC_ERR_ARG_INCOMP,
               "-dm_box_boundary (DMBoxSetBoundary()) is neumann at the %s side of direction %" PetscInt_FMT
               "; -dm_box_operator biharmonic takes dirichlet (clamped), supported and periodic",
               i % 2 ? "upper" : "lower", i / 2);
  PetscCall(DMBoxCheckPenalty_Biharmonic(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorSetFromOptions_Biharmonic(DM dm, DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  PetscReal bending = op->coefficient[BENDING], shift = op->coefficient[SHIFT];
  PetscBool flg[2];

  PetscFunctionBegin;
  PetscCall(PetscOptionsReal("-dm_box_bending", "Bending stiffness", "DMBoxSetBiharmonic", bending, &bending, &flg[0]));
  PetscCall(
    PetscOptionsReal("-dm_box_shift", "Multiple of the mass matrix added to the operator", "DMBoxSetBiharmonic", shift, &shift, &flg[1]));
  if (flg[0] || flg[1]) PetscCall(DMBoxSetBiharmonic(dm, bending, shift));
  PetscCall(DMBoxOptionsPenalty(dm, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Biharmonic(PETSC_UNUSED PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "bending laplace^2 u + shift u, bending = %g, shift = %g", (double)c[BENDING], (double)c[SHIFT]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation, public routines ---- */

PetscErrorCode DMBoxOperatorCreate_Biharmonic(DMBoxOperator op)
{
  static PetscBool cite = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister("@article{CuiWitteBonizzoniKanschat2024,\n"
                                   "  title  = {Tensor-Product Vertex Patch Smoothers for Biharmonic Problems},\n"
                                   "  author = {Cu Cui and Julius Witte and Francesca Bonizzoni and Guido Kanschat},\n"
                                   "  year   = {2024}\n}\n",
                                   &cite));
  PetscCall(DMBoxOperatorSetMatBox(op));
  op->ops.setfromoptions   = DMBoxOperatorSetFromOptions_Biharmonic;
  op->ops.check            = DMBoxOperatorCheck_Biharmonic;
  op->ops.view             = DMBoxOperatorView_Biharmonic;
  op->ops.scale            = DMBoxOperatorScale_Biharmonic;
  op->ops.form             = DMBoxForm_Biharmonic;
  op->coefficient[BENDING] = 1;
  op->mass                 = SHIFT;
  op->reach                = 1;
  op->rings                = PETSC_TRUE;
  op->penalty[0] = op->penalty[1] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetBiharmonic - Sets the coefficients of the operator `biharmonic`, bending laplace^2 u + shift u

  Logically Collective

  Input Parameters:
+ dm      - the `DM` of type `DMBOX`
. bending - the bending stiffness, positive (default 1)
- shift   - the coefficient of the mass matrix (default 0); the operator is indefinite if it is below minus the smallest eigenvalue
            of the rest

  Options Database Keys:
+ -dm_box_bending D - the bending stiffness
- -dm_box_shift s   - coefficient of the mass matrix

  Level: beginner

  Notes:
  The discretization is the C0 interior penalty method (S. C. Brenner, L.-Y. Sung, C0 interior penalty methods for fourth order
  elliptic boundary value problems on polygonal domains, J. Sci. Comput. 22-23, 2005) on a continuous space of degree 2 or more.
  `DMBoxSetPenalty()` sets its penalties. The order in L2 is 2 for degree 2, and degree + 1 above.

  Sides are clamped (`DMBOX_BOUNDARY_DIRICHLET`: u and its normal derivative are given) or simply supported
  (`DMBOX_BOUNDARY_SUPPORTED`: u and its second normal derivative are given). Data are zero unless `DMBoxLiftDirichlet()` and
  `DMBoxAddBendingLoad()` bring others in.

  You may call it at any time, also after `DMSetUp()`; matrices follow (`MatBoxUpdate()`).

.seealso: `DMBOX`, `DMBoxGetBiharmonic()`, `DMBoxSetOperator()`, `DMBoxAddBendingLoad()`, `DMBoxComputeBendingError()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetBiharmonic(DM dm, PetscReal bending, PetscReal shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "biharmonic", "DMBoxSetBiharmonic()", &op));
  PetscValidLogicalCollectiveReal(dm, bending, 2);
  PetscValidLogicalCollectiveReal(dm, shift, 3);
  PetscCheck(bending > 0 && !PetscIsInfOrNanReal(bending), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_bending (DMBoxSetBiharmonic()) is %g; it must be positive and finite", (double)bending);
  PetscCheck(!PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_shift (DMBoxSetBiharmonic()) is %g; it must be finite", (double)shift);
  op->coefficient[BENDING] = bending;
  op->coefficient[SHIFT]   = shift;
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetBiharmonic - Returns the coefficients of the operator `biharmonic`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ bending - the bending stiffness, or `NULL`
- shift   - the coefficient of the mass matrix, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetBiharmonic()`
@*/
PetscErrorCode DMBoxGetBiharmonic(DM dm, PetscReal *bending, PetscReal *shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "biharmonic", "DMBoxGetBiharmonic()", &op));
  if (bending) *bending = op->coefficient[BENDING];
  if (shift) *shift = op->coefficient[SHIFT];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxAddBendingLoad - Adds the load of given normal derivatives on the sides of a plate to a right-hand side of the operator `biharmonic`

  Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`, set up
. time   - the time that the functions get
. slope  - the outward normal derivative of u on clamped sides (`DMBOX_BOUNDARY_DIRICHLET`), or `NULL` for zero
. moment - the second normal derivative of u on simply supported sides (`DMBOX_BOUNDARY_SUPPORTED`), or `NULL` for zero
. ctx    - for the functions, or `NULL`
- b      - the vector, from `DMCreateGlobalVector()`; entries on the sides do not change

  Level: beginner

  Notes:
  Let s be the penalty and v a basis function. The integrand on a clamped side is bending slope (s dv/dn - d2v/dn2), on a supported
  side bending moment dv/dn.

  The functions get the point, not the side. Gauss points are inside the sides, so the coordinates of a point tell its side.

.seealso: `DMBOX`, `DMBoxSetBiharmonic()`, `DMBoxAddLoad()`, `DMBoxLiftDirichlet()`
@*/
PetscErrorCode DMBoxAddBendingLoad(DM dm, PetscReal time, DMBoxFunctionFn *slope, DMBoxFunctionFn *moment, void *ctx, Vec b)
{
  DM_Box       *box;
  DMBoxOperator op;
  PetscReal    *load;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckVec(dm, b));
  PetscCall(DMBoxGetOperatorOfType(dm, "biharmonic", "DMBoxAddBendingLoad()", &op));
  PetscCall(PetscMalloc1(box->degree + 1, &load));
  for (PetscInt d = 0; d < dm->dim; d++) {
    for (int end = 0; end < 2; end++) {
      PatchFDPointwise f = {box->boundary[2 * d + end] == DMBOX_BOUNDARY_SUPPORTED ? moment : slope, ctx};

      if (!f.f || DMBoxIsRing(box, d)) continue;
      PetscCall(PatchFDLineEndLoad(&box->field[0].line[d], end, op->coefficient[BENDING], op->penalty[1] * 2 * DMBoxPenalty(dm), load));
      PetscCall(DMBoxAddSideLoad(dm, d, end, load, time, 1, PatchFDHostPointwise, &f, b));
    }
  }
  PetscCall(PetscFree(load));
  PetscFunctionReturn(PETSC_SUCCESS);
}
