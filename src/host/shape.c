/* Images of meshes: where the nodes of a box are in space, as polynomials within cells */
#include <patchfd/private/assembly.h>

void PatchFDHostMultilinear(PetscInt dim, PetscInt degree, const PetscReal t[], PatchFDShape *shape)
{
  PetscInt n[3], i[3];

  for (PetscInt d = 0; d < 3; d++) n[d] = shape->box.n[d];
  for (i[2] = 0; i[2] < n[2]; i[2]++) {
    for (i[1] = 0; i[1] < n[1]; i[1]++) {
      for (i[0] = 0; i[0] < n[0]; i[0]++) {
        PetscReal *x = &shape->x[dim * (i[0] + n[0] * (i[1] + n[1] * i[2]))], sum[3] = {0, 0, 0};

        if (i[0] % degree == 0 && i[1] % degree == 0 && i[2] % degree == 0) continue;
        for (PetscInt corner = 0; corner < 1 << dim; corner++) {
          ptrdiff_t at = 0;
          PetscReal w  = 1;

          for (PetscInt d = dim - 1; d >= 0; d--) {
            const PetscInt up = corner >> d & 1, first = PetscMin(i[d] / degree, (n[d] - 1) / degree - 1) * degree;

            w *= up ? t[i[d] - first] : 1 - t[i[d] - first];
            at = at * n[d] + first + up * degree;
          }
          for (PetscInt a = 0; a < dim && w != 0; a++) sum[a] += w * shape->x[dim * at + a];
        }
        for (PetscInt a = 0; a < dim; a++) x[a] = sum[a];
      }
    }
  }
}

void PatchFDHostCellNodes(PetscInt dim, PetscInt degree, PetscInt step, const PatchFDRange cells, const PatchFDRange free,
                          const PatchFDBox *box, PetscInt index[])
{
  PetscInt at[3];

  for (at[2] = cells[2][0]; at[2] < cells[2][1]; at[2]++)
    for (at[1] = cells[1][0]; at[1] < cells[1][1]; at[1]++)
      for (at[0] = cells[0][0]; at[0] < cells[0][1]; at[0]++)
        for (PetscInt k = 0; k <= (dim > 2 ? degree : 0); k += step)
          for (PetscInt j = 0; j <= degree; j += step)
            for (PetscInt i = 0; i <= degree; i += step) {
              const PetscInt node[3] = {at[0] * degree + i, at[1] * degree + j, at[2] * (dim > 2 ? degree : 0) + k};
              PetscBool      in      = PETSC_TRUE;

              for (int d = 0; d < 3 && free; d++) in = (PetscBool)(in && node[d] >= free[d][0] && node[d] < free[d][1]);
              *index++ = in ? (PetscInt)PatchFDBoxNode(box, node[0], node[1], node[2]) : -1;
            }
}

void PatchFDHostBounds(PetscInt dim, const PatchFDShape *shape, const PatchFDRange cells, PetscInt degree, PetscReal lower[],
                       PetscReal upper[])
{
  PatchFDRange r;

  for (PetscInt d = 0; d < 3; d++) {
    r[d][0] = d < dim ? cells[d][0] * degree : 0;
    r[d][1] = d < dim ? cells[d][1] * degree + 1 : 1;
  }
  for (PetscInt a = 0; a < dim; a++) {
    lower[a] = PETSC_MAX_REAL;
    upper[a] = PETSC_MIN_REAL;
  }
  for (PetscInt k = r[2][0]; k < r[2][1]; k++) {
    for (PetscInt j = r[1][0]; j < r[1][1]; j++) {
      for (PetscInt i = r[0][0]; i < r[0][1]; i++) {
        const PetscReal *x = &shape->x[dim * PatchFDBoxNode(&shape->box, i, j, k)];

        for (PetscInt a = 0; a < dim; a++) {
          lower[a] = PetscMin(lower[a], x[a]);
          upper[a] = PetscMax(upper[a], x[a]);
        }
      }
    }
  }
}

void PatchFDHostGetComponent(PetscCount count, PetscInt dim, PetscInt a, const PetscReal x[], PetscReal v[])
{
  for (PetscCount i = 0; i < count; i++) v[i] = x[dim * i + a];
}

void PatchFDHostSetComponent(PetscCount count, PetscInt dim, PetscInt a, const PetscReal v[], PetscReal x[])
{
  for (PetscCount i = 0; i < count; i++) x[dim * i + a] = v[i];
}

