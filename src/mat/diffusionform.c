/*
  The operator diffusion as a Kronecker sum nearby, where weights are asked for, on the box as it is: the sum over directions i of
  stiffness with the weight alpha_i(x_i) in direction i and masses with the weights mu_j(x_j) in the others.  With G the diagonal of |J|
  J^{-1} K J^{-T}, J the derivatives of the map, <> the mean over the box and <>_i that over all other directions,

    log alpha_i = <log G_i>_i,  log mu_j = mean over i != j of <log G_i>_j - <log G_i>,

  which is exact where every G_i is a product of functions of one coordinate each: annuli, layers, grading.  Local solvers diagonalize that
  sum, so they are inexact in general; residuals come from the points, and MatBoxLocalGetScaling() takes care of what G has in common in all
  directions.  A Robin side adds the mean of h |surface| over the box' side to the stiffness of its direction, at the node there.
*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include "diffusion.h"

/* whole steps of 2 %, so that cells that are nearly equal are one class, for whose patches there are faster kernels */
static PetscReal Weight(PetscReal logarithm)
{
  const PetscReal step = 0.02;

  return PetscExpReal(step * PetscFloorReal(logarithm / step + 0.5));
}

/* points of the metric in a direction: means where factors are those of a finer mesh (PatchFDHostPositiveCreate()) */
static PetscInt MetricPoints(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  return box->restricted ? box->degree + 1 : DMBoxNumGauss(dm);
}

static PetscInt LinePoints(DM dm, PetscInt d)
{
  return ((const DM_Box *)dm->data)->field[0].line[d].ncells * MetricPoints(dm);
}

/* the means over the mesh in the other directions, at all points of each direction */
typedef struct {
  PatchFDMetric metric;
  PetscReal    *alpha[3], *mu[3];
} Weights;

