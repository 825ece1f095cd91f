/* inverses of patch matrices in parity blocks: set-up, from one-dimensional matrices */
#include <patchfd/private/assembly.h>
#include <lapacke.h>

/* the parity of field f in direction d in block b: 0 if the direction has none */
static int BlockParity(const PatchFDDense *dense, int b, PetscInt f, int d)
{
  return !dense->parity[d] ? 0 : ((b >> d & 1) != (int)dense->odd[f][d] ? -1 : 1);
}

/* the numbers that field f has in block b */
static PetscInt FieldSize(const PatchFDDense *dense, int b, PetscInt f, PetscInt h[3])
{
  PetscInt size = 1;

  for (int d = 0; d < 3; d++) {
    h[d] = b >> d & 1 && !dense->parity[d] ? 0 : PatchFDFoldSize(dense->n[f][d], BlockParity(dense, b, f, d));
    size *= h[d];
  }
  return size;
}

PetscCount PatchFDHostDenseSizes(PatchFDDense *dense)
{
  PetscCount total = 0;
  PetscInt   h[3];

  for (int b = 0; b < 8; b++) {
    dense->size[b] = 0;
    for (PetscInt f = 0; f < dense->nfield; f++) dense->size[b] += FieldSize(dense, b, f, h);
    total += (PetscCount)dense->size[b] * dense->size[b];
  }
  return total;
}

/* K += coef H[2] (x) H[1] (x) H[0], matrices with n[] rows and m[] columns; K has rows of length ld */
static void AddProduct(PetscReal coef, PetscReal *const H[3], const PetscInt n[3], const PetscInt m[3], PetscInt ld, PetscReal K[])
{
  for (PetscInt r = 0; r < n[0] * n[1] * n[2]; r++) {
    const PetscInt   i[3] = {r % n[0], r / n[0] % n[1], r / n[0] / n[1]};
    const PetscReal *row  = H[0] + i[0] * m[0];
    PetscReal       *k    = K + (PetscCount)r * ld;

    for (PetscInt c2 = 0; c2 < m[2]; c2++) {
      for (PetscInt c1 = 0; c1 < m[1]; c1++) {
        const PetscReal a = coef * H[2][i[2] * m[2] + c2] * H[1][i[1] * m[1] + c1];

        for (PetscInt c0 = 0; c0 < m[0]; c0++) *k++ += a * row[c0];
      }
    }
  }
}

/* block b of the matrix: the sum of the terms in the bases of its symmetries; H is for one-dimensional matrices */
static void AddTerms(const PatchFDDense *dense, int b, PetscInt nterm, const PatchFDMatrixTerm term[], PetscReal *const H[3], PetscReal K[])
{
  PetscInt first[PATCHFD_MAX_FIELDS + 1] = {0}, h[PATCHFD_MAX_FIELDS][3];

  for (PetscInt f = 0; f < dense->nfield; f++) first[f + 1] = first[f] + FieldSize(dense, b, f, h[f]);
  for (PetscInt t = 0; t < nterm; t++) {
    const PetscInt r = term[t].row, c = term[t].col;

    for (int d = 0; d < 3; d++)
      PatchFDFold(dense->n[r][d], BlockParity(dense, b, r, d), dense->n[c][d], BlockParity(dense, b, c, d), term[t].X[d], dense->n[c][d],
                  H[d]);
    AddProduct(term[t].coef, H, h[r], h[c], dense->size[b], K + (PetscCount)first[r] * dense->size[b] + first[c]);
  }
}

