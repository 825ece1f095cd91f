/* Which patches the fast kernels for terms can do: the bands of a uniform mesh, recognised in the rows of its patches */
#include "terms/terms.cuh"
#include <cmath>

namespace patchfd
{

static constexpr PetscReal rounding = 1e-11;

/* the rows M, B (which reaches beyond the rim) and L of each direction, and the coefficients of the terms with two L */
struct TermsRows {
  int                dim;
  const PatchFDRows *M[3], *B[3], *L[3];
  PetscReal          coef[3]; /* of the term with M in direction d */

  bool find(const PatchFDLocalDesc *);

private:
  static bool set(const PatchFDRows **, const PatchFDRows *);
};

bool TermsRows::set(const PatchFDRows **known, const PatchFDRows *r)
{
  if (*known && *known != r) return false;
  *known = r;
  return true;
}

bool TermsRows::find(const PatchFDLocalDesc *desc)
{
  const PatchFDRowTerm *term     = desc->term;
  int                   diagonal = 0, mixed = 0;

  for (int d = 0; d < 3; d++) {
    M[d] = B[d] = L[d] = NULL;
    coef[d]            = 0;
  }
  dim = 0;
  while (dim < 3 && term[0].dir[dim]->ext > 0) dim++;
  if (dim < 2) return false;
  for (PetscInt t = 0; t < desc->nterm; t++) { /* B in one direction, M in the others */
    int far = -1;

    for (int d = 0; d < dim; d++)
      if (term[t].dir[d]->ext > 1) far = far < 0 ? d : 3;
    if (far < 0) continue;
    if (far == 3 || B[far] || term[t].coef != 1) return false;
    diagonal++;
    B[far] = term[t].dir[far];
    for (int d = 0; d < 3; d++)
      if (d != far && !set(&M[d], term[t].dir[d])) return false;
  }
  if (diagonal != dim) return false;
  for (PetscInt t = 0; t < desc->nterm; t++) { /* L in two directions, M in the third */
    int same = 0, other = 3;

    for (int d = 0; d < 3; d++) {
      if (term[t].dir[d] == B[d]) same = 3;
      else if (term[t].dir[d] == M[d]) {
        same++;
        other = d;
      }
    }
    if (same >= 3) continue;
    if (same != 1 || (dim == 2 && other != 2) || coef[other] != 0 || !(term[t].coef > 0)) return false;
    mixed++;
    coef[other] = term[t].coef;
    for (int d = 0; d < 3; d++)
      if (d != other && !set(&L[d], term[t].dir[d])) return false;
  }
  if (mixed != dim * (dim - 1) / 2 || desc->nterm != diagonal + mixed) return false;
  return dim == 3 || (M[2]->nclass == 1 && M[2]->X[0] == 1);
}

static const PetscReal *Rows(const PatchFDRows *r, PetscInt patch)
{
  return r->X + r->at[r->cls[patch]];
}

static PetscReal Largest(size_t n, const PetscReal *a)
{
  PetscReal max = 0;

  for (size_t i = 0; i < n; i++) max = PetscMax(max, PetscAbsReal(a[i]));
  return max;
}

/* X = a d, n x m, with two orthonormal rows d; false if there is more in X.  Of the rows that are left the longest one is taken */
static bool TwoRows(int n, int m, const std::vector<PetscReal> &X, std::vector<PetscReal> &a, std::vector<PetscReal> &d)
{
  std::vector<PetscReal> left  = X;
  const PetscReal        scale = Largest(X.size(), X.data());

  a.assign((size_t)n * 2, 0);
  d.assign((size_t)m * 2, 0);
  for (int w = 0; w < 2; w++) {
    PetscReal best = 0;
    int       row  = 0;

    for (int i = 0; i < n; i++) {
      PetscReal square = 0;

      for (int j = 0; j < m; j++) square += left[i * m + j] * left[i * m + j];
      if (square > best) {
        best = square;
        row  = i;
      }
    }
    for (int j = 0; j < m; j++) d[w * m + j] = best > 0 ? left[row * m + j] / PetscSqrtReal(best) : 0;
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < m; j++) a[i * 2 + w] += left[i * m + j] * d[w * m + j];
      for (int j = 0; j < m; j++) left[i * m + j] -= a[i * 2 + w] * d[w * m + j];
    }
  }
  return Largest(left.size(), left.data()) <= rounding * scale;
}