/* layers, and coarse meshes' own factors, which hardly anybody asks for, on the host */
PetscErrorCode DMBoxDiffusionMetric(DM dm, DMBoxOperator op, const PetscReal c[], PatchFDMetric *m)
{
  const DM_Box      *box = (const DM_Box *)dm->data;
  PetscReal          one[COEFFICIENTS];
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];
  PatchFDPoints      points, positive;
  PatchFDKernels     kern;

  PetscFunctionBegin;
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (m->layer[0] || DMBoxDiffusionGetMedium(op)->fine) kern = &PatchFDKernelsHostDouble;
  PetscCall(PetscArraycpy(one, c, COEFFICIENTS));
  one[KAPPA] = 1;
  PetscCall((*op->ops.points)(dm, op, one, (const PetscInt(*)[2])box->owncells, (PetscBool)PetscMemTypeDevice(kern->memtype), &points));
  PetscCall(DMBoxFieldPointsCreateGauss(dm, MetricPoints(dm), PETSC_TRUE, field));
  if (points.given) PetscCall(PatchFDHostPositiveCreate(&points, &positive));
  PetscCall(kern->pointsmetric(dm->dim, field, (const PetscInt(*)[2])box->owncells, points.given ? &positive : &points, m));
  if (points.given) PetscCall(PatchFDHostPositiveDestroy(&positive));
  PetscCall(DMBoxFieldPointsDestroy(dm, field));
  PetscCall((*op->ops.pointsdestroy)(&points));
  PetscCall(DMBoxReduceMetric(dm, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WeightsCreate(DM dm, DMBoxOperator op, const PetscReal c[], Weights *w)
{
  PatchFDMetric *m = &w->metric;

  PetscFunctionBegin;
  *m = (PatchFDMetric){.defect = PATCHFD_DEFECT_NONE};
  for (PetscInt d = 0; d < dm->dim; d++) PetscCall(PetscCalloc1(4 * LinePoints(dm, d), &m->layer[d]));
  PetscCall(DMBoxDiffusionMetric(dm, op, c, m));
  for (PetscInt d = 0; d < dm->dim; d++) {
    const PetscInt n = LinePoints(dm, d), turn = ((const DM_Box *)dm->data)->field[0].line[d].turn * MetricPoints(dm);

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, m->layer[d], 4 * n, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
    PetscCall(PetscMalloc1(n, &w->alpha[d]));
    PetscCall(PetscMalloc1(n, &w->mu[d]));
    for (PetscInt i = 0; i < n; i++) {
      const PetscReal *layer = &m->layer[d][4 * (turn ? turn + i % turn : i)];
      PetscReal        sum   = 0;

      for (PetscInt e = 0; e < dm->dim; e++)
        if (e != d) sum += layer[e] / layer[3] - m->log[e] / m->weight;
      w->alpha[d][i] = Weight(layer[d] / layer[3] - m->log[d] / m->weight);
      w->mu[d][i]    = Weight(sum / (PetscReal)(dm->dim - 1));
    }
    PetscCall(PetscFree(m->layer[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WeightsDestroy(DM dm, Weights *w)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscCall(PetscFree(w->alpha[d]));
    PetscCall(PetscFree(w->mu[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = a w, or a everywhere where there are no weights */
static PetscErrorCode ScaledWeights(PetscInt n, PetscReal a, const PetscReal w[], PetscReal **v)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, v));
  for (PetscInt i = 0; i < n; i++) (*v)[i] = w ? a * w[i] : a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bands of direction d, with the factors of the stiffness and, in the first direction, of the mass in A; weights w, if any, are those of
   the whole mesh: none for the line of a patch by itself */
static PetscErrorCode DiffusionBands(DM dm, const Weights *w, PetscInt d, const PatchFDLine *line, PetscReal stiffness, PetscReal mass,
                                     PatchFDBand *A, PatchFDBand *M)
{
  const PetscBool own = (PetscBool)(w && line->ncells == ((const DM_Box *)dm->data)->field[0].line[d].ncells);
  const PetscInt  n   = line->ncells * MetricPoints(dm);
  PetscReal      *a, *m, *s;

  PetscFunctionBegin;
  PetscCall(ScaledWeights(n, stiffness, own ? w->alpha[d] : NULL, &a));
  PetscCall(ScaledWeights(n, 1, own ? w->mu[d] : NULL, &m));
  PetscCall(ScaledWeights(n, mass, own ? w->mu[d] : NULL, &s));
  PetscCall(PatchFDBandWeighted(line, MetricPoints(dm), a, d == 0 ? s : NULL, A));
  PetscCall(PatchFDBandWeighted(line, MetricPoints(dm), NULL, m, M));
  PetscCall(PetscFree(a));
  PetscCall(PetscFree(m));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the means over the box' sides */
static PetscErrorCode DiffusionAddSides(const DM_Box *box, PetscInt dim, PetscInt d, const PatchFDMetric *m, PatchFDBand *A)
{
  PetscReal area = 1;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < dim; e++)
    if (e != d) area *= box->upper[e] - box->lower[e];
  for (int e = 0; e < 2; e++)
    if (m->side[2 * d + e] != 0) PetscCall(PatchFDBandAddEnd(e, m->side[2 * d + e] / area, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxDiffusionBands(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDLine lines[][3], MatBoxForm *form)
{
  Weights              weights = {.metric = {.weight = 1}};
  const PatchFDMetric *m       = &weights.metric;
  PatchFDBand         *A = form->band, *M = A + 3;

  PetscFunctionBegin;
  if (form->weighted) PetscCall(WeightsCreate(dm, op, c, &weights));
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *line = &lines[0][d];

    if (d < dm->dim) {
      PetscCall(DiffusionBands(dm, form->weighted ? &weights : NULL, d, line, c[KAPPA] * PetscExpReal(m->log[d] / m->weight),
                               m->shift / m->weight, &A[d], &M[d]));
      PetscCall(DiffusionAddSides((const DM_Box *)dm->data, dm->dim, d, m, &A[d]));
    } else { /* a point */
      PetscCall(PatchFDBandLaplace(line, 1, 0, 0, 0, &A[d]));
      PetscCall(PatchFDBandMass(line, &M[d]));
    }
  }
  if (form->weighted) PetscCall(WeightsDestroy(dm, &weights));
  PetscFunctionReturn(PETSC_SUCCESS);
}
