/*
  Where the nodes of a mapped mesh are (box->shape), and what is wrong with its cells.
*/
#include <patchfd/private/boximpl.h>
#include <patchfd/private/vecimpl.h>

/* ------------------------------------------------ maps with a name ------------------------------------------------ */

/* t + a s (...), s the product of sin(n pi t_d) */
static void SineMap(PetscInt dim, DMBoxMappingType type, PetscReal a, const PetscReal t[], PetscReal y[])
{
  const PetscReal factor[3] = {1, t[0] - 1.3, 0.3 + 0.6 * t[1]};
  PetscReal       s         = a;

  for (PetscInt d = 0; d < dim; d++) s *= PetscSinReal((type == DMBOX_MAPPING_SINE2 ? 2 : 1) * PETSC_PI * t[d]);
  for (PetscInt d = 0; d < dim; d++) y[d] = t[d] + s * (type == DMBOX_MAPPING_SINE ? factor[d] : 1);
}

/* [0, 1] with half of the cells between 1 - eps / 2 and 1 */
static PetscReal SqueezeRight(PetscReal eps, PetscReal t)
{
  return t <= 0.5 ? (2 - eps) * t : 1 + eps * (t - 1);
}

/*
  Kershaw's mesh (D. S. Kershaw, J. Comput. Phys. 39, 1981), as in CEED's bake-off problems: in the first of six layers cells are squeezed
  to the left, in the last to the right, and between them there and back again.
*/
static void KershawMap(PetscInt dim, PetscBool smooth, PetscReal eps, const PetscReal t[], PetscReal y[])
{
  const PetscInt layer = PetscMin((PetscInt)(6 * t[0] + 1e-12), 6);
  PetscReal      w     = 6 * t[0] - (PetscReal)layer; /* how far from one end to the other */
  PetscBool      back  = PETSC_FALSE;

  if (layer == 0) w = 0;
  else if (layer == 2 || layer == 3) {
    w    = 0.5 * (w + (PetscReal)(layer - 2));
    back = PETSC_TRUE;
  } else if (layer > 4) w = 1;
  if (smooth) w = w * w * w * (w * (6 * w - 15) + 10);
  y[0] = t[0];
  for (PetscInt d = 1; d < dim; d++) {
    const PetscReal right = SqueezeRight(eps, t[d]), left = 1 - SqueezeRight(eps, 1 - t[d]);

    y[d] = back ? right + (left - right) * w : left + (right - left) * w;
  }
}

