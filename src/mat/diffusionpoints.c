/* The points of the operator diffusion (PatchFDPoints): K and s in cells of the mesh, and h on its Robin sides */
#include <patchfd/private/celldata.h>
#include <patchfd/private/vecimpl.h>
#include "diffusion.h"

typedef DiffusionPoints Points;

PetscErrorCode DMBoxDiffusionPointsDestroy(Points **points)
{
  Points *p = *points;

  PetscFunctionBegin;
  *points = NULL;
  if (!p || --p->refct > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(p->index));
  PetscCall(VecDestroy(&p->K));
  PetscCall(VecDestroy(&p->shift));
  for (int s = 0; s < 6; s++) PetscCall(PetscFree(p->side[s]));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* of f at all points of these cells, in the order of PatchFDPoints, where the vectors of the DM are */
static PetscErrorCode PointsEvaluate(DM dm, const PatchFDRange cells, PetscInt n, DMBoxFunctionFn *f, void *ctx, Vec *v)
{
  const PetscCount   count = PatchFDRangeSize(cells) * DMBoxNumPoints(dm), size = (n == 1 ? 1 : dm->dim * (dm->dim + 1) / 2) * count;
  PatchFDPointwise   pointwise = {f, ctx};
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];
  PatchFDKernels     kern;
  const PetscBool    same  = (PetscBool)(n * count == size); /* no diagonals, which become matrices */
  PetscReal         *value = NULL;
  PetscScalar       *array;
  PetscInt           local;

  PetscFunctionBegin;
  PetscCall(PetscIntCast(size, &local));
  PetscCall(DMBoxFieldPointsCreateGauss(dm, DMBoxNumGauss(dm), PETSC_TRUE, field));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  PetscCall(VecCreate(PETSC_COMM_SELF, v));
  PetscCall(VecSetSizes(*v, local, local));
  PetscCall(VecSetType(*v, PetscMemTypeDevice(kern->memtype) ? VECCUDA : VECSTANDARD));
  PetscCall(VecGetArrayWrite(*v, &array));
  if (!same) PetscCall(PetscMalloc1(n * count, &value));
  PetscCall(PatchFDHostPointValues(dm->dim, field, cells, PatchFDHostPointwise, &pointwise, n, same ? array : value));
  if (!same) PetscCall((*PatchFDCellKernelsHost.tensors)(dm->dim, count, 1, 1, n, value, array));
  PetscCall(VecRestoreArrayWrite(*v, &array));
  PetscCall(DMBoxFieldPointsDestroy(dm, field));
  PetscCall(PetscFree(value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* around rings, where cells beyond the ends are images of others: functions are evaluated in the rank's own cells, and become data; all
   ranks at once */
static PetscErrorCode PointsEvaluateRings(DM dm, const PatchFDRange cells, PetscInt n, DMBoxFunctionFn *f, void *ctx, Vec *v)
{
  DMBoxCellData *data;
  Vec            own;

  PetscFunctionBegin;
  PetscCall(PointsEvaluate(dm, (const PetscInt(*)[2])((const DM_Box *)dm->data)->owncells, n, f, ctx, &own));
  PetscCall(DMBoxCellDataCreate(dm, n == 1 ? 1 : dm->dim * (dm->dim + 1) / 2, own, "DMBoxSetDiffusionFunction()", &data));
  PetscCall(VecDestroy(&own));
  PetscCall(DMBoxCellDataGet(dm, data, cells, v));
  PetscCall(DMBoxCellDataDestroy(&data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxPointsCoefficient(DM dm, const PatchFDRange cells, PetscInt n, DMBoxFunctionFn *f, void *ctx, DMBoxCellData *data,
                                      PetscReal scale, PetscReal added, Vec *v)
{
  Vec given;

  PetscFunctionBegin;
  *v = NULL;
  if (f && DMBoxHasRings((const DM_Box *)dm->data)) PetscCall(PointsEvaluateRings(dm, cells, n, f, ctx, v));
  else if (f) PetscCall(PointsEvaluate(dm, cells, n, f, ctx, v));
  else if (data) PetscCall(DMBoxCellDataGet(dm, data, cells, v));
  if (!*v || (scale == 1 && added == 0)) PetscFunctionReturn(PETSC_SUCCESS);
  given = *v;
  PetscCall(VecDuplicate(given, v));
  PetscCall(VecCopy(given, *v));
  PetscCall(VecDestroy(&given));
  PetscCall(VecScale(*v, scale));
  PetscCall(VecShift(*v, added));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the factors that a finer mesh gave: those of K, and of s times a number and its other values */
static PetscErrorCode PointsRestricted(DM dm, const DiffusionMedium *m, const PetscReal c[], const PatchFDRange cells, Points *points)
{
  const PetscReal constant = c[SHIFT] * m->shift + c[MASS];
  PatchFDPoints  *p        = &points->points;
  Vec             s        = NULL;

  PetscFunctionBegin;
  p->nkappa = c[KAPPA] == 0 ? 0 : m->nK;
  if (p->nkappa) PetscCall(DMBoxPointsCoefficient(dm, cells, m->nK, NULL, NULL, m->Kdata, c[KAPPA], 0, &points->K));
  if (constant != 0 || !p->nkappa) PetscCall(DMBoxPointsCoefficient(dm, cells, 1, NULL, NULL, m->massdata, constant, 0, &points->shift));
  if (m->shiftdata && c[SHIFT] != 0)
    PetscCall(DMBoxPointsCoefficient(dm, cells, 1, NULL, NULL, m->shiftdata, c[SHIFT], 0, points->shift ? &s : &points->shift));
  if (s) { /* neither may be changed */
    Vec constants = points->shift;

    PetscCall(VecDuplicate(s, &points->shift));
    PetscCall(VecWAXPY(points->shift, 1, s, constants));
    PetscCall(VecDestroy(&constants));
  }
  PetscCall(VecDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K and s + added / factor, times their factors */
static PetscErrorCode PointsMedium(DM dm, const DiffusionMedium *m, const PetscReal c[], const PatchFDRange cells, Points *points)
{
  const PetscReal shift = c[SHIFT] * m->shift + c[MASS];
  PatchFDPoints  *p     = &points->points;

  PetscFunctionBegin;
  p->given = (PetscBool)(m->fine != NULL);
  if (p->given) {
    PetscCall(PointsRestricted(dm, m, c, cells, points));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p->nkappa        = c[KAPPA] == 0 ? 0 : (m->nK == 1 ? 1 : dm->dim * (dm->dim + 1) / 2);
  p->kappaconstant = (PetscBool) !(m->Kfunction || m->Kdata);
  p->shiftconstant = (PetscBool) !(m->shiftfunction || m->shiftdata);
  if (p->nkappa) PetscCall(DMBoxPointsCoefficient(dm, cells, m->nK, m->Kfunction, m->ctx, m->Kdata, c[KAPPA], 0, &points->K));
  PetscCall(DMBoxPointsCoefficient(dm, cells, 1, m->shiftfunction, m->ctx, m->shiftdata, c[SHIFT], c[MASS], &points->shift));
  if (p->nkappa && p->kappaconstant) {
    PetscCall((*PatchFDCellKernelsHost.tensors)(dm->dim, 1, 1, 1, m->nK, m->K, points->constant));
    for (PetscInt i = 0; i < p->nkappa; i++) points->constant[i] *= c[KAPPA];
    p->kappa = points->constant;
  }
  if (p->shiftconstant && (shift != 0 || !p->nkappa)) {
    points->constant[6] = shift;
    p->shift            = &points->constant[6];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the Robin sides of these cells */
static PetscErrorCode PointsSides(DM dm, const PetscReal c[], const PatchFDRange cells, Points *points)
{
  const DM_Box      *box = (const DM_Box *)dm->data;
  PatchFDPoints     *p   = &points->points;
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) p->grid[d] = cells[d][1] - cells[d][0];
  for (PetscInt s = 0; s < 2 * dm->dim; s++) {
    const PetscInt d = s / 2, e = s % 2;
    PatchFDRange   at;

    p->side[s] = points->side[s] = NULL;
    if (c[ROBIN + s] == 0 || !p->ncells || cells[d][e] != e * box->cells[d]) continue;
    PetscCall(PetscArraycpy(at, cells, 3));
    at[d][1 - e] = cells[d][e] + (e ? -1 : 1);
    PetscCall(DMBoxFieldPointsCreateGauss(dm, DMBoxNumGauss(dm), PETSC_TRUE, field));
    PetscCall(DMBoxFieldPointsSetEnd(dm, d, e, NULL, field));
    PetscCall(PetscMalloc1(PatchFDRangeSize((const PetscInt(*)[2])at) * PetscPowInt(p->gauss, dm->dim - 1), &points->side[s]));
    p->side[s] = points->side[s];
    PetscCall(PatchFDHostPointWeights(dm->dim, field, (const PetscInt(*)[2])at, c[ROBIN + s], points->side[s]));
    PetscCall(DMBoxFieldPointsDestroy(dm, field));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsCreate(DM dm, const DiffusionMedium *m, const PetscReal c[], const PatchFDRange cells, Points **points)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCall(PetscNew(points));
  (*points)->refct  = 1;
  (*points)->points = (PatchFDPoints){.nodes      = PATCHFD_NODES_BOX,
                                      .dim        = dm->dim,
                                      .degree     = box->degree,
                                      .ncomp      = 1,
                                      .gauss      = DMBoxNumGauss(dm),
                                      .ncells     = PatchFDRangeSize(cells),
                                      .geodegree  = DMBoxGetMappingDegree_Private(dm),
                                      .coordinate = box->shape->nodes.x,
                                      .factors    = PATCHFD_FACTORS_AUTO,
                                      .owner      = *points};
  PetscCall(PointsMedium(dm, m, c, cells, *points));
  PetscCall(PointsSides(dm, c, cells, *points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the values of a Vec that nobody changes: they remain where they are */
static PetscErrorCode PointsArray(Vec v, PetscBool device, const PetscReal **array)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  if (device) {
    PetscCall(VecGetArrayReadAndMemType(v, &a, NULL));
    *array = a;
    PetscCall(VecRestoreArrayReadAndMemType(v, &a));
  } else {
    PetscCall(VecGetArrayRead(v, &a));
    *array = a;
    PetscCall(VecRestoreArrayRead(v, &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What kernels compute factors from at each time stays on the host */
static PetscErrorCode PointsArrays(DM dm, const PatchFDRange cells, PetscBool device, Points *points, PatchFDPoints *p)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  *p     = points->points;
  device = (PetscBool)(device && !PatchFDPointsCanCompute(p));
  for (int i = 0; i < 2; i++) {
    const Vec v        = i ? points->shift : points->K;
    PetscBool isdevice = device;

    if (v) PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &isdevice, VECSEQCUDA, VECMPICUDA, ""));
    device = (PetscBool)(device && isdevice);
  }
  PetscCall(PointsArray(points->K, device, &p->kappa));
  PetscCall(PointsArray(points->shift, device, &p->shift));
  if (device) PetscCall(DMBoxShapeGetDevice(box->shape, &p->coordinate));
  else if (!points->index) {
    PetscCall(PetscMalloc1(p->ncells * PetscPowInt(p->geodegree + 1, dm->dim), &points->index));
    PatchFDHostCellNodes(dm->dim, box->degree, p->geodegree == 1 ? box->degree : 1, cells, NULL, &box->shape->nodes.box, points->index);
  }
  if (!device) p->geoindex = points->index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the values in some of the cells, or NULL where there are none */
static PetscErrorCode VecPart(Vec whole, const PatchFDRange from, const PatchFDRange cells, Vec *part)
{
  const PetscScalar *in;
  PetscScalar       *out;
  PetscInt           n;

  PetscFunctionBegin;
  if (!whole) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(whole, &n));
  n /= (PetscInt)PetscMax(1, PatchFDRangeSize(from));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n * (PetscInt)PatchFDRangeSize(cells), part));
  PetscCall(VecGetArrayRead(whole, &in));
  PetscCall(VecGetArrayWrite(*part, &out));
  PetscCall(PatchFDHostCellPart(n, from, in, cells, out));
  PetscCall(VecRestoreArrayWrite(*part, &out));
  PetscCall(VecRestoreArrayRead(whole, &in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsPart(DM dm, const PetscReal c[], const Points *whole, const PatchFDRange from, const PatchFDRange cells,
                                 Points **part)
{
  PatchFDPoints *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(part));
  **part         = *whole;
  (*part)->refct = 1;
  (*part)->index = NULL;
  (*part)->K = (*part)->shift = NULL;
  p                           = &(*part)->points;
  p->ncells                   = PatchFDRangeSize(cells);
  p->owner                    = *part;
  if (p->kappa) p->kappa = (*part)->constant;
  if (p->shift) p->shift = &(*part)->constant[6];
  PetscCall(VecPart(whole->K, from, cells, &(*part)->K));
  PetscCall(VecPart(whole->shift, from, cells, &(*part)->shift));
  PetscCall(PointsSides(dm, c, cells, *part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions are evaluated once for all that is made of the same points, or on the host of some of them: matrices in both precisions, fits
   */
PetscErrorCode DMBoxPoints_Diffusion(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDRange cells, PetscBool device,
                                     PatchFDPoints *p)
{
  Diffusion       *data = (Diffusion *)op->data;
  const PetscReal *x    = ((const DM_Box *)dm->data)->shape->nodes.x;
  PetscBool        same = (PetscBool)(data->points && data->known == op->version && data->points->points.coordinate == x &&
                               data->points->points.gauss == DMBoxNumGauss(dm));
  PetscBool        known[2]; /* are the points at hand, are they among those? */
  PatchFDKernels   kern;
  Points          *points;

  PetscFunctionBegin;
  PetscCheck(c[KAPPA] >= 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "MatScale() or MatAXPY() made the factor of K in -dm_box_operator diffusion %g; it must be at least 0", (double)c[KAPPA]);
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  for (int i = 0; i < COEFFICIENTS; i++) same = (PetscBool)(same && data->c[i] == c[i]);
  known[0] = same;
  known[1] = (PetscBool)(same && PetscMemTypeHost(kern->memtype));
  for (int d = 0; d < 3; d++) {
    known[0] = (PetscBool)(known[0] && data->cells[d][0] == cells[d][0] && data->cells[d][1] == cells[d][1]);
    known[1] = (PetscBool)(known[1] && data->cells[d][0] <= cells[d][0] && data->cells[d][1] >= cells[d][1]);
  }
  /* Vecs are asked together */
  if (data->medium->Kdata || data->medium->shiftdata || DMBoxHasRings((const DM_Box *)dm->data))
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, known, 2, PATCHFD_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)dm)));
  if (known[1] && !known[0]) PetscCall(PointsPart(dm, c, data->points, (const PetscInt(*)[2])data->cells, cells, &points));
  /* a mass matrix, of loads, does not take the place of what was evaluated */
  else if (c[KAPPA] == 0 && c[SHIFT] == 0) PetscCall(PointsCreate(dm, data->medium, c, cells, &points));
  else {
    if (!known[0]) {
      PetscCall(DMBoxDiffusionPointsDestroy(&data->points));
      PetscCall(PointsCreate(dm, data->medium, c, cells, &data->points));
      PetscCall(PetscArraycpy(data->c, c, COEFFICIENTS));
      PetscCall(PetscArraycpy(data->cells, cells, 3));
    }
    points = data->points;
    points->refct++;
  }
  PetscCall(PointsArrays(dm, cells, device, points, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxPointsDestroy_Diffusion(PatchFDPoints *p)
{
  Points *points = (Points *)p->owner;

  PetscFunctionBegin;
  PetscCall(DMBoxDiffusionPointsDestroy(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}
