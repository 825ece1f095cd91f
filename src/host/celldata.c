/* Numbers of cells and of their points (patchfd/private/celldata.h) */
#include "cell.h"
#include <patchfd/private/celldata.h>

/* a number of the point with these places among all points of each direction */
static PetscReal CellValue(const PatchFDCellValues *v, const PetscInt at[3], PetscInt number, const PetscReal in[])
{
  const PetscInt *c[3]  = {&v->cell[0][at[0]], &v->cell[1][at[1]], &v->cell[2][at[2]]},
                 *g[3]  = {&v->group[0][at[0]], &v->group[1][at[1]], &v->group[2][at[2]]};
  const PetscCount cell = ((PetscCount)*c[2] * v->from[1] + *c[1]) * v->from[0] + *c[0];
  PetscReal        sum  = 0;

  for (int corner = 0; corner < 8; corner++) {
    PetscReal  weight = 1;
    PetscCount group  = cell;

    for (int d = 2; d >= 0; d--) {
      const PetscReal w = v->weight[d][at[d]];

      weight *= corner >> d & 1 ? w : 1 - w;
      group = group * v->groups[d] + *g[d] + (corner >> d & 1);
    }
    if (weight > 0) sum += weight * in[group * v->n + number];
  }
  return sum;
}

static PetscErrorCode CellEvaluate(const PatchFDCellValues *v, const PetscReal in[], PetscReal out[])
{
  const PetscInt points = v->points[0] * v->points[1] * v->points[2];
  PetscInt       cell[3], at[3];

  PetscFunctionBegin;
  for (cell[2] = 0; cell[2] < v->cells[2]; cell[2]++)
    for (cell[1] = 0; cell[1] < v->cells[1]; cell[1]++)
      for (cell[0] = 0; cell[0] < v->cells[0]; cell[0]++)
        for (PetscInt p = 0; p < points; p++) {
          for (int d = 0, rest = (int)p; d < 3; rest /= (int)v->points[d++]) at[d] = cell[d] * v->points[d] + rest % v->points[d];
          for (PetscInt i = 0; i < v->n; i++) *out++ = CellValue(v, at, i, in);
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellTensors(PetscInt dim, PetscCount cells, PetscInt groups, PetscInt points, PetscInt n, const PetscReal in[],
                                  PetscReal out[])
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < cells * points; i++) {
    const PetscReal *k = in + n * (groups == 1 ? i / points : i);
    PetscReal        K[3][3];

    FillTensor(dim, n, k, K);
    for (PetscInt a = 0; a < (n == 1 ? 1 : dim); a++)
      for (PetscInt b = a; b < (n == 1 ? 1 : dim); b++) *out++ = K[a][b];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostCellPart(PetscInt n, const PatchFDRange from, const PetscReal in[], const PatchFDRange to, PetscReal out[])
{
  const PetscCount row[2] = {(PetscCount)n * (from[0][1] - from[0][0]), (PetscCount)n * (to[0][1] - to[0][0])};

  PetscFunctionBegin;
  for (PetscInt k = to[2][0]; k < to[2][1]; k++)
    for (PetscInt j = to[1][0]; j < to[1][1]; j++, out += row[1])
      PetscCall(PetscArraycpy(out,
                              in + ((PetscCount)(k - from[2][0]) * (from[1][1] - from[1][0]) + j - from[1][0]) * row[0] +
                                (PetscCount)n * (to[0][0] - from[0][0]),
                              row[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDHostMeanStresses(PetscInt dim, PetscBool plane, size_t count, const size_t stride[2], const PetscReal sum[],
                             PetscScalar stress[])
{
  const PetscInt n = dim == 3 ? 6 : 4;

  for (size_t i = 0; i < count; i++, stress += n + 1, sum += stride[1]) {
    PetscReal s[6], x, y, z, shear;

    for (PetscInt c = 0; c < n; c++) s[c] = sum[c * stride[0]] / sum[n * stride[0]];
    if (plane) s[3] = 0;
    x     = s[0];
    y     = s[dim];
    z     = s[n - 1];
    shear = dim == 3 ? s[1] * s[1] + s[2] * s[2] + s[4] * s[4] : s[1] * s[1];
    for (PetscInt c = 0; c < n; c++) stress[c] = s[c];
    stress[n] = PetscSqrtReal(0.5 * (PetscSqr(x - y) + PetscSqr(y - z) + PetscSqr(z - x)) + 3 * shear);
  }
}

const struct _PatchFDCellKernels PatchFDCellKernelsHost = {CellEvaluate, CellTensors};

void PatchFDHostLame(PetscCount count, PetscReal missing, const PetscReal constant[2], const PetscReal *const moduli[2],
                     const PetscReal factor[2], PetscReal kappa[], PetscReal *largest, PetscCount *bad)
{
  for (PetscCount i = 0; i < count; i++) {
    const PetscReal E = moduli[0] ? moduli[0][i] : constant[0], nu = moduli[1] ? moduli[1][i] : constant[1];
    const PetscReal mu = 0.5 * E / (1 + nu), lambda = 2 * mu * nu / (1 - missing * nu);

    if (!(E > 0 && E < PETSC_MAX_REAL && nu > -1 && nu < 0.5)) *bad = PetscMin(*bad, i);
    *largest         = PetscMax(*largest, lambda / mu);
    kappa[2 * i]     = factor[0] * lambda;
    kappa[2 * i + 1] = factor[1] * mu;
  }
}

void PatchFDHostComponentTensors(PetscCount count, PetscInt dim, PetscInt component, PetscInt n, const PetscReal kappa[], PetscReal K[])
{
  for (PetscCount i = 0; i < count; i++, kappa += n) {
    for (PetscInt a = 0; a < dim; a++) {
      for (PetscInt b = a; b < dim; b++) {
        if (n > 2) *K++ = kappa[PatchFDTangentPlace(dim, component * dim + a, component * dim + b)];
        else *K++ = a != b ? 0 : (a == component ? kappa[0] + 2 * kappa[1] : kappa[1]);
      }
    }
  }
}

PetscReal PatchFDHostLargest(PetscCount count, const PetscReal v[])
{
  PetscReal largest = 0;

  for (PetscCount i = 0; i < count; i++) largest = PetscMax(largest, PetscAbsReal(v[i]));
  return largest;
}

PetscCount PatchFDHostFirstIndefinite(PetscCount count, PetscInt dim, PetscInt n, const PetscReal K[])
{
  for (PetscCount i = 0; i < count; i++) {
    PetscReal full[3][3], trace;

    FillTensor(dim, n, K + i * n, full);
    if (!TensorIsPositive(dim, full, &trace)) return i;
  }
  return count;
}

PetscCount PatchFDHostFirstNoMaterial(PetscCount count, PetscInt dim, const PetscReal kappa[], PetscReal *largest)
{
  for (PetscCount i = 0; i < count; i++) {
    const PetscReal lambda = kappa[2 * i], mu = kappa[2 * i + 1];

    *largest = PetscMax(*largest, lambda / mu);
    if (!(mu > 0 && mu < PETSC_MAX_REAL && (PetscReal)dim * lambda + 2 * mu > 0 && lambda < PETSC_MAX_REAL)) return i;
  }
  return count;
}

PetscBool PatchFDHostTangentsToLame(PetscCount count, PetscInt dim, const PetscReal A[], PetscReal lame[])
{
  const PetscReal tolerance = 1e-10;

  for (PetscCount k = 0; k < count; k++) {
    const PetscReal lambda = A[PatchFDTangentPlace(dim, 0, dim + 1)], mu = A[PatchFDTangentPlace(dim, 1, 1)];

    for (PetscInt i = 0; i < dim * dim; i++) {
      for (PetscInt j = i; j < dim * dim; j++) {
        const PetscInt  c = i / dim, a = i % dim, d = j / dim, b = j % dim;
        const PetscReal wanted = lambda * (c == a && d == b) + mu * ((c == d && a == b) + (c == b && d == a));

        if (!(PetscAbsReal(*A++ - wanted) <= tolerance * (PetscAbsReal(lambda) + PetscAbsReal(mu)))) return PETSC_FALSE;
      }
    }
    *lame++ = lambda;
    *lame++ = mu;
  }
  return PETSC_TRUE;
}

void PatchFDHostRaiseTensors(PetscCount count, PetscInt dim, PetscReal least, PetscReal K[])
{
  const PetscInt n = dim * (dim + 1) / 2, diagonal[3] = {0, dim == 2 ? 2 : 3, 5};

  for (PetscCount i = 0; i < count; i++, K += n) {
    PetscReal full[3][3], trace;

    FillTensor(dim, n, K, full);
    /* the smallest eigenvalue is at least det / (trace / (dim - 1))^(dim - 1) */
    if (TensorIsPositive(dim, full, &trace)) {
      if (Determinant(dim, (const PetscReal(*)[3])full) * trace * PetscPowRealInt((PetscReal)(dim - 1), dim - 1) > least) continue;
    } else {
      for (PetscInt k = 0; k < n; k++) K[k] = 0;
      for (PetscInt d = 0; d < dim; d++) K[diagonal[d]] = PetscMax(0, trace) / (PetscReal)dim;
    }
    for (PetscInt d = 0; d < dim; d++) K[diagonal[d]] += least;
  }
}

void PatchFDHostFindConstants(PetscCount count, PetscInt dim, PetscInt n, const PetscReal kappa[], const PetscReal shift[], PetscInt is[4],
                              PetscReal *least)
{
  for (PetscCount i = 0; i < count; i++) {
    const PetscReal *k = kappa + i * n;

    for (PetscInt a = 0, next = 0; a < dim && is[0]; a++)
      for (PetscInt b = a; b < dim; b++, next++) is[0] &= k[next] == (a == b ? k[0] : 0);
    for (PetscInt j = 0; j < n && is[1]; j++) is[1] &= k[j] == kappa[j];
    is[2] &= shift[i] == shift[0];
    is[3] &= shift[i] == 0;
    *least = PetscMin(*least, shift[i]);
  }
}
