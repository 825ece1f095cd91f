/*
  The map from the box of a DMBOX to space.  A mesh keeps where its nodes are (box->shape); within a cell positions are polynomials, those
  of the space or multilinear ones.  A map that is a function is evaluated on each mesh of a hierarchy; given coordinates are those of one
  mesh, and finer and coarser ones take their nodes from its polynomials.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>
#include <patchfd/private/vecimpl.h>

const char *const DMBoxMappingTypes[] = {"none",       "sine", "sine1", "sine2", "kershaw", "kershaw_smooth", "annulus", "DMBoxMappingType",
                                         "DMBOX_MAP_", NULL};

static const PetscReal parameters[] = {0, 0.1, 0.2, 0.1, 0.3, 0.3, 0.5}; /* by default */

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

static PetscBool DMBoxIsMapped(const DM_Box *box)
{
  return (PetscBool)(box->map || box->mapfrom || box->maptype != DMBOX_MAPPING_NONE);
}

PetscInt DMBoxGetMappingDegree_Private(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  return box->mapdegree == 1 || !DMBoxIsMapped(box) ? 1 : box->degree;
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
static PetscErrorCode DMBoxShapeCreate(DM dm, DMBoxShape **shape)
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
  }
  PetscCall(PetscCalloc1((size_t)dm->dim * PatchFDBoxSize(&f->local), &(*shape)->nodes.x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the positions of nodes of other ranks, from those that own them */
static PetscErrorCode DMBoxShapeFillGhosts(DM dm, DMBoxShape *shape)
{
  const DM_Box  *box = (const DM_Box *)dm->data;
  PatchFDKernels kern;
  void          *work;

  PetscFunctionBegin;
  if (!box->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecTypeGetKernels(VECSTANDARD, &kern));
  PetscCall(DMBoxGetWork(dm, kern, DMBOX_WORK_X, &work));
  for (PetscInt a = 0; a < dm->dim; a++) {
    PatchFDHostGetComponent((PetscCount)box->nlocal, dm->dim, a, shape->nodes.x, (PetscReal *)work);
    PetscCall(DMBoxHaloBegin(dm, kern, 1, &work));
    PetscCall(DMBoxHaloEnd(dm, kern, 1, &work));
    PatchFDHostSetComponent((PetscCount)box->nlocal, dm->dim, a, (const PetscReal *)work, shape->nodes.x);
  }
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
static PetscErrorCode DMBoxShapeEvaluate(DM dm, const DMBoxShape *from, DMBoxShape *shape)
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

static PetscErrorCode DMBoxShapeInterpolate(DM dm, DMBoxShape *shape)
{
  const DM_Box       *box = (const DM_Box *)dm->data;
  PatchFDPointwise    map = {box->map ? box->map : DMBoxNamedMap, box->map ? box->mapctx : dm->data};
  PetscReal          *nodes[3];
  PatchFDRange        all;

  PetscFunctionBegin;
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
static PetscErrorCode DMBoxShapeStraighten(DM dm, PetscInt images, DMBoxShape *shape)
{
  const PetscInt  degree = ((const DM_Box *)dm->data)->degree;
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
static PetscErrorCode DMBoxFirstDefect(DM dm, const PatchFDMetric *m, PetscInt64 *first)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  *first = m->defect ? 4 * (m->cell[0] + box->cells[0] * (PetscInt64)(m->cell[1] + box->cells[1] * m->cell[2])) + m->defect
                     : PETSC_INT64_MAX;
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
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &m->largest, 1, MPIU_REAL, MPIU_MAX, comm));
  PetscCall(PetscArraycpy(m->log, sum, 3));
  m->shift  = sum[3];
  m->weight = sum[4];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is wrong at the points of loads and errors; operators look at theirs */
static PetscErrorCode DMBoxShapeDefect(DM dm, const DMBoxShape *shape, PatchFDMetric *m)
{
  const DM_Box      *box = (const DM_Box *)dm->data;
  PatchFDFieldPoints field[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  *m = (PatchFDMetric){.defect = PATCHFD_DEFECT_NONE};
  PetscCall(DMBoxFieldPointsCreate(dm, 0, PETSC_TRUE, field));
  field[0].shape = &shape->nodes;
  PetscCall(PatchFDHostCheckShape(dm->dim, field, (const PetscInt(*)[2])box->owncells, m));
  PetscCall(DMBoxFieldPointsDestroy(dm, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCheckShape(DM dm, const DMBoxShape *shape)
{
  PatchFDKernels kern;
  PatchFDMetric  m;

  PetscFunctionBegin;
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  /* this would be most of set-up; what operators on a GPU see in theirs has to do */
  if (!PetscMemTypeHost(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxShapeDefect(dm, shape, &m));
  PetscCall(DMBoxReduceMetric(dm, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Nodes of a coarse mesh lie on the finer one, but its polynomials do not: they may fold where those of the finer mesh do not.  For solvers
  on a GPU it would take too long to look at large meshes, which are near the finest one
*/
PetscErrorCode DMBoxLimitFolded(DM dm, PetscInt *n)
{
  const DM_Box    *box   = (const DM_Box *)dm->data;
  const PetscCount limit = 32768; /* cells of a rank */
  DM               at    = dm;
  PatchFDKernels   kern;

  PetscFunctionBegin;
  if (!dm->setupcalled || !box->op->mapped || !DMBoxIsMapped(box) || box->galerkin == PETSC_BOOL3_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  PetscCall(PetscObjectReference((PetscObject)at));
  for (PetscInt l = 0; l < *n; l++) {
    DM            coarse;
    PatchFDMetric m = {.defect = PATCHFD_DEFECT_NONE};
    PetscInt64    first;

    PetscCall(DMBoxCoarsen_Private(at, PetscObjectComm((PetscObject)dm), PETSC_TRUE, &coarse));
    PetscCall(DMDestroy(&at));
    at = coarse;
    if (PetscMemTypeHost(kern->memtype) || PatchFDRangeSize((const PetscInt(*)[2])((const DM_Box *)at->data)->owncells) <= limit)
      PetscCall(DMBoxShapeDefect(at, ((const DM_Box *)at->data)->shape, &m));
    PetscCall(DMBoxFirstDefect(at, &m, &first));
    if (first == PETSC_INT64_MAX) continue;
    PetscCall(
      PetscInfo(dm, "Coarsened %" PetscInt_FMT " of %" PetscInt_FMT " times: the next mesh has cells that fold (-pc_mg_levels)\n", l, *n));
    *n = l;
  }
  PetscCall(DMDestroy(&at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ set-up, copies, options ------------------------------------------------ */

PetscErrorCode DMBoxCheckMapping(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCheck(!DMBoxIsMapped(box) || box->op->mapped, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "This DMBOX has a map to space (-dm_box_mapping, DMBoxSetMapping()), and -dm_box_operator %s is for boxes as they are; "
             "diffusion takes one",
             box->op->name);
  PetscCheck(!box->op->mapped || dm->dim > 1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_operator %s takes 2 or 3 dimensions; -dm_box_dim (DMSetDimension()) is %" PetscInt_FMT, box->op->name, dm->dim);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mesh with its box as it is has a shape, too, so that operators by quadrature need not tell */
PetscErrorCode DMBoxSetUpMapping(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  if (!box->op->mapped || box->shape) PetscFunctionReturn(PETSC_SUCCESS); /* a clone has that of the DM */
  PetscCall(DMBoxShapeCreate(dm, &box->shape));
  if (box->mapfrom) {
    PetscCall(DMBoxShapeEvaluate(dm, box->mapfrom, box->shape));
    PetscCall(DMBoxShapeFillGhosts(dm, box->shape));
  } else PetscCall(DMBoxShapeInterpolate(dm, box->shape));
  PetscCall(DMBoxShapeStraighten(dm, DMBoxGetMappingDegree_Private(dm), box->shape));
  if (box->mapfrom) { /* what comes next begins here */
    PetscCall(DMBoxShapeDestroy(&box->mapfrom));
    box->mapfrom = box->shape;
    box->shape->refct++;
  }
  if (!box->mayfold && !box->restricted) PetscCall(DMBoxCheckShape(dm, box->shape));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCopyMapping(DM from, DM to)
{
  const DM_Box *a = (const DM_Box *)from->data;
  DM_Box       *b = (DM_Box *)to->data;

  PetscFunctionBegin;
  b->maptype      = a->maptype;
  b->mapparameter = a->mapparameter;
  b->map          = a->map;
  b->mapctx       = a->mapctx;
  b->mapversion   = a->mapversion;
  b->mapdegree    = a->mapdegree;
  b->mapfrom      = a->mapfrom;
  if (b->mapfrom) b->mapfrom->refct++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the Vecs of coordinates are those of the mesh as it was */
static PetscErrorCode DMBoxRenewCoordinates(DM dm)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&dm->coordinates[0].x));
  PetscCall(VecDestroy(&dm->coordinates[0].xl));
  PetscCall(DMBoxSetUpCoordinates(dm));
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxUpdateMapping(DM from, DM to)
{
  const DM_Box *a = (const DM_Box *)from->data;
  DM_Box       *b = (DM_Box *)to->data;

  PetscFunctionBegin;
  if (a->mapversion == b->mapversion) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxShapeDestroy(&b->mapfrom));
  PetscCall(DMBoxShapeDestroy(&b->shape));
  PetscCall(DMBoxCopyMapping(from, to));
  PetscCall(DMBoxSetUpMapping(to));
  PetscCall(DMBoxRenewCoordinates(to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOptionsMapping(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  DM_Box          *box       = (DM_Box *)dm->data;
  DMBoxMappingType type      = box->maptype;
  PetscReal        parameter = box->mapparameter;
  PetscInt         degree    = box->mapdegree;
  char             file[PETSC_MAX_PATH_LEN];
  PetscBool        flg, flgs[2];

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-dm_box_mapping", "The image of the box", "DMBoxSetMappingType", DMBoxMappingTypes, (PetscEnum)type,
                             (PetscEnum *)&type, &flgs[0]));
  if (flgs[0]) parameter = parameters[type];
  PetscCall(PetscOptionsReal("-dm_box_mapping_parameter", "Parameter of the map", "DMBoxSetMappingType", parameter, &parameter, &flgs[1]));
  PetscCheck(!flgs[1] || type != DMBOX_MAPPING_NONE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_mapping_parameter is for maps with a name: -dm_box_mapping is none");
  if (flgs[0] || flgs[1]) PetscCall(DMBoxSetMappingType(dm, type, parameter));
  PatchFDOptions(Int, PatchFDOptionsWord((PetscReal)degree), "-dm_box_mapping_degree",
                 "Degree of the images of cells, 1 or that of the space", "DMBoxSetMappingDegree", degree, &degree, &flg);
  if (flg) PetscCall(DMBoxSetMappingDegree(dm, degree));
  PatchFDOptions(String, "none", "-dm_box_mapping_file", "A structured grid whose points are those of the box in space",
                 "DMBoxSetMappingFile", NULL, file, sizeof(file), &flg);
  PetscCheck(!flg || !flgs[0] || type == DMBOX_MAPPING_NONE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_mapping %s and -dm_box_mapping_file %s: a DMBOX has one map", DMBoxMappingTypes[type], file);
  if (flg) PetscCall(DMBoxSetMappingFile(dm, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxViewMapping(DM dm, PetscViewer viewer)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  if (!DMBoxIsMapped(box)) PetscFunctionReturn(PETSC_SUCCESS);
  if (box->map || box->mapfrom)
    PetscCall(PetscViewerASCIIPrintf(viewer, "mapped by %s", box->map ? "a function" : "the coordinates of its nodes"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "mapped: %s, parameter %g", DMBoxMappingTypes[box->maptype], (double)box->mapparameter));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall(PetscViewerASCIIPrintf(viewer, ", cells of degree %" PetscInt_FMT "\n", DMBoxGetMappingDegree_Private(dm)));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ public routines ------------------------------------------------ */

/*@C
  DMBoxSetMapping - Sets the map from the box of a `DMBOX` to space, by a function

  Logically Collective

  Input Parameters:
+ dm  - the `DM` of type `DMBOX`
. map - the function, or `NULL` for the box as it is; it gets the dimension, the time 0, a point of the box, the number of components (dim),
        the array for the point in space and `ctx`
- ctx - for the function, or `NULL`

  Level: intermediate

  Notes:
  The map is evaluated at the nodes. Within a cell it is the polynomial of the degree of the space through these values, or, after
  `DMBoxSetMappingDegree()`, the multilinear map through the corners. It must keep the orientation of the box: if a cell is inverted
  at a quadrature point, `DMSetUp()` is in error.

  The map is for the operator `diffusion`. Call this routine before `DMSetUp()`.

  All points are then points in space: those that functions get in `DMBoxInterpolateFunction()`, `DMBoxAddLoad()`,
  `DMBoxAddNeumannLoad()`, `DMBoxComputeError()` and similar routines, those of `DMGetCoordinates()`, and those in files for
  ParaView.

  DMs made by `DMRefine()`, `DMCoarsen()` and `DMClone()` also use the map, at their own nodes. So `ctx` must exist as long as `dm` and
  such DMs, and with them solvers and matrices that reference them. To have it destroyed with the last of them, compose an object that
  owns it with `dm`, before they are made, under the name "DMBoxFunctions": all of them reference it. One object owns the contexts of
  all functions of `dm`.
.vb
     PetscObjectContainerCompose((PetscObject)dm, "DMBoxFunctions", ctx, destroy); // PETSc 3.22: PetscContainerCreate() and its kin
.ve

.seealso: `DMBOX`, `DMBoxGetMapping()`, `DMBoxSetMappingType()`, `DMBoxSetMappingCoordinates()`, `DMBoxSetMappingFile()`,
`DMBoxSetMappingDegree()`, `DMBoxSetDiffusion()`
@*/
PetscErrorCode DMBoxSetMapping(DM dm, DMBoxFunctionFn *map, void *ctx)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "DMBoxSetMapping() must be called before DMSetUp()");
  PetscCall(DMBoxShapeDestroy(&box->mapfrom));
  box->maptype = DMBOX_MAPPING_NONE;
  box->map     = map;
  box->mapctx  = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetMapping - Returns the function that maps the box of a `DMBOX` to space

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ map - the function, or `NULL` if there is none: the mesh is the box, has a map of `DMBoxGetMappingType()`, or has given coordinates, which
        `DMGetCoordinates()` returns
- ctx - its context, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetMapping()`, `DMBoxGetMappingType()`, `DMBoxGetMappingDegree()`, `DMGetCoordinates()`
@*/
PetscErrorCode DMBoxGetMapping(DM dm, DMBoxFunctionFn **map, void *ctx)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  if (map) *map = box->map;
  if (ctx) *(void **)ctx = box->mapctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetMappingType - Sets the map from the box of a `DMBOX` to space, by a name

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
. type      - the map
- parameter - its parameter, or `PETSC_DETERMINE` for its default

  Options Database Keys:
+ -dm_box_mapping (none|sine|sine1|sine2|kershaw|kershaw_smooth|annulus) - the map
- -dm_box_mapping_parameter a                                            - its parameter

  Level: beginner

  Note:
  Call it before `DMSetUp()`. `DMBoxSetMapping()` describes maps.

.seealso: `DMBOX`, `DMBoxMappingType`, `DMBoxGetMappingType()`, `DMBoxSetMapping()`, `DMBoxSetMappingDegree()`
@*/
PetscErrorCode DMBoxSetMappingType(DM dm, DMBoxMappingType type, PetscReal parameter)
{
  DM_Box   *box;
  PetscReal a = parameter;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscValidLogicalCollectiveEnum(dm, type, 2);
  PetscValidLogicalCollectiveReal(dm, parameter, 3);
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "DMBoxSetMappingType() must be called before DMSetUp()");
  PetscCheck(type >= DMBOX_MAPPING_NONE && type <= DMBOX_MAPPING_ANNULUS, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxSetMappingType() got %d; DMBoxMappingType has the maps", (int)type);
  if (parameter == (PetscReal)PETSC_DETERMINE) a = parameters[type];
  PetscCheck(!PetscIsInfOrNanReal(a), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_mapping_parameter (DMBoxSetMappingType()) is %g; it must be finite", (double)a);
  PetscCheck(type < DMBOX_MAPPING_KERSHAW || (a > 0 && (type == DMBOX_MAPPING_ANNULUS ? a < 1 : a <= 1)), PetscObjectComm((PetscObject)dm),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_mapping_parameter (DMBoxSetMappingType()) is %g; -dm_box_mapping %s takes numbers above 0 and %s 1", (double)a,
             DMBoxMappingTypes[type], type == DMBOX_MAPPING_ANNULUS ? "below" : "up to");
  PetscCall(DMBoxSetMapping(dm, NULL, NULL));
  box->maptype      = type;
  box->mapparameter = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetMappingType - Returns the named map from the box of a `DMBOX` to space

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ type      - the map, or `NULL`
- parameter - its parameter, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxMappingType`, `DMBoxSetMappingType()`, `DMBoxGetMapping()`, `DMBoxGetMappingDegree()`
@*/
PetscErrorCode DMBoxGetMappingType(DM dm, DMBoxMappingType *type, PetscReal *parameter)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  if (type) *type = box->maptype;
  if (parameter) *parameter = box->mapparameter;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetMappingDegree - Sets the degree of the images of the cells of a `DMBOX` with a map

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
- degree - 1 for multilinear images, which agree with the map only at the corners, or `PETSC_DETERMINE` (default) for the degree of
           the space

  Options Database Key:
. -dm_box_mapping_degree m - the degree, -1 for that of the space

  Level: intermediate

  Note:
  Call it before `DMSetUp()`.

.seealso: `DMBOX`, `DMBoxGetMappingDegree()`, `DMBoxSetMapping()`, `DMBoxSetMappingType()`
@*/
PetscErrorCode DMBoxSetMappingDegree(DM dm, PetscInt degree)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscValidLogicalCollectiveInt(dm, degree, 2);
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "DMBoxSetMappingDegree() must be called before DMSetUp()");
  PetscCheck(degree == 1 || degree == PETSC_DETERMINE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_mapping_degree (DMBoxSetMappingDegree()) is %" PetscInt_FMT
             "; it takes 1, for multilinear cells, and -1 (PETSC_DETERMINE), for the degree of the space",
             degree);
  box->mapdegree = degree;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetMappingDegree - Returns the degree of the images of the cells of a `DMBOX` with a map

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. degree - what was set: 1, or `PETSC_DETERMINE` for the degree of the space

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetMappingDegree()`
@*/
PetscErrorCode DMBoxGetMappingDegree(DM dm, PetscInt *degree)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscAssertPointer(degree, 2);
  PetscCall(DMBoxGetContext(dm, &box));
  *degree = box->mapdegree;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetMappingCoordinates - Sets the map from the box of a `DMBOX` to space, by the coordinates of its nodes

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX`, set up, with an operator that takes a map (diffusion)
- x  - dim coordinates for each node, with the layout of the `Vec` of `DMGetCoordinates()`; their values are copied

  Level: intermediate

  Notes:
  Within a cell the map is the polynomial of the degree of the space through these points, or, after `DMBoxSetMappingDegree()`, the
  multilinear map through the corners. DMs made by `DMRefine()` and `DMCoarsen()` take their nodes from these polynomials.

  You may call it again with other coordinates. Matrices of this `DM` (`MatBoxUpdate()`) and of the coarser meshes of a multigrid
  solver follow. Other DMs that were made before keep their map.

  Coordinates with which a cell is inverted are an error; the `DM` then keeps its old ones.

.seealso: `DMBOX`, `DMBoxSetMapping()`, `DMGetCoordinates()`, `MatBoxUpdate()`
@*/
PetscErrorCode DMBoxSetMappingCoordinates(DM dm, Vec x)
{
  DM_Box            *box;
  DMBoxShape        *shape;
  const PetscScalar *array;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscValidHeaderSpecific(x, VEC_CLASSID, 2);
  PetscCheckSameComm(dm, 1, x, 2);
  PetscCheck(box->op->mapped, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "DMBoxSetMappingCoordinates(): -dm_box_operator %s is for boxes as they are; diffusion takes a map", box->op->name);
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n == dm->dim * (PetscCount)box->nglobal, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The Vec of coordinates has local size %" PetscInt_FMT ", but the DM has %" PetscInt_FMT " nodes here with %" PetscInt_FMT
             " coordinates; duplicate the Vec of DMGetCoordinates()",
             n, (PetscInt)box->nglobal, dm->dim);
  PetscCall(DMBoxShapeCreate(dm, &shape));
  PetscCall(VecGetArrayRead(x, &array));
  PatchFDHostCopyNodes(dm->dim, (const PetscInt(*)[2])box->field[0].own, &box->field[0].global, array, &shape->nodes);
  PetscCall(VecRestoreArrayRead(x, &array));
  PetscCall(DMBoxShapeFillGhosts(dm, shape));
  PetscCall(DMBoxShapeStraighten(dm, box->mapdegree, shape));
  PetscCall(DMBoxCheckShape(dm, shape)); /* the DM still has what it had */
  PetscCall(DMBoxShapeDestroy(&box->shape));
  PetscCall(DMBoxShapeDestroy(&box->mapfrom));
  box->shape = box->mapfrom = shape;
  shape->refct++;
  box->maptype = DMBOX_MAPPING_NONE;
  box->map     = NULL;
  box->op->version = box->mapversion = DMBoxOperatorNewVersion();
  PetscCall(DMBoxRenewCoordinates(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
