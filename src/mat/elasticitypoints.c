/*
  The operator "elasticity" of a DMBOX by quadrature (PatchFDPoints), on boxes that are mapped and with materials that vary; and what
  follows from Poisson's ratio: to which degree lambda terms are projected, and where elements lock.
*/
#include <patchfd/private/celldata.h>
#include "elasticity.h"

/* lambda / mu, from which on the lambda terms are projected (Poisson's ratio 0.49, but for rounding), and above which degree 1 is refused
   (0.45) */
static const PetscReal PROJECTED = 48.999, LOCKED = 9.001;

PetscErrorCode DMBoxMaterialDestroy(ElasticMaterial **m)
{
  PetscFunctionBegin;
  if (*m && --(*m)->refct == 0) {
    for (int i = 0; i < 2; i++) PetscCall(DMBoxCellDataDestroy(&(*m)->data[i]));
    PetscCall(PetscFree(*m));
  }
  *m = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what follows from the material ---- */

/* lambda / mu, the largest there is, also of negative multiples of the operator */
static PetscReal LambdaRatio(DMBoxOperator op)
{
  const Elasticity *data = (const Elasticity *)op->data;

  return data->material ? data->largest : op->coefficient[LAMBDA] / op->coefficient[MU];
}

PetscInt DMBoxElasticityDegree(DM dm, DMBoxOperator op)
{
  const PetscInt k = ((const DM_Box *)dm->data)->degree;

  if (op->projection != PETSC_DETERMINE) return PetscMin(op->projection, k);
  return k > 1 && dm->dim > 1 && LambdaRatio(op) > PROJECTED ? k - 2 : k;
}

PetscErrorCode DMBoxElasticityCheckLocking(DM dm, DMBoxOperator op)
{
  const PetscReal q = LambdaRatio(op);

  PetscFunctionBegin;
  PetscCheck(((const DM_Box *)dm->data)->degree > 1 || dm->dim == 1 || op->projection != PETSC_DETERMINE || q <= LOCKED,
             PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_operator elasticity: Poisson's ratio is %g (lambda / mu = %g), where elements of -dm_box_degree 1 lock: "
             "displacements are far too small. "
             "Take degree 2 or more, a ratio up to 0.45, or say with -dm_box_lambda_degree (DMBoxSetLambdaDegree()) 0 or 1 that you want "
             "it",
             (double)(0.5 * q / (q + 1)), (double)q);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* forms whose lambda terms are of two degrees are no multiples of each other, and have no sum */
PetscErrorCode DMBoxElasticityVersion(DM dm, DMBoxOperator op)
{
  PetscFunctionBegin;
  if (DMBoxHasPoints((const DM_Box *)dm->data)) op->version = DMBoxOperatorNewVersion();
  else {
    op->version = -2 - DMBoxElasticityDegree(dm, op);
    PetscCall(DMBoxElasticityCheckLocking(dm, op));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- points ---- */

typedef struct {
  PetscReal *kappa, shift;
  PetscInt  *index;
} Points;

/* c[LAMBDA] lambda and c[MU] mu at the points of these cells; the largest lambda / mu if it is larger than what it was, and the number of
   the first point where there are none, if that is less */
static PetscErrorCode MaterialEvaluate(DM dm, const ElasticMaterial *m, const PetscReal c[], const PatchFDRange cells, PetscReal kappa[],
                                       PetscReal *largest, PetscCount *bad)
{
  const PetscCount   count = PatchFDRangeSize(cells) * DMBoxNumPoints(dm);
  const PetscScalar *a[2]  = {NULL, NULL};
  Vec                v[2];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(DMBoxPointsCoefficient(dm, cells, 1, m->function[i], m->ctx, m->data[i], 1, 0, &v[i]));
    if (v[i]) PetscCall(VecGetArrayRead(v[i], &a[i]));
  }
  PatchFDHostLame(count, DMBoxMissingDirections(dm, m->plane), m->constant, a, c, kappa, largest, bad);
  for (int i = 0; i < 2; i++) {
    if (v[i]) PetscCall(VecRestoreArrayRead(v[i], &a[i]));
    PetscCall(VecDestroy(&v[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxMaterialCheck(DM dm, DMBoxOperator op)
{
  const PetscReal one[]     = {1, 1};
  const PetscInt(*cells)[2] = (const PetscInt(*)[2])((const DM_Box *)dm->data)->owncells;
  Elasticity      *data     = (Elasticity *)op->data;
  const PetscCount count    = PatchFDRangeSize(cells) * DMBoxNumPoints(dm);
  PetscCount       bad      = count;
  PetscReal       *kappa, found[2] = {-PETSC_MAX_REAL, 0};

  PetscFunctionBegin;
  if (!data->material || data->known == op->version) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(2 * count, &kappa));
  PetscCall(MaterialEvaluate(dm, data->material, one, cells, kappa, &found[0], &bad));
  PetscCall(PetscFree(kappa));
  found[1] = bad < count;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, found, 2, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)dm)));
  PetscCheck(found[1] == 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxSetElasticModuliFunction() or DMBoxSetElasticModuliVec(): Young's modulus is not positive and finite, or Poisson's "
             "ratio "
             "not more than -1 and less than 0.5, in some cell (here: point %" PetscCount_FMT " of %" PetscCount_FMT ")",
             bad, count);
  data->largest = found[0];
  data->known   = op->version;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxPoints_Elasticity(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDRange cells, PETSC_UNUSED PetscBool device,
                                      PatchFDPoints *p)
{
  const DM_Box     *box  = (const DM_Box *)dm->data;
  const Elasticity *data = (const Elasticity *)op->data;
  const PetscInt    geo = DMBoxGetMappingDegree_Private(dm), degree = DMBoxElasticityDegree(dm, op);
  PetscReal         largest = 0;
  PetscCount        count = PatchFDRangeSize(cells), bad = PETSC_COUNT_MAX;
  Points           *points;

  PetscFunctionBegin;
  PetscCall(PetscNew(&points));
  points->shift = c[SHIFT];
  PetscCall(PetscMalloc1(count * PetscPowInt(geo + 1, dm->dim), &points->index));
  PatchFDHostCellNodes(dm->dim, box->degree, geo == 1 ? box->degree : 1, cells, NULL, &box->shape->nodes.box, points->index);
  if (data->material) count *= DMBoxNumPoints(dm);
  else count = 1;
  PetscCall(PetscMalloc1(2 * count, &points->kappa));
  if (data->material) PetscCall(MaterialEvaluate(dm, data->material, c, cells, points->kappa, &largest, &bad));
  else PetscCall(PetscArraycpy(points->kappa, c, 2));
  *p = (PatchFDPoints){.nodes         = PATCHFD_NODES_BOX,
                       .dim           = dm->dim,
                       .degree        = box->degree,
                       .ncomp         = dm->dim,
                       .gauss         = DMBoxNumGauss(dm),
                       .ncells        = PatchFDRangeSize(cells),
                       .geodegree     = geo,
                       .geoindex      = points->index,
                       .coordinate    = box->shape->nodes.x,
                       .kappa         = points->kappa,
                       .nkappa        = 2,
                       .kappaconstant = (PetscBool)!data->material,
                       .shift         = c[SHIFT] == 0 ? NULL : &points->shift,
                       .shiftconstant = PETSC_TRUE,
                       .solid         = PETSC_TRUE,
                       .projection    = degree < box->degree ? degree : -1,
                       .owner         = points};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxPointsDestroy_Elasticity(PatchFDPoints *p)
{
  Points *points = (Points *)p->owner;

  PetscFunctionBegin;
  PetscCall(PetscFree(points->kappa));
  PetscCall(PetscFree(points->index));
  PetscCall(PetscFree(points));
  PetscFunctionReturn(PETSC_SUCCESS);
}
