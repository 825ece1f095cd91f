/*
  The form of a mesh on the functions of a coarser one: element-wise Galerkin operators by quadrature (PatchFDPoints).

  Functions u, v of the coarse mesh are polynomials of degree k in each direction of a coarse cell, and so they are in the fine cells that
  it consists of.  There the form is a sum, over points x, of factors G(x) times
  products of derivatives of u and v, polynomials p of degree 2 k at most.  These are known from 2 k + 1 Gauss points, p(x) = sum over g of
  L_g(x) p(x_g), so that the coarse cell has the same form with the factors

    G_g = sum over x of L_g(x) G(x)

  at its points; derivatives by the coordinates of a fine cell are its length, if that of the coarse cell is 1, times those by the
  coordinates of the coarse one.  So the matrix is
  P'AP, cell by cell, whatever K is, and costs no more than an operator with so many
  points.  G_g alone need not be positive definite.  What a fit needs is: for the polynomials l_a of degree k that are 1 at one of k + 1
  Gauss points and 0 at the others

    sum over g of l_a(x_g)^2 G_g = sum over x of l_a(x)^2 G(x)

  is a mean of G near point a, times the weight of the point.
*/
#include "cell.h"
#include "lanes.h"

/* one of the lanes' own matrices X[ni][nj] in each of them: out[o][i][s] = sum over j of X[i][j] in[o][j][s] */
static void LaneContractEach(PetscInt outer, PetscInt ni, PetscInt nj, PetscInt stride, const Lanes X[], const Lanes in[], Lanes out[])
{
  for (PetscInt o = 0; o < outer; o++, in += nj * stride) {
    for (PetscInt i = 0; i < ni; i++) {
      for (PetscInt s = 0; s < stride; s++, out++) {
        Lanes sum = {0};

        for (PetscInt j = 0; j < nj; j++)
          for (int l = 0; l < LANES; l++) sum[l] += X[i * nj + j][l] * in[j * stride + s][l];
        for (int l = 0; l < LANES; l++) (*out)[l] = sum[l];
      }
    }
  }
}

/* What it takes to go from the points of fine cells to those of coarse ones */
typedef struct {
  PetscInt dim, from, to; /* points in a direction */
  /* for each fine cell of a direction, from `first` on: its length in the coarse one, and L_g(x) [to][from] */
  PetscInt        first[3];
  PetscReal      *length[3], *L[3];
  PatchFDGeometry geometry;
  Lanes          *X, *factor, *work;
} Restriction;

