/*
  The operator "elasticity" of a DMBOX with the space vq: displacements u of a homogeneous, isotropic solid,

    shift u - div (2 mu eps(u) + lambda div u 1) = f,   eps(u) = (grad u + (grad u)') / 2.

  With mass M, stiffness A, E = int v' u and its transpose E' of the lines, the coupling of components i and i is (lambda + 2 mu) A_i and
  mu A_e in the other directions e, with masses in the rest; that of rows i and columns j is lambda E_i E'_j + mu E'_i E_j.  On sides
  without conditions the traction is given, naturally.

  Nearly incompressible materials, where lambda is large, have too few displacements with small divergence.  There the lambda terms alone
  are projected to a lower degree in each direction and cell, by default k - 2: the pair Q_k, DGQ_{k-2} with the pressure eliminated, a
  generalized selective reduced integration (Malkus, Hughes, Mixed finite element methods - reduced and selective integration techniques:
  a unification of concepts, 1978).  It is a sum of products as before, and vertex patches are robust for it if the colour of the interiors
  of coarse cells stands next to the coarse correction (Schoeberl, Multigrid methods for a parameter dependent problem in primal
  variables, 1999).
*/
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>

const char *const DMBoxPlaneTypes[] = {"strain", "stress", "DMBoxPlaneType", "DMBOX_PLANE_", NULL};

enum {
  LAMBDA,
  MU,
  SHIFT
};

/* lambda / mu, from which on the lambda terms are projected (Poisson's ratio 0.49, but for rounding), and above which degree 1 is refused
   (0.45) */
static const PetscReal PROJECTED = 48.999, LOCKED = 9.001;

/* ---- the form ---- */

/* of a direction: own and other are what the component of that direction and the others have there; P: projected */
typedef struct {
  PatchFDBand M, own, other, E, Et, PM, PA, PE, PEt;
} ElasticityBands;

/* the degree that lambda terms are projected to, also of negative multiples of the operator; that of the space for none */
static PetscInt LambdaDegree(DM dm, DMBoxOperator op)
{
  const PetscInt k = ((const DM_Box *)dm->data)->degree;

  if (op->projection != PETSC_DETERMINE) return PetscMin(op->projection, k);
  return k > 1 && dm->dim > 1 && PetscAbsReal(op->coefficient[LAMBDA]) > PROJECTED * PetscAbsReal(op->coefficient[MU]) ? k - 2 : k;
}

/* coef times band bi in direction i, bj in j, and `mass` in the others */
static void AddTerm(PetscInt row, PetscInt col, PetscReal coef, const PatchFDBand *const mass[3], PetscInt i, const PatchFDBand *bi,
                    PetscInt j, const PatchFDBand *bj, MatBoxForm *form)
{
  PatchFDTerm *t = &form->term[form->nterm];

  if (coef == 0) return;
  *t        = (PatchFDTerm){.row = row, .col = col, .coef = coef, .dir = {mass[0], mass[1], mass[2]}};
  t->dir[i] = bi;
  t->dir[j] = bj;
  form->nterm++;
}

/* is component c fixed somewhere? */
static PetscBool IsHeld(const DM_Box *box, PetscInt c)
{
  PetscBool held = PETSC_FALSE;

  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 2; e++) held = (PetscBool)(held || PatchFDLineFixed(&box->field[c].line[d], e));
  return held;
}

/* the translation in direction a = b, or the rotation in the plane of a and b around the centre */
typedef struct {
  PetscInt  a, b;
  PetscReal centre[3];
} Motion;

static PetscErrorCode RigidMotion(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                  void *ctx)
{
  const Motion *m = (const Motion *)ctx;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < Nc; c++) u[c] = 0;
  u[m->a] = m->a == m->b ? 1 : x[m->b] - m->centre[m->b];
  if (m->a != m->b) u[m->b] = m->centre[m->a] - x[m->a];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool MayMove(const DM_Box *box, PetscInt a, PetscInt b)
{
  if (a != b && (box->field[0].line[a].turn || box->field[0].line[b].turn)) return PETSC_FALSE;
  return (PetscBool)(!IsHeld(box, a) && !IsHeld(box, b));
}