/* what the fast kernel has of one direction */
struct TermsLineForm {
  const PatchFDRows *B;
  int                K, N, C, ld;

  TermsLineForm(const PatchFDRows *B, int K) : B(B), K(K), N(2 * K - 1), C(2 * K + 1), ld(4 * K + 1) { }
  /* columns `first` .. of B, `count` of them */
  std::vector<PetscReal> columns(PetscInt patch, int first, int count) const
  {
    std::vector<PetscReal> X((size_t)N * count);

    for (int i = 0; i < N; i++)
      for (int j = 0; j < count; j++) X[i * count + j] = Rows(B, patch)[i * ld + first + j];
    return X;
  }
  bool own(PetscInt main, PetscInt patch, int e, const std::vector<PetscReal> &ends, std::vector<PetscReal> &f) const;
};

/*
  The matrix of a patch without a neighbour at end e is that of all others, main's, plus a f, f functionals of its outer cell: least
  squares with the two columns a, and whether that is all
*/
bool TermsLineForm::own(PetscInt main, PetscInt patch, int e, const std::vector<PetscReal> &ends, std::vector<PetscReal> &f) const
{
  std::vector<PetscReal>       X = columns(patch, K, C), Y = columns(main, K, C), a((size_t)N * 2);
  const std::vector<PetscReal> gone = columns(patch, e ? K + C : 0, K), there = columns(patch, e ? 0 : K + C, K),
                               same = columns(main, e ? 0 : K + C, K);
  const PetscReal scale             = Largest(Y.size(), Y.data());
  PetscReal       G[3]              = {0, 0, 0}, det;

  f.assign((size_t)2 * (K + 1), 0);
  if (Largest(gone.size(), gone.data()) > rounding * scale) return false;
  for (size_t i = 0; i < there.size(); i++)
    if (PetscAbsReal(there[i] - same[i]) > rounding * scale) return false;
  for (int i = 0; i < N; i++) {
    for (int w = 0; w < 2; w++) a[i * 2 + w] = ends[(e ? i : N - 1 - i) * 2 + w];
    G[0] += a[2 * i] * a[2 * i];
    G[1] += a[2 * i] * a[2 * i + 1];
    G[2] += a[2 * i + 1] * a[2 * i + 1];
  }
  det = G[0] * G[2] - G[1] * G[1];
  if (!(det > 0)) return false;
  for (int j = 0; j < C; j++) {
    const int distance = e ? C - 1 - j : j;
    PetscReal g[2]     = {0, 0}, v[2];

    for (int i = 0; i < N; i++)
      for (int w = 0; w < 2; w++) g[w] += a[2 * i + w] * (X[i * C + j] - Y[i * C + j]);
    v[0] = (G[2] * g[0] - G[1] * g[1]) / det;
    v[1] = (G[0] * g[1] - G[1] * g[0]) / det;
    if (distance > K) v[0] = v[1] = 0;
    else
      for (int w = 0; w < 2; w++) f[w * (K + 1) + distance] = v[w];
    for (int i = 0; i < N; i++) /* the rim itself is fixed */
      if (distance && PetscAbsReal(X[i * C + j] - Y[i * C + j] - a[2 * i] * v[0] - a[2 * i + 1] * v[1]) > rounding * scale) return false;
  }
  return true;
}

