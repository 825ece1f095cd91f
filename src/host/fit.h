/*
  Local solvers that are fitted to each patch (patchfd/private/fit.h).  A batch is VL patches of equal size; where their matrices differ
  they are stored with one patch in each lane.
*/
#pragma once
#include "fitfactor.h"
#include "operator.h"
#include <math.h>

typedef struct {
  PetscCount           first; /* patches first .. first + count - 1 */
  int                  count;
  const PatchFDFitRun *run;
  PetscInt             node[3][VL]; /* the first one of each patch */
  Coef                 record[3];
  const V             *g;
  PetscBool            exact;
  V                   *factor, *rows; /* then; fitfactor.h */
  const FitBoundary   *boundary;
} FitBatch;

enum {
  FIT_KINDS = PATCHFD_FIT_MAX_KINDS * PATCHFD_FIT_MAX_KINDS * PATCHFD_FIT_MAX_KINDS
};

typedef struct {
  PatchFDFit  *desc;
  PetscReal   *g, *numbers; /* of all patches, and all records */
  FitBatch    *batch;
  PetscCount   nbatch, *at; /* batches of group i: at[i] .. at[i + 1] - 1 */
  REAL        *records;     /* of matrices that whole batches share */
  V           *lanes;       /* of the others, and g */
  REAL        *r, *z;       /* compact */
  double      *rz;          /* of each patch: r'z, and at the beginning */
  PetscReal   *a, *b;       /* of conjugate gradients on a group, [steps][patches] */
  V           *u, *v, *p, *q, *scale, *St;
  void        *base, *lanesbase, *exactbase;
  FitBoundary *boundary; /* [FIT_KINDS], where patches are exact */
  V           *nodes;    /* of the cells of a batch, where there are rows */
  void        *nodesbase;
} FitPlan;

