/*
  A line cut into pieces (patchfd/private/cut.h): the modes of a piece, and what its ends have to do with them and with each other.
*/
#include <patchfd/private/cut.h>

/* entry of a band between two nodes of a cell */
static PetscReal Entry(const PatchFDBand *b, PetscInt cell, PetscInt row, PetscInt col)
{
  return b->X[(PetscCount)b->cls[cell] * PatchFDBandSize(b) + row * PatchFDBandWidth(b) + b->reach * b->ncol + col];
}

/* do all rows of all cells add up to zero, and is no node fixed? */
static PetscBool ConstantsInNullspace(const PatchFDLine *line, const PatchFDBand *A)
{
  PetscReal norm = 0, defect = 0;

  for (PetscCount i = 0; i < (PetscCount)A->nclass * A->nloc; i++) {
    PetscReal sum = 0, abs = 0;

    for (PetscInt j = 0; j < PatchFDBandWidth(A); j++) {
      sum += A->X[i * PatchFDBandWidth(A) + j];
      abs += PetscAbsReal(A->X[i * PatchFDBandWidth(A) + j]);
    }
    norm   = PetscMax(norm, abs);
    defect = PetscMax(defect, PetscAbsReal(sum));
  }
  return (PetscBool)(!PatchFDLineFixed(line, 0) && !PatchFDLineFixed(line, 1) && defect <= 1e-12 * norm);
}

PetscErrorCode PatchFDCutCreate(const PatchFDLine *line, const PatchFDBand *A, PetscInt npiece, const PetscInt cell[], PatchFDCut *cut)
{
  const PetscBool continuous = (PetscBool)(line->continuity == PATCHFD_CONTINUOUS);
  PetscInt        n, band, row;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(cut, sizeof(*cut)));
  cut->npiece   = npiece;
  cut->nend     = continuous ? 1 : 2;
  cut->width    = 2 * cut->nend;
  cut->nunknown = PatchFDCutEnds(cut) / PatchFDCutCopies(cut);
  cut->singular = ConstantsInNullspace(line, A);
  PetscCall(PetscMalloc2(npiece + 1, &cut->cell, npiece + 1, &cut->first));
  PetscCall(PetscArraycpy(cut->cell, cell, npiece + 1));
  cut->first[0] = 0;
  for (PetscInt r = 0; r < npiece; r++) {
    PatchFDPieceFree(line, cell[r], cell[r + 1], &row, &n);
    cut->first[r + 1] = cut->first[r] + n;
  }
  n         = cut->first[npiece];
  band      = cut->nunknown * cut->width;
  cut->size = (PetscCount)n * (1 + 2 * cut->width) + 2 * band;
  PetscCall(PetscCalloc1(cut->size, &cut->lambda));
  cut->alpha = cut->lambda + n;
  cut->mass  = cut->alpha + (PetscCount)n * cut->width;
  cut->A     = cut->mass + (PetscCount)n * cut->width;
  cut->M     = cut->A + band;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z is x at the common node: its own entries, and those that two such nodes have in common in a piece of one cell */
static void JoinNodes(PatchFDCut *cut, const PatchFDBand *M, const PatchFDBand *A, PetscInt r)
{
  const PetscInt k = A->nloc - 1, above = cut->cell[r + 1];

  cut->A[r * cut->width] = Entry(A, above - 1, k, k) + Entry(A, above, 0, 0);
  cut->M[r * cut->width] = Entry(M, above - 1, k, k) + Entry(M, above, 0, 0);
  if (r == 0 || above - cut->cell[r] > 1) return;
  cut->A[r * cut->width + 1] = Entry(A, above - 1, k, 0);
  cut->M[r * cut->width + 1] = Entry(M, above - 1, k, 0);
}