/*
  The inverse of a symmetric matrix, in place; false if there is none but for rounding, or if it was to be positive definite and is not.  A
  diagonal entry times that of the inverse is at least 1 for a definite matrix, at most its condition number, and does not depend on the
  scales of rows
*/
static PetscErrorCode Invert(PetscInt n, PetscBool spd, PetscReal K[], PetscBool *regular)
{
  const PetscReal  most = 1e14;
  const lapack_int m    = (lapack_int)n;
  lapack_int      *pivot, info;
  PetscReal       *diagonal;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &pivot, n, &diagonal));
  for (PetscInt i = 0; i < n; i++) diagonal[i] = K[(PetscCount)i * (n + 1)];
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  if (spd) {
    info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', m, K, m);
    if (info == 0) info = LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', m, K, m);
  } else {
    info = LAPACKE_dgetrf(LAPACK_COL_MAJOR, m, m, K, m, pivot);
    if (info == 0) info = LAPACKE_dgetri(LAPACK_COL_MAJOR, m, K, m, pivot);
  }
  PetscCall(PetscFPTrapPop());
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Inverse of a patch matrix of size %" PetscInt_FMT ": LAPACK failed with info = %d",
             n, (int)info);
  *regular = (PetscBool)(info == 0);
  for (PetscInt i = 0; i < n; i++) *regular = (PetscBool)(*regular && PetscAbsReal(diagonal[i] * K[(PetscCount)i * (n + 1)]) <= most);
  PetscCall(PetscFree2(pivot, diagonal));
  for (PetscInt i = 0; i < n; i++) { /* dpotri gives one half, and rounding may not break the symmetry */
    for (PetscInt j = 0; j < i; j++) {
      PetscReal *lower = &K[(PetscCount)j * n + i], *upper = &K[(PetscCount)i * n + j];

      *upper = *lower = spd ? *lower : 0.5 * (*lower + *upper);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Constants z of one field, |z| = 1, as the null space of a block K = E' A E with even parities: (A + s z z')^-1 = pinv(A) + z z' / s, and z
  = E y.
  y[i] is zero but for the numbers of the field, and ez = E' z.
*/
static void Constants(const PatchFDDense *dense, PetscInt field, PetscReal y[], PetscReal ez[])
{
  const PetscInt *n = dense->n[field];
  PetscInt        h[3], first = 0, size;

  for (PetscInt i = 0; i < dense->size[0]; i++) y[i] = ez[i] = 0;
  for (PetscInt f = 0; f < field; f++) first += FieldSize(dense, 0, f, h);
  size = FieldSize(dense, 0, field, h);
  for (PetscInt i = 0; i < size; i++) {
    const PetscInt at[3] = {i % h[0], i / h[0] % h[1], i / h[0] / h[1]};

    y[first + i] = ez[first + i] = 1 / PetscSqrtReal((PetscReal)(n[0] * n[1] * n[2]));
    for (int d = 0; d < 3; d++) ez[first + i] *= dense->parity[d] && 2 * at[d] != n[d] - 1 ? 2 : 1;
  }
}

/* the pseudo-inverse of the block of even parities, if constants of a field are its null space, otherwise its inverse */
static PetscErrorCode InvertConstants(const PatchFDDense *dense, PetscInt field, PetscBool spd, PetscReal K[], PetscBool *regular)
{
  const PetscInt n = dense->size[0];
  PetscReal     *y, *ez, norm = 0, defect = 0, coupling = 0, s;
  PetscBool      singular;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &y, n, &ez));
  Constants(dense, field, y, ez);
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0;

    for (PetscInt j = 0; j < n; j++) {
      const PetscReal k = PetscAbsReal(K[(PetscCount)i * n + j]);

      sum += K[(PetscCount)i * n + j] * y[j];
      norm = PetscMax(norm, k);
      if (y[i] != 0) coupling = PetscMax(coupling, k);
    }
    defect = PetscMax(defect, PetscAbsReal(sum));
  }
  singular = (PetscBool)(defect <= 1e-11 * coupling);
  s        = coupling * coupling / norm; /* as the Schur complement of the field */
  for (PetscInt i = 0; i < n && singular; i++)
    for (PetscInt j = 0; j < n; j++) K[(PetscCount)i * n + j] += s * ez[i] * ez[j];
  PetscCall(Invert(n, spd, K, regular));
  for (PetscInt i = 0; i < n && singular; i++)
    for (PetscInt j = 0; j < n; j++) K[(PetscCount)i * n + j] -= y[i] * y[j] / s;
  PetscCall(PetscFree2(y, ez));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostDenseParity(PetscInt nterm, const PatchFDMatrixTerm term[], PatchFDDense *dense)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    dense->parity[d] = (PetscBool)(dense->n[0][d] > 1);
    for (PetscInt t = 0; t < nterm; t++) {
      const PetscInt r = term[t].row, c = term[t].col;

      dense->parity[d] = (PetscBool)(dense->parity[d] && PatchFDMirrored(dense->n[r][d], dense->n[c][d],
                                                                         dense->odd[r][d] == dense->odd[c][d] ? 1 : -1, term[t].X[d]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostDenseCreate(PetscInt nterm, const PatchFDMatrixTerm term[], PetscBool spd, PetscInt constants,
                                      PatchFDDense *dense, PetscBool *regular)
{
  const PetscCount total   = PatchFDHostDenseSizes(dense);
  PetscInt         longest = 1;
  PetscReal       *H[3];

  PetscFunctionBegin;
  *regular = PETSC_TRUE;
  PetscCall(PetscCalloc1(total, &dense->block[0]));
  for (int b = 1; b < 8; b++) dense->block[b] = dense->block[b - 1] + (PetscCount)dense->size[b - 1] * dense->size[b - 1];
  for (PetscInt f = 0; f < dense->nfield; f++)
    for (int d = 0; d < 3; d++) longest = PetscMax(longest, dense->n[f][d]);
  PetscCall(PetscMalloc3(longest * longest, &H[0], longest * longest, &H[1], longest * longest, &H[2]));
  for (int b = 0; b < 8 && *regular; b++) {
    if (!dense->size[b]) continue;
    AddTerms(dense, b, nterm, term, H, dense->block[b]);
    if (b == 0 && constants >= 0) PetscCall(InvertConstants(dense, constants, spd, dense->block[b], regular));
    else PetscCall(Invert(dense->size[b], spd, dense->block[b], regular));
  }
  PetscCall(PetscFree3(H[0], H[1], H[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where the nodes of a cell are among those of the patch, or -1 */
static PetscBool CellPlaces(PetscInt degree, PetscInt dim, const PetscInt cell[3], const PetscInt first[3], const PetscInt n[3],
                            PetscInt place[])
{
  PetscBool any = PETSC_FALSE;

  for (PetscInt k = 0; k <= (dim == 3 ? degree : 0); k++) {
    for (PetscInt j = 0; j <= degree; j++) {
      for (PetscInt i = 0; i <= degree; i++) {
        const PetscInt at[3] = {cell[0] * degree + i - first[0], cell[1] * degree + j - first[1],
                                dim == 3 ? cell[2] * degree + k - first[2] : 0};
        PetscBool      in    = PETSC_TRUE;

        for (int d = 0; d < 3; d++) in = (PetscBool)(in && at[d] >= 0 && at[d] < n[d]);
        any      = (PetscBool)(any || in);
        *place++ = in ? (at[2] * n[1] + at[1]) * n[0] + at[0] : -1;
      }
    }
  }
  return any;
}

PetscErrorCode PatchFDHostDenseCells(PetscInt degree, PetscInt dim, const PatchFDRange cells, const PetscReal E[],
                                     const PetscInt first[][3], PatchFDDense *dense)
{
  const PetscInt nodes = PetscPowInt(degree + 1, dim), size = nodes * dense->nfield;
  PetscInt      *place, c[3], lo[3], hi[3]; /* cells that may have nodes of the patch */

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    dense->parity[d] = PETSC_FALSE;
    lo[d]            = d < dim ? PetscMax(cells[d][0], first[0][d] / degree - 1) : cells[d][0];
    hi[d]            = d < dim ? PetscMin(cells[d][1], (first[0][d] + dense->n[0][d]) / degree + 1) : cells[d][1];
  }
  PetscCall(PetscCalloc1(PatchFDHostDenseSizes(dense), &dense->block[0]));
  for (int b = 1; b < 8; b++) dense->block[b] = dense->block[b - 1] + (PetscCount)dense->size[b - 1] * dense->size[b - 1];
  PetscCall(PetscMalloc1(size, &place));
  for (c[2] = lo[2]; c[2] < hi[2]; c[2]++) {
    for (c[1] = lo[1]; c[1] < hi[1]; c[1]++) {
      for (c[0] = lo[0]; c[0] < hi[0]; c[0]++) {
        const PetscCount n[2] = {cells[0][1] - cells[0][0], cells[1][1] - cells[1][0]};
        const PetscReal *e    = E + ((n[1] * (c[2] - cells[2][0]) + c[1] - cells[1][0]) * n[0] + c[0] - cells[0][0]) * size * size;
        PetscInt         at   = 0;

        if (!CellPlaces(degree, dim, c, first[0], dense->n[0], place)) continue;
        for (PetscInt f = 0; f < dense->nfield; f++) {
          (void)CellPlaces(degree, dim, c, first[f], dense->n[f], place + f * nodes);
          for (PetscInt i = f * nodes; i < (f + 1) * nodes; i++) place[i] += place[i] < 0 ? 0 : at;
          at += dense->n[f][0] * dense->n[f][1] * dense->n[f][2];
        }
        for (PetscInt i = 0; i < size; i++)
          for (PetscInt j = 0; j < size; j++)
            if (place[i] >= 0 && place[j] >= 0) dense->block[0][(PetscCount)place[i] * dense->size[0] + place[j]] += e[i * size + j];
      }
    }
  }
  PetscCall(PetscFree(place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostInvert(PetscInt count, PetscInt n, PetscReal *const K[], PetscBool *regular)
{
  PetscFunctionBegin;
  *regular = PETSC_TRUE;
  for (PetscInt i = 0; i < count && *regular; i++) PetscCall(Invert(n, PETSC_TRUE, K[i], regular));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostDenseInvert(PetscBool spd, PetscInt constants, PatchFDDense *dense, PetscBool *regular)
{
  return constants >= 0 ? InvertConstants(dense, constants, spd, dense->block[0], regular)
                        : Invert(dense->size[0], spd, dense->block[0], regular);
}

PetscErrorCode PatchFDHostDenseDestroy(PatchFDDense *dense)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(dense->block[0]));
  PetscCall(PetscMemzero(dense, sizeof(*dense)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
