/*
  Smoothing with bricks (patchfd/private/bricks.h): a batch is VL bricks of one colour that take the same number of steps.  Their rows are
  copied out of the matrix, with one brick in each lane, so that a step reads the numbers of a row one after another, without column
  numbers.
*/
#pragma once
#include "batch.h"
#include <patchfd/private/bricks.h>

typedef struct {
  Batch      nodes, halo;
  PetscInt   steps;
  PetscCount first; /* its bricks are order[first] .. order[first + nodes.count - 1] */
  V         *row;   /* [unknown][entry] */
  V         *fit;   /* a record */
  V         *coef;  /* [step][2] */
} BricksBatch;

typedef struct {
  PetscInt dim, n[3], m[3]; /* unknowns of a brick, without and with those next to it */
  PetscInt volume, entries;
  /* where an entry's unknown is in a block with those next to it, and where the brick begins there */
  ptrdiff_t    shift[PATCHFD_ROW_ENTRIES], inner;
  PatchFDBox   box;
  PetscCount   nbrick, nbatch, *order;
  PetscCount   at[PATCHFD_BRICK_COLORS + 1]; /* batches of a colour */
  BricksBatch *batch;
  V           *numbers, *r, *z, *y, *p, *u;
  void        *numbersbase, *workbase;
} BricksPlan;

