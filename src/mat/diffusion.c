/*
  The operator "diffusion" of a DMBOX: -div(K grad u) + s u by quadrature, on meshes that may be mapped, K symmetric positive definite and
  s >= 0 functions of space.

  The matrix is that of the points (PatchFDPoints); the terms of the form are those of a Kronecker sum nearby (diffusionform.c).
*/
#include <patchfd/private/celldata.h>
#include <patchfd/private/vecimpl.h>
#include "diffusion.h"

/* a clone, in another precision, takes over what has been checked and evaluated */
static PetscErrorCode DiffusionShare(DM from, DM to)
{
  const DM_Box    *a = (const DM_Box *)from->data, *b = (const DM_Box *)to->data;
  const Diffusion *known = (const Diffusion *)a->op->data;
  Diffusion       *data  = (Diffusion *)b->op->data;

  PetscFunctionBegin;
  if (!a->shape || a->shape != b->shape || known->known != b->op->version || data->known == known->known)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxDiffusionPointsDestroy(&data->points));
  data->points = known->points;
  if (data->points) data->points->refct++;
  data->known   = known->known;
  data->gauss   = known->gauss;
  data->largest = known->largest;
  PetscCall(PetscArraycpy(data->cells, known->cells, 3));
  PetscCall(PetscArraycpy(data->c, known->c, COEFFICIENTS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorDestroy_Diffusion(DMBoxOperator op)
{
  Diffusion *data = (Diffusion *)op->data;

  PetscFunctionBegin;
  PetscCall(DMBoxDiffusionPointsDestroy(&data->points));
  PetscCall(DMBoxDiffusionMediumDestroy(&data->medium));
  PetscCall(PetscFree(op->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the form ---- */

/* a defect where the least of these numbers is negative, or not positive, or their sum not finite; in GPU memory.  Factors show whether
   matrices are positive definite */
static PetscErrorCode VecDefect(Vec v, PetscBool positive, PatchFDDefect defect, PetscInt npoint, const PatchFDRange cells,
                                PatchFDMetric *found)
{
  PetscReal   least;
  PetscScalar sum;
  PetscInt    at, size;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &size));
  if (!size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecMin(v, &at, &least));
  PetscCall(VecSum(v, &sum));
  if ((positive ? least > 0 : least >= 0) && !PetscIsInfOrNanScalar(sum)) PetscFunctionReturn(PETSC_SUCCESS);
  found->defect  = defect;
  at             = PetscMax(at, 0) / npoint;
  found->cell[0] = cells[0][0] + at % (cells[0][1] - cells[0][0]);
  at /= cells[0][1] - cells[0][0];
  found->cell[1] = cells[1][0] + at % (cells[1][1] - cells[1][0]);
  found->cell[2] = cells[2][0] + at / (cells[1][1] - cells[1][0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiffusionCheckDevice(DM dm, const DiffusionPoints *points, const PatchFDRange cells, PatchFDMetric *found)
{
  const PatchFDPoints *p = &points->points;

  PetscFunctionBegin;
  if (points->shift) {
    PetscCall(VecDefect(points->shift, PETSC_FALSE, PATCHFD_DEFECT_SHIFT, DMBoxNumPoints(dm), cells, found));
    if (p->ncells) PetscCall(VecMax(points->shift, NULL, &found->largest));
  } else if (p->shift) found->largest = p->shift[0];
  if (points->K && p->nkappa == 1) PetscCall(VecDefect(points->K, PETSC_TRUE, PATCHFD_DEFECT_KAPPA, DMBoxNumPoints(dm), cells, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* in the cells that the matrix has here */
static PetscErrorCode DiffusionCheckPoints(DM dm, DMBoxOperator op, PatchFDMetric *found)
{
  const DM_Box  *box = (const DM_Box *)dm->data;
  PetscReal      one[COEFFICIENTS];
  PatchFDPoints  points;
  PatchFDRange   cells;
  PatchFDKernels kern;

  PetscFunctionBegin;
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  for (int d = 0; d < 3; d++) { /* on the host those of patches, too, so that nobody else has to evaluate functions */
    const PetscBool empty = (PetscBool)(box->owncells[d][0] >= box->owncells[d][1]);

    cells[d][0] = empty ? box->owncells[d][0] : PetscMax(0, box->owncells[d][0] - 1);
    cells[d][1] = empty || PetscMemTypeDevice(kern->memtype) ? box->owncells[d][1]
                                                             : PetscMin(box->field[0].line[d].ncells, box->owncells[d][1] + 1);
  }
  DMBoxDiffusionCoefficients(op, 1, 0, one);
  PetscCall((*op->ops.points)(dm, op, one, (const PetscInt(*)[2])cells, (PetscBool)PetscMemTypeDevice(kern->memtype), &points));
  if (points.geoindex) PatchFDHostCheckCoefficients(&points, DMBoxNumPoints(dm), (const PetscInt(*)[2])cells, found);
  else PetscCall(DiffusionCheckDevice(dm, (const DiffusionPoints *)points.owner, (const PetscInt(*)[2])cells, found));
  PetscCall((*op->ops.pointsdestroy)(&points));
  PetscCall(DMBoxReduceMetric(dm, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an error where K and s are not what they have to be; and the largest s */
static PetscErrorCode DiffusionCheck(DM dm, DMBoxOperator op)
{
  Diffusion    *data  = (Diffusion *)op->data;
  PatchFDMetric found = {.defect = PATCHFD_DEFECT_NONE};

  PetscFunctionBegin;
  if (data->known == op->version && data->gauss == DMBoxNumGauss(dm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxDiffusionPointsDestroy(&data->points));
  if (data->medium->fine) found.largest = data->medium->largest; /* what it is made of has been checked */
  else PetscCall(DiffusionCheckPoints(dm, op, &found));
  data->largest = found.largest;
  data->known   = op->version;
  data->gauss   = DMBoxNumGauss(dm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a coarse mesh with a Galerkin operator makes its own medium; any other has that of the mesh, or, where that has one of a finer mesh, that
   of the finest */
static PetscErrorCode DMBoxOperatorCopy_Diffusion(DM from, DM to, PetscBool *changed)
{
  const DM_Box       *fine = (const DM_Box *)from->data, *coarse = (const DM_Box *)to->data;
  const DMBoxOperator a = fine->op, b = coarse->op;
  const PetscBool     restricted = (PetscBool)(to->setupcalled && coarse->restricted && coarse->coarsenings > fine->coarsenings);
  Diffusion          *data       = (Diffusion *)b->data;
  DiffusionMedium    *old = data->medium, *given = ((Diffusion *)a->data)->medium,
                  *shared = given->fine && !coarse->restricted ? given->fine : given;

  PetscFunctionBegin;
  if (a->version != b->version || (restricted ? old == given : old != shared)) {
    if (restricted) {
      PetscCall(DiffusionCheck(from, a));
      PetscCall(DMBoxDiffusionRestrict(from, to, ((Diffusion *)a->data)->largest));
      PetscCall(DMBoxDiffusionPointsDestroy(&data->points));
      data->known = -1;
    } else {
      data->medium = shared;
      shared->refct++;
      PetscCall(DMBoxDiffusionMediumDestroy(&old));
    }
    b->version = a->version;
    *changed   = PETSC_TRUE;
  }
  PetscCall(DiffusionShare(from, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCoupling_Diffusion(DM dm, DMBoxOperator op, PetscReal coupling[])
{
  PatchFDMetric m = {.defect = PATCHFD_DEFECT_NONE};
  PetscReal     one[COEFFICIENTS];

  PetscFunctionBegin;
  PetscCall(DiffusionCheck(dm, op)); /* on one rank it leaves the points that are needed here */
  DMBoxDiffusionCoefficients(op, 1, 0, one);
  PetscCall(DMBoxDiffusionMetric(dm, op, one, &m));
  for (PetscInt d = 0; d < dm->dim; d++)
    coupling[d] = PetscExpReal(m.log[d] / m.weight) / PetscSqr(DMBoxMeanCellSize((const DM_Box *)dm->data, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxContrast_Diffusion(DM dm, DMBoxOperator op, const PetscBool halve[3], PetscReal *contrast)
{
  PetscFunctionBegin;
  PetscCall(DiffusionCheck(dm, op)); /* it leaves the points that are needed here */
  PetscCall(DMBoxDiffusionContrast(dm, op, halve, contrast));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxForm_Diffusion(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDLine lines[][3], MatBoxForm *form)
{
  const Diffusion *data = (const Diffusion *)op->data;

  PetscFunctionBegin;
  PetscCall(DiffusionCheck(dm, op));
  PetscCall(DMBoxDiffusionBands(dm, op, c, lines, form));
  form->nband     = 6;
  form->nterm     = 3;
  form->points    = PETSC_TRUE;
  form->constants = c[SHIFT] * data->largest == 0 && c[MASS] == 0 && !DMBoxHasRobin(op, c) && DMBoxHasOnly(dm, DMBOX_BOUNDARY_NEUMANN) ? 0
                                                                                                                                       : -1;
  form->nullspace = form->constants == 0 ? MatBoxConstants : NULL;
  form->spd       = (PetscBool)(c[KAPPA] > 0 && c[SHIFT] * data->largest >= 0 && c[MASS] >= 0);
  for (int s = 0; s < 6; s++) form->spd = (PetscBool)(form->spd && c[ROBIN + s] >= 0);
  for (int d = 0; d < 3; d++) {
    form->A[0][d]        = &form->band[d];
    form->M[0][d]        = &form->band[3 + d];
    form->term[d]        = (PatchFDTerm){.coef = 1, .dir = {&form->band[3], &form->band[4], &form->band[5]}};
    form->term[d].dir[d] = &form->band[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks, options, view ---- */

static PetscErrorCode DMBoxOperatorCheck_Diffusion(DM dm, DMBoxOperator op)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCheck(box->space == DMBOX_SPACE_Q, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is %s; -dm_box_operator diffusion takes q", DMBoxSpaces[box->space]);
  PetscCheck(box->degree <= PATCHFD_POINTS_MAX_DEGREE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_degree (DMBoxSetDegree()) is %" PetscInt_FMT "; -dm_box_operator diffusion takes 1 to %d", box->degree,
             PATCHFD_POINTS_MAX_DEGREE);
  for (PetscInt i = 0; i < 2 * dm->dim; i++)
    PetscCheck(box->boundary[i] != DMBOX_BOUNDARY_SUPPORTED, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
               "-dm_box_boundary (DMBoxSetBoundary()) is supported at the %s side of direction %" PetscInt_FMT
               "; -dm_box_operator diffusion takes dirichlet, neumann and periodic",
               i % 2 ? "upper" : "lower", i / 2);
  PetscCall(DMBoxCheckRobin(dm, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorSetFromOptions_Diffusion(DM dm, DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  const DiffusionMedium *m    = ((Diffusion *)op->data)->medium;
  PetscReal              K[7] = {m->K[0], m->K[1], m->K[2], m->K[3], m->K[4], m->K[5]}, shift = m->shift;
  PetscInt               n = 7;
  PetscBool              flg[2];

  PetscFunctionBegin;
  PetscCall(
    PetscOptionsRealArray("-dm_box_diffusion", "K: a number, a diagonal, or xx,xy,xz,yy,yz,zz", "DMBoxSetDiffusion", K, &n, &flg[0]));
  PetscCall(
    PetscOptionsReal("-dm_box_shift", "Multiple of the mass matrix added to the operator", "DMBoxSetDiffusion", shift, &shift, &flg[1]));
  if (flg[0] || flg[1]) PetscCall(DMBoxSetDiffusion(dm, flg[0] ? n : m->nconstant, K, shift));
  PetscCall(DMBoxOptionsRobin(dm, op, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Diffusion(PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "-div(K grad u) + s u by quadrature"));
  if (c[KAPPA] != 1 || c[SHIFT] != 1 || c[MASS] != 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, ", K times %g, s times %g plus %g", (double)c[KAPPA], (double)c[SHIFT], (double)c[MASS]));
  PetscCall(DMBoxViewRobin(dim, &c[ROBIN], viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

PetscErrorCode DMBoxOperatorCreate_Diffusion(DMBoxOperator op)
{
  const DiffusionMedium constant = {.nK = 1, .nconstant = 1, .K = {1}};
  Diffusion            *data;

  PetscFunctionBegin;
  PetscCall(DMBoxOperatorSetMatBox(op));
  PetscCall(PetscNew(&data));
  op->data               = data;
  op->mapped             = PETSC_TRUE;
  op->points             = PETSC_TRUE;
  op->rings              = PETSC_TRUE;
  op->ops.setfromoptions = DMBoxOperatorSetFromOptions_Diffusion;
  op->ops.check          = DMBoxOperatorCheck_Diffusion;
  op->ops.view           = DMBoxOperatorView_Diffusion;
  op->ops.form           = DMBoxForm_Diffusion;
  op->ops.coupling       = DMBoxCoupling_Diffusion;
  op->ops.contrast       = DMBoxContrast_Diffusion;
  op->ops.points         = DMBoxPoints_Diffusion;
  op->ops.pointsdestroy  = DMBoxPointsDestroy_Diffusion;
  op->ops.copy           = DMBoxOperatorCopy_Diffusion;
  op->ops.destroy        = DMBoxOperatorDestroy_Diffusion;
  op->coefficient[KAPPA] = op->coefficient[SHIFT] = 1;
  op->mass                                        = MASS;
  op->robin                                       = ROBIN;
  PetscCall(DMBoxDiffusionSetMedium(op, &constant));
  data->known = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
