/*
  Conditions K du/dn + h u = g at sides of the cells of a DMPLEX: the terms h u v of the operator, from functions of the user's and from the
  g0 of the boundary conditions of a PetscDS.  Operators see each side as a cell of its own with a mass matrix: nodes that are not of the
  side are not there, and the points next to it have such factors that their sum is the integral over the side.
*/
#include <patchfd/private/compat.h>
#include <patchfd/private/plexpoints.h>
#include <petscds.h>

typedef void SideJacobian(PetscInt, PetscInt, PetscInt, const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                          const PetscScalar[], const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                          const PetscScalar[], PetscReal, PetscReal, const PetscReal[], const PetscReal[], PetscInt, const PetscScalar[],
                          PetscScalar[]);

/* h on the faces that a label has with a value: a function, or g0 */
typedef struct {
  DMLabel          label;
  PetscInt         value;
  DMBoxFunctionFn *h;
  void            *ctx;
  SideJacobian    *g0;
} Condition;

/* ---- which sides ---- */

/* the conditions of the PetscDS that are in its Jacobian; n is their number, and c may be NULL */
static PetscErrorCode GetConditions(const PlexCoefficients *from, PetscInt *n, Condition c[])
{
  PetscInt  nboundary;
  PetscBool own;
  PetscDS   ds;

  PetscFunctionBegin;
  PetscCall(DMGetDS(from->dm, &ds));
  PetscCall(PetscDSHasBdJacobianPreconditioner(ds, &own));
  PetscCall(PetscDSGetNumBoundary(ds, &nboundary));
  for (PetscInt b = 0; b < nboundary; b++) {
    PetscWeakForm           wf;
    DMBoundaryConditionType type;
    DMLabel                 label;
    PetscInt                nvalue, count[4];
    const PetscInt         *value;
    SideJacobian          **g[4];

    PetscCall(PetscDSGetBoundary(ds, b, &wf, &type, NULL, &label, &nvalue, &value, NULL, NULL, NULL, NULL, NULL, NULL));
    for (PetscInt v = 0; v < nvalue && !(type & DM_BC_ESSENTIAL); v++) {
      PetscCall((*(own && !from->exact ? PetscWeakFormGetBdJacobianPreconditioner
                                       : PetscWeakFormGetBdJacobian))(wf, label, value[v], 0, 0, 0, &count[0], &g[0], &count[1], &g[1],
                                                                      &count[2], &g[2], &count[3], &g[3]));
      PetscCheck(!from->exact || count[1] + count[2] + count[3] == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "The boundary Jacobian of the PetscDS has more than g0: terms with derivatives, which the matrix-free operator does not "
                 "have.  Assemble it, or use -snes_mf_operator");
      for (PetscInt k = 0; k < count[0]; k++, (*n)++)
        if (c) c[*n] = (Condition){.label = label, .value = value[v], .g0 = g[0][k]};
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the number of a face among the sides of its cell, if this rank owns that; otherwise -1 */
static PetscErrorCode FindSide(DM dm, const PlexCells *cells, PetscInt face, PetscInt *side)
{
  static const PetscInt quad[4] = {2, 1, 3, 0}, hex[6] = {4, 5, 2, 3, 1, 0}; /* in the order of a cell's cone */
  PetscInt              first, end, size, ncells, at = -1;
  const PetscInt       *cell, *cone;

  PetscFunctionBegin;
  *side = -1;
  PetscCall(DMPlexGetHeightStratum(dm, 1, &first, &end));
  if (face < first || face >= end) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMPlexGetSupport(dm, face, &cell));
  PetscCall(PetscIntCast(cells->ncells, &ncells));
  PetscCall(PetscFindInt(*cell, ncells, cells->cell, &at));
  if (at < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMPlexGetConeSize(dm, *cell, &size));
  PetscCall(DMPlexGetCone(dm, *cell, &cone));
  for (PetscInt i = 0; i < size; i++)
    if (cone[i] == face) *side = at * size + (size == 6 ? hex : quad)[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbers of a side ---- */

/* the normal outwards, and the area of the side by that of PETSc's reference cell */
static PetscReal Normal(PetscInt dim, PetscInt side, const PetscReal invJ[3][3], PetscReal normal[3])
{
  const PetscReal *row = invJ[side / 2];
  PetscReal        det = 0, length = 0;

  for (int i = 0; i < 3; i++)
    det += invJ[0][i] * (invJ[1][(i + 1) % 3] * invJ[2][(i + 2) % 3] - invJ[1][(i + 2) % 3] * invJ[2][(i + 1) % 3]);
  for (PetscInt a = 0; a < dim; a++) length += PetscSqr(row[a]);
  length = PetscSqrtReal(length);
  for (PetscInt a = 0; a < dim; a++) normal[a] = (side % 2 ? 1 : -1) * row[a] / length;
  return length / det;
}

/* h at a point; x is where it is */
static PetscErrorCode Evaluate(const Condition *c, const PlexCoefficients *from, PetscInt cell, PlexPoints *p, const PetscReal x[],
                               const PetscReal normal[], PetscReal *h)
{
  const PetscInt     nc                                           = p->solution.copies;
  PetscScalar        g[PLEX_MAX_COMPONENTS * PLEX_MAX_COMPONENTS] = {0};
  PetscInt          *uoff, *uoffx, nconstant;
  const PetscScalar *constants;
  PetscDS            ds;

  PetscFunctionBegin;
  *h = 0;
  if (c->h) {
    PetscCall((*c->h)(p->dim, 0, x, 1, h, c->ctx));
    PetscCheck(*h >= 0 && *h < PETSC_MAX_REAL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "h is %g at a side of cell %" PetscInt_FMT " of the DMPLEX; it has to be 0 or more", (double)*h, cell);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMGetCellDS(from->dm, cell, &ds, NULL));
  PetscCall(PetscDSGetConstants(ds, &nconstant, &constants));
  PetscCall(PetscDSGetComponentOffsets(ds, &uoff));
  PetscCall(PetscDSGetComponentDerivativeOffsets(ds, &uoffx));
  (*c->g0)(p->dim, 1, p->naux, uoff, uoffx, p->u, p->zero, p->u + nc, p->aoff, p->aoffx, p->a, NULL, p->ax, from->time, from->shift_t, x,
           normal, nconstant, constants, g);
  PetscCall(PlexPointsCheckBlocks(cell, nc, 1, g));
  *h = PetscRealPart(g[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nodes and factors of a side */
static PetscErrorCode SetSide(const Condition *c, const PlexCoefficients *from, const PlexCells *cells, PetscInt number, PlexPoints *p,
                              PlexSides *s)
{
  const PetscInt  side = number % (2 * cells->dim), cell = number / (2 * cells->dim), d = side / 2, e = side % 2, n = cells->degree + 1;
  const PetscInt  m = p->rule.points, near = e ? m - 1 : 0, stride = PetscPowInt(n, d);
  const PetscReal basis = p->rule.B[near * n + e * (n - 1)];
  PetscInt       *index = s->index + s->n * cells->size;
  PetscReal      *value = s->value + s->n * PetscPowInt(m, cells->dim);

  PetscFunctionBegin;
  for (PetscInt i = 0; i < cells->size; i++) index[i] = i / stride % n == e * (n - 1) ? cells->index[cell * cells->size + i] : -1;
  PetscCall(PlexPointsGoTo(cells, cell, p));
  if (c->g0) PetscCall(PlexPointsGetFields(from, cells, cell, p));
  s->side[s->n] = number;
  s->mean[s->n] = 0;
  for (PetscInt q = 0; q < p->npoint; q++) {
    const PetscInt at[3] = {q % p->c[0], q / p->c[0] % p->c[1], q / p->c[0] / p->c[1]};
    PetscReal      x[3], normal[3], invJ[3][3], weight, h;
    PetscInt       point = 0;

    if (c->g0) PlexPointsEvaluate(p, q, x, invJ);
    else PlexPointsPlace(p, q, x, invJ);
    weight = PetscPowRealInt(2, cells->dim - 1) * Normal(cells->dim, side, (const PetscReal(*)[3])invJ, normal);
    for (PetscInt a = cells->dim - 1; a >= 0; a--) {
      if (a != d) weight *= p->rule.w[at[a]];
      point = point * m + (a == d ? near : at[a]);
    }
    PetscCall(Evaluate(c, from, cells->cell[cell], p, x, normal, &h));
    value[point] = weight * h / PetscSqr(basis);
    s->mean[s->n] += weight * h;
    s->least = PetscMin(s->least, h);
  }
  if (c->g0) PetscCall(PlexPointsRestoreFields(p));
  s->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all sides ---- */

PetscErrorCode PlexRobinDestroy(PlexRobin *r)
{
  PetscFunctionBegin;
  PetscCall(DMLabelDestroy(&r->label));
  PetscCall(PetscFree(r->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexSidesDestroy(PlexSides *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(s->side, s->index, s->value, s->mean));
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetSides(const Condition *c, const PlexCoefficients *from, const PlexCells *cells, DM dm, PlexPoints points[],
                               PlexSides *s)
{
  const PetscInt *face;
  PetscInt        n, number;
  IS              is;

  PetscFunctionBegin;
  PetscCall(DMLabelGetStratumIS(c->label, c->value, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ISGetLocalSize(is, &n));
  PetscCall(ISGetIndices(is, &face));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(FindSide(dm, cells, face[i], &number));
    if (number >= 0) PetscCall(SetSide(c, from, cells, number, &points[number % (2 * cells->dim)], s));
  }
  PetscCall(ISRestoreIndices(is, &face));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexSidesCreate(const PlexRobin *robin, const PlexCoefficients *from, DM dm, const PlexCells *cells, PetscInt gauss,
                               PlexSides *s)
{
  const PetscInt   most = PetscPowInt(gauss, cells->dim);
  const PetscBool  ds   = (PetscBool)(from->dm && !from->n);
  PlexCoefficients what = *from;
  PlexPoints       points[6];
  PetscInt         n = 0, nface = 0, size;
  Condition       *c;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  if (!from->dm) what.n = 1; /* points alone */
  if (ds) PetscCall(GetConditions(from, &n, NULL));
  PetscCall(PetscMalloc1(n + robin->n, &c));
  for (n = 0; n < robin->n; n++) c[n] = (Condition){.label = robin->label, .value = robin->value[n], .h = robin->h, .ctx = robin->ctx};
  if (ds) PetscCall(GetConditions(from, &n, c));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(DMLabelGetStratumSize(c[i].label, c[i].value, &size));
    nface += size;
  }
  PetscCall(PetscCalloc4(nface, &s->side, nface * cells->size, &s->index, nface * most, &s->value, nface, &s->mean));
  for (PetscInt i = 0; i < 2 * cells->dim && n; i++) PetscCall(PlexPointsCreate(&what, cells, gauss, i, &points[i])); /* on all ranks */
  for (PetscInt i = 0; i < n; i++) PetscCall(SetSides(&c[i], &what, cells, dm, points, s));
  for (PetscInt i = 0; i < 2 * cells->dim && n; i++) PetscCall(PlexPointsDestroy(&points[i]));
  PetscCall(PetscFree(c));
  s->any = (PetscBool)(s->n > 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s->any, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)dm)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s->least, 1, MPIU_REAL, MPI_MIN, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
