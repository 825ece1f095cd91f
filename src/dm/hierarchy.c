/*
  DMs made from a DMBOX: finer, coarser and equal ones.  All of them carry what the user asked for, the types of Vecs and Mats,
  the options prefix and the operator, and keep each piece of the domain on its rank.
*/
#include <patchfd/private/boximpl.h>

static PetscErrorCode DMBoxCopyReals(PetscInt n, const PetscReal from[], PetscReal *to[])
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*to));
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, to));
  PetscCall(PetscArraycpy(*to, from, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* everything that precedes set-up, and the decomposition; `to` is an empty DMBOX */
static PetscErrorCode DMBoxCopy(DM from, DM to)
{
  DM_Box     *a = (DM_Box *)from->data, *b = (DM_Box *)to->data;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(DMSetDimension(to, from->dim));
  PetscCall(DMSetVecType(to, from->vectype));
  PetscCall(DMSetMatType(to, from->mattype));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)from, &prefix));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)to, prefix));
  b->degree = a->degree;
  PetscCall(PetscArraycpy(b->extra, a->extra, 2));
  b->space          = a->space;
  b->halotype       = a->halotype;
  b->refine         = a->refine;
  b->semicoarsening = a->semicoarsening;
  b->galerkin       = a->galerkin;
  b->restricted     = a->restricted;
  b->coupled        = a->coupled;
  b->coupledversion = a->coupledversion;
  PetscCall(PetscArraycpy(b->coupledfor, a->coupledfor, DMBOX_MAX_COEFFICIENTS));
  b->coarsenings = a->coarsenings;
  b->lowering    = a->lowering;
  b->folding     = a->folding;
  b->higher      = a->higher;
  PetscCall(DMBoxCopyMapping(from, to));
  PetscCall(DMBoxCopyOperator(from, to));
  PetscCall(PetscArraycpy(b->boundary, a->boundary, 6));
  PetscCall(PetscArraycpy(b->symmetry, a->symmetry, 6));
  for (PetscInt d = 0; d < 3; d++) {
    b->cells[d]     = a->cells[d];
    b->lower[d]     = a->lower[d];
    b->upper[d]     = a->upper[d];
    b->processes[d] = a->processes[d];
    b->nvertices[d] = a->nvertices[d];
    b->coupling[d]  = a->coupling[d];
    b->halved[d]    = a->halved[d];
    for (int e = 0; e < 2; e++) b->alone[e][d] = a->alone[e][d];
    PetscCall(DMBoxCopyReals(a->nvertices[d], a->vertices[d], &b->vertices[d]));
    if (a->splits[d]) {
      PetscCall(PetscMalloc1(a->processes[d] + 1, &b->splits[d]));
      PetscCall(PetscArraycpy(b->splits[d], a->splits[d], a->processes[d] + 1));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMClone_Box(DM dm, DM *newdm)
{
  PetscFunctionBegin;
  PetscCall(DMSetType(*newdm, DMBOX));
  PetscCall(DMBoxCopy(dm, *newdm));
  if (dm->setupcalled) {
    DMBoxShape *shape = ((const DM_Box *)dm->data)->shape;

    ((DM_Box *)(*newdm)->data)->shape = shape;
    if (shape) shape->refct++;
    PetscCall(DMSetUp(*newdm));
    PetscCall(DMBoxCopyOperator(dm, *newdm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCreateRedundant(DM dm, DM *newdm)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMCreate(PETSC_COMM_SELF, newdm));
  PetscCall(DMSetType(*newdm, DMBOX));
  PetscCall(DMBoxCopy(dm, *newdm));
  box = (DM_Box *)(*newdm)->data;
  if (box->mapfrom) {
    PetscCall(DMBoxShapeDestroy(&box->mapfrom));
    PetscCall(DMBoxShapeGather(dm, ((const DM_Box *)dm->data)->shape, &box->mapfrom));
  }
  for (int d = 0; d < 3; d++) {
    box->processes[d] = 1;
    PetscCall(PetscFree(box->splits[d]));
  }
  PetscCall(DMSetUp(*newdm));
  PetscCall(DMBoxCopyOperator(dm, *newdm)); /* what needs the mesh */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCreateRelative(DM dm, MPI_Comm comm, DM *newdm)
{
  PetscMPIInt flag = MPI_IDENT;
  DM_Box     *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  if (comm != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)dm), comm, &flag));
  PetscCheck(flag == MPI_IDENT || flag == MPI_CONGRUENT, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "A DMBOX cannot be refined or coarsened onto another communicator");
  PetscCall(DMCreate(PetscObjectComm((PetscObject)dm), newdm));
  PetscCall(DMSetType(*newdm, DMBOX));
  PetscCall(DMBoxCopy(dm, *newdm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxBisect(PetscInt *n, PetscReal **vertices)
{
  const PetscInt   nfine = 2 * (*n) - 1;
  const PetscReal *v     = *vertices;
  PetscReal       *fine;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nfine, &fine));
  for (PetscInt i = 0; i < nfine; i++) fine[i] = i % 2 ? 0.5 * (v[i / 2] + v[i / 2 + 1]) : v[i / 2];
  PetscCall(PetscFree(*vertices));
  *vertices = fine;
  *n        = nfine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- refinement and coarsening ---- */

/* A mesh that comes from a finer one gives back its cells, any other is refined in all directions */
PetscErrorCode DMRefine_Box(DM dm, MPI_Comm comm, DM *fine)
{
  DM_Box   *f;
  PetscBool back;

  PetscFunctionBegin;
  PetscCall(DMBoxCreateRelative(dm, comm, fine));
  f    = (DM_Box *)(*fine)->data;
  back = (PetscBool)(f->coarsenings > 0);
  for (PetscInt d = 0; d < dm->dim; d++) {
    const PetscBool twice  = (PetscBool)(!back || f->halved[d] & 1);
    const PetscInt  before = (PetscInt)(f->alone[0][d] & 1), behind = (PetscInt)(f->alone[1][d] & 1);

    f->halved[d] >>= 1;
    for (int e = 0; e < 2; e++) f->alone[e][d] >>= 1;
    if (!twice) continue;
    PetscCheck(f->cells[d] <= PETSC_INT_MAX / 2, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
               "Cannot refine %" PetscInt_FMT " cells in direction %" PetscInt_FMT ": too many", f->cells[d], d);
    f->cells[d] = 2 * f->cells[d] - before - behind;
    f->coupling[d] *= 4;
    for (PetscInt p = 0; p <= f->processes[d]; p++) f->splits[d][p] = PetscMin(PetscMax(2 * f->splits[d][p] - before, 0), f->cells[d]);
    if (!f->nvertices[d]) continue;
    PetscCall(DMBoxBisect(&f->nvertices[d], &f->vertices[d]));
    if (before) PetscCall(PetscArraymove(f->vertices[d] + 1, f->vertices[d] + 2, f->cells[d]));
    if (behind) f->vertices[d][f->cells[d]] = f->upper[d];
    f->nvertices[d] = f->cells[d] + 1;
  }
  if (f->higher) f->degree = f->higher;
  f->restricted = PETSC_FALSE;
  f->higher     = 0;
  if (back) f->coarsenings--;
  else f->coupled = PETSC_FALSE;
  PetscCall(DMSetUp(*fine));
  PetscCall(DMBoxCopyOperator(dm, *fine)); /* what needs the mesh */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxSetLowering(DM dm, PetscInt n)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  box->lowering = n < 0 ? -1 : box->coarsenings + n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What one mesh has from a finer one its coarser ones have, too.  Otherwise, by default, cells that fold, or coefficients that jump by this
  factor inside coarse cells: functions of the coarse mesh may be small at all points of a cell in a channel, where its own operator would
  be much less than that of the finer mesh, and corrections much too large (doc/guide/diffusion.md)
*/
static PetscErrorCode CoarseningIsGalerkin(DM dm, const PetscBool halve[3], PetscBool *galerkin)
{
  const PetscReal limit = 10;
  const DM_Box   *box   = (const DM_Box *)dm->data;
  PetscReal       contrast;

  PetscFunctionBegin;
  *galerkin = (PetscBool)(box->restricted || box->galerkin == PETSC_BOOL3_TRUE || box->folding == box->coarsenings);
  if (*galerkin || box->galerkin == PETSC_BOOL3_FALSE || !box->op->ops.contrast || box->degree > DMBOX_GALERKIN_MAX_DEGREE)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*box->op->ops.contrast)(dm, box->op, halve, &contrast));
  *galerkin = (PetscBool)(contrast > limit);
  PetscCall(PetscInfo(dm, "Coefficients jump by a factor of %g at most inside coarse cells: %s operator\n", (double)contrast,
                      *galerkin ? "Galerkin" : "the same"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hierarchies of the same meshes, that of PCPATCHMG and the one in which it looks for cells that fold, ask for their maps once */
static PetscErrorCode CoarseningTakeShape(const DM_Box *fine, const PetscBool halve[3], DM_Box *coarse)
{
  PetscBool same = (PetscBool)(fine->shape && fine->shape->coarser && coarse->degree == fine->degree);

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) same = (PetscBool)(same && fine->shape->halve[d] == halve[d]);
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  coarse->known = fine->shape->coarser;
  coarse->known->refct++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CoarseningGiveShape(const DM_Box *fine, const PetscBool halve[3], const DM_Box *coarse)
{
  PetscFunctionBegin;
  if (!coarse->shape || coarse->degree != fine->degree || coarse->shape == fine->shape->coarser) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxShapeDestroy(&fine->shape->coarser));
  fine->shape->coarser = coarse->shape;
  coarse->shape->refct++;
  PetscCall(PetscArraycpy(fine->shape->halve, halve, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coarse cell belongs to the rank of its first fine cell; ranks may be left with none. */
PetscErrorCode DMBoxCoarsen_Private(DM dm, MPI_Comm comm, PetscBool mayfold, DM *coarse)
{
  DM_Box         *box, *c;
  DMBoxCoarsening next;
  PetscBool       lower, galerkin, halve[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  PetscInt        end;
  char            text[128];

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  lower = (PetscBool)(box->lowering == box->coarsenings);
  PetscCall(DMBoxCoarseningBegin(dm, &next));
  PetscCheck(lower || DMBoxCoarseningNext(&next, halve, &end), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Cannot coarsen %" PetscInt_FMT " cells in direction %" PetscInt_FMT
             ": there must be more than 2 in some direction, and an even "
             "number around rings and with -dm_box_space p1, around rings of dgq, rt and biharmonic a multiple of 4.  "
             "DMBoxGetNumCoarsenings() tells how many coarser levels there are; multigrid has at most one level more than that "
             "(-pc_mg_levels)",
             box->cells[end], end);
  if (mayfold) galerkin = PETSC_FALSE; /* somebody wants to know the mesh alone */
  else PetscCall(CoarseningIsGalerkin(dm, halve, &galerkin));
  PetscCall(DMBoxCreateRelative(dm, comm, coarse));
  c             = (DM_Box *)(*coarse)->data;
  c->mayfold    = mayfold;
  c->restricted = galerkin;
  c->coarsenings++;
  if (lower) {
    c->higher   = c->degree;
    c->degree   = DMBoxLeastDegree(c);
    c->lowering = -1;
    PetscCall(PetscInfo(dm, "Degree %" PetscInt_FMT " in place of %" PetscInt_FMT " on the same cells\n", c->degree, c->higher));
  }
  for (PetscInt d = 0; d < dm->dim; d++) {
    const PatchFDUnion u   = DMBoxUniteCells(box, d, halve[d]);
    const PetscBool    odd = (PetscBool)(halve[d] && box->cells[d] % 2);

    c->coupling[d] = next.coupling[d];
    c->halved[d]   = 2 * c->halved[d] + halve[d];
    c->alone[0][d] = 2 * c->alone[0][d] + u.before;
    c->alone[1][d] = 2 * c->alone[1][d] + (odd && !u.before);
    if (!halve[d]) continue;
    c->cells[d] = (c->cells[d] + 1) / 2;
    for (PetscInt p = 0; p <= c->processes[d]; p++) c->splits[d][p] = PatchFDUnionBegin(&u, c->splits[d][p]);
    if (!box->nvertices[d] && !odd) continue;
    c->nvertices[d] = c->cells[d] + 1;
    PetscCall(PetscFree(c->vertices[d]));
    PetscCall(PetscMalloc1(c->nvertices[d], &c->vertices[d]));
    for (PetscInt i = 0; i <= c->cells[d]; i++) c->vertices[d][i] = u.fine->vertices[u.fine->turn + PatchFDUnionFirst(&u, i)];
  }
  if (next.uneven && !lower) {
    PetscCall(DMBoxCoarseningDescribe(dm, halve, sizeof(text), text));
    PetscCall(PetscInfo(dm, "Semicoarsening: this coarsening halves %s\n", text));
  }
  PetscCall(CoarseningTakeShape(box, halve, c));
  PetscCall(DMSetUp(*coarse));
  PetscCall(CoarseningGiveShape(box, halve, c));
  PetscCall(DMBoxCopyOperator(dm, *coarse)); /* what needs the mesh */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMCoarsen_Box(DM dm, MPI_Comm comm, DM *coarse)
{
  PetscFunctionBegin;
  PetscCall(DMBoxCoarsen_Private(dm, comm, PETSC_FALSE, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients and coordinates changed on a fine DM reach the coarser ones whenever a solver restricts the problem. */
PetscErrorCode DMRestrictHook_Box(DM fine, PETSC_UNUSED Mat restrct, PETSC_UNUSED Vec rscale, PETSC_UNUSED Mat inject, DM coarse,
                                  PETSC_UNUSED void *ctx)
{
  PetscBool isbox;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)coarse, DMBOX, &isbox));
  if (!isbox) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxUpdateMapping(fine, coarse));
  PetscCall(DMBoxCopyOperator(fine, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of a coarse mesh lie on the finer one, but its polynomials do not: they may fold where those of the finer mesh do not */
PetscErrorCode DMBoxLimitFolded(DM dm, PetscInt *n)
{
  DM_Box *box = (DM_Box *)dm->data;
  DM      at  = dm;

  PetscFunctionBegin;
  box->folding = -1;
  if (!dm->setupcalled || !box->op->mapped || !DMBoxIsMapped(box) || box->galerkin == PETSC_BOOL3_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectReference((PetscObject)at));
  for (PetscInt l = 0; l < *n; l++) {
    DM            coarse;
    PatchFDMetric m;
    PetscInt64    first;

    PetscCall(DMBoxCoarsen_Private(at, PetscObjectComm((PetscObject)dm), PETSC_TRUE, &coarse));
    PetscCall(DMDestroy(&at));
    at = coarse;
    PetscCall(DMBoxShapeDefect(at, ((const DM_Box *)at->data)->shape, &m));
    PetscCall(DMBoxFirstDefect(at, &m, &first));
    if (first == PETSC_INT64_MAX) continue;
    PetscCall(
      PetscInfo(dm, "Coarsened %" PetscInt_FMT " of %" PetscInt_FMT " times: the next mesh has cells that fold (-pc_mg_levels)\n", l, *n));
    if (box->op->ops.contrast && box->galerkin != PETSC_BOOL3_FALSE && box->degree <= DMBOX_GALERKIN_MAX_DEGREE) {
      box->folding = box->coarsenings + l;
      break;
    }
    *n = l;
  }
  PetscCall(DMDestroy(&at));
  PetscFunctionReturn(PETSC_SUCCESS);
}
