/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0, coarse cell by coarse cell.  A fine node that several coarse cells
  share belongs to the last of them in a box, to the first of them in a mesh: each fine node is visited once, so that adding is right.

  Linear elements on cells that are halved go row by row instead: cells of so few nodes would be mostly gathering.
*/
#pragma once
#include "lines.h"

typedef struct {
  PatchFDTransferDesc desc;
  PetscInt            nf[3], nc[3];
  REAL               *P[3], *Pt[3]; /* [nclass][nf][nc] and the transpose */
  V                  *block[2], *lanes[3];
  void               *base;
  Index               node[2]; /* of a mesh: coarse and fine */
  PetscInt            ncomp;
  PetscInt64          ncells;
  PetscLogDouble      flops;
  PetscBool           linear;
  REAL               *row;           /* then: for a row of fine nodes and one more on either side */
  PetscInt            range[2][3][2]; /* and the nodes that are visited, coarse and fine */
} TransferPlan;

static PetscErrorCode TransferDestroy(void **plan)
{
  TransferPlan *p = (TransferPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree2(p->P[d], p->Pt[d]));
  PetscCall(PetscFree(p->base));
  for (int i = 0; i < 2; i++) PetscCall(IndexDestroy(&p->node[i]));
  PetscCall(PetscFree(p->row));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferNodes(const PatchFDMeshTransfer *mesh, TransferPlan *p)
{
  PetscFunctionBegin;
  p->ncomp  = mesh->ncomp;
  p->ncells = mesh->ncells;
  PetscCall(IndexCreate(mesh->ncells, p->nc[0] * p->nc[1] * p->nc[2], mesh->coarse, &p->node[0]));
  PetscCall(IndexCreate(mesh->ncells, p->nf[0] * p->nf[1] * p->nf[2], mesh->fine, &p->node[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is P that of linear elements on halves of cells in all directions, but for those that there are not? */
static PetscBool TransferIsLinear(const PatchFDTransferDesc *desc)
{
  const PetscReal P[] = {1, 0, 0.5, 0.5, 0, 1};

  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    if (e->nf == 1 && e->nc == 1) continue;
    if (e->nf != 3 || e->nc != 2 || e->fstride != 2 || e->cstride != 1) return PETSC_FALSE;
    for (PetscInt i = 0; i < 6 * e->nclass; i++)
      if (e->P[i] != P[i % 6]) return PETSC_FALSE;
  }
  return (PetscBool)(desc->dir[0]->nf == 3 && !desc->mesh);
}

static PetscErrorCode TransferSetLinear(TransferPlan *p)
{
  const PatchFDTransferDesc *desc = &p->desc;

  PetscFunctionBegin;
  p->linear = PETSC_TRUE;
  for (int d = 0; d < 3; d++) {
    const PetscInt first = desc->cells[d][0], end = desc->cells[d][1], last = end == desc->dir[d]->ncells;
    const PetscInt box[2][2] = {{first, desc->dir[d]->nf == 1 ? end : end + 1}, {2 * first, desc->dir[d]->nf == 1 ? end : 2 * end + last}};

    for (int f = 0; f < 2; f++) {
      p->range[f][d][0] = PetscMax(box[f][0], f ? desc->fine[d][0] : desc->coarse[d][0]);
      p->range[f][d][1] = PetscMax(p->range[f][d][0], PetscMin(box[f][1], f ? desc->fine[d][1] : desc->coarse[d][1]));
    }
  }
  PetscCall(PetscCalloc1((size_t)(2 * (desc->cells[0][1] - desc->cells[0][0]) + 5), &p->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferCreate(const PatchFDTransferDesc *desc, void **plan)
{
  TransferPlan *p;
  PetscInt      size = 1, lanes = 0;
  V            *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->desc = *desc;
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];
    const PetscInt          m = e->nf * e->nc;

    p->nf[d] = e->nf;
    p->nc[d] = e->nc;
    PetscCall(PetscMalloc2((size_t)e->nclass * m, &p->P[d], (size_t)e->nclass * m, &p->Pt[d]));
    for (PetscInt c = 0; c < e->nclass; c++) {
      for (PetscInt i = 0; i < e->nf; i++) {
        for (PetscInt j = 0; j < e->nc; j++) p->P[d][c * m + i * e->nc + j] = p->Pt[d][c * m + j * e->nf + i] = (REAL)e->P[c * m + i * e->nc + j];
      }
    }
    size *= PetscMax(e->nf, e->nc);
    lanes += m;
  }
  PetscCall(VMalloc(2 * (size_t)size + lanes, &v, &p->base));
  for (int i = 0; i < 2; i++, v += size) p->block[i] = v;
  for (int d = 0; d < 3; d++) {
    p->lanes[d] = v;
    v += p->nf[d] * p->nc[d];
  }
  if (desc->mesh) PetscCall(TransferNodes(desc->mesh, p));
  else p->ncells = PatchFDRangeSize(desc->cells);
  p->flops = 2.0 * PetscMax(1, p->ncomp) * p->ncells * (p->nf[0] * p->nc[0] * p->nc[1] * p->nc[2] + p->nf[0] * p->nf[1] * p->nc[1] * p->nc[2] + p->nf[0] * p->nf[1] * p->nf[2] * p->nc[2]);
  if (TransferIsLinear(desc)) PetscCall(TransferSetLinear(p));
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the lanes' fine or coarse nodes */
static void TransferClip(const TransferPlan *p, const PetscInt cell[3][VL], PetscBool fine, Batch *b)
{
  const PatchFDTransferDesc *desc = &p->desc;

  for (int d = 0; d < 3; d++) {
    const PetscInt stride = fine ? desc->dir[d]->fstride : desc->dir[d]->cstride;

    for (int l = 0; l < b->count; l++) b->first[d][l] = cell[d][l] * stride;
  }
  BatchClip(b, fine ? p->nf : p->nc, fine ? desc->fine : desc->coarse);
  if (!fine) return;
  b->full = PETSC_FALSE;
  for (int d = 0; d < 3; d++) {
    const PetscInt last = desc->dir[d]->ncells - 1, stride = desc->dir[d]->fstride;

    for (int l = 0; l < b->count; l++) {
      if (cell[d][l] < last) b->hi[d][l] = PetscMax(b->lo[d][l], PetscMin(b->hi[d][l], b->first[d][l] + stride));
    }
  }
}

/* P, or its transpose, on the lanes of block 0, whose cells have the classes cls: a block with n nodes */
static V *TransferContract(const TransferPlan *p, PetscBool restriction, int count, PetscInt cls[3][VL], PetscInt n[3])
{
  V *in = p->block[0], *out = p->block[1], *swap;

  for (int d = 0; d < 3; d++) {
    const PetscInt nto = restriction ? p->nc[d] : p->nf[d];
    const Coef     m   = CoefSelect(count, cls[d], (size_t)(p->nf[d] * p->nc[d]), restriction ? p->Pt[d] : p->P[d], p->lanes[d]);

    n[d] = restriction ? p->nf[d] : p->nc[d];
    for (int e = d + 1; e < 3; e++) n[e] = restriction ? p->nf[e] : p->nc[e];
    Contract(d, n, nto, m, in, out, PETSC_FALSE);
    n[d] = nto;
    swap = in;
    in   = out;
    out  = swap;
  }
  return in;
}

static PetscErrorCode TransferApplyBox(const TransferPlan *p, PetscBool restriction, const REAL *from, REAL *to)
{
  const PatchFDTransferDesc *desc  = &p->desc;
  const PatchFDBox          *bfrom = restriction ? &desc->fbox : &desc->cbox, *bto = restriction ? &desc->cbox : &desc->fbox;

  PetscFunctionBegin;
  for (PetscInt64 t = 0; t < p->ncells; t += VL) {
    Batch    b;
    PetscInt cell[3][VL], cls[3][VL], n[3];
    V       *out;

    b.count = RangeBatch(desc->cells, t, cell);
    TransferClip(p, cell, restriction, &b);
    Gather(&b, restriction ? p->nf : p->nc, bfrom, from, p->block[0]);
    for (int d = 0; d < 3; d++)
      for (int l = 0; l < b.count; l++) cls[d][l] = desc->dir[d]->cls[cell[d][l]];
    out = TransferContract(p, restriction, b.count, cls, n);
    TransferClip(p, cell, (PetscBool)!restriction, &b);
    Scatter(&b, n, 1, out, 1, bto, to);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferApplyMesh(const TransferPlan *p, PetscBool restriction, const REAL *from, REAL *to)
{
  const Index *nfrom = &p->node[restriction ? 1 : 0], *nto = &p->node[restriction ? 0 : 1];
  PetscInt     cls[3][VL] = {{0}}, n[3];

  PetscFunctionBegin;
  for (PetscCount batch = 0; batch * VL < p->ncells; batch++) {
    for (PetscInt c = 0; c < p->ncomp; c++) {
      IndexGather(nfrom, batch, p->ncomp, from + c, p->block[0]);
      IndexScatter(nto, batch, p->ncomp, 1, TransferContract(p, restriction, VL, cls, n), to + c);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- linear elements, row by row ---- */

/* the coarse nodes that a fine one is made of in a direction, each with the same weight */
static inline PetscReal TransferParents(const TransferPlan *p, int d, PetscInt fine, PetscInt *first, PetscInt *end)
{
  const PetscInt halves = p->nf[d] > 1;

  *first = PetscMax(p->range[0][d][0], halves ? fine / 2 : fine);
  *end   = PetscMin(p->range[0][d][1], halves ? (fine + 1) / 2 + 1 : fine + 1);
  return halves && fine % 2 ? 0.5 : 1;
}

/* row[1] is the first coarse node of the cells: a row of the sum over the parents in y and z, zero where there are none */
static void TransferProlongRow(const TransferPlan *p, const REAL *coarse, PetscInt j, PetscInt k, REAL *fine)
{
  const PetscInt lo = p->desc.cells[0][0] - 1, n = p->desc.cells[0][1] - lo + 2, c0 = p->range[0][0][0], nc = p->range[0][0][1] - c0, first = p->range[1][0][0], end = p->range[1][0][1];
  REAL *const    row = p->row;
  PetscInt       j0, j1, k0, k1, i = first;
  const REAL     weight = (REAL)(TransferParents(p, 1, j, &j0, &j1) * TransferParents(p, 2, k, &k0, &k1));

  for (PetscInt l = 0; l < n; l++) row[l] = 0;
  for (PetscInt kk = k0; kk < k1; kk++) {
    for (PetscInt jj = j0; jj < j1; jj++) {
      const REAL *const from = coarse + PatchFDBoxNode(&p->desc.cbox, c0, jj, kk);

      for (PetscInt l = 0; l < nc; l++) row[c0 - lo + l] += weight * from[l];
    }
  }
  if (i % 2 && i < end) {
    fine[0] += (REAL)0.5 * (row[i / 2 - lo] + row[i / 2 + 1 - lo]);
    i++;
  }
  for (; i + 1 < end; i += 2) {
    fine[i - first] += row[i / 2 - lo];
    fine[i + 1 - first] += (REAL)0.5 * (row[i / 2 - lo] + row[i / 2 + 1 - lo]);
  }
  if (i < end) fine[i - first] += row[i / 2 - lo];
}

/* row[1] is the first fine node of the cells: a row of the sum over the children in y and z, zero where there are none */
static void TransferRestrictRow(const TransferPlan *p, const REAL *fine, PetscInt j, PetscInt k, REAL *coarse)
{
  const PetscInt lo = 2 * p->desc.cells[0][0] - 1, n = 2 * p->desc.cells[0][1] - lo + 2, c0 = p->range[0][0][0], nc = p->range[0][0][1] - c0, first = p->range[1][0][0], nf = p->range[1][0][1] - first;
  const PetscInt wy = p->nf[1] > 1, wz = p->nf[2] > 1, jf = wy ? 2 * j : j, kf = wz ? 2 * k : k;
  REAL *const    row = p->row;

  for (PetscInt l = 0; l < n; l++) row[l] = 0;
  for (PetscInt kk = PetscMax(kf - wz, p->range[1][2][0]); kk < PetscMin(kf + wz + 1, p->range[1][2][1]); kk++) {
    for (PetscInt jj = PetscMax(jf - wy, p->range[1][1][0]); jj < PetscMin(jf + wy + 1, p->range[1][1][1]); jj++) {
      const REAL *const from   = fine + PatchFDBoxNode(&p->desc.fbox, first, jj, kk);
      const REAL        weight = (REAL)((jj == jf ? 1 : 0.5) * (kk == kf ? 1 : 0.5));

      for (PetscInt l = 0; l < nf; l++) row[first - lo + l] += weight * from[l];
    }
  }
  for (PetscInt l = 0; l < nc; l++) {
    const REAL *const at = row + 2 * (c0 + l) - lo;

    coarse[l] += at[0] + (REAL)0.5 * (at[-1] + at[1]);
  }
}

static PetscErrorCode TransferApplyLinear(const TransferPlan *p, PetscBool restriction, const REAL *from, REAL *to)
{
  const PetscInt(*r)[2] = p->range[restriction ? 0 : 1];

  PetscFunctionBegin;
  if (r[0][0] >= r[0][1]) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = r[2][0]; k < r[2][1]; k++) {
    for (PetscInt j = r[1][0]; j < r[1][1]; j++) {
      if (restriction) TransferRestrictRow(p, from, j, k, to + PatchFDBoxNode(&p->desc.cbox, r[0][0], j, k));
      else TransferProlongRow(p, from, j, k, to + PatchFDBoxNode(&p->desc.fbox, r[0][0], j, k));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferApply(TransferPlan *p, PetscBool restriction, const REAL *from, REAL *to)
{
  PetscFunctionBegin;
  PetscCall((p->linear ? TransferApplyLinear : (p->node[0].size ? TransferApplyMesh : TransferApplyBox))(p, restriction, from, to));
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferProlong(void *plan, const void *coarse, void *fine)
{
  PetscFunctionBegin;
  PetscCall(TransferApply((TransferPlan *)plan, PETSC_FALSE, (const REAL *)coarse, (REAL *)fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferRestrict(void *plan, const void *fine, void *coarse)
{
  PetscFunctionBegin;
  PetscCall(TransferApply((TransferPlan *)plan, PETSC_TRUE, (const REAL *)fine, (REAL *)coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}
