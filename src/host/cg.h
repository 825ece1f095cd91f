/* the sweeps of conjugate gradients in host memory: patchfd/private/cg.h */
#pragma once
#include "lines.h"
#include <patchfd/private/cg.h>

/* independent partial sums: without them an addition would wait for the one before it */
#define CG_LANES 8

typedef struct {
  PetscCount n;
  PatchFDCG  state;
} CGPlan;

static PetscErrorCode CGCreate(PetscCount n, void **plan)
{
  CGPlan *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->n  = n;
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CGDestroy(void **plan)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CGState(void *plan, PatchFDCG **state)
{
  PetscFunctionBegin;
  *state = &((CGPlan *)plan)->state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CGPut(void *plan, const PatchFDCG *s)
{
  PetscFunctionBegin;
  ((CGPlan *)plan)->state = *s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CGGet(void *plan, PatchFDCG *s)
{
  PetscFunctionBegin;
  *s = ((CGPlan *)plan)->state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CGDirection(void *plan, const void *d, const void *r, void *p)
{
  const CGPlan *cg = (const CGPlan *)plan;
  const REAL    b = (REAL)cg->state.sweep.b, *rd = (const REAL *)d, *rr = (const REAL *)r;
  REAL         *rp = (REAL *)p;

  PetscFunctionBegin;
  if (cg->state.sweep.stop) PetscFunctionReturn(PETSC_SUCCESS);
  if (b == 0) { /* p may hold anything, also NaN */
    for (PetscCount i = 0; i < cg->n; i++) rp[i] = rd ? rd[i] * rr[i] : rr[i];
  } else if (rd) {
    for (PetscCount i = 0; i < cg->n; i++) rp[i] = rd[i] * rr[i] + b * rp[i];
  } else {
    for (PetscCount i = 0; i < cg->n; i++) rp[i] = rr[i] + b * rp[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void CGAdd(REAL r, REAL z, double *rz, double *rr, double *zz)
{
  *rz += (double)r * (double)z;
  *rr += (double)r * (double)r;
  *zz += (double)z * (double)z;
}

static inline void CGTotal(double s[PATCHFD_CG_NUM_SUMS][CG_LANES], double sum[])
{
  for (int j = 0; j < PATCHFD_CG_NUM_SUMS; j++) {
    sum[j] = 0;
    for (int l = 0; l < CG_LANES; l++) sum[j] += s[j][l];
  }
}

static double CGDot(PetscCount n, const REAL *p, const REAL *w)
{
  double     s[CG_LANES] = {0}, t = 0;
  PetscCount i = 0;

  for (; i + CG_LANES <= n; i += CG_LANES) {
    for (int l = 0; l < CG_LANES; l++) s[l] += (double)p[i + l] * (double)w[i + l];
  }
  for (; i < n; i++) t += (double)p[i] * (double)w[i];
  for (int l = 0; l < CG_LANES; l++) t += s[l];
  return t;
}

static PetscErrorCode CGProduct(void *plan, const void *p, const void *w)
{
  CGPlan *cg = (CGPlan *)plan;

  PetscFunctionBegin;
  cg->state.sweep.pw = CGDot(cg->n, (const REAL *)p, (const REAL *)w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CGSums(void *plan, const void *r, const void *z)
{
  CGPlan     *cg = (CGPlan *)plan;
  const REAL *rr = (const REAL *)r, *rz = (const REAL *)z;
  double      s[PATCHFD_CG_NUM_SUMS][CG_LANES] = {{0}};
  PetscCount  i                                = 0;

  PetscFunctionBegin;
  for (; i + CG_LANES <= cg->n; i += CG_LANES) {
    for (int l = 0; l < CG_LANES; l++) CGAdd(rr[i + l], rz[i + l], &s[PATCHFD_CG_RZ][l], &s[PATCHFD_CG_RR][l], &s[PATCHFD_CG_ZZ][l]);
  }
  for (; i < cg->n; i++) CGAdd(rr[i], rz[i], s[PATCHFD_CG_RZ], s[PATCHFD_CG_RR], s[PATCHFD_CG_ZZ]);
  CGTotal(s, cg->state.sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG_LANES numbers of the second sweep; d NULL for ones */
static inline void CGAdvanceLanes(int n, REAL a, const REAL *PETSC_RESTRICT d, const REAL *PETSC_RESTRICT p, const REAL *PETSC_RESTRICT w,
                                  REAL *PETSC_RESTRICT x, REAL *PETSC_RESTRICT r, double s[PATCHFD_CG_NUM_SUMS][CG_LANES])
{
  for (int l = 0; l < n; l++) {
    x[l] += a * p[l];
    r[l] -= a * w[l];
    CGAdd(r[l], d ? d[l] * r[l] : r[l], &s[PATCHFD_CG_RZ][l], &s[PATCHFD_CG_RR][l], &s[PATCHFD_CG_ZZ][l]);
  }
}

static PetscErrorCode CGAdvance(void *plan, const void *d, const void *p, const void *w, void *x, void *r)
{
  CGPlan    *cg = (CGPlan *)plan;
  const REAL a = (REAL)(cg->state.rz / cg->state.sweep.pw), *rd = (const REAL *)d, *rp = (const REAL *)p, *rw = (const REAL *)w;
  REAL      *rx = (REAL *)x, *rr = (REAL *)r;
  double     s[PATCHFD_CG_NUM_SUMS][CG_LANES] = {{0}};
  PetscCount i                                = 0;

  PetscFunctionBegin;
  if (cg->state.sweep.stop) PetscFunctionReturn(PETSC_SUCCESS);
  if (!PatchFDCGBreaksDown(&cg->state)) {
    if (rd) {
      for (; i + CG_LANES <= cg->n; i += CG_LANES) CGAdvanceLanes(CG_LANES, a, rd + i, rp + i, rw + i, rx + i, rr + i, s);
    } else {
      for (; i + CG_LANES <= cg->n; i += CG_LANES) CGAdvanceLanes(CG_LANES, a, NULL, rp + i, rw + i, rx + i, rr + i, s);
    }
    CGAdvanceLanes((int)(cg->n - i), a, rd ? rd + i : NULL, rp + i, rw + i, rx + i, rr + i, s);
    CGTotal(s, cg->state.sum);
  }
  if (cg->state.alone) PatchFDCGNextAlone(&cg->state);
  PetscFunctionReturn(PETSC_SUCCESS);
}