/* an orthonormal basis of all rigid motions, or of those that no side holds */
static PetscErrorCode RigidMotions(DM dm, PetscBool all, MatNullSpace *motions)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  Motion        m;
  Vec           v[6];
  PetscScalar   dot[6];
  PetscInt      n = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) m.centre[d] = 0.5 * (box->lower[d] + box->upper[d]);
  for (m.a = 0; m.a < dm->dim; m.a++) {
    for (m.b = 0; m.b <= m.a; m.b++) {
      if (!all && !MayMove(box, m.a, m.b)) continue;
      PetscCall(DMCreateGlobalVector(dm, &v[n]));
      PetscCall(DMBoxInterpolateFunction(dm, 0, RigidMotion, &m, v[n]));
      PetscCall(VecMDot(v[n], n, v, dot));
      for (PetscInt i = 0; i < n; i++) dot[i] = -dot[i];
      PetscCall(VecMAXPY(v[n], n, dot, v));
      PetscCall(VecNormalize(v[n++], NULL));
    }
  }
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)dm), PETSC_FALSE, n, v, motions));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeMotions(const Mat_Box *m, MatNullSpace *motions)
{
  return RigidMotions(m->dm, PETSC_FALSE, motions);
}

static PetscErrorCode AllMotions(const Mat_Box *m, MatNullSpace *motions)
{
  return RigidMotions(m->dm, PETSC_TRUE, motions);
}