/* does the solver's class c of direction d look the same from the other end? */
static bool SolverMirrored(const PatchFDLocalDesc *desc, int d, PetscInt c)
{
  const PatchFDPatches *const *dir = desc->field->dir;

  if (desc->kind == PATCHFD_LOCAL_FD) return dir[d]->eigen[c].parity;
  for (PetscInt i = 0; i < desc->nclass[0] * desc->nclass[1] * desc->nclass[2]; i++) {
    const PetscInt cls[3] = {i % desc->nclass[0], i / desc->nclass[0] % desc->nclass[1], i / desc->nclass[0] / desc->nclass[1]};

    if (cls[d] == c && !desc->dense[i].parity[d]) return false;
  }
  return true;
}

/* the patches from 1 on that are like patch 1, and the first and the last one of the line, if their matrices are those of the others but
   for functionals */
void TermsForm::create(const PatchFDLocalDesc *desc)
{
  TermsRows rows;
  int       k = 0;

  K = 0;
  if (!rows.find(desc)) return;
  dim = rows.dim;
  k   = (int)rows.B[0]->ext - 1;
  if (k < low || k > high) return;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd   = desc->field->dir[d];
    const PetscInt        last = pd->npatch - 1, *solver = desc->kind == PATCHFD_LOCAL_DENSE ? desc->cls[d] : pd->cls;

    range[d][0] = 0;
    range[d][1] = pd->npatch;
    edge[d][0] = edge[d][1] = -1;
    cls[d]                  = 0;
    if (d >= dim) {
      if (pd->npatch != 1 || pd->n[0] != 1 || (desc->kind == PATCHFD_LOCAL_FD && (pd->eigen[0].lambda[0] != 0 || pd->eigen[0].S[0] != 1)))
        return;
      continue;
    }
    const TermsLineForm      line(rows.B[d], k);
    const PatchFDRows *const same[3] = {rows.M[d], rows.L[d], rows.B[d]};
    const int                N = line.N, C = line.C;
    const PetscReal          s = PetscSqrtReal(dim == 2 ? rows.coef[2] : rows.coef[(d + 1) % 3] * rows.coef[(d + 2) % 3] / rows.coef[d]);

    if (pd->npatch < 3 || rows.B[d]->ext != k + 1 || rows.L[d]->ext != 1) return;
    for (PetscInt i = 0; i <= last; i++)
      if (pd->n[i] != N || pd->first[i] != i * k + 1 || pd->cell[i] != i) return;
    cls[d] = solver[1];
    if (!SolverMirrored(desc, d, cls[d])) return;
    for (PetscInt i = 1; i < last; i++) {
      if (solver[i] != cls[d]) return;
      for (const PatchFDRows *r : same)
        if (r->cls[i] != r->cls[1]) return;
    }
    for (const PatchFDRows *r : same)
      if (!PatchFDMirrored(N, N + 2 * r->ext, 1, Rows(r, 1))) return;
    M[d].assign(Rows(rows.M[d], 1), Rows(rows.M[d], 1) + N * C);
    L[d].assign(Rows(rows.L[d], 1), Rows(rows.L[d], 1) + N * C);
    for (PetscReal &l : L[d]) l *= s;
    B[d] = line.columns(1, k, C);
    if (!TwoRows(N, k, line.columns(1, k + C, k), ends[d], beyond[d])) return;
    for (int e = 0; e < 2; e++) {
      const PetscInt patch = e ? last : 0;
      bool           fast  = solver[patch] == cls[d];

      for (int i = 0; i < 2; i++) fast = fast && same[i]->cls[patch] == same[i]->cls[1];
      own[d][e].assign((size_t)2 * (k + 1), 0);
      if (same[2]->cls[patch] != same[2]->cls[1]) {
        fast       = fast && line.own(1, patch, e, ends[d], own[d][e]);
        edge[d][e] = patch;
      }
      if (!fast) range[d][e] = e ? last : 1;
    }
  }
  K = k;
}

} // namespace patchfd