static PetscErrorCode DMBoxNamedMap(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                    PetscScalar u[], void *ctx)
{
  const DM_Box   *box  = (const DM_Box *)ctx;
  const PetscReal a    = box->mapparameter;
  PetscReal       t[3] = {0, 0, 0}, y[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) y[d] = t[d] = (x[d] - box->lower[d]) / (box->upper[d] - box->lower[d]);
  if (box->maptype == DMBOX_MAPPING_KERSHAW || box->maptype == DMBOX_MAPPING_KERSHAW_SMOOTH)
    KershawMap(dim, (PetscBool)(box->maptype == DMBOX_MAPPING_KERSHAW_SMOOTH), a, t, y);
  else if (box->maptype != DMBOX_MAPPING_NONE && box->maptype != DMBOX_MAPPING_ANNULUS) SineMap(dim, box->maptype, a, t, y);
  for (PetscInt d = 0; d < dim; d++)
    u[d] = box->maptype == DMBOX_MAPPING_NONE ? x[d] : box->lower[d] + (box->upper[d] - box->lower[d]) * y[d];
  if (box->maptype == DMBOX_MAPPING_ANNULUS) {
    u[0] = (a + (1 - a) * t[0]) * PetscCosReal(0.5 * PETSC_PI * t[1]);
    u[1] = (a + (1 - a) * t[0]) * PetscSinReal(0.5 * PETSC_PI * t[1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ where the nodes are ------------------------------------------------ */

PetscErrorCode DMBoxShapeDestroy(DMBoxShape **shape)
{
  DMBoxShape *s = *shape;

  PetscFunctionBegin;
  *shape = NULL;
  if (!s || --s->refct > 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PatchFDLineDestroy(&s->line[d]));
  PetscCall(PetscFree(s->nodes.x));
  PetscCall(VecDestroy(&s->device));
  PetscCall(DMBoxShapeDestroy(&s->coarser));
  PetscCall(PetscFree(s->file));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxShapeGetDevice(DMBoxShape *shape, const PetscReal **x)
{
  const PetscScalar *array;

  PetscFunctionBegin;
  if (!shape->device) {
    PetscScalar *to;
    PetscInt     n;

    PetscCall(PetscIntCast(shape->dim * (PetscCount)PatchFDBoxSize(&shape->nodes.box), &n));
    PetscCall(VecCreate(PETSC_COMM_SELF, &shape->device));
    PetscCall(VecSetSizes(shape->device, n, n));
    PetscCall(VecSetType(shape->device, VECCUDA));
    PetscCall(VecGetArrayWrite(shape->device, &to));
    PetscCall(PetscArraycpy(to, shape->nodes.x, n));
    PetscCall(VecRestoreArrayWrite(shape->device, &to));
  }
  PetscCall(VecGetArrayReadAndMemType(shape->device, &array, NULL));
  *x = array; /* nobody changes it */
  PetscCall(VecRestoreArrayReadAndMemType(shape->device, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for the nodes of the DM, without positions */
PetscErrorCode DMBoxShapeCreate(DM dm, DMBoxShape **shape)
{
  const DMBoxField *f = &((const DM_Box *)dm->data)->field[0];

  PetscFunctionBegin;
  PetscCall(PetscNew(shape));
  (*shape)->refct     = 1;
  (*shape)->dim       = dm->dim;
  (*shape)->nodes.box = f->local;
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *l = &f->line[d];

    PetscCall(PatchFDLineCreate(l->continuity, l->degree, l->ncells, l->vertices, l->dirichlet, &(*shape)->line[d]));
    (*shape)->line[d].turn = l->turn;
  }
  PetscCall(PetscCalloc1((size_t)dm->dim * PatchFDBoxSize(&f->local), &(*shape)->nodes.x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the positions of nodes of other ranks, from those that own them */
PetscErrorCode DMBoxShapeFillGhosts(DM dm, DMBoxShape *shape)
{
  const DM_Box    *box   = (const DM_Box *)dm->data;
  const PetscCount nodes = (PetscCount)PatchFDBoxSize(&box->field[0].local); /* other fields, if any, are exchanged for nothing */
  PatchFDKernels   kern;
  void            *work;

  PetscFunctionBegin;
  if (!box->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecTypeGetKernels(VECSTANDARD, &kern));
  PetscCall(DMBoxGetWork(dm, kern, DMBOX_WORK_X, &work));
  for (PetscInt a = 0; a < dm->dim; a++) {
    PatchFDHostGetComponent(nodes, dm->dim, a, shape->nodes.x, (PetscReal *)work);
    PetscCall(DMBoxHaloBegin(dm, kern, 1, &work));
    PetscCall(DMBoxHaloEnd(dm, kern, 1, &work));
    PatchFDHostSetComponent(nodes, dm->dim, a, (const PetscReal *)work, shape->nodes.x);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with the nodes of all ranks, those that a ring begins with also at its end */
PetscErrorCode DMBoxShapeGather(DM dm, const DMBoxShape *shape, DMBoxShape **whole)
{
  PatchFDBox  *box = NULL;
  PatchFDRange here;
  PetscMPIInt  n;

  PetscFunctionBegin;
  PetscCall(DMBoxShapeCreate(dm, whole));
  box  = &(*whole)->nodes.box;
  *box = DMBoxMesh(&((const DM_Box *)dm->data)->field[0]);
  for (int d = 0; d < 3; d++) {
    if (shape->line[d].turn) box->n[d]++;
    here[d][0] = PetscMax(shape->nodes.box.lo[d], box->lo[d]);
    here[d][1] = PetscMin(shape->nodes.box.lo[d] + shape->nodes.box.n[d], box->lo[d] + box->n[d]);
  }
  PetscCall(PetscMPIIntCast(dm->dim * (PetscInt64)PatchFDBoxSize(box), &n));
  PetscCall(PetscFree((*whole)->nodes.x));
  PetscCall(PetscMalloc1(n, &(*whole)->nodes.x));
  for (PetscMPIInt i = 0; i < n; i++) (*whole)->nodes.x[i] = PETSC_MIN_REAL;
  PatchFDHostCopyNodes(dm->dim, (const PetscInt(*)[2])here, &shape->nodes.box, shape->nodes.x, &(*whole)->nodes);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, (*whole)->nodes.x, n, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes first .. first + n - 1 of a line in the cells of another one: which cell, and its basis there */
static PetscErrorCode DMBoxLocateNodes(const PatchFDLine *line, PetscInt first, PetscInt n, const PatchFDLine *in, PetscInt **cell,
                                       PetscReal **B)
{
  PetscReal *x, *t;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(line->nnodes, &x, n, &t));
  PetscCall(PetscMalloc1(n, cell));
  PetscCall(PetscMalloc1((size_t)n * (size_t)(in->degree + 1), B));
  PetscCall(PatchFDLineNodes(line, x));
  for (PetscInt i = 0, c = 0; i < n; i++) {
    while (c + 1 < in->ncells && x[first + i] >= in->vertices[c + 1]) c++;
    (*cell)[i] = c;
    t[i]       = in->degree ? (x[first + i] - in->vertices[c]) / (in->vertices[c + 1] - in->vertices[c]) : 0;
  }
  if (in->degree) PetscCall(PatchFDBasis(in->degree, n, t, *B, NULL, NULL));
  else
    for (PetscInt i = 0; i < n; i++) (*B)[i] = 1;
  PetscCall(PetscFree2(x, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes that this rank owns, from the polynomials of another mesh, which the rank has there */
PetscErrorCode DMBoxShapeEvaluate(DM dm, const DMBoxShape *from, DMBoxShape *shape)
{
  const DMBoxField *f = &((const DM_Box *)dm->data)->field[0];
  PetscInt         *cell[3], degree[3];
  PetscReal        *B[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    degree[d] = from->line[d].degree;
    PetscCall(DMBoxLocateNodes(&f->line[d], f->own[d][0], f->own[d][1] - f->own[d][0], &from->line[d], &cell[d], &B[d]));
  }
  PatchFDHostEvaluate(dm->dim, degree, cell, B, f->own, &from->nodes, &shape->nodes);
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscFree(cell[d]));
    PetscCall(PetscFree(B[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The map of the DM, with the ways once around its rings: a vector for each direction, zero where the image closes */
typedef struct {
  const DM_Box    *box;
  DMBoxFunctionFn *map;
  void            *ctx;
  PetscReal        way[3][3];
} UnrolledMap;

/* on the turns of unrolled rings: those beside the mesh are images of it, a way before or behind */
static PetscErrorCode MapUnrolled(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  const UnrolledMap *m       = (const UnrolledMap *)ctx;
  PetscReal          turn[3] = {0, 0, 0}, at[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscReal length = m->box->upper[d] - m->box->lower[d];

    if (m->box->field[0].line[d].turn) turn[d] = PetscFloorReal((x[d] - m->box->lower[d]) / length);
    at[d] = x[d] - turn[d] * length;
  }
  PetscCall((*m->map)(dim, time, at, Nc, u, m->ctx));
  for (PetscInt d = 0; d < dim; d++)
    for (PetscInt a = 0; a < Nc; a++) u[a] += turn[d] * m->way[d][a];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the way around the ring of direction d, which must be the same for all; some are compared */
static PetscErrorCode FindWay(DM dm, PetscInt d, UnrolledMap *m)
{
  const PetscReal part[] = {0, 0.37, 0.74, 1};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 16; i++) {
    PetscReal   x[2][3], size = 0, defect = 0;
    PetscScalar u[2][3];

    for (int end = 0; end < 2; end++) {
      for (PetscInt e = 0; e < 3; e++)
        x[end][e] = m->box->lower[e] + (m->box->upper[e] - m->box->lower[e]) * part[(e + 3 - d) % 3 == 1 ? i % 4 : i / 4];
      x[end][d] = end ? m->box->upper[d] : m->box->lower[d];
      PetscCall((*m->map)(dm->dim, 0, x[end], dm->dim, u[end], m->ctx));
    }
    for (PetscInt a = 0; a < dm->dim; a++) {
      if (i == 0) m->way[d][a] = u[1][a] - u[0][a];
      defect = PetscMax(defect, PetscAbsReal(u[1][a] - u[0][a] - m->way[d][a]));
      size   = PetscMax(size, PetscMax(PetscAbsReal(u[1][a]), PetscAbsReal(u[0][a])));
    }
    PetscCheck(defect <= 1e-10 * size, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
               "-dm_box_boundary (DMBoxSetBoundary()) is periodic in direction %" PetscInt_FMT
               ", but the map (-dm_box_mapping, DMBoxSetMapping()) does not bring one side to the other: the images of (%g, %g, %g) and "
               "the "
               "point opposite are not as far apart as those at the lower corner",
               d, (double)x[0][0], (double)x[0][1], (double)x[0][2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxShapeInterpolate(DM dm, DMBoxShape *shape)
{
  const DM_Box    *box      = (const DM_Box *)dm->data;
  UnrolledMap      unrolled = {.box = box, .map = box->map ? box->map : DMBoxNamedMap, .ctx = box->map ? box->mapctx : dm->data};
  PatchFDPointwise map      = {MapUnrolled, &unrolled};
  PetscReal       *nodes[3];
  PatchFDRange     all;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dm->dim; d++)
    if (box->field[0].line[d].turn) PetscCall(FindWay(dm, d, &unrolled));
  for (int d = 0; d < 3; d++) {
    all[d][0] = shape->nodes.box.lo[d];
    all[d][1] = all[d][0] + shape->nodes.box.n[d];
    PetscCall(PetscMalloc1(shape->line[d].nnodes, &nodes[d]));
    PetscCall(PatchFDLineNodes(&shape->line[d], nodes[d]));
  }
  PetscCall(PatchFDHostInterpolate(dm->dim, nodes, NULL, (const PetscInt(*)[2])all, PatchFDHostPointwise, &map, 0, dm->dim, 0, dm->dim,
                                   &shape->nodes.box, shape->nodes.x));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(nodes[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* images of degree 1 of cells that have another one */
PetscErrorCode DMBoxShapeStraighten(DM dm, PetscInt images, DMBoxShape *shape)
{
  const PetscInt  degree  = ((const DM_Box *)dm->data)->degree;
  const PetscReal unit[2] = {0, 1};
  const PetscBool free[2] = {PETSC_FALSE, PETSC_FALSE};
  PatchFDLine     cell;
  PetscReal      *t;

  PetscFunctionBegin;
  if (degree == 1 || images != 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, 1, unit, free, &cell));
  PetscCall(PetscMalloc1(degree + 1, &t));
  PetscCall(PatchFDLineNodes(&cell, t));
  PatchFDHostMultilinear(dm->dim, degree, t, &shape->nodes);
  PetscCall(PetscFree(t));
  PetscCall(PatchFDLineDestroy(&cell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ what is wrong with cells ------------------------------------------------ */

/* the first cell of all ranks with a defect, times 4, plus the defect; or PETSC_INT64_MAX */
PetscErrorCode DMBoxFirstDefect(DM dm, const PatchFDMetric *m, PetscInt64 *first)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscInt      c[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) c[d] = m->cell[d] % box->cells[d]; /* on a ring, of the mesh */
  *first = m->defect ? 4 * (c[0] + box->cells[0] * (PetscInt64)(c[1] + box->cells[1] * c[2])) + m->defect : PETSC_INT64_MAX;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, first, 1, MPIU_INT64, MPI_MIN, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void DMBoxDefectCell(const DM_Box *box, PetscInt64 first, PetscInt cell[3])
{
  cell[0] = (PetscInt)(first / 4 % box->cells[0]);
  cell[1] = (PetscInt)(first / 4 / box->cells[0] % box->cells[1]);
  cell[2] = (PetscInt)(first / 4 / box->cells[0] / box->cells[1]);
}

PetscErrorCode DMBoxReduceMetric(DM dm, PatchFDMetric *m)
{
  static const char *const wrong[] =
    {NULL,
     "is inverted, or of no size, at a quadrature point: the map (-dm_box_mapping, DMBoxSetMapping(), DMBoxSetMappingCoordinates()) must "
     "keep its orientation",
     "has a K that is not positive definite, or not finite, at a quadrature point (DMBoxSetDiffusion(), DMBoxSetDiffusionFunction())",
     "has a shift that is negative, or not finite, at a quadrature point (DMBoxSetDiffusion(), DMBoxSetDiffusionFunction()); it must be at "
     "least 0"};
  const DM_Box  *box    = (const DM_Box *)dm->data;
  const MPI_Comm comm   = PetscObjectComm((PetscObject)dm);
  PetscReal      sum[5] = {m->log[0], m->log[1], m->log[2], m->shift, m->weight};
  PetscInt64     first;
  PetscInt       c[3];

  PetscFunctionBegin;
  PetscCall(DMBoxFirstDefect(dm, m, &first));
  if (first != PETSC_INT64_MAX) {
    DMBoxDefectCell(box, first, c);
    SETERRQ(comm, PETSC_ERR_ARG_OUTOFRANGE,
            "Cell (%" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT ") of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
            " %s",
            c[0], c[1], c[2], box->cells[0], box->cells[1], box->cells[2], wrong[first % 4]);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 5, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, m->side, 6, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &m->largest, 1, MPIU_REAL, MPIU_MAX, comm));
  PetscCall(PetscArraycpy(m->log, sum, 3));
  m->shift  = sum[3];
  m->weight = sum[4];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt DMBoxGetMappingDegree_Private(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  return box->mapdegree == 1 || !DMBoxIsMapped(box) ? 1 : box->degree;
}

/* what is wrong at the points of operators, where nodes are in GPU memory */
static PetscErrorCode DMBoxShapeDefectDevice(DM dm, DMBoxShape *shape, PatchFDKernels kern, PatchFDMetric *m)
{
  const DM_Box      *box    = (const DM_Box *)dm->data;
  const PetscReal    one    = 1;
  PatchFDPoints      points = {.nodes         = PATCHFD_NODES_BOX,
                               .dim           = dm->dim,
                               .degree        = box->degree,
                               .ncomp         = 1,
                               .gauss         = DMBoxNumGauss(dm),
                               .ncells        = PatchFDRangeSize((const PetscInt(*)[2])box->owncells),
                               .geodegree     = DMBoxGetMappingDegree_Private(dm),
                               .kappa         = &one,
                               .nkappa        = 1,
                               .kappaconstant = PETSC_TRUE};
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  PetscCall(DMBoxShapeGetDevice(shape, &points.coordinate));
  PetscCall(DMBoxFieldPointsCreateGauss(dm, points.gauss, PETSC_TRUE, field));
  field[0].shape = &shape->nodes;
  PetscCall(kern->pointsmetric(dm->dim, field, (const PetscInt(*)[2])box->owncells, &points, m));
  PetscCall(DMBoxFieldPointsDestroy(dm, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is wrong at the points of loads and errors; operators look at theirs */
static PetscErrorCode DMBoxShapeDefectHost(DM dm, const DMBoxShape *shape, PatchFDMetric *m)
{
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  PetscCall(DMBoxFieldPointsCreate(dm, 0, PETSC_TRUE, field));
  field[0].shape = &shape->nodes;
  PetscCall(PatchFDHostCheckShape(dm->dim, field, (const PetscInt(*)[2])((const DM_Box *)dm->data)->owncells, m));
  PetscCall(DMBoxFieldPointsDestroy(dm, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxShapeDefect(DM dm, DMBoxShape *shape, PatchFDMetric *m)
{
  PatchFDKernels kern;

  PetscFunctionBegin;
  *m = (PatchFDMetric){.defect = PATCHFD_DEFECT_NONE};
  if (shape->sound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (PetscMemTypeDevice(kern->memtype)) PetscCall(DMBoxShapeDefectDevice(dm, shape, kern, m));
  else PetscCall(DMBoxShapeDefectHost(dm, shape, m));
  shape->sound = (PetscBool)!m->defect;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCheckShape(DM dm, DMBoxShape *shape)
{
  PatchFDKernels kern;
  PatchFDMetric  m;

  PetscFunctionBegin;
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  /* what operators on a GPU see has to do */
  if (!PetscMemTypeHost(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxShapeDefect(dm, shape, &m));
  PetscCall(DMBoxReduceMetric(dm, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
