/*
  Local solvers of operators with any terms, of one field or several: the residual from the terms (rows.h), the solve by products with
  inverses (dense.h), or by fast diagonalization of a part of the operator (diagonalization.h), or of the velocities of a saddle point
  (schur.h).  The numbers of a batch are those of its fields, one after another.
*/
#pragma once
#include "dense.h"
#include "diagonalization.h"
#include "rows.h"
#include "schur.h"

typedef struct {
  PatchFDLocalDesc desc;
  RowsPlan        *rows[PATCHFD_MAX_FIELDS][PATCHFD_MAX_FIELDS];
  SeparablePlan   *fd[PATCHFD_MAX_FIELDS]; /* NULL where inverses solve */
  SchurPlan       *schur;
  DenseClass      *dense; /* for each product of classes */
  PetscInt         ndense;
  V               *u, *t, *work; /* blocks; work is two of them */
  void            *base;
} FieldsPlan;

static PetscErrorCode FieldsDestroy(FieldsPlan **plan)
{
  FieldsPlan *p = *plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < PATCHFD_MAX_FIELDS; i++) {
    for (int j = 0; j < PATCHFD_MAX_FIELDS; j++) PetscCall(RowsDestroy(&p->rows[i][j]));
    PetscCall(SeparableDestroy(&p->fd[i]));
  }
  for (PetscInt i = 0; i < p->ndense; i++) PetscCall(DenseClassDestroy(&p->dense[i]));
  PetscCall(SchurDestroy(&p->schur));
  PetscCall(PetscFree(p->dense));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FieldsCreate(const PatchFDLocalDesc *desc, FieldsPlan **plan)
{
  FieldsPlan *p;
  size_t      size = 0; /* of all fields together: enough for a mixture of two, too */
  V          *v    = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan   = p;
  p->desc = *desc;
  for (PetscInt f = 0; f < desc->nfield; f++) {
    size_t volume = 1;

    for (PetscInt g = 0; g < desc->nfield; g++) PetscCall(RowsCreate(desc, f, g, &p->rows[f][g]));
    if (desc->kind != PATCHFD_LOCAL_DENSE) PetscCall(SeparableCreate(&desc->field[f], &p->fd[f]));
    for (int d = 0; d < 3; d++) {
      PetscInt n = 0;

      for (PetscInt i = 0; i < desc->field[f].dir[d]->npatch; i++) n = PetscMax(n, desc->field[f].dir[d]->n[i]);
      volume *= (size_t)n;
    }
    size += volume;
  }
  if (desc->kind == PATCHFD_LOCAL_SCHUR) PetscCall(SchurCreate(&p->desc, p->fd, size, &p->schur));
  if (desc->kind == PATCHFD_LOCAL_DENSE) {
    p->ndense = desc->nclass[0] * desc->nclass[1] * desc->nclass[2];
    PetscCall(PetscCalloc1(p->ndense, &p->dense));
    for (PetscInt i = 0; i < p->ndense; i++) PetscCall(DenseClassCreate(&desc->dense[i], &p->dense[i]));
  }
  PetscCall(VMalloc(4 * size, &v, &p->base));
  p->u    = v;
  p->t    = v + size;
  p->work = v + 2 * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* free nodes of field f in the patches at hand, which have all the same size */
static void FieldsNodes(const FieldsPlan *p, PetscInt f, const PetscInt patch[3][VL], PetscInt n[3])
{
  for (int d = 0; d < 3; d++) n[d] = p->desc.field[f].dir[d]->n[patch[d][0]];
}

/* the dense solve of a batch, one class after the other; nearly always there is one */
static void FieldsDense(FieldsPlan *p, int count, const PetscInt patch[3][VL], size_t size)
{
  const PetscInt *nc = p->desc.nclass;
  PetscInt        all[VL]; /* classes; -1 for what is solved */

  for (int l = 0; l < count; l++)
    all[l] = p->desc.cls[0][patch[0][l]] + nc[0] * (p->desc.cls[1][patch[1][l]] + nc[1] * p->desc.cls[2][patch[2][l]]);
  for (int first = 0; first < count; first++) {
    const PetscInt mine   = all[first];
    PetscBool      in[VL] = {PETSC_FALSE};
    int            lanes  = 0;

    if (mine < 0) continue;
    for (int l = first; l < count; l++) {
      in[l] = (PetscBool)(all[l] == mine);
      if (!in[l]) continue;
      all[l] = -1;
      lanes++;
    }
    if (lanes == count) DenseSolve(&p->dense[mine], size, p->u, p->work);
    else DenseSolveLanes(&p->dense[mine], size, in, p->u, p->t, p->work);
  }
}

/* One batch of patches, all of the same size */
static void FieldsBatch(FieldsPlan *p, PatchFDPatchOp operation, int count, const PetscInt patch[3][VL], REAL omega, PetscBool zero,
                        REAL *x, const REAL *b, REAL *r)
{
  const PatchFDLocalField *field  = p->desc.field;
  const PetscInt           nfield = p->desc.nfield;
  Batch                    free[PATCHFD_MAX_FIELDS]; /* the nodes of each field */
  PetscInt                 n[PATCHFD_MAX_FIELDS][3];
  size_t                   at[PATCHFD_MAX_FIELDS + 1] = {0};

  for (PetscInt f = 0; f < nfield; f++) {
    FieldsNodes(p, f, patch, n[f]);
    at[f + 1] = at[f] + (size_t)(n[f][0] * n[f][1] * n[f][2]);
    BatchPlace(&free[f], count, field[f].dir, patch);
    BatchClip(&free[f], n[f], field[f].read);
    Gather(&free[f], n[f], &field[f].box, (operation == PATCHFD_OP_SOLVE ? r : b) + field[f].x0, p->u + at[f]);
  }
  for (PetscInt f = 0; f < nfield && operation != PATCHFD_OP_SOLVE && !zero; f++) {
    for (PetscInt g = 0; g < nfield; g++) {
      if (!p->rows[f][g]) continue;
      RowsSelect(p->rows[f][g], count, patch);
      RowsSubtract(p->rows[f][g], n[f], n[g], &free[g], &field[g], x + field[g].x0, p->u + at[f]);
    }
  }
  if (operation == PATCHFD_OP_RESIDUAL) {
    for (PetscInt f = 0; f < nfield; f++) Scatter(&free[f], n[f], 1, p->u + at[f], 0, &field[f].box, r + field[f].x0);
    return;
  }
  if (p->dense) FieldsDense(p, count, patch, at[nfield]);
  else if (p->schur) SchurSolve(p->schur, count, patch, n, at, p->u);
  else
    for (PetscInt f = 0; f < nfield; f++) SeparableSolve(p->fd[f], count, patch, p->u + at[f]);
  for (PetscInt f = 0; f < nfield; f++) Scatter(&free[f], n[f], omega, p->u + at[f], 1, &field[f].box, x + field[f].x0);
}

/* multiplications and additions of one patch, which is one of the middle of a mesh */
static PetscLogDouble FieldsFlops(const FieldsPlan *p, PatchFDPatchOp operation, const PetscInt patch[3][VL], PetscBool zero)
{
  PetscInt       n[PATCHFD_MAX_FIELDS][3];
  PetscLogDouble flops = 0;

  for (PetscInt f = 0; f < p->desc.nfield; f++) FieldsNodes(p, f, patch, n[f]);
  for (PetscInt f = 0; f < p->desc.nfield && operation != PATCHFD_OP_SOLVE && !zero; f++)
    for (PetscInt g = 0; g < p->desc.nfield; g++)
      if (p->rows[f][g]) flops += RowsFlops(p->rows[f][g], n[f], n[g]);
  if (operation == PATCHFD_OP_RESIDUAL) return flops;
  for (int i = 0; i < 8 && p->dense; i++) flops += 2.0 * p->dense[0].desc.size[i] * p->dense[0].desc.size[i];
  for (PetscInt f = 0; f < p->desc.nfield && !p->dense; f++) flops += SeparableFlops(p->fd[f], PATCHFD_OP_SOLVE, n[f], PETSC_TRUE, zero);
  return flops;
}