/*
  The coupling of this piece and the one above it is E C F', E and F value and derivative at the common vertex in this piece and in the
  other.  `value` and `slope` are the columns of E C.  With z = F' x above for this piece and E' x here for the other, R couples the two by
  -C.  The node that is farthest from the vertex has a derivative there, and no value.
*/
static void JoinFunctionals(PatchFDCut *cut, const PatchFDEigen *e, PetscInt r)
{
  const PetscInt   m = e->ext, nend = cut->nend, up = 2 * nend * r + nend; /* the first unknown above the cut */
  const PetscReal *derivative = e->derivative[0];                          /* at the upper end of a cell */

  for (PetscInt j = 0; j < nend; j++) {
    const PetscReal *X = (j ? e->slope[1] : e->value[1]) + e->n - m, slope = X[0] / derivative[0],
                    C[2] = {X[m - 1] - slope * derivative[m - 1], slope};

    for (PetscInt i = 0; i < nend; i++) cut->A[(up + i) * cut->width + nend + i - j] = -C[i];
  }
}

/* S' of a column over nodes */
static void ToModes(const PatchFDEigen *e, const PetscReal column[], PetscInt stride, PetscReal modes[])
{
  for (PetscInt i = 0; i < e->n; i++)
    for (PetscInt l = 0; l < e->n; l++) modes[l * stride] += e->S[(PetscCount)i * e->n + l] * column[i];
}

PetscErrorCode PatchFDCutSetPiece(PatchFDCut *cut, const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, PetscInt r,
                                  PatchFDEigen *e)
{
  const PetscInt   nend = cut->nend, w = 2 * nend;
  const PetscCount first = cut->first[r];
  PetscReal       *alpha = cut->alpha + first * w, *mass = cut->mass + first * w;

  PetscFunctionBegin;
  PetscCall(PatchFDPieceEigenCreate(line, M, A, cut->cell[r], cut->cell[r + 1], e));
  PetscCall(PetscArraycpy(cut->lambda + first, e->lambda, e->n));
  for (int end = 0; end < 2; end++) {
    if (nend == 2) {
      ToModes(e, e->value[end], w, alpha + nend * end);
      ToModes(e, e->slope[end], w, alpha + nend * end + 1);
    } else {
      for (PetscInt l = 0; l < e->n; l++) {
        alpha[l * w + end] = e->alpha[end][l];
        mass[l * w + end]  = e->mu[end][l];
      }
    }
  }
  if (r < cut->npiece - 1 && nend == 1) JoinNodes(cut, M, A, r);
  if (r < cut->npiece - 1 && nend == 2) JoinFunctionals(cut, e, r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A + mu M is, if what it has in all pieces is and pivots have the signs that follow from that; and if it is for the smallest mu, it is for
  all.  Pivots that are nearly zero, beside those of a large mu, say that it is singular but for rounding: it is not definite then
*/
PetscErrorCode PatchFDCutIsDefinite(const PatchFDCut *cut, PetscReal lo, PetscReal hi, PetscBool *definite)
{
  const PetscInt  n     = cut->first[cut->npiece];
  const PetscReal tiny  = 1e-11;
  PetscReal       least = PETSC_MAX_REAL, most = PETSC_MIN_REAL, sign = cut->A[0], *R, *large;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    least = PetscMin(least, cut->lambda[i]);
    most  = PetscMax(most, cut->lambda[i]);
  }
  if (n) sign = least + lo > 0 ? 1 : (most + hi < 0 ? -1 : 0);
  PetscCall(PetscMalloc2(cut->nunknown * cut->width, &R, cut->nunknown * cut->width, &large));
  PatchFDCutFactor(cut, sign > 0 ? lo : hi, 1, R);
  PatchFDCutFactor(cut, sign > 0 ? hi + PetscAbsReal(most) : lo - PetscAbsReal(least), 1, large);
  *definite = (PetscBool)(sign != 0);
  for (PetscInt i = 0; i < cut->nunknown; i++) {
    const PetscReal expected = cut->nend == 1 || i % 4 >= 2 ? sign : -sign;

    *definite = (PetscBool)(*definite && R[i * cut->width] * expected >= 0 &&
                            tiny * PetscAbsReal(R[i * cut->width]) <= PetscAbsReal(large[i * cut->width]));
  }
  PetscCall(PetscFree2(R, large));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCutDestroy(PatchFDCut *cut)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(cut->cell, cut->first));
  PetscCall(PetscFree(cut->lambda));
  PetscCall(PetscMemzero(cut, sizeof(*cut)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
