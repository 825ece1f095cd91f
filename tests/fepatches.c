static char help[] = "Tests the eigenproblems of patches and lines of one-dimensional finite elements, and solves with them.\n\
  -test patches | line | solve\n\
  -verbose: print what was measured, not only whether it is small\n";

#include "fe.h"

/* MI and AI against the global matrices, mu and alpha against their definition */
static void CheckNeighbours(const PatchFDEigen *e, PetscInt row, PetscInt N, const PetscReal M[], const PetscReal A[], Defects *d)
{
  const PetscInt n = e->n, ld = n + 2;
  PetscReal      scale = 0.0;

  for (PetscInt i = 0; i < n * ld; i++) scale = PetscMax(scale, PetscAbsReal(e->AI[i]));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < ld; j++) {
      const PetscInt  col    = row - 1 + j;
      const PetscBool exists = (PetscBool)(col >= 0 && col < N);

      Worst(&d->closure, e->MI[i * ld + j] - (exists ? M[(row + i) * N + col] : 0.0));
      Worst(&d->closure, (e->AI[i * ld + j] - (exists ? A[(row + i) * N + col] : 0.0)) / scale);
    }
  }
  for (int end = 0; end < 2; end++) {
    const PetscInt col = end ? row + n : row - 1;

    for (PetscInt j = 0; j < n; j++) {
      PetscReal mu = 0.0, alpha = 0.0;

      for (PetscInt i = 0; i < n && col >= 0 && col < N; i++) {
        mu += e->S[i * n + j] * M[(row + i) * N + col];
        alpha += e->S[i * n + j] * A[(row + i) * N + col];
      }
      Worst(&d->mu, e->mu[end][j] - mu);
      Worst(&d->alpha, (e->alpha[end][j] - (alpha - e->lambda[j] * mu)) / scale);
      if (e->parity) {
        Worst(&d->parity, e->mu[1][j] - (j < (n + 1) / 2 ? 1 : -1) * e->mu[0][j]);
        Worst(&d->parity, e->alpha[1][j] - (j < (n + 1) / 2 ? 1 : -1) * e->alpha[0][j]);
      }
    }
  }
}

/* Patch i is the two cells around interior vertex i + 1 with the free ends that it reaches; together they cover what is free */
static void CheckCover(const PatchFDLine *line, const PatchFDPatches *p, Defects *d)
{
  const PetscInt k = line->degree, N = line->nnodes;
  PetscInt       first, end, expected = PetscMax(line->ncells - 1, 1);

  PatchFDLineFree(line, &first, &end);
  if (end <= first) expected = 0;
  Worst(&d->cover, (PetscReal)(p->npatch - expected));
  for (PetscInt i = 0; i < p->npatch; i++) {
    const PetscInt last = PetscMin(i + 2, line->ncells) * k;
    const PetscInt lo = i == 0 && !line->dirichlet[0] ? 0 : i * k + 1, hi = last == N - 1 && !line->dirichlet[1] ? last : last - 1;

    Worst(&d->cover, (PetscReal)(p->cell[i] - i));
    Worst(&d->cover, (PetscReal)(p->first[i] - lo));
    Worst(&d->cover, (PetscReal)(p->first[i] + p->n[i] - 1 - hi));
    Worst(&d->cover, (PetscReal)(p->n[i] - p->eigen[p->cls[i]].n));
    Worst(&d->cover, PetscMax(0.0, (PetscReal)(1 - p->n[i])));
    if (i > 0) Worst(&d->cover, PetscMax(0.0, (PetscReal)(p->first[i] - p->first[i - 1] - p->n[i - 1])));
  }
  if (p->npatch == 0) return;
  Worst(&d->cover, (PetscReal)(p->first[0] - first));
  Worst(&d->cover, (PetscReal)(p->first[p->npatch - 1] + p->n[p->npatch - 1] - end));
}

/* How many classes of patches a line of three cells or more has */
static PetscInt ExpectedClasses(const PatchFDLine *line, Spacing spacing)
{
  if (line->ncells < 3) return line->ncells == 2 || line->nnodes - line->dirichlet[0] - line->dirichlet[1] > 0;
  if (spacing == GRADED) return line->ncells - 1;
  if (spacing == UNIFORM) {
    const PetscInt special = !line->dirichlet[0] + !line->dirichlet[1];

    return special + (line->ncells - 1 > special);
  }
  return -1;
}

