/*
  Coefficients at the points of the cells of a DMPLEX: numbers of cells, functions of the user's, or the pointwise functions of the Jacobian
  of its PetscDS.
*/
#include <patchfd/private/compat.h>
#include <patchfd/private/plexpoints.h>
#include <petscds.h>

typedef void PointJacobian(PetscInt, PetscInt, PetscInt, const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                           const PetscScalar[], const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                           const PetscScalar[], PetscReal, PetscReal, const PetscReal[], PetscInt, const PetscScalar[], PetscScalar[]);

/* ---- coefficients of a cell ---- */

/* the upper triangle of K from n numbers: one, those of a diagonal, or all */
static void FillNumbers(PetscInt dim, PetscInt n, const PetscReal k[], PetscReal K[])
{
  for (PetscInt a = 0, next = 0; a < dim; a++)
    for (PetscInt b = a; b < dim; b++, next++) K[next] = n > dim ? k[next] : (a == b ? k[n == 1 ? 0 : a] : 0);
}

static PetscErrorCode CellFunction(const PlexCoefficients *c, const PlexPoints *p, PetscReal kappa[], PetscReal shift[])
{
  const PetscInt full = p->dim * (p->dim + 1) / 2;

  PetscFunctionBegin;
  for (PetscInt q = 0; q < p->npoint; q++) {
    PetscReal x[3], k[6] = {0}, s = 0;

    PlexPointsPlace(p, q, x, NULL);
    PetscCall((*c->K)(p->dim, 0, x, c->n, k, c->ctx));
    if (c->shift) PetscCall((*c->shift)(p->dim, 0, x, 1, &s, c->ctx));
    FillNumbers(p->dim, c->n, k, kappa + q * full);
    shift[q] = s;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of all cells */
static PetscErrorCode CellNumbers(const PlexCoefficients *c, const PlexCells *cells, PetscInt npoint, PlexPointValues *v)
{
  const PetscInt     full  = cells->dim * (cells->dim + 1) / 2;
  const PetscScalar *shift = NULL, *K;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(c->cellK, &K));
  if (c->cellshift) PetscCall(VecGetArrayRead(c->cellshift, &shift));
  for (PetscCount i = 0; i < cells->ncells * npoint; i++) {
    FillNumbers(cells->dim, c->n, K + i / npoint * c->n, v->kappa + i * full);
    v->shift[i] = shift ? shift[i / npoint] : 0;
  }
  if (c->cellshift) PetscCall(VecRestoreArrayRead(c->cellshift, &shift));
  PetscCall(VecRestoreArrayRead(c->cellK, &K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointsCheckBlocks(PetscInt cell, PetscInt nc, PetscInt size, const PetscScalar x[])
{
  const PetscReal tolerance = 1e-10;
  PetscReal       largest   = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nc * nc * size; i++) largest = PetscMax(largest, PetscAbsScalar(x[i]));
  for (PetscInt i = 0; i < nc * nc * size; i++) {
    const PetscInt    row = i / size / nc, col = i / size % nc;
    const PetscScalar wanted = row == col ? x[i % size] : 0;

    PetscCheck(PetscAbsScalar(x[i] - wanted) <= tolerance * largest, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The Jacobian of the PetscDS couples components, in cell %" PetscInt_FMT
               "; it has to be the same for each of the %" PetscInt_FMT " components",
               cell, nc);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K[full] from g3[dim][dim] */
static PetscErrorCode CheckTensor(PetscInt cell, PetscInt dim, const PetscScalar g[], PetscReal K[])
{
  const PetscReal tolerance = 1e-10;

  PetscFunctionBegin;
  for (PetscInt a = 0, next = 0; a < dim; a++) {
    for (PetscInt b = a; b < dim; b++, next++) {
      const PetscReal up = PetscRealPart(g[a * dim + b]), low = PetscRealPart(g[b * dim + a]);

      PetscCheck(PetscAbsReal(up - low) <= tolerance * PetscMax(PetscAbsScalar(g[a * dim + a]), PetscAbsScalar(g[b * dim + b])),
                 PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "g3 of the Jacobian of the PetscDS is not symmetric in cell %" PetscInt_FMT ": entries %g and %g", cell, (double)up,
                 (double)low);
      K[next] = (up + low) / 2;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the pointwise functions are called with at a point, but for what they fill in */
#define JACOBIAN_AT(g, out) \
  (*g)(p->dim, 1, p->naux, uoff, uoffx, p->u, p->zero, p->u + nc, p->aoff, p->aoffx, p->a, NULL, p->ax, c->time, c->shift_t, x, nconstant, \
       constants, out)

/* g0 and g3, and the g0 of what is multiplied with the derivative in time */
typedef struct {
  PointJacobian *g0, *g3, *g0t;
} Jacobian;

static PetscErrorCode GetJacobian(const PlexCoefficients *c, PetscInt cell, PetscDS *ds, Jacobian *j)
{
  PetscBool      own;
  PointJacobian *g1 = NULL, *g2 = NULL, *more[3] = {NULL};

  PetscFunctionBegin;
  PetscCall(DMGetCellDS(c->dm, cell, ds, NULL));
  PetscCall(PetscDSHasJacobianPreconditioner(*ds, &own));
  if (own && !c->exact) PetscCall(PetscDSGetJacobianPreconditioner(*ds, 0, 0, &j->g0, &g1, &g2, &j->g3));
  else PetscCall(PetscDSGetJacobian(*ds, 0, 0, &j->g0, &g1, &g2, &j->g3));
  PetscCall(PetscDSGetDynamicJacobian(*ds, 0, 0, &j->g0t, &more[0], &more[1], &more[2]));
  PetscCheck(j->g3, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The PetscDS of cell %" PetscInt_FMT " has no g3, the derivative of fluxes by gradients: PetscDSSetJacobian()", cell);
  if (!c->exact) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 3; i++)
    PetscCheck(!g1 && !g2 && !more[i], PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The Jacobian of the PetscDS has more than g0 and g3: terms with first derivatives, which the matrix-free operator "
               "does not have.  Assemble it, or use -snes_mf_operator");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellJacobian(const PlexCoefficients *c, const PlexCells *cells, PetscCount i, PlexPoints *p, PetscReal kappa[],
                                   PetscReal shift[])
{
  const PetscInt     dim = p->dim, full = dim * (dim + 1) / 2, nc = p->solution.copies, cell = cells->cell[i];
  PetscInt          *uoff, *uoffx, nconstant;
  const PetscScalar *constants;
  Jacobian           j;
  PetscDS            ds;

  PetscFunctionBegin;
  PetscCall(GetJacobian(c, cell, &ds, &j));
  PetscCall(PetscDSGetConstants(ds, &nconstant, &constants));
  PetscCall(PetscDSGetComponentOffsets(ds, &uoff));
  PetscCall(PetscDSGetComponentDerivativeOffsets(ds, &uoffx));
  PetscCall(PlexPointsGetFields(c, cells, i, p));
  for (PetscInt q = 0; q < p->npoint; q++) {
    PetscScalar g[PLEX_MAX_COMPONENTS * PLEX_MAX_COMPONENTS * 9] = {0}, s[PLEX_MAX_COMPONENTS * PLEX_MAX_COMPONENTS] = {0},
                                                              t[PLEX_MAX_COMPONENTS * PLEX_MAX_COMPONENTS] = {0};
    PetscReal x[3], invJ[3][3];

    PlexPointsEvaluate(p, q, x, invJ);
    JACOBIAN_AT(j.g3, g);
    if (j.g0) JACOBIAN_AT(j.g0, s);
    if (j.g0t) {
      JACOBIAN_AT(j.g0t, t);
      for (PetscInt k = 0; k < nc * nc; k++) s[k] += c->shift_t * t[k];
    }
    PetscCall(PlexPointsCheckBlocks(cell, nc, dim * dim, g));
    PetscCall(PlexPointsCheckBlocks(cell, nc, 1, s));
    PetscCall(CheckTensor(cell, dim, g, kappa + q * full));
    shift[q] = PetscRealPart(s[0]);
  }
  PetscCall(PlexPointsRestoreFields(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all cells ---- */

/* the leading minors of K / trace K, which do not overflow: K is positive definite where they, and the trace, are positive numbers */
static PetscReal Minors(PetscInt dim, const PetscReal k[], PetscReal minor[3])
{
  const PetscInt  yy    = dim == 2 ? 2 : 3;
  const PetscReal trace = k[0] + k[yy] + (dim == 3 ? k[5] : 0);
  PetscReal       K[6];

  for (PetscInt i = 0; i < dim * (dim + 1) / 2; i++) K[i] = k[i] / trace;
  minor[0] = K[0];
  minor[1] = minor[2] = K[0] * K[yy] - K[1] * K[1];
  if (dim == 3) minor[2] = K[2] * (K[1] * K[4] - K[yy] * K[2]) - K[4] * (K[0] * K[4] - K[1] * K[2]) + K[5] * minor[1];
  return trace;
}

static PetscBool IsPositive(PetscReal trace, const PetscReal minor[3])
{
  return (PetscBool)(trace > 0 && trace < PETSC_MAX_REAL && minor[0] > 0 && minor[1] > 0 && minor[2] > 0);
}

/* K + least I where K is not as large in all directions; a multiple of I where K is not positive, as at folds of an energy */
static void RaiseTensor(PetscInt dim, PetscReal least, PetscReal K[])
{
  const PetscInt diagonal[3] = {0, dim == 2 ? 2 : 3, 5};
  PetscReal      m[3], trace = Minors(dim, K, m);

  /* the smallest eigenvalue is at least det / (trace / (dim - 1))^(dim - 1) */
  if (IsPositive(trace, m)) {
    if (m[2] * trace * PetscPowRealInt((PetscReal)(dim - 1), dim - 1) > least) return;
  } else {
    for (PetscInt k = 0; k < dim * (dim + 1) / 2; k++) K[k] = 0;
    for (PetscInt d = 0; d < dim; d++) K[diagonal[d]] = PetscMax(0, trace) / (PetscReal)dim;
  }
  for (PetscInt d = 0; d < dim; d++) K[diagonal[d]] += least;
}

static PetscErrorCode Raise(MPI_Comm comm, PetscInt dim, PetscCount n, PetscReal floor, PetscReal kappa[])
{
  const PetscInt full    = dim * (dim + 1) / 2;
  PetscReal      largest = 0;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < n * full; i++) largest = PetscMax(largest, PetscAbsReal(kappa[i]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPI_MAX, comm));
  for (PetscCount i = 0; i < n && largest > 0; i++) RaiseTensor(dim, floor * largest, kappa + i * full);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all K positive definite, or an error, before which the values are freed */
static PetscErrorCode CheckPositive(const PlexCells *cells, PetscInt npoint, PlexPointValues *v)
{
  const PetscInt dim = cells->dim, full = dim * (dim + 1) / 2;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < cells->ncells * npoint; i++) {
    const PetscReal k = v->kappa[i * full];
    PetscReal       m[3];

    if (IsPositive(Minors(dim, v->kappa + i * full, m), m)) continue;
    PetscCall(PlexPointValuesDestroy(v));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
            "K is %g, ... in cell %" PetscInt_FMT " of the DMPLEX; it has to be positive definite", (double)k, cells->cell[i / npoint]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is K one number at all points, and is it, and the shift, the same at all of them?  Then that is what there is of them */
static PetscErrorCode Simplify(MPI_Comm comm, PetscInt dim, PetscCount n, PlexPointValues *v)
{
  const PetscInt full     = dim * (dim + 1) / 2;
  PetscInt       is[4]    = {1, 1, 1, 1}; /* one number, constant K, constant shift, no shift */
  PetscReal      first[7] = {0}, most[7];

  PetscFunctionBegin;
  v->leastshift = PETSC_MAX_REAL;
  for (PetscCount i = 0; i < n; i++) {
    v->leastshift = PetscMin(v->leastshift, v->shift[i]);
    for (PetscInt a = 0, next = 0; a < dim; a++)
      for (PetscInt b = a; b < dim; b++, next++) is[0] &= v->kappa[i * full + next] == (a == b ? v->kappa[i * full] : 0);
    for (PetscInt k = 0; k < full; k++) is[1] &= v->kappa[i * full + k] == v->kappa[k];
    is[2] &= v->shift[i] == v->shift[0];
    is[3] &= v->shift[i] == 0;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 4, MPIU_INT, MPI_MIN, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &v->leastshift, 1, MPIU_REAL, MPI_MIN, comm));
  /* ranks without cells have no numbers of their own: the largest of all ranks' are everybody's, if they are constants */
  for (PetscInt k = 0; k < 7; k++) first[k] = n ? (k < full ? v->kappa[k] : (k == 6 ? v->shift[0] : 0)) : PETSC_MIN_REAL;
  PetscCallMPI(MPIU_Allreduce(first, most, 7, MPIU_REAL, MPI_MAX, comm));
  for (PetscInt k = 0; k < 7 && n; k++) {
    if (first[k] != most[k] && k < 6) is[1] = 0;
    if (first[k] != most[k] && k == 6) is[2] = 0;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 3, MPIU_INT, MPI_MIN, comm));
  v->nkappa        = is[0] ? 1 : full;
  v->kappaconstant = (PetscBool)is[1];
  v->shiftconstant = (PetscBool)is[2];
  for (PetscCount i = 0; i < n && is[0]; i++) v->kappa[i] = v->kappa[i * full];
  for (PetscInt k = 0; k < v->nkappa && is[1]; k++) v->kappa[k] = most[k];
  if (is[2]) v->shift[0] = most[6];
  PetscCall(PetscRealloc((size_t)(is[1] ? v->nkappa : n * v->nkappa + 1) * sizeof(PetscReal), &v->kappa));
  if (is[3]) PetscCall(PetscFree(v->shift));
  else if (is[2]) PetscCall(PetscRealloc(sizeof(PetscReal), &v->shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCoefficientsDestroy(PlexCoefficients *c)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&c->local));
  PetscCall(VecDestroy(&c->cellK));
  PetscCall(VecDestroy(&c->cellshift));
  PetscCall(DMDestroy(&c->dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointValuesDestroy(PlexPointValues *v)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(v->kappa));
  PetscCall(PetscFree(v->shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointValuesCreate(const PlexCoefficients *c, const PlexCells *cells, PetscInt gauss, PlexPointValues *v)
{
  const PetscInt full = cells->dim * (cells->dim + 1) / 2;
  PlexPoints     p;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(v, sizeof(*v)));
  PetscCall(PlexPointsCreate(c, cells, gauss, -1, &p));
  PetscCall(PetscMalloc1(cells->ncells * p.npoint * full + full, &v->kappa));
  PetscCall(PetscMalloc1(cells->ncells * p.npoint + 1, &v->shift));
  if (c->cellK) PetscCall(CellNumbers(c, cells, p.npoint, v));
  for (PetscCount i = 0; i < cells->ncells && !c->cellK; i++) {
    PetscReal *kappa = v->kappa + i * p.npoint * full, *shift = v->shift + i * p.npoint;

    PetscCall(PlexPointsGoTo(cells, i, &p));
    if (c->n) PetscCall(CellFunction(c, &p, kappa, shift));
    else PetscCall(CellJacobian(c, cells, i, &p, kappa, shift));
  }
  if (c->floor > 0) PetscCall(Raise(PetscObjectComm((PetscObject)c->dm), cells->dim, cells->ncells * p.npoint, c->floor, v->kappa));
  PetscCall(PlexPointsDestroy(&p));
  PetscCall(CheckPositive(cells, p.npoint, v));
  PetscCall(Simplify(PetscObjectComm((PetscObject)c->dm), cells->dim, cells->ncells * p.npoint, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Between(PetscReal a, PetscReal b, PetscReal t)
{
  return a + t * (b - a);
}

PetscErrorCode PlexCellsAddValues(DM dm, const PlexCells *cells, DMBoxFunctionFn *f, void *ctx, PetscScalar u[])
{
  const PetscInt corners = 1 << cells->dim, k = cells->ncomp, N = cells->degree;
  PlexPoints     p;

  PetscFunctionBegin;
  PetscCall(PlexPointsCreate(&(PlexCoefficients){.dm = dm, .n = 1}, cells, 0, -1, &p));
  for (PetscCount i = 0; i < cells->ncells; i++) {
    const PetscInt *node = cells->index + i * cells->size;
    PetscReal       x[3], value[8][PLEX_MAX_COMPONENTS], end[2][PLEX_MAX_COMPONENTS];

    PetscCall(PlexPointsGoTo(cells, i, &p));
    for (PetscInt c = 0; c < corners; c++) {
      PlexPointsPlace(&p, (c & 1) * N + ((c >> 1 & 1) + (c >> 2 & 1) * (N + 1)) * N * (N + 1), x, NULL);
      PetscCall((*f)(p.dim, 0, x, k, value[c], ctx));
    }
    for (PetscInt q = 0; q < cells->size; q++) {
      const PetscInt  at[3] = {q % (N + 1), q / (N + 1) % (N + 1), q / (N + 1) / (N + 1)};
      const PetscReal t[3]  = {(PetscReal)at[0] / N, (PetscReal)at[1] / N, (PetscReal)at[2] / N};

      for (PetscInt a = 0; a < k; a++) {
        for (PetscInt c = 0; c < 2 && !at[0]; c++) { /* the ends of a line of nodes */
          end[c][a] = Between(value[c][a], value[c + 2][a], t[1]);
          if (cells->dim == 3) end[c][a] = Between(end[c][a], Between(value[c + 4][a], value[c + 6][a], t[1]), t[2]);
        }
        if (node[q] >= 0) u[node[q] * k + a] += Between(end[0][a], end[1][a], t[0]);
      }
    }
  }
  PetscCall(PlexPointsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
