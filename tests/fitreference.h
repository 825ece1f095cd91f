#pragma once
/* A smoothing step with fitted local solvers, dense: means of the metric along the lines of a patch, and the inverse of what they give */
#include <patchfd/private/boximpl.h>
#include <lapacke.h>

/* ---- a step from the definition: dense matrices on one rank ---- */

static PetscBool bilinear; /* for degree 1, whose images of cells are that */

/* polynomials of degree 2 at most in a direction, which the images of cells are exactly, and their derivatives */
static PetscErrorCode Bend(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                           PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  y[0] = x[0] + 0.3 * x[0] * x[1];
  y[1] = x[1] + 0.4 * x[0] * (bilinear ? 1 : x[0]) * x[1];
  if (dim == 3) y[2] = 0.5 * x[2] + 0.2 * x[0] * x[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void BendDerivatives(PetscInt dim, const PetscReal x[], PetscReal J[3][3])
{
  const PetscReal D[3][3] = {{1 + 0.3 * x[1], 0.3 * x[0], 0},
                             {(bilinear ? 0.4 : 0.8 * x[0]) * x[1], 1 + 0.4 * x[0] * (bilinear ? 1 : x[0]), 0},
                             {dim == 3 ? 0.2 * x[2] : 0, 0, dim == 3 ? 0.5 + 0.2 * x[0] : 1}};

  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) J[a][b] = D[a][b];
}

static PetscReal Rough(PetscInt dim, const PetscReal y[])
{
  PetscReal sum = 0;

  for (PetscInt d = 0; d < dim; d++) sum += (PetscReal)(3 - d) * y[d] + PetscSinReal(5 * (PetscReal)(d + 1) * y[d]);
  return PetscExpReal(sum);
}

static PetscErrorCode RoughConductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal y[], PETSC_UNUSED PetscInt Nc,
                                        PetscScalar K[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  K[0] = Rough(dim, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RoughShift(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal y[], PETSC_UNUSED PetscInt Nc,
                                 PetscScalar s[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  s[0] = 5 + y[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the diagonal of |J| J^{-1} K J^{-T} in the coordinates of a cell with edges h, and |J| s last */
static void Metric(PetscInt dim, const PetscReal h[], const PetscReal x[], PetscReal G[4])
{
  PetscReal   J[3][3], y[3], det;
  PetscScalar K, s;

  PetscCallAbort(PETSC_COMM_SELF, Bend(dim, 0, x, dim, y, NULL));
  PetscCallAbort(PETSC_COMM_SELF, RoughConductivity(dim, 0, y, 1, &K, NULL));
  PetscCallAbort(PETSC_COMM_SELF, RoughShift(dim, 0, y, 1, &s, NULL));
  BendDerivatives(dim, x, J);
  for (int a = 0; a < dim; a++)
    for (int b = 0; b < dim; b++) J[a][b] *= h[b];
  det = J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) - J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
        J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
  for (int a = 0; a < dim; a++) { /* |row a of J^{-1}|^2, by cofactors */
    const int b = (a + 1) % 3, c = (a + 2) % 3;

    G[a] = 0;
    for (int e = 0; e < 3; e++) {
      const int       f = (e + 1) % 3, g = (e + 2) % 3;
      const PetscReal cofactor = J[f][b] * J[g][c] - J[g][b] * J[f][c];

      if (e < dim) G[a] += K * cofactor * cofactor / det;
    }
  }
  G[3] = det * s;
}

/* Lagrange polynomial i of n nodes at t, or its derivative */
static PetscReal Lagrange(PetscInt n, const PetscReal node[], PetscInt i, PetscReal t, PetscBool derivative)
{
  PetscReal sum = 0;

  for (PetscInt m = 0; m < (derivative ? n : 1); m++) {
    PetscReal product = 1;

    if (derivative && m == i) continue;
    for (PetscInt j = 0; j < n; j++)
      if (j != i) product *= derivative && j == m ? 1 / (node[i] - node[j]) : (t - node[j]) / (node[i] - node[j]);
    sum += product;
  }
  return sum;
}

/* A patch: cells cell[d] .. cell[d] + cells[d] - 1, unknowns first[d] .. first[d] + n[d] - 1; weights at its points, and what is made of
   them */
typedef struct {
  PetscInt  dim, k, q, cell[3], cells[3], first[3], n[3], size; /* k: degree, q: points in a direction of a cell */
  PetscReal A[3][1024], M[3][1024], g[4];
  PetscInt  mesh[3]; /* its cells, and h of its sides */
  PetscReal robin[6];
} Patch;

/* the integrals of weight times derivatives (or values) of the functions of direction d */
static PetscErrorCode PatchMatrix(const Patch *p, int d, PetscBool derivative, const PetscReal weight[], PetscReal X[])
{
  const PetscInt q = p->q, n = p->n[d], shift = p->first[d] - p->cell[d] * p->k;
  PetscReal      x[16], w[16], node[16], unused[16];

  PetscFunctionBeginUser;
  PetscCall(PetscDTGaussQuadrature(q, 0, 1, x, w));
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(p->k + 1, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, node, unused));
  for (PetscInt i = 0; i <= p->k; i++) node[i] = 0.5 * (1 + node[i]);
  PetscCall(PetscArrayzero(X, n * n));
  for (PetscInt c = 0; c < p->cells[d]; c++)
    for (PetscInt m = 0; m < q; m++)
      for (PetscInt i = 0; i < n; i++)
        for (PetscInt j = 0; j < n; j++) {
          const PetscInt a = i + shift - c * p->k, b = j + shift - c * p->k;

          if (a < 0 || b < 0 || a > p->k || b > p->k) continue;
          X[i * n + j] += w[m] * weight[c * q + m] * Lagrange(p->k + 1, node, a, x[m], derivative) *
                          Lagrange(p->k + 1, node, b, x[m], derivative);
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* means of the logarithms over the patch (b = -1), or at point `at` of direction b */
static PetscErrorCode PatchMean(const Patch *p, const PetscReal h[], int b, PetscInt at, PetscReal mean[4])
{
  const PetscInt q = p->q;
  PetscReal      x[16], w[16], total = 0, G[4];
  PetscInt       n[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  PetscCall(PetscDTGaussQuadrature(q, 0, 1, x, w));
  for (int i = 0; i < 4; i++) mean[i] = 0;
  for (PetscInt d = 0; d < p->dim; d++) n[d] = q * p->cells[d];
  for (PetscInt i = 0; i < n[0] * n[1] * n[2]; i++) {
    const PetscInt of[3]  = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
    PetscReal      weight = 1, t[3] = {0, 0, 0};

    if (b >= 0 && of[b] != at) continue;
    for (PetscInt d = 0; d < p->dim; d++) {
      t[d] = h[d] * ((PetscReal)(p->cell[d] + of[d] / q) + x[of[d] % q]);
      weight *= w[of[d] % q];
    }
    Metric(p->dim, h, t, G);
    for (PetscInt a = 0; a < p->dim; a++) mean[a] += weight * PetscLogReal(G[a]);
    mean[3] += weight * G[3];
    total += weight;
  }
  for (int i = 0; i < 4; i++) mean[i] /= total;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mean of h |surface| over the cells' side at the end of direction d of the mesh, if the patch has that */
static PetscErrorCode PatchEnd(const Patch *p, const PetscReal h[], PetscInt d, PetscInt end, PetscReal *mean)
{
  const PetscInt q = p->q, a = (d + 1) % p->dim, b = p->dim == 3 ? (d + 2) % 3 : 2, side = end ? p->mesh[d] : 0;
  const PetscInt n[2] = {q * p->cells[a], p->dim == 3 ? q * p->cells[b] : 1};
  PetscReal      x[16], w[16], J[3][3], t[3] = {0, 0, 0}, total = 0;

  PetscFunctionBeginUser;
  *mean = 0;
  if ((end ? p->cell[d] + p->cells[d] : p->cell[d]) != side) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDTGaussQuadrature(q, 0, 1, x, w));
  t[d] = h[d] * (PetscReal)side;
  for (PetscInt i = 0; i < n[0] * n[1]; i++) {
    const PetscInt of[2]  = {i % n[0], i / n[0]};
    PetscReal      weight = w[of[0] % q], area = 0;

    t[a] = h[a] * ((PetscReal)(p->cell[a] + of[0] / q) + x[of[0] % q]);
    if (p->dim == 3) {
      t[b] = h[b] * ((PetscReal)(p->cell[b] + of[1] / q) + x[of[1] % q]);
      weight *= w[of[1] % q];
    }
    BendDerivatives(p->dim, t, J);
    for (int e = 0; e < p->dim; e++) { /* of the cross product of the tangents, or the length of one */
      const int       f = (e + 1) % 3, g = (e + 2) % 3;
      const PetscReal c = p->dim == 3 ? J[f][a] * J[g][b] - J[g][a] * J[f][b] : J[e][a];

      area += c * c;
    }
    *mean += weight * PetscSqrtReal(area) * h[a] * (p->dim == 3 ? h[b] : 1);
    total += weight;
  }
  *mean *= p->robin[2 * d + end] / total;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PatchFit(Patch *p, const PetscReal h[], PetscBool shared)
{
  PetscReal mean[4], line[4], a[64], m[64], sum;

  PetscFunctionBeginUser;
  PetscCall(PatchMean(p, h, -1, 0, mean));
  for (int d = 0; d < 3; d++) {
    if (d >= p->dim) {
      p->A[d][0] = p->g[d] = 0;
      p->M[d][0]           = 1;
      continue;
    }
    for (PetscInt i = 0; i < p->cells[d] * p->q; i++) {
      sum = 0;
      PetscCall(PatchMean(p, h, d, i, line));
      for (PetscInt e = 0; e < p->dim; e++)
        if (e != d) sum += (line[e] - mean[e]) / (PetscReal)(p->dim - 1);
      a[i] = shared ? 1 : PetscExpReal(line[d]);
      m[i] = shared ? 1 : PetscExpReal(sum);
    }
    PetscCall(PatchMatrix(p, d, PETSC_TRUE, a, p->A[d]));
    PetscCall(PatchMatrix(p, d, PETSC_FALSE, m, p->M[d]));
    for (PetscInt e = 0; e < 2; e++) {
      PetscCall(PatchEnd(p, h, d, e, &sum));
      p->A[d][e * (p->n[d] * p->n[d] - 1)] += sum;
    }
    p->g[d] = shared ? PetscExpReal(mean[d]) : 1;
  }
  p->g[3] = mean[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T scaled to the diagonal of A: the inverse of the local solver */
static void PatchInverse(const Patch *p, const PetscReal A[], PetscReal T[])
{
  const PetscInt N = p->size, *n = p->n;

  for (PetscInt r = 0; r < N; r++) {
    for (PetscInt c = 0; c < N; c++) {
      const PetscInt i[3] = {r % n[0], r / n[0] % n[1], r / n[0] / n[1]}, j[3] = {c % n[0], c / n[0] % n[1], c / n[0] / n[1]};
      PetscReal      sum = 0;

      for (int t = 0; t < 4; t++) {
        PetscReal product = p->g[t];

        for (int d = 0; d < 3; d++) product *= (d == t ? p->A[d] : p->M[d])[i[d] * n[d] + j[d]];
        sum += product;
      }
      T[r * N + c] = sum;
    }
  }
  for (PetscInt r = 0; r < N; r++)
    for (PetscInt c = 0; c < N; c++)
      if (r != c) T[r * N + c] *= PetscSqrtReal(A[r * (N + 1)] / T[r * (N + 1)] * A[c * (N + 1)] / T[c * (N + 1)]);
  for (PetscInt r = 0; r < N; r++) T[r * (N + 1)] = A[r * (N + 1)];
}

/* z = the correction of the residual r by the rule; T is overwritten */
static PetscErrorCode PatchCorrect(PC pc, PetscInt N, const PetscReal A[], PetscReal T[], PetscReal r[], PetscReal z[])
{
  const lapack_int n = (lapack_int)N;
  PetscInt         maxsteps, lanczos, steps = 1;
  PetscReal        reduction, stable, exact, theta = 1, delta = 0, rho = 0, *matrix[2], *eigenvalue, *d, *v;
  lapack_int       info;

  PetscFunctionBeginUser;
  PetscCall(PCPatchFDGetFitSteps(pc, &maxsteps, &reduction, &stable, &lanczos));
  PetscCall(PCPatchFDGetFitExact(pc, &exact));
  PetscCall(PetscMalloc5(N * N, &matrix[0], N * N, &matrix[1], N, &eigenvalue, N, &d, N, &v));
  PetscCall(PetscArraycpy(matrix[0], A, N * N));
  PetscCall(PetscArraycpy(matrix[1], T, N * N));
  info = LAPACKE_dsygv(LAPACK_COL_MAJOR, 1, 'N', 'L', n, matrix[0], n, matrix[1], n, eigenvalue);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "dsygv: %d", (int)info);
  if (lanczos) {
    const PetscReal lo = eigenvalue[0], hi = eigenvalue[N - 1], condition = PetscMax(hi / lo, 1.001);

    steps = (PetscInt)PetscCeilReal(acosh(1 / reduction) / acosh((condition + 1) / (condition - 1)));
    steps = PetscMax(1, PetscMin(maxsteps, steps));
    theta = steps > 1 ? 0.5 * (1.02 * hi + lo) : (hi <= stable ? 1 : 0.5 * (hi + lo));
    delta = PetscMax(0.5 * (1.02 * hi - lo), 1e-3 * 1.02 * hi);
  }
  if (exact >= 0 && eigenvalue[N - 1] > exact * eigenvalue[0]) {
    PetscCall(PetscArraycpy(T, A, N * N));
    steps = 1;
    theta = 1;
  }
  info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, T, n);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "dpotrf: %d", (int)info);
  PetscCall(PetscArrayzero(z, N));
  for (PetscInt m = 0; m < steps; m++) { /* Y. Saad, Iterative methods for sparse linear systems, algorithm 12.1, preconditioned */
    const PetscReal next = m ? 1 / (2 * theta / delta - rho) : delta / theta;

    PetscCall(PetscArraycpy(v, r, N));
    info = LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', n, 1, T, n, v, n);
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "dpotrs: %d", (int)info);
    for (PetscInt i = 0; i < N; i++) d[i] = m ? next * rho * d[i] + 2 * next / delta * v[i] : v[i] / theta;
    for (PetscInt i = 0; i < N; i++) {
      z[i] += d[i];
      for (PetscInt j = 0; j < N; j++) r[i] -= A[i * N + j] * d[j];
    }
    rho = next;
  }
  PetscCall(PetscFree5(matrix[0], matrix[1], eigenvalue, d, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the patch that begins with these cells: pairs of cells in each direction, with the nodes at free ends of the mesh */
static void PatchSet(const DM_Box *box, const PetscInt cell[3], Patch *p)
{
  p->size = 1;
  for (int d = 0; d < 3; d++) {
    const PetscInt end = PetscMin(box->cells[d], cell[d] + 2);

    p->cell[d]  = cell[d];
    p->cells[d] = end - cell[d];
    p->first[d] = d < p->dim ? cell[d] * p->k + (cell[d] > 0 || box->boundary[2 * d] == DMBOX_BOUNDARY_DIRICHLET) : 0;
    p->n[d] = d < p->dim ? end * p->k + (end == box->cells[d] && box->boundary[2 * d + 1] != DMBOX_BOUNDARY_DIRICHLET) - p->first[d] : 1;
    p->size *= p->n[d];
  }
}

/* x += the correction of a patch; A is dense, and b, x and A have the natural order */
static PetscErrorCode PatchStep(const DM_Box *box, PC pc, PetscBool shared, Patch *p, const PetscScalar A[], const PetscScalar b[],
                                PetscScalar x[])
{
  const PetscInt *nodes = box->field[0].global.n, all = nodes[0] * nodes[1] * nodes[2];
  const PetscReal h[3] = {1 / (PetscReal)box->cells[0], 1 / (PetscReal)box->cells[1], 1 / (PetscReal)box->cells[2]};
  PetscReal      *Aj, *T, *r, *z;
  PetscInt       *node;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(p->size * p->size, &Aj, p->size * p->size, &T, p->size, &r, p->size, &z, p->size, &node));
  for (PetscInt i = 0; i < p->size; i++)
    node[i] = ((p->first[2] + i / p->n[0] / p->n[1]) * nodes[1] + p->first[1] + i / p->n[0] % p->n[1]) * nodes[0] + p->first[0] +
              i % p->n[0];
  for (PetscInt i = 0; i < p->size; i++) {
    for (PetscInt j = 0; j < p->size; j++) Aj[i * p->size + j] = A[node[i] * all + node[j]];
    r[i] = b[node[i]];
    for (PetscInt j = 0; j < all; j++) r[i] -= A[node[i] * all + j] * x[j];
  }
  PetscCall(PatchFit(p, h, shared));
  PatchInverse(p, Aj, T);
  PetscCall(PatchCorrect(pc, p->size, Aj, T, r, z));
  for (PetscInt i = 0; i < p->size; i++) x[node[i]] += z[i];
  PetscCall(PetscFree5(Aj, T, r, z, node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseStep(DM dm, PC pc, PetscBool shared, const PetscScalar A[], const PetscScalar b[], PetscScalar x[])
{
  const DM_Box *box = (const DM_Box *)dm->data;
  Patch         p   = {.dim = dm->dim, .k = box->degree, .q = DMBoxNumGauss(dm)};
  PetscInt      end[3], c[3];

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) p.mesh[d] = box->cells[d];
  for (PetscInt s = 0; s < 2 * dm->dim; s++) {
    PetscCall(DMBoxGetRobin(dm, s, &p.robin[s]));
    shared = (PetscBool)(shared && p.robin[s] == 0); /* which matrices of constants do not have */
  }
  for (int d = 0; d < 3; d++) end[d] = PetscMax(1, box->cells[d] - 1);
  for (PetscInt color = 0; color < 8; color++) {
    for (c[2] = color / 4; c[2] < end[2]; c[2] += 2) {
      for (c[1] = color / 2 % 2; c[1] < end[1]; c[1] += 2) {
        for (c[0] = color % 2; c[0] < end[0]; c[0] += 2) {
          PatchSet(box, c, &p);
          PetscCall(PatchStep(box, pc, shared, &p, A, b, x));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
