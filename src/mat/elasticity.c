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
#include <patchfd/private/options.h>
#include "elasticity.h"

const char *const DMBoxPlaneTypes[] = {"strain", "stress", "DMBoxPlaneType", "DMBOX_PLANE_", NULL};

/* ---- the form ---- */

/* of a direction: own and other are what the component of that direction and the others have there; P: projected */
typedef struct {
  PatchFDBand M, own, other, E, Et, PM, PA, PE, PEt;
} ElasticityBands;

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
  const PetscInt     dim = dm->dim;
  ElasticityBands   *b   = (ElasticityBands *)form->band;
  PetscInt           degree;
  PetscBool          projected;
  const PatchFDBand *M[3], *P[3];

  PetscFunctionBegin;
  PetscCall(DMBoxMaterialCheck(dm, op));
  PetscCall(DMBoxElasticityCheckLocking(dm, op));
  degree       = DMBoxElasticityDegree(dm, op);
  projected    = (PetscBool)(degree < ((const DM_Box *)dm->data)->degree);
  form->points = DMBoxHasPoints((const DM_Box *)dm->data);
  if (projected) PetscCall(PetscInfo(dm, "The lambda terms are projected to degree %" PetscInt_FMT " (-dm_box_lambda_degree)\n", degree));
  form->nband     = 3 * sizeof(ElasticityBands) / sizeof(PatchFDBand);
  form->spd       = (PetscBool)(c[MU] > 0 && dim * c[LAMBDA] + 2 * c[MU] > 0 && c[SHIFT] >= 0);
  form->constants = -1;
  form->nullspace = MatBoxMotions;
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
  PetscCheck(!DMBoxHasPoints(box) || box->degree <= PATCHFD_POINTS_MAX_DEGREE, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_degree (DMBoxSetDegree()) is %" PetscInt_FMT "; -dm_box_operator elasticity by quadrature takes 1 to %d", box->degree,
             PATCHFD_POINTS_MAX_DEGREE);
  for (PetscInt d = 0; d < dm->dim; d++)
    PetscCheck(!DMBoxIsMapped(box) || !DMBoxIsRing(box, d), comm, PETSC_ERR_SUP,
               "-dm_box_boundary (DMBoxSetBoundary()) is periodic in direction %" PetscInt_FMT
               " of a box with a map (-dm_box_mapping); -dm_box_operator elasticity does not take both",
               d);
  PetscCall(DMBoxElasticityVersion(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* data go to a DM with their version, and what was found out about them */
static PetscErrorCode DMBoxOperatorCopy_Elasticity(DM from, DM to, PetscBool *changed)
{
  const DMBoxOperator a = ((const DM_Box *)from->data)->op, b = ((const DM_Box *)to->data)->op;
  const Elasticity   *known = (const Elasticity *)a->data;
  Elasticity         *data  = (Elasticity *)b->data;

  PetscFunctionBegin;
  if (a->version != b->version || a->projection != b->projection || known->material != data->material) {
    PetscCall(DMBoxMaterialDestroy(&data->material));
    data->material = known->material;
    if (data->material) data->material->refct++;
    b->points     = a->points;
    b->version    = a->version;
    b->projection = a->projection;
    *changed      = PETSC_TRUE;
    if (to->setupcalled) PetscCall(DMBoxSetUpMapping(to));
  }
  data->plane   = known->plane;
  data->known   = known->known;
  data->largest = known->largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorDestroy_Elasticity(DMBoxOperator op)
{
  PetscFunctionBegin;
  PetscCall(DMBoxMaterialDestroy(&((Elasticity *)op->data)->material));
  PetscCall(PetscFree(op->data));
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

/* ---- creation ---- */

PetscErrorCode DMBoxOperatorCreate_Elasticity(DMBoxOperator op)
{
  Elasticity *data;

  PetscFunctionBegin;
  PetscCall(DMBoxOperatorSetMatBox(op));
  PetscCall(PetscNew(&data));
  data->known             = -1;
  op->data                = data;
  op->mapped              = PETSC_TRUE;
  op->ops.points          = DMBoxPoints_Elasticity;
  op->ops.pointsdestroy   = DMBoxPointsDestroy_Elasticity;
  op->ops.copy            = DMBoxOperatorCopy_Elasticity;
  op->ops.destroy         = DMBoxOperatorDestroy_Elasticity;
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
