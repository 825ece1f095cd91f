/*
  Operators by quadrature: the factors at the points of a cell, from the geometry and the coefficients, and assembled matrices.

  With J = dx / d(r, s, t) and its cofactors C = |J| J^{-T} (column l is |J| grad of reference coordinate l), the factors are
  w / |J| C' K C and w |J| shift.
*/
#include <patchfd/private/assembly.h>

static PetscInt Power(PetscInt n, PetscInt dim)
{
  return dim == 3 ? n * n * n : n * n;
}

PetscErrorCode PatchFDGeometryCreate(const PatchFDPoints *p, PatchFDGeometry *g)
{
  const PetscInt m = p->geodegree + 1;
  PetscInt       c;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  g->p = p;
  PetscCall(PatchFDRuleCreate(p->degree, p->gauss, &g->rule));
  c          = g->rule.points;
  g->npoint  = Power(c, p->dim);
  g->nfactor = (p->nkappa ? p->dim * (p->dim + 1) / 2 : 0) + (p->shift ? 1 : 0);
  PetscCall(PetscMalloc5(c * m, &g->B, c * m, &g->D, p->dim * Power(m, p->dim), &g->x, p->dim * p->dim * g->npoint, &g->J, 2 * Power(PetscMax(c, m), p->dim), &g->work));
  PetscCall(PatchFDBasis(p->geodegree, c, g->rule.x, g->B, g->D, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDGeometryDestroy(PatchFDGeometry *g)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(g->B, g->D, g->x, g->J, g->work));
  PetscCall(PatchFDRuleDestroy(&g->rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* out[o][r][i] = sum_j M[r][j] in[o][j][i] */
static void Contract(PetscInt outer, PetscInt rows, PetscInt cols, PetscInt inner, const PetscReal M[], const PetscReal in[], PetscReal out[])
{
  for (PetscInt o = 0; o < outer; o++) {
    for (PetscInt r = 0; r < rows; r++) {
      for (PetscInt i = 0; i < inner; i++) {
        PetscReal sum = 0;

        for (PetscInt j = 0; j < cols; j++) sum += M[r * cols + j] * in[(o * cols + j) * inner + i];
        out[(o * rows + r) * inner + i] = sum;
      }
    }
  }
}

/* J[(a * dim + b) * npoint + q] = derivative of coordinate a in reference direction b at point q */
static void Jacobians(PatchFDGeometry *g, PetscCount cell)
{
  const PatchFDPoints *p = g->p;
  const PetscInt       dim = p->dim, m = p->geodegree + 1, c = g->rule.points, size = Power(m, dim);
  const PetscInt      *node = p->geoindex + cell * size;

  for (PetscInt i = 0; i < size; i++)
    for (PetscInt a = 0; a < dim; a++) g->x[a * size + i] = p->coordinate[(size_t)node[i] * dim + a];
  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt b = 0; b < dim; b++) {
      const PetscReal *in  = g->x + a * size;
      PetscInt         outer = size / m, inner = 1;

      for (PetscInt d = 0; d < dim; d++) {
        PetscReal *out = d == dim - 1 ? g->J + (a * dim + b) * g->npoint : g->work + d * Power(PetscMax(c, m), dim);

        Contract(outer, c, m, inner, d == b ? g->D : g->B, in, out);
        in = out;
        inner *= c;
        outer /= m;
      }
    }
  }
}

/* the cofactors C[b][a] of the matrix with columns J[b], and its determinant */
static PetscReal Cofactors(PetscInt dim, PetscReal J[3][3], PetscReal C[3][3])
{
  if (dim == 2) {
    C[0][0] = J[1][1];
    C[0][1] = -J[1][0];
    C[1][0] = -J[0][1];
    C[1][1] = J[0][0];
    return J[0][0] * J[1][1] - J[0][1] * J[1][0];
  }
  for (int b = 0; b < 3; b++) {
    const PetscReal *u = J[(b + 1) % 3], *v = J[(b + 2) % 3];

    for (int a = 0; a < 3; a++) C[b][a] = u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
  }
  return J[0][0] * C[0][0] + J[0][1] * C[0][1] + J[0][2] * C[0][2];
}

/* K as a matrix; false if it is not positive definite (Sylvester's criterion) */
static PetscBool Tensor(PetscInt dim, PetscInt nkappa, const PetscReal k[], PetscReal K[3][3])
{
  PetscReal C[3][3], det;

  for (int a = 0, i = 0; a < dim; a++)
    for (int b = a; b < dim; b++) K[a][b] = K[b][a] = nkappa == 1 ? (a == b ? k[0] : 0) : k[i++];
  det = Cofactors(dim, K, C);
  return (PetscBool)(K[0][0] > 0 && det > 0 && (dim == 2 || C[2][2] > 0) && det < PETSC_MAX_REAL);
}

PetscErrorCode PatchFDGeometryCell(PatchFDGeometry *g, PetscCount cell, PetscReal factor[])
{
  const PatchFDPoints *p   = g->p;
  const PetscInt       dim = p->dim, c = g->rule.points;
  const PetscReal     *w = g->rule.w;

  PetscFunctionBegin;
  Jacobians(g, cell);
  for (PetscInt q = 0; q < g->npoint; q++) {
    const size_t    at     = (size_t)cell * g->npoint + q;
    const PetscReal weight = w[q % c] * w[q / c % c] * (dim == 3 ? w[q / c / c] : 1);
    PetscReal       J[3][3] = {{0}}, C[3][3] = {{0}}, K[3][3] = {{0}}, det;

    for (int b = 0; b < dim; b++)
      for (int a = 0; a < dim; a++) J[b][a] = g->J[(a * dim + b) * g->npoint + q];
    det = Cofactors(dim, J, C);
    PetscCheck(det > 0 && det < PETSC_MAX_REAL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Cell %" PetscCount_FMT " is inverted or degenerate: the determinant of its map from the unit %s is %g at one of its points; it has to be positive", cell,
               dim == 3 ? "cube" : "square", (double)det);
    if (p->nkappa) {
      const PetscReal *k = p->kappa + (p->kappaconstant ? 0 : at * p->nkappa);

      PetscCheck(Tensor(dim, p->nkappa, k, K), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The coefficient of the stiffness is %g%s in cell %" PetscCount_FMT "; it has to be positive%s", (double)k[0],
                 p->nkappa == 1 ? "" : ", ...", cell, p->nkappa == 1 ? "" : " definite");
      for (int l = 0; l < dim; l++) {
        PetscReal KC[3] = {0, 0, 0};

        for (int a = 0; a < dim; a++)
          for (int b = 0; b < dim; b++) KC[a] += K[a][b] * C[l][b];
        for (int m = l; m < dim; m++) *factor++ = weight / det * (C[m][0] * KC[0] + C[m][1] * KC[1] + C[m][2] * KC[2]);
      }
    }
    if (p->shift) *factor++ = weight * det * p->shift[p->shiftconstant ? 0 : at];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column of all cells' matrices at a time: the product with a unit vector in each cell */
PetscErrorCode PatchFDHostPointsTriples(const PatchFDPoints *points, const PetscInt number[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PatchFDKernels kern = &PatchFDKernelsHostDouble;
  const PetscInt       size = Power(points->degree + 1, points->dim), ncomp = points->ncomp;
  PatchFDPoints        cell = *points;
  PatchFDOperatorDesc  desc = {.points = &cell};
  PetscCount           at   = 0;
  PetscReal           *x, *y;
  void                *plan = NULL;

  PetscFunctionBegin;
  *count = points->ncells * size * size * ncomp;
  if (!i) PetscFunctionReturn(PETSC_SUCCESS);
  cell.nodes  = PATCHFD_NODES_CELL;
  cell.nnodes = points->ncells * size;
  cell.ncomp  = 1;
  PetscCall(PetscMalloc2(cell.nnodes, &x, cell.nnodes, &y));
  PetscCall(PetscArrayzero(x, cell.nnodes));
  PetscCall((*kern->operatorcreate)(&desc, &plan));
  for (PetscInt col = 0; col < size; col++) {
    for (PetscCount c = 0; c < points->ncells; c++) x[c * size + col] = 1;
    PetscCall((*kern->operatorapply)(plan, 1, x, NULL, y));
    for (PetscCount c = 0; c < points->ncells; c++) {
      const PetscInt *node = number + c * size;

      x[c * size + col] = 0;
      for (PetscInt row = 0; row < size; row++) {
        for (PetscInt k = 0; k < ncomp; k++, at++) {
          i[at] = node[row] < 0 ? -1 : node[row] * ncomp + k;
          j[at] = node[col] < 0 ? -1 : node[col] * ncomp + k;
          v[at] = y[c * size + row];
        }
      }
    }
  }
  PetscCall((*kern->operatordestroy)(&plan));
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