PetscErrorCode PatchFDRestrictionLine(const PatchFDUnion *u, PetscInt first, PetscInt n, const PatchFDRule *fine, const PatchFDRule *coarse,
                                      PetscReal length[], PetscReal L[])
{
  const PetscInt from = fine->points, to = coarse->points;
  PetscReal     *x, *basis;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(from, &x, from * to, &basis));
  for (PetscInt c = 0; c < n; c++, L += from * to) {
    PetscReal at;

    PatchFDUnionPart(u, first + c, &at, &length[c]);
    for (PetscInt i = 0; i < from; i++) x[i] = at + length[c] * fine->x[i];
    PetscCall(PatchFDRuleBasis(coarse, from, x, basis));
    for (PetscInt i = 0; i < from * to; i++) L[i] = basis[i % from * to + i / from];
  }
  PetscCall(PetscFree2(x, basis));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestrictionCreate(const PatchFDPoints *fine, const PatchFDRange cells, const PatchFDUnion u[3], PetscInt degree,
                                        Restriction *r)
{
  PatchFDRule rule;
  PetscInt    size, matrix;

  PetscFunctionBegin;
  *r = (Restriction){.dim = fine->dim, .to = 2 * degree + 1};
  PetscCall(PatchFDGeometryCreate(fine, &r->geometry));
  PetscCall(PatchFDRuleCreate(degree, r->to, &rule));
  r->from = r->geometry.rule.points;
  matrix  = r->from * r->to;
  size    = PetscPowInt(PetscMax(r->from, r->to), r->dim) * r->geometry.nfactor;
  PetscCall(PetscMalloc3(matrix, &r->X, size, &r->factor, size, &r->work));
  for (PetscInt d = 0; d < r->dim; d++) {
    const PetscInt n = cells[d][1] - cells[d][0];

    r->first[d] = cells[d][0];
    PetscCall(PetscMalloc2(n, &r->length[d], n * matrix, &r->L[d]));
    PetscCall(PatchFDRestrictionLine(&u[d], r->first[d], n, &r->geometry.rule, &rule, r->length[d], r->L[d]));
  }
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestrictionDestroy(Restriction *r)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < r->dim; d++) PetscCall(PetscFree2(r->length[d], r->L[d]));
  PetscCall(PetscFree3(r->X, r->factor, r->work));
  PetscCall(PatchFDGeometryDestroy(&r->geometry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the factors of fine cells become their parts of the factors of the coarse ones; the result is where it says */
static const Lanes *RestrictionContract(const Restriction *r, const PetscInt cell[LANES][3])
{
  PetscInt outer = PetscPowInt(r->from, r->dim - 1), stride = r->geometry.nfactor;
  Lanes   *in = r->factor, *out = r->work;

  for (PetscInt d = 0; d < r->dim; d++) {
    for (PetscInt i = 0; i < r->from * r->to; i++)
      for (int l = 0; l < LANES; l++) r->X[i][l] = r->L[d][(cell[l][d] - r->first[d]) * r->from * r->to + i];
    LaneContractEach(outer, r->to, r->from, stride, (const Lanes *)r->X, (const Lanes *)in, out);
    outer /= r->from;
    stride *= r->to;
    in  = out;
    out = out == r->work ? r->factor : r->work;
  }
  return (const Lanes *)in;
}

/* adds the part of a fine cell, in one of the lanes */
static void RestrictionAdd(const Restriction *r, const PetscInt cell[3], const Lanes factor[], PetscInt lane, PetscReal kappa[],
                           PetscReal shift[])
{
  const PatchFDPoints *p = r->geometry.p;
  PetscReal            length[3], scale[6];
  PetscInt             next = 0;

  for (PetscInt d = 0; d < r->dim; d++) length[d] = r->length[d][cell[d] - r->first[d]];
  for (PetscInt a = 0; a < r->dim; a++)
    for (PetscInt b = a; b < r->dim; b++) scale[next++] = length[a] * length[b];
  for (PetscInt g = 0; g < PetscPowInt(r->to, r->dim); g++, factor += r->geometry.nfactor) {
    for (PetscInt i = 0; i < next && p->nkappa; i++) kappa[g * next + i] += scale[i] * factor[i][lane];
    if (shift) shift[g] += factor[r->geometry.nfactor - 1][lane];
  }
}

/* cell `number` of a range, x fastest, and the number of the coarse one that it is in */
static void CellPlace(const PatchFDRange cells, PetscCount number, PetscInt cell[3])
{
  for (int d = 0; d < 3; d++) {
    const PetscInt n = PetscMax(1, cells[d][1] - cells[d][0]);

    cell[d] = cells[d][0] + (PetscInt)(number % n);
    number /= n;
  }
}

static PetscCount CoarseNumber(const PatchFDRange coarse, const PatchFDUnion u[3], const PetscInt cell[3])
{
  PetscCount number = 0;

  for (int d = 2; d >= 0; d--) number = number * (coarse[d][1] - coarse[d][0]) + PatchFDUnionCell(&u[d], cell[d]) - coarse[d][0];
  return number;
}

PetscErrorCode PatchFDHostRestrict(const PatchFDPoints *fine, PETSC_UNUSED const PatchFDBox *nodes, const PatchFDRange cells,
                                   const PatchFDUnion u[3], const PatchFDRange coarse, PetscInt degree, PetscReal kappa[],
                                   PetscReal shift[])
{
  const PetscInt   full   = fine->dim * (fine->dim + 1) / 2;
  const PetscCount npoint = PetscPowInt(2 * degree + 1, fine->dim);
  Restriction      r;

  PetscFunctionBegin;
  PetscCall(RestrictionCreate(fine, cells, u, degree, &r));
  if (kappa) PetscCall(PetscArrayzero(kappa, PatchFDRangeSize(coarse) * npoint * full));
  if (shift) PetscCall(PetscArrayzero(shift, PatchFDRangeSize(coarse) * npoint));
  for (PetscCount first = 0; first < fine->ncells; first += LANES) {
    PetscInt     cell[LANES][3];
    const Lanes *part;

    for (PetscCount l = 0; l < LANES; l++) CellPlace(cells, PetscMin(first + l, fine->ncells - 1), cell[l]);
    PetscCall(PatchFDGeometryCells(&r.geometry, first, r.factor));
    part = RestrictionContract(&r, (const PetscInt(*)[3])cell);
    for (PetscInt l = 0; l < LANES && first + l < fine->ncells; l++) {
      const PetscCount number = CoarseNumber(coarse, u, cell[l]);

      RestrictionAdd(&r, cell[l], part, l, kappa ? kappa + number * npoint * full : NULL, shift ? shift + number * npoint : NULL);
    }
  }
  PetscCall(RestrictionDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* out[cell][point][n] = the product of X[to][from] in all directions with in[cell][point][n] */
static PetscErrorCode ContractCells(PetscInt dim, PetscInt n, PetscInt to, PetscInt from, const PetscReal X[], PetscCount ncells,
                                    const PetscReal in[], PetscReal out[])
{
  const PetscInt size[2] = {n * PetscPowInt(from, dim), n * PetscPowInt(to, dim)}, room = PetscMax(size[0], size[1]);
  PetscReal     *work;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * room, &work));
  for (PetscCount c = 0; c < ncells; c++) {
    const PetscReal *x     = in + c * size[0];
    PetscInt         outer = PetscPowInt(from, dim - 1), stride = n;

    for (PetscInt d = 0; d < dim; d++, outer /= from, stride *= to) {
      PetscReal *y = d == dim - 1 ? out + c * size[1] : work + d % 2 * room;

      Contract(outer, to, from, stride, X, from, 1, x, y);
      x = y;
    }
  }
  PetscCall(PetscFree(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostPositiveCreate(const PatchFDPoints *points, PatchFDPoints *positive)
{
  const PetscInt   n = points->degree + 1, c = points->gauss;
  const PetscCount all = points->ncells * PetscPowInt(n, points->dim);
  PatchFDRule      rule, few;
  PetscReal       *X, *kappa, *shift, *side;

  PetscFunctionBegin;
  *positive       = *points;
  positive->gauss = n;
  PetscCall(PatchFDRuleCreate(points->degree, c, &rule));
  PetscCall(PatchFDRuleCreate(points->degree, n, &few));
  PetscCall(PetscMalloc1(n * c, &X));
  PetscCall(PetscMalloc2(points->nkappa * all, &kappa, points->shift ? all : 0, &shift));
  for (PetscInt g = 0; g < c; g++) {
    PetscReal l[PATCHFD_POINTS_MAX_DEGREE + 1];

    PetscCall(PatchFDRuleBasis(&few, 1, &rule.x[g], l));
    for (PetscInt a = 0; a < n; a++) X[a * c + g] = l[a] * l[a];
  }
  if (points->nkappa) PetscCall(ContractCells(points->dim, points->nkappa, n, c, X, points->ncells, points->kappa, kappa));
  if (points->shift) PetscCall(ContractCells(points->dim, 1, n, c, X, points->ncells, points->shift, shift));
  positive->kappa = kappa;
  positive->shift = points->shift ? shift : NULL;
  for (PetscInt s = 0; s < 6; s++) { /* means will do */
    const PetscInt size = PetscPowInt(c, points->dim - 1), less = PetscPowInt(n, points->dim - 1);

    if (!points->side[s]) continue;
    PetscCall(PetscCalloc1(PatchFDSideSize(positive, s), &side));
    for (PetscCount i = 0; i < PatchFDSideSize(points, s); i++) side[i / size * less] += points->side[s][i] / less;
    for (PetscCount i = 0; i < PatchFDSideSize(positive, s); i++) side[i] = side[i / less * less];
    positive->side[s] = side;
  }
  PetscCall(PetscFree(X));
  PetscCall(PatchFDRuleDestroy(&few));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostPositiveDestroy(PatchFDPoints *positive)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(positive->kappa, positive->shift));
  for (int s = 0; s < 6; s++) PetscCall(PetscFree(positive->side[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sum over the points of a cell, of the trace of K with their weights */
static PetscReal MeanTrace(const PatchFDPoints *p, const PatchFDRule *rule, PetscCount cell)
{
  const PetscInt   c = rule->points, npoint = PetscPowInt(c, p->dim);
  const PetscReal *k   = p->kappa + cell * npoint * p->nkappa;
  PetscReal        sum = 0;

  for (PetscInt q = 0; q < npoint; q++, k += p->nkappa) {
    const PetscReal weight = rule->w[q % c] * rule->w[q / c % c] * (p->dim == 3 ? rule->w[q / c / c] : 1);
    PetscReal       trace  = 0;

    for (PetscInt a = 0, next = 0; a < (p->nkappa == 1 ? 1 : p->dim); next += p->dim - a++) trace += k[next];
    sum += weight * trace;
  }
  return sum;
}

PetscErrorCode PatchFDHostContrast(const PatchFDPoints *fine, const PatchFDRange cells, const PatchFDUnion u[3], const PatchFDRange coarse,
                                   PetscReal *contrast)
{
  const PetscCount n = PatchFDRangeSize(coarse);
  PatchFDRule      rule;
  PetscReal       *lo, *hi;

  PetscFunctionBegin;
  PetscCall(PatchFDRuleCreate(fine->degree, fine->gauss, &rule));
  PetscCall(PetscMalloc2(n, &lo, n, &hi));
  for (PetscCount i = 0; i < n; i++) {
    lo[i] = PETSC_MAX_REAL;
    hi[i] = 0;
  }
  for (PetscCount i = 0; i < fine->ncells; i++) {
    const PetscReal mean = MeanTrace(fine, &rule, i);
    PetscInt        cell[3];
    PetscCount      number;

    CellPlace(cells, i, cell);
    number     = CoarseNumber(coarse, u, cell);
    lo[number] = PetscMin(lo[number], mean);
    hi[number] = PetscMax(hi[number], mean);
  }
  for (PetscCount i = 0; i < n; i++) *contrast = PetscMax(*contrast, hi[i] / lo[i]);
  PetscCall(PetscFree2(lo, hi));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}
