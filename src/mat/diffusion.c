/*
  The operator "diffusion" of a DMBOX: -div(K grad u) + s u by quadrature, on meshes that may be mapped, K symmetric positive definite and
  s >= 0 functions of space.

  The matrix is that of the points (PatchFDPoints); the terms of the form are those of a Kronecker sum nearby (diffusionform.c).
*/
#include <patchfd/private/celldata.h>
#include <patchfd/private/vecimpl.h>
#include "diffusion.h"

/* the points of some cells, which everything that is made of them shares */
typedef struct _DiffusionPoints {
  PetscInt      refct;
  PatchFDPoints points;      /* but for the arrays */
  PetscInt     *index;       /* geoindex, if somebody wants it */
  PetscReal     constant[7]; /* K and s where they are the same everywhere */
  Vec           K, shift;    /* at the points, or NULL */
} Points;

static PetscErrorCode PointsDestroy(Points **points)
{
  Points *p = *points;

  PetscFunctionBegin;
  *points = NULL;
  if (!p || --p->refct > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(p->index));
  PetscCall(VecDestroy(&p->K));
  PetscCall(VecDestroy(&p->shift));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a clone, in another precision, takes over what has been checked and evaluated */
static PetscErrorCode DiffusionShare(DM from, DM to)
{
  const DM_Box    *a = (const DM_Box *)from->data, *b = (const DM_Box *)to->data;
  const Diffusion *known = (const Diffusion *)a->op->data;
  Diffusion       *data  = (Diffusion *)b->op->data;

  PetscFunctionBegin;
  if (!a->shape || a->shape != b->shape || known->known != b->op->version || data->known == known->known)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PointsDestroy(&data->points));
  data->points = known->points;
  if (data->points) data->points->refct++;
  data->known   = known->known;
  data->gauss   = known->gauss;
  data->largest = known->largest;
  PetscCall(PetscArraycpy(data->cells, known->cells, 3));
  PetscCall(PetscArraycpy(data->c, known->c, MASS + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorDestroy_Diffusion(DMBoxOperator op)
{
  Diffusion *data = (Diffusion *)op->data;

  PetscFunctionBegin;
  PetscCall(PointsDestroy(&data->points));
  PetscCall(DMBoxDiffusionMediumDestroy(&data->medium));
  PetscCall(PetscFree(op->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- points ---- */

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

static PetscBool HasRings(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  return (PetscBool)(box->field[0].line[0].turn || box->field[0].line[1].turn || box->field[0].line[2].turn);
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
  if (f && HasRings(dm)) PetscCall(PointsEvaluateRings(dm, cells, n, f, ctx, v));
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

static PetscErrorCode PointsPart(const Points *whole, const PatchFDRange from, const PatchFDRange cells, Points **part)
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions are evaluated once for all that is made of the same points, or on the host of some of them: matrices in both precisions, fits
   */
static PetscErrorCode DMBoxPoints_Diffusion(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDRange cells, PetscBool device,
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
  for (int i = 0; i <= MASS; i++) same = (PetscBool)(same && data->c[i] == c[i]);
  known[0] = same;
  known[1] = (PetscBool)(same && PetscMemTypeHost(kern->memtype));
  for (int d = 0; d < 3; d++) {
    known[0] = (PetscBool)(known[0] && data->cells[d][0] == cells[d][0] && data->cells[d][1] == cells[d][1]);
    known[1] = (PetscBool)(known[1] && data->cells[d][0] <= cells[d][0] && data->cells[d][1] >= cells[d][1]);
  }
  /* Vecs are asked together */
  if (data->medium->Kdata || data->medium->shiftdata || HasRings(dm))
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, known, 2, PATCHFD_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)dm)));
  if (known[1] && !known[0]) PetscCall(PointsPart(data->points, (const PetscInt(*)[2])data->cells, cells, &points));
  /* a mass matrix, of loads, does not take the place of what was evaluated */
  else if (c[KAPPA] == 0 && c[SHIFT] == 0) PetscCall(PointsCreate(dm, data->medium, c, cells, &points));
  else {
    if (!known[0]) {
      PetscCall(PointsDestroy(&data->points));
      PetscCall(PointsCreate(dm, data->medium, c, cells, &data->points));
      PetscCall(PetscArraycpy(data->c, c, MASS + 1));
      PetscCall(PetscArraycpy(data->cells, cells, 3));
    }
    points = data->points;
    points->refct++;
  }
  PetscCall(PointsArrays(dm, cells, device, points, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxPointsDestroy_Diffusion(PatchFDPoints *p)
{
  Points *points = (Points *)p->owner;

  PetscFunctionBegin;
  PetscCall(PointsDestroy(&points));
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

static PetscErrorCode DiffusionCheckDevice(DM dm, const Points *points, const PatchFDRange cells, PatchFDMetric *found)
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
  const PetscReal one[MASS + 1] = {1, 1, 0};
  const DM_Box   *box           = (const DM_Box *)dm->data;
  PatchFDPoints   points;
  PatchFDRange    cells;
  PatchFDKernels  kern;

  PetscFunctionBegin;
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  for (int d = 0; d < 3; d++) { /* on the host those of patches, too, so that nobody else has to evaluate functions */
    const PetscBool empty = (PetscBool)(box->owncells[d][0] >= box->owncells[d][1]);

    cells[d][0] = empty ? box->owncells[d][0] : PetscMax(0, box->owncells[d][0] - 1);
    cells[d][1] = empty || PetscMemTypeDevice(kern->memtype) ? box->owncells[d][1]
                                                             : PetscMin(box->field[0].line[d].ncells, box->owncells[d][1] + 1);
  }
  PetscCall((*op->ops.points)(dm, op, one, (const PetscInt(*)[2])cells, (PetscBool)PetscMemTypeDevice(kern->memtype), &points));
  if (points.geoindex) PatchFDHostCheckCoefficients(&points, DMBoxNumPoints(dm), (const PetscInt(*)[2])cells, found);
  else PetscCall(DiffusionCheckDevice(dm, (const Points *)points.owner, (const PetscInt(*)[2])cells, found));
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
  PetscCall(PointsDestroy(&data->points));
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
      PetscCall(PointsDestroy(&data->points));
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

  PetscFunctionBegin;
  PetscCall(DiffusionCheck(dm, op)); /* on one rank it leaves the points that are needed here */
  PetscCall(DMBoxDiffusionMetric(dm, op, 1, 0, &m));
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
  form->constants = c[SHIFT] * data->largest == 0 && c[MASS] == 0 && DMBoxHasOnly(dm, DMBOX_BOUNDARY_NEUMANN) ? 0 : -1;
  form->nullspace = form->constants == 0 ? MatBoxConstants : NULL;
  form->spd       = (PetscBool)(c[KAPPA] > 0 && c[SHIFT] * data->largest >= 0 && c[MASS] >= 0);
  for (int d = 0; d < 3; d++) {
    form->A[0][d]        = &form->band[d];
    form->M[0][d]        = &form->band[3 + d];
    form->term[d]        = (PatchFDTerm){.coef = 1, .dir = {&form->band[3], &form->band[4], &form->band[5]}};
    form->term[d].dir[d] = &form->band[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks, options, view ---- */

static PetscErrorCode DMBoxOperatorCheck_Diffusion(DM dm, PETSC_UNUSED DMBoxOperator op)
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Diffusion(PETSC_UNUSED PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "-div(K grad u) + s u by quadrature"));
  if (c[KAPPA] != 1 || c[SHIFT] != 1 || c[MASS] != 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, ", K times %g, s times %g plus %g", (double)c[KAPPA], (double)c[SHIFT], (double)c[MASS]));
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
  PetscCall(DMBoxDiffusionSetMedium(op, &constant));
  data->known = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
