/*
  Local solves by dense inverses, for a batch of patches: u = U blocks U' u (PatchFDDense).  In each direction with parity the block's
  lines become sums, then differences; a block of the inverse acts on one choice of sums and differences.
*/
#pragma once
#include "lines.h"

typedef struct {
  PatchFDDense desc; /* its blocks belong to the description */
  REAL        *block[8];
} DenseClass;

static PetscErrorCode DenseClassCreate(const PatchFDDense *desc, DenseClass *c)
{
  size_t total = 0;

  PetscFunctionBegin;
  c->desc = *desc;
  for (int b = 0; b < 8; b++) total += (size_t)desc->size[b] * (size_t)desc->size[b];
  PetscCall(RealCopy(total, desc->block[0], &c->block[0]));
  for (int b = 1; b < 8; b++) c->block[b] = c->block[b - 1] + desc->size[b - 1] * desc->size[b - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseClassDestroy(DenseClass *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->block[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* lines of direction d to sums and differences (fold), or back: the adjoint; `line` is a work line */
static void DenseFold(const PetscInt n[3], int d, PetscBool fold, V *u, V *line)
{
  const PetscInt inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1), outer = (d < 1 ? n[1] : 1) * (d < 2 ? n[2] : 1), m = n[d],
                 even = (m + 1) / 2, odd = m / 2;

  for (PetscInt o = 0; o < outer; o++) {
    for (PetscInt i = 0; i < inner; i++) {
      V *x = u + o * inner * m + i;

      for (PetscInt l = 0; l < m; l++) line[l] = x[l * inner];
      for (PetscInt l = 0; l < odd; l++) {
        const V a = line[l], b = line[fold ? m - 1 - l : even + l];

        x[l * inner]                             = a + b;
        x[(fold ? even + l : m - 1 - l) * inner] = a - b;
      }
      if (even > odd) x[odd * inner] = line[odd];
    }
  }
}

/* the numbers of field f that belong to block b, in the order of its rows: lo[d] .. hi[d] - 1 of each line that DenseFold() made */
static void DenseRange(const PatchFDDense *desc, int b, int f, PetscInt lo[3], PetscInt hi[3])
{
  for (int d = 0; d < 3; d++) {
    const PetscInt n = desc->n[f][d], even = desc->parity[d] ? (n + 1) / 2 : n;
    const int      odd = desc->parity[d] && (b >> d & 1) != (int)desc->odd[f][d];

    lo[d] = odd ? even : 0;
    hi[d] = odd ? n : even;
  }
}

/* one block: in a direction with parity the sums or the differences, in others everything */
static void DenseBlock(const DenseClass *c, int b, V *u, V *in, V *out)
{
  const PetscInt size = c->desc.size[b];
  PetscInt       m;
  V             *v;

#define ENTRIES(statement) \
  do { \
    m = 0; \
    v = u; \
    for (int f = 0; f < c->desc.nfield; f++) { \
      const PetscInt *n = c->desc.n[f]; \
      PetscInt        lo[3], hi[3]; \
\
      DenseRange(&c->desc, b, f, lo, hi); \
      for (PetscInt k = lo[2]; k < hi[2]; k++) \
        for (PetscInt j = lo[1]; j < hi[1]; j++) \
          for (PetscInt i = lo[0]; i < hi[0]; i++, m++) statement; \
      v += n[0] * n[1] * n[2]; \
    } \
  } while (0)
  ENTRIES(in[m] = v[(k * n[1] + j) * n[0] + i]);
  LineSame(size, size, c->block[b], in, 1, out, 1, PETSC_FALSE);
  ENTRIES(v[(k * n[1] + j) * n[0] + i] = out[m]);
#undef ENTRIES
}

/* all fields' lines to sums and differences, or back */
static void DenseFoldFields(const DenseClass *c, PetscBool fold, V *u, V *line)
{
  for (int f = 0; f < c->desc.nfield; f++) {
    const PetscInt *n = c->desc.n[f];

    for (int d = 0; d < 3; d++)
      if (c->desc.parity[d]) DenseFold(n, d, fold, u, line);
    u += n[0] * n[1] * n[2];
  }
}

/* u = inverse u in all lanes, the fields of u one after another; work has twice its size, `size` */
static void DenseSolve(const DenseClass *c, size_t size, V *u, V *work)
{
  DenseFoldFields(c, PETSC_TRUE, u, work);
  for (int b = 0; b < 8; b++)
    if (c->desc.size[b]) DenseBlock(c, b, u, work, work + size);
  DenseFoldFields(c, PETSC_FALSE, u, work);
}

/* the same in one lane, for an inverse that is one block; work has twice its size */
static void DenseSolveLane(const DenseClass *c, int lane, V *u, REAL *work)
{
  const PetscInt n   = c->desc.size[0];
  REAL          *sum = work + n;

  for (PetscInt i = 0; i < n; i++) {
    work[i] = u[i][lane];
    sum[i]  = 0;
  }
  for (PetscInt j = 0; j < n; j++) {
    const REAL *A = c->block[0] + (size_t)j * (size_t)n, x = work[j];

    INDEPENDENT
    for (PetscInt i = 0; i < n; i++) sum[i] += A[i] * x;
  }
  for (PetscInt i = 0; i < n; i++) u[i][lane] = sum[i];
}

/* the same in some lanes, the others of u stay; t is a work array of that size */
static void DenseSolveLanes(const DenseClass *c, size_t size, const PetscBool in[VL], V *u, V *t, V *work)
{
  const PetscBool whole = (PetscBool)(c->desc.size[0] == (PetscInt)size); /* one block, as where each patch has its own inverse */

  if (!whole) {
    memcpy(t, u, size * sizeof(V));
    DenseSolve(c, size, t, work);
  }
  for (int l = 0; l < VL; l++) {
    if (!in[l]) continue;
    if (whole) DenseSolveLane(c, l, u, (REAL *)work);
    else
      for (size_t i = 0; i < size; i++) u[i][l] = t[i][l];
  }
}