static PetscErrorCode ElasticityBandsCreate(PetscInt dim, const PetscReal c[], PetscInt degree, const PatchFDLine *line, PetscInt d,
                                            ElasticityBands *b)
{
  const PetscReal shift = d == 0 ? c[SHIFT] : 0, lambda = degree < line->degree ? 0 : c[LAMBDA];

  PetscFunctionBegin;
  PetscCall(PatchFDBandMass(line, &b->M));
  PetscCall(PatchFDBandLaplace(line, lambda + 2 * c[MU], shift, 0, 0, &b->own));
  PetscCall(PatchFDBandLaplace(line, c[MU], shift, 0, 0, &b->other));
  if (d >= dim) PetscFunctionReturn(PETSC_SUCCESS); /* a point */
  PetscCall(PatchFDBandProjected(line, line->degree, 1, 0, &b->E));
  PetscCall(PatchFDBandProjected(line, line->degree, 0, 1, &b->Et));
  if (degree >= line->degree) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDBandProjected(line, degree, 0, 0, &b->PM));
  PetscCall(PatchFDBandProjected(line, degree, 1, 1, &b->PA));
  PetscCall(PatchFDBandProjected(line, degree, 1, 0, &b->PE));
  PetscCall(PatchFDBandProjected(line, degree, 0, 1, &b->PEt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* components differ in the ends of their lines, which bands do not see */
static PetscErrorCode DMBoxForm_Elasticity(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDLine line[][3], MatBoxForm *form)
{
  const PetscInt     dim = dm->dim, degree = LambdaDegree(dm, op);
  const PetscBool    projected = (PetscBool)(degree < ((const DM_Box *)dm->data)->degree);
  ElasticityBands   *b         = (ElasticityBands *)form->band;
  const PatchFDBand *M[3], *P[3];

  PetscFunctionBegin;
  if (projected) PetscCall(PetscInfo(dm, "The lambda terms are projected to degree %" PetscInt_FMT " (-dm_box_lambda_degree)\n", degree));
  form->nband         = 3 * sizeof(ElasticityBands) / sizeof(PatchFDBand);
  form->spd           = (PetscBool)(c[MU] > 0 && dim * c[LAMBDA] + 2 * c[MU] > 0 && c[SHIFT] >= 0);
  form->constants     = -1;
  form->nearnullspace = AllMotions;
  for (PetscInt i = 0; i < dim && c[SHIFT] == 0; i++)
    for (PetscInt j = 0; j <= i; j++)
      if (MayMove((const DM_Box *)dm->data, i, j)) form->nullspace = FreeMotions;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(ElasticityBandsCreate(dim, c, degree, &line[0][d], d, &b[d]));
    M[d] = &b[d].M;
    P[d] = projected && d < dim ? &b[d].PM : M[d];
    for (PetscInt i = 0; i < dim; i++) {
      form->M[i][d] = M[d];
      form->A[i][d] = i == d ? &b[d].own : &b[d].other;
    }
  }
  for (PetscInt i = 0; i < dim; i++) {
    form->odd[i][i] = PETSC_TRUE;
    for (PetscInt d = 0; d < dim; d++) AddTerm(i, i, 1, M, d, form->A[i][d], d, form->A[i][d], form);
    if (projected) AddTerm(i, i, c[LAMBDA], P, i, &b[i].PA, i, &b[i].PA, form);
    for (PetscInt j = 0; j < dim; j++) {
      if (i == j) continue;
      AddTerm(i, j, c[LAMBDA], P, i, projected ? &b[i].PE : &b[i].E, j, projected ? &b[j].PEt : &b[j].Et, form);
      AddTerm(i, j, c[MU], M, i, &b[i].Et, j, &b[j].E, form);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks, options, view ---- */

/* once the degree is known; forms whose lambda terms are of two degrees are no multiples of each other, and have no sum */
static PetscErrorCode CheckMaterial(DM dm, DMBoxOperator op)
{
  const PetscReal lambda = op->coefficient[LAMBDA], mu = op->coefficient[MU];

  PetscFunctionBegin;
  PetscCheck(((const DM_Box *)dm->data)->degree > 1 || dm->dim == 1 || op->projection != PETSC_DETERMINE || lambda <= LOCKED * mu,
             PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_operator elasticity: Poisson's ratio is %g (lambda / mu = %g), where elements of -dm_box_degree 1 lock: "
             "displacements are far too small. "
             "Take degree 2 or more, a ratio up to 0.45, or say with -dm_box_lambda_degree (DMBoxSetLambdaDegree()) 0 or 1 that you want "
             "it",
             (double)(0.5 * lambda / (lambda + mu)), (double)(lambda / mu));
  op->version = 1 + LambdaDegree(dm, op);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorCheck_Elasticity(DM dm, DMBoxOperator op)
{
  const DM_Box  *box  = (const DM_Box *)dm->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)dm);

  PetscFunctionBegin;
  PetscCheck(box->space == DMBOX_SPACE_VQ, comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is %s; -dm_box_operator elasticity takes vq", DMBoxSpaces[box->space]);
  for (PetscInt d = 0; d < dm->dim; d++) {
    const DMBoxBoundaryType *side = &box->boundary[2 * d];

    for (int e = 0; e < 2; e++)
      PetscCheck(side[e] != DMBOX_BOUNDARY_SUPPORTED, comm, PETSC_ERR_ARG_INCOMP,
                 "-dm_box_boundary (DMBoxSetBoundary()) is supported at the %s side of direction %" PetscInt_FMT
                 "; -dm_box_operator elasticity takes dirichlet (clamped), neumann (free or loaded), symmetry and periodic",
                 e ? "upper" : "lower", d);
    PetscCheck(box->degree > 1 || box->cells[d] > 1 || box->refine || side[0] == DMBOX_BOUNDARY_NEUMANN ||
                 side[1] == DMBOX_BOUNDARY_NEUMANN || (side[0] != DMBOX_BOUNDARY_SYMMETRY && side[1] != DMBOX_BOUNDARY_SYMMETRY),
               comm, PETSC_ERR_ARG_INCOMP,
               "-dm_box_boundary (DMBoxSetBoundary()) is symmetry in direction %" PetscInt_FMT
               ", where -dm_box_cells 1 of -dm_box_degree 1 has no free nodes across the sides; take more cells or a higher degree",
               d);
  }
  PetscCall(CheckMaterial(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorSetFromOptions_Elasticity(DM dm, DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  PetscReal      lambda = op->coefficient[LAMBDA], mu = op->coefficient[MU], shift = op->coefficient[SHIFT], young, ratio;
  DMBoxPlaneType plane = DMBOX_PLANE_STRAIN;
  PetscInt       degree;
  PetscBool      lame[3], moduli[3], flg;

  PetscFunctionBegin;
  PetscCall(DMBoxGetElasticModuli(dm, &young, &ratio));
  PetscCall(DMBoxGetLambdaDegree(dm, &degree));
  PetscCall(PetscOptionsReal("-dm_box_lambda", "Lame's first parameter", "DMBoxSetElasticity", lambda, &lambda, &lame[0]));
  PetscCall(PetscOptionsReal("-dm_box_mu", "Shear modulus", "DMBoxSetElasticity", mu, &mu, &lame[1]));
  PetscCall(
    PetscOptionsReal("-dm_box_shift", "Multiple of the mass matrix added to the operator", "DMBoxSetElasticity", shift, &shift, &lame[2]));
  PetscCall(PetscOptionsReal("-dm_box_young", "Young's modulus", "DMBoxSetElasticModuli", young, &young, &moduli[0]));
  PetscCall(PetscOptionsReal("-dm_box_poisson_ratio", "Poisson's ratio", "DMBoxSetElasticModuli", ratio, &ratio, &moduli[1]));
  PetscCall(PetscOptionsEnum("-dm_box_plane", "No strain or no stress in the directions that are missing", "DMBoxSetElasticModuli",
                             DMBoxPlaneTypes, (PetscEnum)plane, (PetscEnum *)&plane, &moduli[2]));
  PetscCheck(!((lame[0] || lame[1]) && (moduli[0] || moduli[1] || moduli[2])), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_lambda and -dm_box_mu (DMBoxSetElasticity()) and -dm_box_young, -dm_box_poisson_ratio and -dm_box_plane "
             "(DMBoxSetElasticModuli()) are two ways to say the same; use one");
  PatchFDOptions(Int, PatchFDOptionsWord((PetscReal)degree), "-dm_box_lambda_degree", "Degree that the lambda terms are projected to",
                 "DMBoxSetLambdaDegree", degree, &degree, &flg);
  if (flg) PetscCall(DMBoxSetLambdaDegree(dm, degree));
  if (lame[0] || lame[1] || lame[2]) PetscCall(DMBoxSetElasticity(dm, lambda, mu, shift));
  if (moduli[0] || moduli[1] || moduli[2]) PetscCall(DMBoxSetElasticModuli(dm, young, ratio, plane));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Elasticity(PETSC_UNUSED PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "shift u - div (2 mu eps(u) + lambda div u), lambda = %g, mu = %g, shift = %g",
                                   (double)c[LAMBDA], (double)c[MU], (double)c[SHIFT]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation, public routines ---- */

PetscErrorCode DMBoxOperatorCreate_Elasticity(DMBoxOperator op)
{
  PetscFunctionBegin;
  PetscCall(DMBoxOperatorSetMatBox(op));
  op->ops.setfromoptions  = DMBoxOperatorSetFromOptions_Elasticity;
  op->ops.check           = DMBoxOperatorCheck_Elasticity;
  op->ops.view            = DMBoxOperatorView_Elasticity;
  op->ops.form            = DMBoxForm_Elasticity;
  op->coefficient[LAMBDA] = 0.3 / (1.3 * 0.4); /* Young's modulus 1, Poisson's ratio 0.3 */
  op->coefficient[MU]     = 0.5 / 1.3;
  op->mass                = SHIFT;
  op->projection          = PETSC_DETERMINE;
  op->rings               = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ElasticityChanged(DM dm, DMBoxOperator op)
{
  PetscFunctionBegin;
  if (dm->setupcalled) PetscCall(CheckMaterial(dm, op));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetElasticity - Sets the coefficients of the operator `elasticity`, shift u - div (2 mu eps(u) + lambda div u)

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
. lambda - Lame's first parameter (default 15/26); dim lambda + 2 mu must be positive
. mu     - the shear modulus, positive (default 5/13)
- shift  - the coefficient of the mass matrix, not negative (default 0); for example the density over the square of the time step

  Options Database Keys:
+ -dm_box_lambda lambda - Lame's first parameter
. -dm_box_mu mu         - the shear modulus
- -dm_box_shift s       - coefficient of the mass matrix

  Level: beginner

  Notes:
  The space is `DMBOX_SPACE_VQ`: one field for each component of the displacement. eps(u) is the symmetric part of the gradient of u.
  The defaults are Young's modulus 1 and Poisson's ratio 0.3; `DMBoxSetElasticModuli()` takes such numbers, also for plane stress.

  Sides of type `DMBOX_BOUNDARY_DIRICHLET` are clamped: the displacement is zero, or that of `DMBoxLiftDirichlet()`. Sides of type
  `DMBOX_BOUNDARY_NEUMANN` are free, or have the traction that `DMBoxAddNeumannLoad()` brings in. On planes of symmetry
  (`DMBOX_BOUNDARY_SYMMETRY`) the component across the side is given, and the tangential traction is zero.

  Rigid motions that no side holds are the null space of the matrix if the shift is zero. Assembled matrices (`-dm_mat_type aij`) have
  all rigid motions as near null space, for `PCGAMG`.

  For nearly incompressible materials see `DMBoxSetLambdaDegree()`.

  You may call it at any time, also after `DMSetUp()`; matrices follow (`MatBoxUpdate()`).

.seealso: `DMBOX`, `DMBoxGetElasticity()`, `DMBoxSetElasticModuli()`, `DMBoxSetLambdaDegree()`, `DMBoxSetOperator()`, `DMBoxSetSpace()`,
          `DMBoxAddLoad()`, `DMBoxAddNeumannLoad()`, `DMBoxLiftDirichlet()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetElasticity(DM dm, PetscReal lambda, PetscReal mu, PetscReal shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetElasticity()", &op));
  PetscValidLogicalCollectiveReal(dm, lambda, 2);
  PetscValidLogicalCollectiveReal(dm, mu, 3);
  PetscValidLogicalCollectiveReal(dm, shift, 4);
  PetscCheck(mu > 0 && (PetscReal)dm->dim * lambda + 2 * mu > 0 && !PetscIsInfOrNanReal(lambda) && !PetscIsInfOrNanReal(mu),
             PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_lambda and -dm_box_mu (DMBoxSetElasticity()) are %g and %g; mu and dim lambda + 2 mu must be positive and finite",
             (double)lambda, (double)mu);
  PetscCheck(shift >= 0 && !PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_shift (DMBoxSetElasticity()) is %g; it must be finite and not negative", (double)shift);
  op->coefficient[LAMBDA] = lambda;
  op->coefficient[MU]     = mu;
  op->coefficient[SHIFT]  = shift;
  PetscCall(ElasticityChanged(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetElasticity - Returns the coefficients of the operator `elasticity`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ lambda - Lame's first parameter, or `NULL`
. mu     - the shear modulus, or `NULL`
- shift  - the coefficient of the mass matrix, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetElasticity()`, `DMBoxGetElasticModuli()`
@*/
PetscErrorCode DMBoxGetElasticity(DM dm, PetscReal *lambda, PetscReal *mu, PetscReal *shift)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxGetElasticity()", &op));
  if (lambda) *lambda = op->coefficient[LAMBDA];
  if (mu) *mu = op->coefficient[MU];
  if (shift) *shift = op->coefficient[SHIFT];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetElasticModuli - Sets the material of the operator `elasticity` by Young's modulus and Poisson's ratio

  Logically Collective

  Input Parameters:
+ dm    - the `DM` of type `DMBOX`
. young - Young's modulus E, positive (default 1)
. ratio - Poisson's ratio nu, more than -1 and less than 1/2 (default 0.3)
- plane - in one and two dimensions, what holds in the directions that are missing: `DMBOX_PLANE_STRAIN` (default) or
          `DMBOX_PLANE_STRESS`; in three dimensions both are the same

  Options Database Keys:
+ -dm_box_young E               - Young's modulus
. -dm_box_poisson_ratio nu      - Poisson's ratio
- -dm_box_plane (strain|stress) - what holds in the directions that are missing

  Level: beginner

  Note:
  It sets mu = E / (2 (1 + nu)), and lambda = 2 mu nu / (1 - 2 nu) or, without stress, 2 mu nu / (1 - (dim - 1) nu), as
  `DMBoxSetElasticity()` does; the shift stays.

.seealso: `DMBOX`, `DMBoxGetElasticModuli()`, `DMBoxSetElasticity()`, `DMBoxPlaneType`
@*/
PetscErrorCode DMBoxSetElasticModuli(DM dm, PetscReal young, PetscReal ratio, DMBoxPlaneType plane)
{
  const PetscReal mu = 0.5 * young / (1 + ratio), missing = plane == DMBOX_PLANE_STRESS ? (PetscReal)(dm->dim - 1) : 2;
  DMBoxOperator   op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetElasticModuli()", &op));
  PetscValidLogicalCollectiveEnum(dm, plane, 4);
  PetscCheck(young > 0 && !PetscIsInfOrNanReal(young), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_young (DMBoxSetElasticModuli()) is %g; it must be positive and finite", (double)young);
  PetscCheck(ratio > -1 && ratio < 0.5, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_poisson_ratio (DMBoxSetElasticModuli()) is %g; it must be more than -1 and less than 0.5", (double)ratio);
  PetscCheck(plane == DMBOX_PLANE_STRAIN || plane == DMBOX_PLANE_STRESS, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_plane (DMBoxSetElasticModuli()) is %d; it must be strain or stress", (int)plane);
  PetscCall(DMBoxSetElasticity(dm, 2 * mu * ratio / (1 - missing * ratio), mu, op->coefficient[SHIFT]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetElasticModuli - Returns Young's modulus and Poisson's ratio of the operator `elasticity`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ young - Young's modulus, or `NULL`
- ratio - Poisson's ratio, or `NULL`

  Level: beginner

  Note:
  They are computed from lambda and mu for three dimensions or plane strain. After `DMBOX_PLANE_STRESS` they are those of the material
  that has the same lambda and mu in plane strain.

.seealso: `DMBOX`, `DMBoxSetElasticModuli()`, `DMBoxGetElasticity()`
@*/
PetscErrorCode DMBoxGetElasticModuli(DM dm, PetscReal *young, PetscReal *ratio)
{
  PetscReal lambda, mu;

  PetscFunctionBegin;
  PetscCall(DMBoxGetElasticity(dm, &lambda, &mu, NULL));
  if (young) *young = mu * (3 * lambda + 2 * mu) / (lambda + mu);
  if (ratio) *ratio = 0.5 * lambda / (lambda + mu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetLambdaDegree - Sets the degree to which the operator `elasticity` projects the divergence in its lambda terms

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
- degree - the degree in each direction and cell, 0 or more; the degree k of the space and more: no projection. `PETSC_DETERMINE`
           (default): k - 2 from Poisson's ratio 0.49 on (lambda = 49 mu), in two and three dimensions, no projection below

  Options Database Key:
. -dm_box_lambda_degree q - the degree

  Level: intermediate

  Notes:
  The terms are lambda (pi div u, pi div v), with the L2 projection pi of each cell. With q = k - 2 the error does not grow as Poisson's
  ratio goes to 1/2, and neither do the iterations of `PCPATCHMG`; its order in the displacement is k in the limit, and the pressure
  -lambda pi div u converges. Without projection displacements lose orders, and pressures are wrong. q = k - 1 has smaller errors on
  uniform meshes, but solvers need twice the iterations and more.

  Elements of degree 1 lock, and no projection gives them a good solver: for them a ratio above 0.45 is an error, unless a degree is set.
  In one dimension nothing locks.

.seealso: `DMBOX`, `DMBoxGetLambdaDegree()`, `DMBoxSetElasticity()`, `DMBoxSetDegree()`
@*/
PetscErrorCode DMBoxSetLambdaDegree(DM dm, PetscInt degree)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxSetLambdaDegree()", &op));
  PetscValidLogicalCollectiveInt(dm, degree, 2);
  PetscCheck(degree >= 0 || degree == PETSC_DETERMINE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_lambda_degree (DMBoxSetLambdaDegree()) is %" PetscInt_FMT "; it must be 0 or more, or determine", degree);
  op->projection = degree;
  PetscCall(ElasticityChanged(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetLambdaDegree - Returns what `DMBoxSetLambdaDegree()` has set

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. degree - the degree, or `PETSC_DETERMINE`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetLambdaDegree()`
@*/
PetscErrorCode DMBoxGetLambdaDegree(DM dm, PetscInt *degree)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscAssertPointer(degree, 2);
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxGetLambdaDegree()", &op));
  *degree = op->projection;
  PetscFunctionReturn(PETSC_SUCCESS);
}