static PetscErrorCode BricksDestroy(void **plan)
{
  BricksPlan *p = (BricksPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree2(p->batch, p->order));
  PetscCall(PetscFree(p->numbersbase));
  PetscCall(PetscFree(p->workbase));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plans ---- */

static void BricksMakeBatches(const PatchFDBricks *d, BricksPlan *p)
{
  PatchFDRange all;

  for (int e = 0; e < 3; e++) {
    all[e][0] = d->box.lo[e];
    all[e][1] = d->box.lo[e] + d->box.n[e];
  }
  for (PetscInt g = 0; g < d->ngroup; g++) {
    for (PetscCount i = d->group[g]; i < d->group[g + 1]; i += p->batch[p->nbatch++].nodes.count) {
      BricksBatch *b = &p->batch[p->nbatch];

      *b            = (BricksBatch){.first = i, .steps = d->steps[g], .nodes.count = (int)PetscMin(VL, d->group[g + 1] - i)};
      b->halo.count = b->nodes.count;
      for (int l = 0; l < b->nodes.count; l++) {
        for (int e = 0; e < 3; e++) {
          b->nodes.first[e][l] = d->first[3 * d->order[i + l] + e];
          b->halo.first[e][l]  = b->nodes.first[e][l] - (e < d->dim);
        }
      }
      BatchClip(&b->nodes, p->n, d->nodes);
      BatchClip(&b->halo, p->m, all);
    }
    for (PetscInt c = d->color[g] + 1; c <= d->ncolor; c++) p->at[c] = p->nbatch;
  }
}

/* the numbers of a batch, interleaved; empty lanes have those of the last brick, rows of unknowns outside of a cut brick are zero */
static V *BricksInterleave(const PatchFDBricks *d, const BricksPlan *p, BricksBatch *b, V *to)
{
  b->row  = to;
  b->fit  = b->row + (size_t)p->volume * p->entries;
  b->coef = b->fit + d->nrecord;
  for (int l = 0; l < VL; l++) {
    const int        lane  = PetscMin(l, b->nodes.count - 1);
    const PetscCount brick = d->order[b->first + lane];
    PetscInt         at[3], i = 0;

    for (at[2] = b->nodes.first[2][lane]; at[2] < b->nodes.first[2][lane] + p->n[2]; at[2]++) {
      for (at[1] = b->nodes.first[1][lane]; at[1] < b->nodes.first[1][lane] + p->n[1]; at[1]++) {
        for (at[0] = b->nodes.first[0][lane]; at[0] < b->nodes.first[0][lane] + p->n[0]; at[0]++, i++) {
          const PetscReal *row = PatchFDRangeHas(d->nodes, at) ? d->row + PatchFDBoxNode(&d->box, at[0], at[1], at[2]) * p->entries : NULL;

          for (PetscInt e = 0; e < p->entries; e++) ((REAL *)&b->row[i * p->entries + e])[l] = row ? (REAL)row[e] : 0;
        }
      }
    }
    for (PetscCount k = 0; k < d->nrecord; k++) ((REAL *)&b->fit[k])[l] = (REAL)d->record[brick * d->nrecord + k];
    for (PetscInt k = 0; k < 2 * b->steps; k++) ((REAL *)&b->coef[k])[l] = (REAL)d->coef[2 * brick * d->maxsteps + k];
  }
  return b->coef + 2 * b->steps;
}

static PetscErrorCode BricksCreate(const PatchFDBricks *d, void **plan)
{
  BricksPlan *p;
  V          *v, *work = NULL;
  size_t      size = 0, halo;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan      = p;
  p->dim     = d->dim;
  p->box     = d->box;
  p->nbrick  = d->nbrick;
  p->entries = d->stencil.n;
  for (int e = 0; e < 3; e++) {
    p->n[e] = d->n[e];
    p->m[e] = d->n[e] + (e < d->dim ? 2 : 0);
  }
  p->volume = p->n[0] * p->n[1] * p->n[2];
  p->inner  = 1 + (p->dim > 1 ? p->m[0] : 0) + (p->dim > 2 ? p->m[0] * p->m[1] : 0);
  for (PetscInt s = 0; s < p->entries; s++) {
    const PetscInt *o = d->stencil.offset[s];

    p->shift[s] = ((ptrdiff_t)o[2] * p->m[1] + o[1]) * p->m[0] + o[0];
  }
  PetscCall(PetscMalloc2(d->nbrick / VL + d->ngroup, &p->batch, d->nbrick, &p->order));
  PetscCall(PetscArraycpy(p->order, d->order, d->nbrick));
  BricksMakeBatches(d, p);
  for (PetscCount i = 0; i < p->nbatch; i++) size += (size_t)p->volume * p->entries + (size_t)d->nrecord + 2 * (size_t)p->batch[i].steps;
  PetscCall(VMalloc(size, &p->numbers, &p->numbersbase));
  v = p->numbers;
  for (PetscCount i = 0; i < p->nbatch; i++) v = BricksInterleave(d, p, &p->batch[i], v);
  halo = (size_t)p->m[0] * p->m[1] * p->m[2];
  PetscCall(VMalloc(4 * (size_t)p->volume + halo, &work, &p->workbase));
  p->r = work;
  p->z = work + p->volume;
  p->y = work + 2 * p->volume;
  p->p = work + 3 * p->volume;
  p->u = work + 4 * p->volume;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a batch ---- */

static inline __attribute__((always_inline)) void BricksRowsOf(const BricksPlan *p, PetscInt entries, const V *row, const V *u, V *r)
{
  for (PetscInt k = 0; k < p->n[2]; k++) {
    for (PetscInt j = 0; j < p->n[1]; j++) {
      const V *in = u + p->inner + ((ptrdiff_t)k * p->m[1] + j) * p->m[0];

      for (PetscInt i = 0; i < p->n[0]; i++, row += entries, r++) {
        V sum = *r;

        _Pragma("GCC unroll 27") for (PetscInt s = 0; s < entries; s++) sum -= row[s] * in[i + p->shift[s]];
        *r = sum;
      }
    }
  }
}

/* r -= A u, u with the unknowns next to the brick */
static void BricksSubtract(const BricksPlan *p, const BricksBatch *b, const V *u, V *r)
{
  switch (p->entries) { /* the usual lengths of rows are known to the compiler */
  case 5:
    BricksRowsOf(p, 5, b->row, u, r);
    break;
  case 7:
    BricksRowsOf(p, 7, b->row, u, r);
    break;
  case 9:
    BricksRowsOf(p, 9, b->row, u, r);
    break;
  case 27:
    BricksRowsOf(p, 27, b->row, u, r);
    break;
  default:
    BricksRowsOf(p, p->entries, b->row, u, r);
  }
}

/* r -= A_j z, the brick's own part of A */
static void BricksSubtractOwn(const BricksPlan *p, const BricksBatch *b, const V *z, V *r)
{
  const ptrdiff_t halo = (ptrdiff_t)p->m[0] * p->m[1] * p->m[2];

  for (ptrdiff_t i = 0; i < halo; i++) p->u[i] = (V){0};
  for (PetscInt k = 0; k < p->n[2]; k++)
    for (PetscInt j = 0; j < p->n[1]; j++)
      for (PetscInt i = 0; i < p->n[0]; i++) p->u[p->inner + ((ptrdiff_t)k * p->m[1] + j) * p->m[0] + i] = *z++;
  BricksSubtract(p, b, p->u, r);
}

/* lines of n unknowns: times S, or S' */
static inline __attribute__((always_inline)) void BricksLines(PetscInt n, PetscBool transpose, PetscInt count, ptrdiff_t stride, const V *S,
                                                              V *u)
{
  for (PetscInt c = 0; c < count; c++) {
    for (ptrdiff_t i = 0; i < stride; i++) {
      V *x = u + c * n * stride + i, line[PATCHFD_BRICK_MAX];

      _Pragma("GCC unroll 8") for (PetscInt k = 0; k < n; k++) line[k] = x[k * stride];
      _Pragma("GCC unroll 8") for (PetscInt r = 0; r < n; r++)
      {
        V sum = {0};

        _Pragma("GCC unroll 8") for (PetscInt k = 0; k < n; k++) sum += S[transpose ? k * n + r : r * n + k] * line[k];
        x[r * stride] = sum;
      }
    }
  }
}

static void BricksTransform(const BricksPlan *p, const V *S, int d, PetscBool transpose, V *u)
{
  const PetscInt  n = p->n[d], count = p->volume / n / (d > 0 ? p->n[0] : 1) / (d > 1 ? p->n[1] : 1);
  const ptrdiff_t stride = (d > 0 ? p->n[0] : 1) * (d > 1 ? p->n[1] : 1);

#define CASE(N) \
  case N: \
    if (transpose) BricksLines(N, PETSC_TRUE, count, stride, S, u); \
    else BricksLines(N, PETSC_FALSE, count, stride, S, u); \
    break
  switch (n) {
    CASE(4);
    CASE(8);
  default:
    BricksLines(n, transpose, count, stride, S, u);
  }
#undef CASE
}

/* z = B_j r */
static void BricksSolve(const BricksPlan *p, const BricksBatch *b, const V *r, V *z)
{
  const V *S[3], *lambda[3], *fit = b->fit;

  for (int d = 0; d < 3; d++) {
    S[d]      = fit;
    lambda[d] = fit + p->n[d] * p->n[d];
    fit += p->n[d] * (p->n[d] + 1);
  }
  for (PetscInt i = 0; i < p->volume; i++) z[i] = fit[i] * r[i];
  for (int d = 0; d < p->dim; d++) BricksTransform(p, S[d], d, PETSC_TRUE, z);
  for (PetscInt k = 0, at = 0; k < p->n[2]; k++) {
    for (PetscInt j = 0; j < p->n[1]; j++) {
      const V sum = lambda[1][j] + lambda[2][k];

      for (PetscInt i = 0; i < p->n[0]; i++, at++) z[at] /= sum + lambda[0][i];
    }
  }
  for (int d = p->dim - 1; d >= 0; d--) BricksTransform(p, S[d], d, PETSC_FALSE, z);
  for (PetscInt i = 0; i < p->volume; i++) z[i] *= fit[i];
}

/* y = z_0 + z_1 + ..., the steps of a brick from its residual r */
static void BricksSteps(const BricksPlan *p, const BricksBatch *b, V *r, V *z, V *y)
{
  BricksSolve(p, b, r, y);
  for (PetscInt i = 0; i < p->volume; i++) z[i] = y[i] *= b->coef[1];
  for (PetscInt s = 1; s < b->steps; s++) {
    BricksSubtractOwn(p, b, z, r);
    BricksSolve(p, b, r, p->p);
    for (PetscInt i = 0; i < p->volume; i++) {
      z[i] = b->coef[2 * s] * z[i] + b->coef[2 * s + 1] * p->p[i];
      y[i] += z[i];
    }
  }
}

static PetscErrorCode BricksApply(void *plan, PetscInt color, PetscBool solve, PetscReal omega, const void *rhs, void *x)
{
  const BricksPlan *p     = (const BricksPlan *)plan;
  PetscLogDouble    flops = 0, rows = 2.0 * p->volume * p->entries, lines = 4.0 * p->volume;

  PetscFunctionBegin;
  for (int d = 0; d < p->dim; d++) lines += 4.0 * p->volume * p->n[d];
  for (PetscCount i = p->at[color]; i < p->at[color + 1]; i++) {
    const BricksBatch *b = &p->batch[i];

    Gather(&b->nodes, p->n, &p->box, (const REAL *)rhs, p->r);
    if (!solve) {
      Gather(&b->halo, p->m, &p->box, (const REAL *)x, p->u);
      BricksSubtract(p, b, p->u, p->r);
    }
    BricksSteps(p, b, p->r, p->z, p->y);
    Scatter(&b->nodes, p->n, (REAL)omega, p->y, 1, &p->box, (REAL *)x);
    flops += b->nodes.count * (rows * (b->steps - solve) + lines * b->steps);
  }
  PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- estimates ---- */

static V BricksDot(const BricksPlan *p, const V *x, const V *y)
{
  V sum = {0};

  for (PetscInt i = 0; i < p->volume; i++) sum += x[i] * y[i];
  return sum;
}

/* Where an iteration has ended, a = 1 and b = 0.  size = p' B_j^{-1} p, from z' B_j^{-1} z = z' r and since z is orthogonal to the
   direction before: energies that are negative beside it are no rounding */
static void BricksCGBatch(const BricksPlan *p, const BricksBatch *b, PetscInt steps, PetscReal a[], PetscReal beta[], PetscBool *definite)
{
  const REAL done = REAL_BYTES == 8 ? 1e-26 : 1e-12, rounding = REAL_BYTES == 8 ? 1e-10 : 1e-4;
  const V   *scale = b->fit;
  V          rz, start, size;

  for (int d = 0; d < 3; d++) scale += p->n[d] * (p->n[d] + 1);
  for (PetscInt k = 0, at = 0; k < p->n[2]; k++)
    for (PetscInt j = 0; j < p->n[1]; j++)
      for (PetscInt i = 0; i < p->n[0]; i++, at++)
        for (int l = 0; l < VL; l++)
          ((REAL *)&p->r[at])[l] = ((const REAL *)&scale[at])[l] == 0 ? 0 : (REAL)PatchFDFitNoise((unsigned)i, (unsigned)j, (unsigned)k);
  BricksSolve(p, b, p->r, p->z);
  rz = start = size = BricksDot(p, p->r, p->z);
  for (PetscInt i = 0; i < p->volume; i++) p->p[i] = p->z[i];
  for (PetscInt s = 0; s < steps; s++) {
    V length, next, pq;

    for (PetscInt i = 0; i < p->volume; i++) p->y[i] = (V){0};
    BricksSubtractOwn(p, b, p->p, p->y);
    pq = -BricksDot(p, p->p, p->y);
    for (int l = 0; l < VL; l++) *definite = (PetscBool)(*definite && !(rz[l] > done * start[l] && pq[l] < -rounding * size[l]));
    for (int l = 0; l < VL; l++) ((REAL *)&length)[l] = rz[l] > done * start[l] && pq[l] > 0 ? rz[l] / pq[l] : 1;
    for (PetscInt i = 0; i < p->volume; i++) p->r[i] += length * p->y[i];
    BricksSolve(p, b, p->r, p->z);
    next = BricksDot(p, p->r, p->z);
    for (int l = 0; l < VL; l++) {
      const REAL q = rz[l] > done * start[l] && pq[l] > 0 ? next[l] / rz[l] : 0;

      if (l < b->nodes.count) {
        const PetscCount brick = s * p->nbrick + p->order[b->first + l];

        a[brick]    = length[l];
        beta[brick] = q;
      }
      ((REAL *)&length)[l] = q;
    }
    for (PetscInt i = 0; i < p->volume; i++) p->p[i] = p->z[i] + length * p->p[i];
    size = next + length * length * size;
    rz   = next;
  }
}

static PetscErrorCode BricksCG(void *plan, PetscInt steps, PetscReal a[], PetscReal beta[], PetscBool *definite)
{
  const BricksPlan *p = (const BricksPlan *)plan;

  PetscFunctionBegin;
  *definite = PETSC_TRUE;
  for (PetscCount i = 0; i < p->nbatch; i++) BricksCGBatch(p, &p->batch[i], steps, a, beta, definite);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BricksAlone(PetscCount n, const PetscInt list[], const PetscReal inverse[], PetscBool add, const void *b, void *x)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++) {
    REAL *to = (REAL *)x + list[i];

    *to = (add ? *to : 0) + (REAL)inverse[i] * ((const REAL *)b)[list[i]];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const PatchFDBricksKernels NAME(
  BRICKS) = {.create = BricksCreate, .apply = BricksApply, .cg = BricksCG, .alone = BricksAlone, .destroy = BricksDestroy};
