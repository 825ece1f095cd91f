/*
  Direct solver for the whole box: x = (S (x) S (x) S) D^{-1} (S (x) S (x) S)' b with the eigenvectors of whole lines (eq. 2.13-2.15
  of C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU, 2024, for one
  large patch).  The matrices are large, so BLAS multiplies them.
*/
#pragma once
#include "lines.h"
#include <petscblaslapack.h>

/* PETSc declares the BLAS for PetscScalar only */
extern void GEMM(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const REAL *, const REAL *, const PetscBLASInt *, const REAL *, const PetscBLASInt *,
                 const REAL *, REAL *, const PetscBLASInt *);

typedef struct {
  PatchFDBoxSolveDesc desc;
  PetscBLASInt        n[3];
  REAL               *S[3], *lambda[3];
  REAL               *u, *v; /* the free nodes */
} BoxSolvePlan;

static PetscErrorCode BoxSolveDestroy(void **plan)
{
  BoxSolvePlan *p = (BoxSolvePlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscFree(p->S[d]));
    PetscCall(PetscFree(p->lambda[d]));
  }
  PetscCall(PetscFree2(p->u, p->v));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveCreate(const PatchFDBoxSolveDesc *desc, void **plan)
{
  BoxSolvePlan *p;
  size_t        size = 1;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->desc = *desc;
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscBLASIntCast(desc->dir[d]->n, &p->n[d]));
    PetscCall(RealCopy((size_t)(p->n[d]) * p->n[d], desc->dir[d]->S, &p->S[d]));
    PetscCall(RealCopy((size_t)p->n[d], desc->dir[d]->lambda, &p->lambda[d]));
    size *= (size_t)p->n[d];
  }
  PetscCall(PetscMalloc2(size, &p->u, size, &p->v));
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to modes (u = S' u in each direction) or back to nodes (u = S u); three steps from one work array to the other, result in v */
static PetscErrorCode BoxSolveTransform(BoxSolvePlan *p, PetscBool back)
{
  const PetscBLASInt *n    = p->n;
  const REAL          one  = 1, zero = 0;
  const char         *left = back ? "T" : "N", *right = back ? "N" : "T";
  PetscBLASInt        plane, rest;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast((PetscInt)n[0] * n[1], &plane));
  PetscCall(PetscBLASIntCast((PetscInt)n[1] * n[2], &rest));
  /* BLAS reads our row-major S as its transpose */
  GEMM(left, "N", &n[0], &rest, &n[0], &one, p->S[0], &n[0], p->u, &n[0], &zero, p->v, &n[0]);
  for (PetscBLASInt k = 0; k < n[2]; k++) GEMM("N", right, &n[0], &n[1], &n[1], &one, p->v + (size_t)k * plane, &n[0], p->S[1], &n[1], &zero, p->u + (size_t)k * plane, &n[0]);
  GEMM("N", right, &plane, &n[2], &n[2], &one, p->u, &plane, p->S[2], &n[2], &zero, p->v, &plane);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveApply(void *plan, const void *b, void *x)
{
  BoxSolvePlan       *p   = (BoxSolvePlan *)plan;
  const PetscBLASInt *n   = p->n;
  const PatchFDBox   *box = &p->desc.box;
  const PatchFDBox    in  = {{p->desc.first[0], p->desc.first[1], p->desc.first[2]}, {n[0], n[1], n[2]}};
  PatchFDRange        r;
  size_t              i = 0;
  PetscLogDouble      size = (PetscLogDouble)n[0] * n[1] * n[2];

  PetscFunctionBegin;
  if (size == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    r[d][0] = in.lo[d];
    r[d][1] = in.lo[d] + in.n[d];
  }
  PetscCall(GridCopy(r, box, b, &in, p->u));
  PetscCall(BoxSolveTransform(p, PETSC_FALSE));
  for (PetscBLASInt m2 = 0; m2 < n[2]; m2++) {
    for (PetscBLASInt m1 = 0; m1 < n[1]; m1++) {
      for (PetscBLASInt m0 = 0; m0 < n[0]; m0++, i++) {
        const REAL D = p->lambda[0][m0] + p->lambda[1][m1] + p->lambda[2][m2];

        p->u[i] = D == 0 ? 0 : p->v[i] / D; /* zero: the constant of a pure Neumann problem */
      }
    }
  }
  PetscCall(BoxSolveTransform(p, PETSC_TRUE));
  PetscCall(GridCopy(r, &in, p->v, box, x));
  PetscCall(PetscLogFlops(size * (4.0 * (n[0] + n[1] + n[2]) + 3)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