static PetscErrorCode CheckPatches(const PatchFDLine *line, Spacing spacing, const Matrices *cells, const PetscReal M[],
                                   const PetscReal A[], Defects *d)
{
  const PetscInt N = line->nnodes, classes = ExpectedClasses(line, spacing);
  PatchFDPatches patches;

  PetscFunctionBeginUser;
  PetscCall(PatchFDPatchesCreate(line, &cells->M, &cells->A, &patches));
  CheckCover(line, &patches, d);
  if (classes >= 0) Worst(&d->classes, (PetscReal)(patches.nclass - classes));
  for (PetscInt i = 0; i < patches.npatch; i++) {
    const PatchFDEigen *e     = &patches.eigen[patches.cls[i]];
    const PetscBool     below = (PetscBool)(patches.first[i] > 0), above = (PetscBool)(patches.first[i] + patches.n[i] < N);
    const PetscInt      c = patches.cell[i], last = PetscMin(c + 1, line->ncells - 1);

    CheckModes(e, e->MI + 1, e->AI + 1, e->n + 2, d);
    CheckNeighbours(e, patches.first[i], N, M, A, d);
    /* parity exactly where cells and ends mirror each other */
    Worst(&d->classes, (PetscReal)(e->parity != (cells->A.cls[c] == cells->A.cls[last] && below == above)));
    /* one patch that holds the whole line and is not fixed: its constants have lambda = 0, all others are positive */
    for (PetscInt j = 0; j < e->n; j++) {
      const PetscBool constant = (PetscBool)(!below && !above && j == 0);

      Worst(&d->nullspace, constant ? e->lambda[j] : (e->lambda[j] > 0.1 ? 0.0 : 1.0));
    }
  }
  PetscCall(PatchFDPatchesDestroy(&patches));
  PetscCall(PatchFDPatchesDestroy(&patches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReportDefects(const char what[], PetscBool patches, const Defects *d)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", what));
  PetscCall(Report("  S' M S = 1", d->mass, 2e-13));
  PetscCall(Report("  S' A S = diag(lambda)", d->stiffness, 1e-13));
  PetscCall(Report("  T S = 1", d->inverse, 2e-13));
  PetscCall(Report("  lambda increases", d->order, 0.0));
  PetscCall(Report("  parity is exact", d->parity, 0.0));
  PetscCall(Report("  nullspace", d->nullspace, 0.0));
  if (!patches) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Report("  patches cover the free nodes", d->cover, 0.0));
  PetscCall(Report("  classes and parity are as expected", d->classes, 0.0));
  PetscCall(Report("  MI and AI are rows of M and A", d->closure, 1e-13));
  PetscCall(Report("  mu", d->mu, 1e-13));
  PetscCall(Report("  alpha", d->alpha, 1e-13));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPatches(void)
{
  const PetscInt counts[] = {1, 2, 3, 4, 7};

  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++) {
    Defects d = {0};

    for (PetscInt k = 1; k <= 9; k++) {
      for (int n = 0; n < 5; n++) {
        for (int ends = 0; ends < 4; ends++) {
          PatchFDLine line;
          Matrices    cells;
          PetscReal  *M, *A;

          PetscCall(MakeLine(k, counts[n], (Spacing)spacing, (PetscBool)(ends & 1), (PetscBool)(ends >> 1), &line));
          PetscCall(MatricesCreate(&line, 1.5, 0.0, &cells));
          PetscCall(GlobalMatrix(&cells.M, &M));
          PetscCall(GlobalMatrix(&cells.A, &A));
          PetscCall(CheckPatches(&line, (Spacing)spacing, &cells, M, A, &d));
          PetscCall(PetscFree(M));
          PetscCall(PetscFree(A));
          PetscCall(MatricesDestroy(&cells));
          PetscCall(MatricesDestroy(&cells));
          PetscCall(PatchFDLineDestroy(&line));
          PetscCall(PatchFDLineDestroy(&line));
        }
      }
    }
    PetscCall(ReportDefects(spacings[spacing], PETSC_TRUE, &d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- a line as one patch ---------------------------------------------------------------------------------------------- */

static PetscErrorCode TestLineEigen(void)
{
  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++) {
    Defects d = {0};

    for (PetscInt k = 1; k <= 8; k++) {
      for (PetscInt ncells = 1; ncells <= 6; ncells++) {
        for (int ends = 0; ends < 4; ends++) {
          PatchFDLine    line;
          Matrices       cells;
          PatchFDEigen   eigen;
          PetscReal     *M, *A;
          PetscInt       first, end;
          const PetscInt N = ncells * k + 1;

          PetscCall(MakeLine(k, ncells, (Spacing)spacing, (PetscBool)(ends & 1), (PetscBool)(ends >> 1), &line));
          PetscCall(MatricesCreate(&line, 1.5, 0.0, &cells));
          PetscCall(PatchFDLineEigenCreate(&line, &cells.M, &cells.A, &eigen));
          PetscCall(GlobalMatrix(&cells.M, &M));
          PetscCall(GlobalMatrix(&cells.A, &A));
          PatchFDLineFree(&line, &first, &end);
          Worst(&d.cover, (PetscReal)(eigen.n - (end - first)));
          CheckModes(&eigen, M + first * (N + 1), A + first * (N + 1), N, &d);
          for (PetscInt j = 0; j < eigen.n; j++)
            Worst(&d.nullspace, ends == 0 && j == 0 ? eigen.lambda[j] : (eigen.lambda[j] > 0.1 ? 0.0 : 1.0));
          PetscCall(PetscFree(M));
          PetscCall(PetscFree(A));
          PetscCall(PatchFDEigenDestroy(&eigen));
          PetscCall(PatchFDEigenDestroy(&eigen));
          PetscCall(MatricesDestroy(&cells));
          PetscCall(PatchFDLineDestroy(&line));
        }
      }
    }
    PetscCall(ReportDefects(spacings[spacing], PETSC_FALSE, &d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the middle turn of an unrolled ring, with columns modulo its n nodes; the caller frees */
static PetscErrorCode RingMatrix(const PatchFDBand *b, PetscInt n, PetscReal **X)
{
  const PetscInt N = (b->ncells - 1) * b->stride + b->nloc; /* three turns, and the first node once more */
  PetscReal     *all;

  PetscFunctionBeginUser;
  PetscCall(GlobalMatrix(b, &all));
  PetscCall(PetscCalloc1(n * n, X));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < N; j++) (*X)[i * n + j % n] += all[(n + i) * N + j];
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* eigenvectors of whole rings; on uniform ones all cells, and all patches, are a class */
static PetscErrorCode CheckRing(PatchFDContinuity continuity, PetscInt k, PetscInt ncells, Spacing spacing, Defects *d)
{
  PatchFDLine    line, ring;
  Matrices       cells;
  PatchFDEigen   e;
  PatchFDPatches patches;
  PetscReal     *M, *A;
  PetscInt       zero = 0, n;

  PetscFunctionBeginUser;
  PetscCall(MakeLine(k, ncells, spacing, PETSC_FALSE, PETSC_FALSE, &line));
  PetscCall(PatchFDRingCreate(continuity, k, ncells, line.vertices, &ring));
  PetscCall(MatricesCreate(&ring, 1.5, 0.0, &cells));
  PetscCall(PatchFDLineEigenCreate(&ring, &cells.M, &cells.A, &e));
  PetscCall(PatchFDPatchesCreate(&ring, &cells.M, &cells.A, &patches));
  n = ncells * ring.stride;
  Worst(&d->cover, (PetscReal)(e.n - n));
  PetscCall(RingMatrix(&cells.M, n, &M));
  PetscCall(RingMatrix(&cells.A, n, &A));
  CheckModes(&e, M, A, n, d);
  for (PetscInt j = 0; j < n; j++) {
    zero += e.lambda[j] == 0;
    Worst(&d->nullspace, PetscMin(e.lambda[j], 0.0));
    for (PetscInt i = 0; i < n / 2 && e.halfturn; i++) Worst(&d->parity, e.S[(i + n / 2) * n + j] - (j < n / 2 ? 1 : -1) * e.S[i * n + j]);
  }
  Worst(&d->nullspace, zero - 1);
  if (spacing == UNIFORM) Worst(&d->classes, cells.M.nclass - 1 + cells.A.nclass - 1 + patches.nclass - 1 + (e.halfturn != !(ncells % 2)));
  PetscCall(PetscFree(M));
  PetscCall(PetscFree(A));
  PetscCall(PatchFDPatchesDestroy(&patches));
  PetscCall(PatchFDEigenDestroy(&e));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&ring));
  PetscCall(PatchFDLineDestroy(&line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRings(void)
{
  Defects d = {0};

  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++)
    for (int continuity = 0; continuity < 2; continuity++)
      for (PetscInt k = 1; k <= 7; k++)
        for (PetscInt ncells = 2; ncells <= 7; ncells++)
          PetscCall(CheckRing(continuity ? PATCHFD_DISCONTINUOUS : PATCHFD_CONTINUOUS, k, ncells, (Spacing)spacing, &d));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "rings\n"));
  PetscCall(Report("  S' M S = 1", d.mass, 2e-13));
  PetscCall(Report("  S' A S = diag(lambda)", d.stiffness, 1e-13));
  PetscCall(Report("  T S = 1", d.inverse, 2e-13));
  PetscCall(Report("  half a turn", d.parity, 1e-13));
  PetscCall(Report("  one zero, the others positive", d.nullspace, 0.0));
  PetscCall(Report("  classes are as expected", d.classes + d.cover, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q1 on n uniform cells of [0, 1], both ends fixed: lambda_j = 6/h^2 (1 - cos(j pi h)) / (2 + cos(j pi h)), odd j are even modes */
static PetscErrorCode TestKnownEigenvalues(void)
{
  const PetscInt  n       = 300;
  const PetscBool fixed[] = {PETSC_TRUE, PETSC_TRUE};
  const PetscReal h       = 1.0 / n;
  PetscReal       v[301], worst = 0.0;
  PatchFDLine     line;
  Matrices        cells;
  PatchFDEigen    eigen;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c <= n; c++) v[c] = c * h;
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, n, v, fixed, &line));
  PetscCall(MatricesCreate(&line, 1.0, 0.0, &cells));
  PetscCall(PatchFDLineEigenCreate(&line, &cells.M, &cells.A, &eigen));
  for (PetscInt i = 0; i < n - 1; i++) {
    const PetscInt  j = i < n / 2 ? 2 * i + 1 : 2 * (i - n / 2) + 2;
    const PetscReal c = PetscCosReal(j * PETSC_PI * h);

    Worst(&worst, (eigen.lambda[i] - 6.0 / (h * h) * (1.0 - c) / (2.0 + c)) * h * h / 12.0);
  }
  PetscCall(Report("Q1 on 300 cells: lambda", worst, 1e-14));
  PetscCall(PatchFDEigenDestroy(&eigen));
  PetscCall(MatricesDestroy(&cells));

  /* a mass term on a free line is no nullspace: the constant has lambda = shift */
  line.dirichlet[0] = line.dirichlet[1] = PETSC_FALSE;
  PetscCall(MatricesCreate(&line, 1.0, 1e-2, &cells));
  PetscCall(PatchFDLineEigenCreate(&line, &cells.M, &cells.A, &eigen));
  PetscCall(Report("Q1 on 300 cells, free, shift 0.01: smallest lambda", PetscAbsReal(eigen.lambda[0] - 1e-2), 1e-8));
  PetscCall(PatchFDEigenDestroy(&eigen));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the patch solve without a residual ----------------------------------------------------------------------------- */

typedef struct {
  PetscInt  n[3]; /* x fastest */
  PetscReal v[10 * 10 * 10];
} Tensor;

static PetscInt Index(const PetscInt n[3], PetscInt i, PetscInt j, PetscInt k)
{
  return i + n[0] * (j + n[1] * k);
}

/* Y = X[rows][cols] applied in direction d, where X_rc is X[r * rowstride + c * colstride] */
static void Apply(PetscInt d, PetscInt rows, const PetscReal X[], PetscInt rowstride, PetscInt colstride, const Tensor *x, Tensor *y)
{
  Tensor   out = {.n = {x->n[0], x->n[1], x->n[2]}};
  PetscInt i[3];

  out.n[d] = rows;
  for (i[2] = 0; i[2] < out.n[2]; i[2]++) {
    for (i[1] = 0; i[1] < out.n[1]; i[1]++) {
      for (i[0] = 0; i[0] < out.n[0]; i[0]++) {
        PetscReal sum = 0.0;
        PetscInt  j[] = {i[0], i[1], i[2]};

        for (j[d] = 0; j[d] < x->n[d]; j[d]++) sum += X[i[d] * rowstride + j[d] * colstride] * x->v[Index(x->n, j[0], j[1], j[2])];
        out.v[Index(out.n, i[0], i[1], i[2])] = sum;
      }
    }
  }
  *y = out;
}

/* The entries of x from `first` on in direction d, n of them */
static void Slice(PetscInt d, PetscInt first, PetscInt n, const Tensor *x, Tensor *y)
{
  PetscReal pick[10 * 10] = {0};

  for (PetscInt i = 0; i < n; i++) pick[i * 10 + first + i] = 1.0;
  Apply(d, n, pick, 10, 1, x, y);
}

/* y += v (in direction d) x face */
static void AddOuter(PetscInt d, const PetscReal v[], const Tensor *face, Tensor *y)
{
  PetscInt i[3];

  for (i[2] = 0; i[2] < y->n[2]; i[2]++) {
    for (i[1] = 0; i[1] < y->n[1]; i[1]++) {
      for (i[0] = 0; i[0] < y->n[0]; i[0]++) {
        PetscInt j[] = {i[0], i[1], i[2]};

        j[d] = 0;
        y->v[Index(y->n, i[0], i[1], i[2])] += v[i[d]] * face->v[Index(face->n, j[0], j[1], j[2])];
      }
    }
  }
}

/* The formula: x on the closed patch, b inside; only the faces of x are read */
static void SolveByFaces(PetscInt dim, const PatchFDEigen *e[], const Tensor *x, const Tensor *b, Tensor *solution)
{
  PetscReal Tbar[3][8 * 10];
  Tensor    u = *b, g = {.n = {b->n[0], b->n[1], b->n[2]}}, r = g;
  PetscInt  i[3];

  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt n = e[d]->n;

    for (PetscInt j = 0; j < n; j++) {
      Tbar[d][j * (n + 2)]         = e[d]->mu[0][j];
      Tbar[d][j * (n + 2) + n + 1] = e[d]->mu[1][j];
      for (PetscInt l = 0; l < n; l++) Tbar[d][j * (n + 2) + l + 1] = e[d]->T[j * n + l];
    }
    Apply(d, n, e[d]->S, 1, n, &u, &u);
  }
  for (PetscInt d = 0; d < dim; d++) {
    for (int end = 0; end < 2; end++) {
      Tensor face, y, w;

      Slice(d, end ? e[d]->n + 1 : 0, 1, x, &face);
      y = w = face;
      for (PetscInt a = 0; a < dim; a++) {
        const PetscInt n = e[a]->n;

        if (a == d) continue;
        Apply(a, n, Tbar[a], n + 2, 1, &y, &y);
        if (a > d) Apply(a, n, Tbar[a], n + 2, 1, &w, &w);
        else {
          Slice(a, 1, n, &w, &w);
          Apply(a, n, e[a]->T, n, 1, &w, &w);
        }
      }
      AddOuter(d, e[d]->alpha[end], &y, &g);
      AddOuter(d, e[d]->mu[end], &w, &r);
    }
  }
  for (i[2] = 0; i[2] < u.n[2]; i[2]++) {
    for (i[1] = 0; i[1] < u.n[1]; i[1]++) {
      for (i[0] = 0; i[0] < u.n[0]; i[0]++) {
        const PetscInt p   = Index(u.n, i[0], i[1], i[2]);
        PetscReal      sum = 0.0;

        for (PetscInt d = 0; d < dim; d++) sum += e[d]->lambda[i[d]];
        u.v[p] = (u.v[p] - g.v[p]) / sum - r.v[p];
      }
    }
  }
  for (PetscInt d = 0; d < dim; d++) Apply(d, e[d]->n, e[d]->S, e[d]->n, 1, &u, &u);
  *solution = u;
}

/* The same by the dense matrix A_I: solve A_II x_I = b_I - A_IB x_B */
static PetscErrorCode SolveDense(PetscInt dim, const PatchFDEigen *e[], const Tensor *x, const Tensor *b, Tensor *solution)
{
  const PetscInt N = b->n[0] * b->n[1] * b->n[2];
  PetscReal     *K;
  lapack_int    *pivots, info;
  PetscInt       i[3], j[3];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(N * N, &K, N, &pivots));
  *solution = *b;
  for (i[2] = 0; i[2] < b->n[2]; i[2]++) {
    for (i[1] = 0; i[1] < b->n[1]; i[1]++) {
      for (i[0] = 0; i[0] < b->n[0]; i[0]++) {
        const PetscInt row = Index(b->n, i[0], i[1], i[2]);

        for (j[2] = 0; j[2] < x->n[2]; j[2]++) {
          for (j[1] = 0; j[1] < x->n[1]; j[1]++) {
            for (j[0] = 0; j[0] < x->n[0]; j[0]++) {
              PetscReal entry  = 0.0;
              PetscBool inside = PETSC_TRUE;
              PetscInt  in[3]  = {0, 0, 0};

              for (PetscInt s = 0; s < dim; s++) { /* the sum over directions of A in direction s, M in the others */
                PetscReal product = 1.0;

                for (PetscInt d = 0; d < dim; d++) product *= (d == s ? e[d]->AI : e[d]->MI)[i[d] * (e[d]->n + 2) + j[d]];
                entry += product;
              }
              for (PetscInt d = 0; d < dim; d++) {
                in[d] = j[d] - 1;
                if (in[d] < 0 || in[d] >= e[d]->n) inside = PETSC_FALSE;
              }
              if (inside) K[row * N + Index(b->n, in[0], in[1], in[2])] = entry;
              else solution->v[row] -= entry * x->v[Index(x->n, j[0], j[1], j[2])];
            }
          }
        }
      }
    }
  }
  info = LAPACKE_dgesv(LAPACK_ROW_MAJOR, (lapack_int)N, 1, K, (lapack_int)N, pivots, solution->v, 1);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "dgesv failed with info = %d", (int)info);
  PetscCall(PetscFree2(K, pivots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another patch and another coefficient in each direction; in the last one the patch has a free end, beyond which x is not read */
static PetscErrorCode TestSolve(void)
{
  const PetscReal kappa[] = {1.0, 0.3, 2.0};

  PetscFunctionBeginUser;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int spacing = UNIFORM; spacing <= GRADED; spacing++) {
      PetscReal worst = 0.0;
      char      what[64];

      for (PetscInt k = 1; k <= 4; k++) {
        PatchFDPatches      patches[3];
        const PatchFDEigen *e[3];
        Tensor              x = {.n = {1, 1, 1}}, b = {.n = {1, 1, 1}}, dense, fast;
        PetscReal           scale = 0.0;

        for (PetscInt d = 0; d < dim; d++) {
          PatchFDLine line;
          Matrices    cells;

          PetscCall(MakeLine(k, 4 + d, (Spacing)spacing, PETSC_TRUE, (PetscBool)(d < dim - 1), &line));
          PetscCall(MatricesCreate(&line, kappa[d], d == 0 ? 0.5 : 0.0, &cells));
          PetscCall(PatchFDPatchesCreate(&line, &cells.M, &cells.A, &patches[d]));
          e[d]   = &patches[d].eigen[patches[d].cls[d == dim - 1 ? patches[d].npatch - 1 : d]];
          x.n[d] = e[d]->n + 2;
          b.n[d] = e[d]->n;
          PetscCall(MatricesDestroy(&cells));
          PetscCall(PatchFDLineDestroy(&line));
        }
        for (PetscInt i = 0; i < x.n[0] * x.n[1] * x.n[2]; i++) x.v[i] = Random();
        for (PetscInt i = 0; i < b.n[0] * b.n[1] * b.n[2]; i++) b.v[i] = Random();
        PetscCall(SolveDense(dim, e, &x, &b, &dense));
        SolveByFaces(dim, e, &x, &b, &fast);
        for (PetscInt i = 0; i < b.n[0] * b.n[1] * b.n[2]; i++) scale = PetscMax(scale, PetscAbsReal(dense.v[i]));
        for (PetscInt i = 0; i < b.n[0] * b.n[1] * b.n[2]; i++) Worst(&worst, (fast.v[i] - dense.v[i]) / scale);
        for (PetscInt d = 0; d < dim; d++) PetscCall(PatchFDPatchesDestroy(&patches[d]));
      }
      PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT "D, degree 1..4, %s", dim, spacings[spacing]));
      PetscCall(Report(what, worst, 1e-12));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program ---- */

static PetscErrorCode TestLine(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestLineEigen());
  PetscCall(TestKnownEigenvalues());
  PetscCall(TestRings());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"patches", TestPatches}, {"line", TestLine}, {"solve", TestSolve}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(RunTest(PETSC_STATIC_ARRAY_LENGTH(tests), tests, "patches"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: patches
    args: -test patches
  test:
    suffix: line
    args: -test line
  test:
    suffix: solve
    args: -test solve

TEST*/