void PatchFDHostCopyNodes(PetscInt dim, const PatchFDRange r, const PatchFDBox *box, const PetscScalar x[], PatchFDShape *shape)
{
  for (PetscInt k = r[2][0]; k < r[2][1]; k++)
    for (PetscInt j = r[1][0]; j < r[1][1]; j++)
      for (PetscInt i = r[0][0]; i < r[0][1]; i++)
        for (PetscInt a = 0; a < dim; a++)
          shape->x[dim * PatchFDBoxNode(&shape->box, i, j, k) + a] = PetscRealPart(x[dim * PatchFDBoxNode(box, i, j, k) + a]);
}

/* the polynomials of a cell, whose first node is `first`, at one point */
static void EvaluateShape(PetscInt dim, const PetscInt degree[3], const PetscInt first[3], const PetscReal *const B[3],
                          const PatchFDShape *shape, PetscReal x[])
{
  for (PetscInt a = 0; a < dim; a++) x[a] = 0;
  for (PetscInt k = 0; k <= degree[2]; k++) {
    for (PetscInt j = 0; j <= degree[1]; j++) {
      const PetscReal *row = &shape->x[dim * PatchFDBoxNode(&shape->box, first[0], first[1] + j, first[2] + k)];

      for (PetscInt i = 0; i <= degree[0]; i++)
        for (PetscInt a = 0; a < dim; a++) x[a] += B[2][k] * B[1][j] * B[0][i] * row[dim * i + a];
    }
  }
}

void PatchFDHostEvaluate(PetscInt dim, const PetscInt degree[3], PetscInt *const cell[3], PetscReal *const B[3], const PatchFDRange r,
                         const PatchFDShape *from, PatchFDShape *to)
{
  PetscInt i[3];

  for (i[2] = r[2][0]; i[2] < r[2][1]; i[2]++) {
    for (i[1] = r[1][0]; i[1] < r[1][1]; i[1]++) {
      for (i[0] = r[0][0]; i[0] < r[0][1]; i[0]++) {
        const PetscReal *basis[3];
        PetscInt         first[3];

        for (int d = 0; d < 3; d++) {
          basis[d] = &B[d][(i[d] - r[d][0]) * (degree[d] + 1)];
          first[d] = cell[d][i[d] - r[d][0]] * degree[d];
        }
        EvaluateShape(dim, degree, first, basis, from, &to->x[dim * PatchFDBoxNode(&to->box, i[0], i[1], i[2])]);
      }
    }
  }
}

/* ---- points of files ---- */

PetscCount PatchFDHostPlacePoints(PetscInt dim, const PatchFDRange r, const PetscReal x[], PetscBT placed, PatchFDShape *shape)
{
  PetscCount count = 0;

  for (PetscInt k = r[2][0]; k < r[2][1]; k++)
    for (PetscInt j = r[1][0]; j < r[1][1]; j++)
      for (PetscInt i = r[0][0]; i < r[0][1]; i++, x += 3) {
        const ptrdiff_t node = PatchFDBoxNode(&shape->box, i, j, k);

        for (PetscInt a = 0; a < dim; a++) shape->x[dim * node + a] = x[a];
        if (!PetscIsInfOrNanReal(x[0]) && !PetscIsInfOrNanReal(x[1]) && !PetscIsInfOrNanReal(x[2]) &&
            !PetscBTLookupSet(placed, (PetscInt)node))
          count++;
      }
  return count;
}

void PatchFDHostBytesToReals(PetscInt n, PetscInt size, PetscBool swap, const char *bytes, PetscReal x[])
{
  for (PetscInt i = 0; i < n; i++, bytes += size) {
    union
    {
      double d;
      float  f;
      char   c[8];
    } number = {0};

    for (PetscInt b = 0; b < size; b++) number.c[b] = bytes[swap ? size - 1 - b : b];
    x[i] = size == 8 ? (PetscReal)number.d : (PetscReal)number.f;
  }
}

PetscInt PatchFDHostParseReals(PetscInt n, const char *text, const char *end, PetscReal x[])
{
  for (PetscInt i = 0; i < n; i++) {
    char *next;

    x[i] = (PetscReal)strtod(text, &next);
    if (next == text || next > end) return i;
    text = next;
  }
  return n;
}