/* what goes with the groups */
static PetscErrorCode FitResetGroups(FitPlan *p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(p->batch, p->at));
  PetscCall(PetscFree2(p->r, p->z));
  PetscCall(PetscFree(p->lanesbase));
  PetscCall(PetscFree(p->exactbase));
  PetscCall(PetscFree(p->nodesbase));
  for (int i = 0; i < FIT_KINDS && p->boundary; i++) PetscCall(PetscFree2(p->boundary[i].at, p->boundary[i].node));
  PetscCall(PetscFree(p->boundary));
  p->nbatch = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitDestroy(void **plan)
{
  FitPlan *p = (FitPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FitResetGroups(p));
  PetscCall(PetscFree2(p->g, p->numbers));
  PetscCall(PetscFree(p->records));
  PetscCall(PetscFree(p->rz));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* batches of neighbours of one kind */
static PetscErrorCode FitMakeBatches(FitPlan *p)
{
  const PatchFDFit *f = p->desc;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(f->npatch, &p->batch, f->ngroup + 1, &p->at));
  for (PetscInt group = 0; group < f->ngroup; group++) {
    p->at[group] = p->nbatch;
    for (const PatchFDFitRun *run = &f->run[f->runs[group]]; run < &f->run[f->runs[group + 1]]; run++) {
      for (PetscCount i = 0; i < run->count; i += VL) {
        FitBatch *b = &p->batch[p->nbatch++];

        *b = (FitBatch){.first = run->first + i,
                        .count = (int)PetscMin(VL, run->count - i),
                        .run   = run,
                        .exact = (PetscBool)(f->steps[group] == 0)};
        for (int d = 0; d < 3; d++)
          for (int l = 0; l < b->count; l++) b->node[d][l] = PatchFDFitLineOf(f, f->number[b->first + l], d)->first;
      }
    }
  }
  p->at[f->ngroup] = p->nbatch;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where the record of a patch of a batch in direction d is */
static PetscCount FitRecord(const FitPlan *p, const FitBatch *b, int l, int d)
{
  return PatchFDFitRecord(p->desc, p->desc->number[b->first + l], d, b->run->kind[d]);
}

/* a vector for each of n numbers of the patches, from where they begin */
static V *FitInterleave(int count, PetscCount n, const PetscReal *const from[VL], V *to)
{
  for (PetscCount i = 0; i < n; i++, to++)
    for (int l = 0; l < VL; l++) ((REAL *)to)[l] = (REAL)from[PetscMin(l, count - 1)][i];
  return to;
}

static PetscErrorCode FitMakeRecords(FitPlan *p)
{
  const PatchFDFit *f    = p->desc;
  size_t            size = 4 * (size_t)p->nbatch;
  V                *v    = NULL;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < p->nbatch; i++)
    for (int d = 0; d < 3 && !p->batch[i].exact; d++)
      if (FitRecord(p, &p->batch[i], 0, d) != FitRecord(p, &p->batch[i], p->batch[i].count - 1, d))
        size += (size_t)PatchFDFitRecordSize(p->batch[i].run->n[d]);
  PetscCall(VMalloc(size, &v, &p->lanesbase));
  for (PetscCount i = 0; i < p->nbatch; i++) {
    FitBatch        *b = &p->batch[i];
    const PetscReal *from[VL];

    if (b->exact) continue;
    for (int d = 0; d < 3; d++) {
      b->record[d] = (Coef){p->records + FitRecord(p, b, 0, d), NULL};
      if (FitRecord(p, b, 0, d) == FitRecord(p, b, b->count - 1, d)) continue; /* of constants */
      for (int l = 0; l < b->count; l++) from[l] = p->numbers + FitRecord(p, b, l, d);
      b->record[d] = (Coef){NULL, v};
      v            = FitInterleave(b->count, PatchFDFitRecordSize(b->run->n[d]), from, v);
    }
    for (int l = 0; l < b->count; l++) from[l] = p->g + 4 * f->number[b->first + l];
    b->g = v;
    v    = FitInterleave(b->count, 4, from, v);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the metric at the points of the cells of a batch, which are those of m from number `first` on */
static void FitMeansAdd(const PointsPlan *points, PetscCount batch, PetscCount first, PatchFDFitMeans *m)
{
  PetscReal w[PATCHFD_FIT_MAX_POINTS];

  for (PetscInt i = 0; i < points->c; i++) w[i] = (PetscReal)points->w[i];
  for (PetscInt q = 0; q < points->npoint; q++) {
    V g[7];

    PointsFactorsAt(points, batch, q, g);
    for (PetscCount l = 0; l < VL && batch * VL + l < points->ncells; l++) {
      PetscReal factor[7];

      for (PetscInt f = 0; f < points->nfactor; f++) factor[f] = (PetscReal)g[f][l];
      PatchFDHostFitMeansAdd(m, w, first + l, q, factor);
    }
  }
}

/* sums over the points of side s of the cells that have one */
static PetscErrorCode FitMeansSide(const OperatorPlan *op, PetscInt s, PatchFDFitMeans *m)
{
  const PointsPlan *side = op->side[s];
  const PetscInt    end = s % 2 * (side->n - 1), near = s % 2 * (side->c - 1);
  const PetscReal   basis = (PetscReal)side->B[near * side->n + end];
  PetscInt          grid[3];

  PetscFunctionBegin;
  OperatorGrid(op->points, grid);
  if (!m->end) PetscCall(PetscCalloc1(m->ncells * 2 * m->dim, &m->end));
  for (PetscCount cell = 0; cell < m->ncells; cell++) {
    const PetscCount at = PatchFDSideCell(grid, s, cell);

    for (PetscInt q = 0; q < side->npoint && at >= 0; q++)
      m->end[cell * 2 * m->dim + s] += PetscSqr(basis) * (PetscReal)side->factor[at / VL * side->npoint + q][at % VL];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* that of all cells of the operator */
static PetscErrorCode FitMeans(const OperatorPlan *op, PatchFDFitMeans *m)
{
  const PointsPlan *points = op->points;

  PetscFunctionBegin;
  PetscCall(PatchFDHostFitMeansCreate(points->dim, points->c, points->ncells, points->stiff, points->mass, m));
  for (PetscCount batch = 0; batch < points->nbatch; batch++) FitMeansAdd(points, batch, batch * VL, m);
  for (PetscInt s = 0; s < 6; s++)
    if (op->side[s]) PetscCall(FitMeansSide(op, s, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitGroups(void *plan, const PatchFDFitRule *rule)
{
  FitPlan          *p       = (FitPlan *)plan;
  const PatchFDFit *fit     = p->desc;
  PetscCount        compact = 0;

  PetscFunctionBegin;
  PetscCall(FitResetGroups(p));
  PetscCall(PatchFDHostFitSort(rule, p->desc));
  PetscCall(FitMakeBatches(p));
  PetscCall(FitMakeRecords(p));
  for (PetscInt i = 0; i < fit->ngroup; i++)
    if (fit->steps[i] > 1) compact = PetscMax(compact, PatchFDFitCount(fit, i) * fit->volume);
  PetscCall(PetscMalloc2(compact, &p->r, compact, &p->z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitCreate(PatchFDFit *fit, const PatchFDFitRule *rule, void *operatorplan, void **plan)
{
  const PetscBool exact = PatchFDFitIsExact(rule);
  FitPlan        *p;
  PatchFDFitMeans means;
  PetscInt        longest = 1;
  V              *v       = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan   = p;
  p->desc = fit;
  PetscCall(PetscMemzero(fit->take, (size_t)fit->npatch * sizeof(*fit->take)));
  PetscCall(PetscCalloc2(4 * fit->npatch, &p->g, fit->nrecord, &p->numbers));
  if (!exact) {
    PetscCall(PatchFDHostFitSort(rule, fit));
    PetscCall(FitMeans((const OperatorPlan *)operatorplan, &means));
    PetscCall(PatchFDHostFitNumbers(fit, rule, &means, p->g, p->numbers));
    PetscCall(PatchFDHostFitMeansDestroy(&means));
  }
  PetscCall(RealCopy((size_t)fit->nrecord, p->numbers, &p->records));
  PetscCall(FitGroups(p, rule));
  for (int d = 0; d < 3; d++)
    for (PetscInt i = 0; i < fit->nkind[d]; i++) longest = PetscMax(longest, fit->kind[d][i].n);
  PetscCall(PetscMalloc1(2 * fit->npatch, &p->rz));
  PetscCall(VMalloc(5 * (size_t)fit->volume + (size_t)(longest * longest), &v, &p->base));
  p->u     = v;
  p->v     = v + fit->volume;
  p->p     = v + 2 * fit->volume;
  p->q     = v + 3 * fit->volume;
  p->scale = v + 4 * fit->volume;
  p->St    = v + 5 * fit->volume;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a batch ---- */

static inline V FitAt(Coef c, PetscInt i)
{
  return c.s ? Splat(c.s[i]) : c.v[i];
}

static inline V FitRoot(V x)
{
  V y = x;

  for (int l = 0; l < VL; l++) y[l] = REAL_BYTES == 8 ? (REAL)sqrt((double)x[l]) : (REAL)sqrtf((float)x[l]);
  return y;
}

static void FitNodes(const FitPlan *p, const FitBatch *b, Batch *nodes, PetscInt n[3])
{
  PatchFDRange all;

  nodes->count = b->count;
  for (int d = 0; d < 3; d++) {
    n[d]      = b->run->n[d];
    all[d][0] = p->desc->box.lo[d];
    all[d][1] = p->desc->box.lo[d] + p->desc->box.n[d];
    for (int l = 0; l < b->count; l++) nodes->first[d][l] = b->node[d][l];
  }
  BatchClip(nodes, n, all);
}

/* p->scale = C, the root of the ratio of the diagonals of T and A */
static void FitScale(FitPlan *p, const FitBatch *b, const PetscInt n[3], const Batch *nodes, const REAL *diagonal)
{
  V *c = p->scale;

  Gather(nodes, n, &p->desc->box, diagonal, c);
  for (PetscInt k = 0; k < n[2]; k++) {
    const V A2 = b->g[2] * FitAt(b->record[2], n[2] * (n[2] + 1) + k), M2 = FitAt(b->record[2], n[2] * (n[2] + 2) + k);

    for (PetscInt j = 0; j < n[1]; j++) {
      const V A1 = b->g[1] * FitAt(b->record[1], n[1] * (n[1] + 1) + j), M1 = FitAt(b->record[1], n[1] * (n[1] + 2) + j);
      const V rest = A1 * M2 + M1 * A2 + b->g[3] * M1 * M2, M = b->g[0] * M1 * M2;

      for (PetscInt i = 0; i < n[0]; i++, c++)
        *c = FitRoot((FitAt(b->record[0], n[0] * (n[0] + 1) + i) * M + FitAt(b->record[0], n[0] * (n[0] + 2) + i) * rest) / *c);
    }
  }
}

/* out = S in, or S' in, along direction d */
static void FitTransform(FitPlan *p, const FitBatch *b, const PetscInt n[3], int d, PetscBool transpose, const V *in, V *out)
{
  const PetscInt m = n[d];
  Coef           S = b->record[d];

  if (transpose) {
    for (PetscInt i = 0; i < m; i++) {
      for (PetscInt j = 0; j < m; j++) {
        if (S.s) ((REAL *)p->St)[i * m + j] = S.s[j * m + i];
        else p->St[i * m + j] = S.v[j * m + i];
      }
    }
    S = S.s ? (Coef){(const REAL *)p->St, NULL} : (Coef){NULL, p->St};
  }
  Contract(d, n, m, S, in, out, PETSC_FALSE);
}

/* u /= D; nothing where D is zero: the constants of a patch without Dirichlet nodes */
static void FitDivide(const FitBatch *b, const PetscInt n[3], V *u)
{
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      const V rest = b->g[1] * FitAt(b->record[1], n[1] * n[1] + j) + b->g[2] * FitAt(b->record[2], n[2] * n[2] + k) + b->g[3];

      for (PetscInt i = 0; i < n[0]; i++, u++) {
        const V D = b->g[0] * FitAt(b->record[0], n[0] * n[0] + i) + rest;

        for (int l = 0; l < VL; l++) (*u)[l] = D[l] == 0 ? 0 : (*u)[l] / D[l];
      }
    }
  }
}

/* x += omega A_j^{-1} r */
static void FitCorrectExactly(FitPlan *p, const FitBatch *b, const PetscInt n[3], const Batch *nodes, REAL omega, const REAL *r, REAL *x)
{
  Gather(nodes, n, &p->desc->box, r, p->u);
  FitExactSolve(n[0] * n[1] * n[2], b->factor, p->u);
  Scatter(nodes, n, omega, p->u, 1, &p->desc->box, x);
}

/* *u = B *u with the scale at hand; *u and *v may be exchanged */
static void FitSolve(FitPlan *p, const FitBatch *b, const PetscInt n[3], V **u, V **v)
{
  const PetscInt size = n[0] * n[1] * n[2];

  for (PetscInt i = 0; i < size; i++) (*u)[i] *= p->scale[i];
  for (int step = 0; step < 2 * p->desc->dim; step++) {
    V *swap = *v;

    if (step == p->desc->dim) FitDivide(b, n, *u);
    FitTransform(p, b, n, step % p->desc->dim, (PetscBool)(step < p->desc->dim), *u, *v);
    *v = *u;
    *u = swap;
  }
  for (PetscInt i = 0; i < size; i++) (*u)[i] *= p->scale[i];
}

/* the compact numbers of the patches of a batch from the first one's on, `size` each, into lanes, and back */
static void FitCompactRead(const FitPlan *p, const FitBatch *b, PetscInt size, const REAL *from, V *to)
{
  for (PetscInt i = 0; i < size; i++)
    for (int l = 0; l < VL; l++) ((REAL *)(to + i))[l] = l < b->count ? from[l * p->desc->volume + i] : 0;
}

static void FitCompactWrite(const FitPlan *p, const FitBatch *b, PetscInt size, const V *from, REAL *to)
{
  for (int l = 0; l < b->count; l++)
    for (PetscInt i = 0; i < size; i++) to[l * p->desc->volume + i] = ((const REAL *)(from + i))[l];
}

/* ---- entries of the kernel table ---- */

/* of a step of a patch: transforms there and back, C, D */
static PetscLogDouble FitFlops(PetscInt dim, const PetscInt n[3])
{
  const PetscLogDouble lines = n[0] + n[1] + (dim == 3 ? n[2] : 0);

  return (PetscLogDouble)(n[0] * n[1] * n[2]) * (4 * lines + 16);
}

/* the coefficient a (0) or b (1) of the patches of a batch */
static V FitCoefficient(const FitPlan *p, PetscInt group, PetscInt step, const FitBatch *b, int i)
{
  const PetscCount first = p->desc->group[group], count = PatchFDFitCount(p->desc, group);
  const PetscReal *coef = p->desc->coef + p->desc->coefat[group] + 2 * (step * count + b->first - first) + i;
  V                c    = {0};

  for (int l = 0; l < b->count; l++) c[l] = (REAL)coef[2 * l];
  return c;
}

static PetscErrorCode FitApply(void *plan, PetscInt group, PetscInt step, PetscReal omega, const void *diagonal, const void *r, void *x)
{
  FitPlan        *p     = (FitPlan *)plan;
  const PetscBool more  = (PetscBool)(p->desc->steps[group] > 1);
  PetscLogDouble  flops = 0;

  PetscFunctionBegin;
  for (PetscCount i = p->at[group]; i < p->at[group + 1]; i++) {
    const FitBatch  *b       = &p->batch[i];
    const PetscCount compact = (b->first - p->desc->group[group]) * p->desc->volume;
    REAL            *rc = p->r + compact, *zc = p->z + compact;
    V               *u = p->u, *v = p->v, c;
    Batch            nodes;
    PetscInt         n[3], size;

    FitNodes(p, b, &nodes, n);
    size = n[0] * n[1] * n[2];
    if (b->exact) {
      FitCorrectExactly(p, b, n, &nodes, (REAL)omega, (const REAL *)r, (REAL *)x);
      flops += 2.0 * b->count * size * size;
      continue;
    }
    if (step == 0) Gather(&nodes, n, &p->desc->box, (const REAL *)r, u);
    else FitCompactRead(p, b, size, rc, u);
    if (more && step == 0) FitCompactWrite(p, b, size, u, rc);
    FitScale(p, b, n, &nodes, (const REAL *)diagonal);
    FitSolve(p, b, n, &u, &v);
    c = FitCoefficient(p, group, step, b, 1);
    for (PetscInt j = 0; j < size; j++) u[j] *= c;
    if (step > 0) {
      c = FitCoefficient(p, group, step, b, 0);
      FitCompactRead(p, b, size, zc, v);
      for (PetscInt j = 0; j < size; j++) u[j] += c * v[j];
    }
    if (more) FitCompactWrite(p, b, size, u, zc);
    Scatter(&nodes, n, (REAL)omega, u, 1, &p->desc->box, (REAL *)x);
    flops += b->count * FitFlops(p->desc->dim, n);
  }
  PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitWork(void *plan, void **r, void **z)
{
  PetscFunctionBegin;
  *r = ((FitPlan *)plan)->r;
  *z = ((FitPlan *)plan)->z;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static V FitDot(PetscInt size, const V *x, const V *y)
{
  V sum = {0};

  for (PetscInt i = 0; i < size; i++) sum += x[i] * y[i];
  return sum;
}

/* a of the step that ends: r'z / p'q; 1, and nothing is done, where the residual has become rounding */
static V FitLength(FitPlan *p, const FitBatch *b, V pq, PetscReal a[])
{
  const double tiny   = REAL_BYTES == 8 ? 1e-20 : 1e-9;
  V            length = {0};

  for (int l = 0; l < b->count; l++) {
    double   *rz = p->rz + 2 * (b->first + l);
    const int go = rz[0] > tiny * rz[1] && pq[l] > 0;

    if (go) length[l] = (REAL)(rz[0] / pq[l]);
    else rz[0] = 0; /* and it ends here */
    a[l] = go ? (PetscReal)length[l] : 1;
  }
  return length;
}

/* b of the next step */
static V FitOrthogonal(FitPlan *p, const FitBatch *b, PetscBool first, V rz, PetscReal out[])
{
  V factor = {0};

  for (int l = 0; l < b->count; l++) {
    double *old = p->rz + 2 * (b->first + l);

    if (first) old[1] = rz[l];
    else if (old[0] > 0) factor[l] = (REAL)PetscMax(0, rz[l] / old[0]);
    old[0] = rz[l];
    out[l] = (PetscReal)factor[l];
  }
  return factor;
}

static void FitStart(const PetscInt n[3], V *r)
{
  for (PetscInt k = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++)
      for (PetscInt i = 0; i < n[0]; i++) *r++ = Splat((REAL)PatchFDFitNoise((unsigned)i, (unsigned)j, (unsigned)k));
}

static PetscErrorCode FitCG(void *plan, PetscInt group, PetscInt step, PetscInt last, const void *diagonal, const void *q, void *r,
                            void *dir)
{
  FitPlan         *p     = (FitPlan *)plan;
  const PetscCount count = PatchFDFitCount(p->desc, group);

  PetscFunctionBegin;
  if (step == 0) PetscCall(PetscMalloc2(count * last, &p->a, count * last, &p->b));
  for (PetscCount i = p->at[group]; i < p->at[group + 1]; i++) {
    const FitBatch  *b  = &p->batch[i];
    const PetscCount at = b->first - p->desc->group[group], compact = at * p->desc->volume;
    REAL            *residual = (REAL *)r + compact, *direction = (REAL *)dir + compact;
    V               *u = p->u, *v = p->v, factor;
    Batch            nodes;
    PetscInt         n[3], size;
    PetscReal        unused[VL];

    FitNodes(p, b, &nodes, n);
    size = n[0] * n[1] * n[2];
    if (step == 0) FitStart(n, u);
    else {
      FitCompactRead(p, b, size, residual, u);
      FitCompactRead(p, b, size, (const REAL *)q + compact, p->q);
      FitCompactRead(p, b, size, direction, p->p);
      factor = FitLength(p, b, FitDot(size, p->p, p->q), p->a + (step - 1) * count + at);
      for (PetscInt j = 0; j < size; j++) u[j] -= factor * p->q[j];
    }
    if (step == last) continue; /* nobody asks for more */
    FitCompactWrite(p, b, size, u, residual);
    for (PetscInt j = 0; j < size; j++) p->q[j] = u[j];
    FitScale(p, b, n, &nodes, (const REAL *)diagonal);
    FitSolve(p, b, n, &u, &v);
    factor = FitOrthogonal(p, b, (PetscBool)(step == 0), FitDot(size, p->q, u), step ? p->b + (step - 1) * count + at : unused);
    for (PetscInt j = 0; j < size && step > 0; j++) u[j] += factor * p->p[j];
    FitCompactWrite(p, b, size, u, direction);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitSteps(void *plan, const PatchFDFitRule *rule, PetscInt group, PetscInt last)
{
  FitPlan *p = (FitPlan *)plan;

  PetscFunctionBegin;
  PetscCall(PatchFDHostFitSetSteps(rule, group, last, p->a, p->b, p->desc));
  PetscCall(PetscFree2(p->a, p->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
