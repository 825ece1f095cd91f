/* Which patches the fast kernels for terms can do: the bands of a uniform mesh, recognised in the rows of its patches */
#include "terms/generic.cuh"
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

/* Local solvers with the residual of an operator's terms: see terms.cuh for what is where */

/* ---- plans ---- */

template <typename T>
struct TermsPlan : Plan {
  TermsData<T>     data = {};
  TermsForm        form;
  Owned<TermsFast> fast;
  T               *between = NULL; /* residuals on their way to the fast solve */
  int              phases;
  PetscInt         n[3];  /* largest patch */
  TermsFlops       flops; /* of the generic kernel, for the largest patch */
  /* do all inverses consist of one block; has a block of threads room for a patch, to multiply rows of them? */
  bool       whole = true, byrows = false;
  PlanMemory memory;

  PetscErrorCode create(const PatchFDLocalDesc *);
  PetscErrorCode applyGeneric(const ColorPatches &, PatchFDPatchOp, PetscReal omega, bool zero, T *x, const T *b, T *r, cudaStream_t) const;
  PetscErrorCode applyFast(const ColorPatches &, PatchFDPatchOp, PetscReal omega, bool zero, T *x, const T *b, T *r, cudaStream_t) const;
  bool           isFast(const PatchFDRange patches) const;
  PetscLogDouble count(const ColorPatches &, PatchFDPatchOp, bool zero, const TermsFlops &) const;

private:
  PetscErrorCode direction(const PatchFDLocalDesc *, int d);
  PetscErrorCode find(const PatchFDPatches *, const PatchFDRows *, PetscReal coef, int d, int *found, std::vector<const PatchFDRows *> &,
                      std::vector<PetscReal> &);
  PetscErrorCode rows(const PatchFDPatches *, const PatchFDRows *, PetscReal coef, int d, TermsMatrix<T> *);
  PetscErrorCode terms(const PatchFDLocalDesc *);
  PetscErrorCode inverses(const PatchFDLocalDesc *);
};

/* the cover, and the eigenvectors of its classes where they are used; inverses have classes of the solver */
template <typename T>
PetscErrorCode TermsPlan<T>::direction(const PatchFDLocalDesc *desc, int d)
{
  const PatchFDPatches  *pd = desc->field->dir[d];
  const bool             fd = desc->kind != PATCHFD_LOCAL_DENSE;
  TermsDirection<T>     &t  = data.d[d];
  std::vector<PetscReal> S, lambda;

  PetscFunctionBegin;
  n[d] = 1;
  for (PetscInt i = 0; i < pd->npatch; i++) {
    n[d] = PetscMax(n[d], pd->n[i]);
    PetscCheck(pd->cell[i] == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Patch %" PetscInt_FMT " begins at cell %" PetscInt_FMT, i, pd->cell[i]);
  }
  t.ld     = (int)n[d];
  t.nclass = (int)(fd ? pd->nclass : desc->nclass[d]);
  S.resize((size_t)(pd->nclass * n[d] * n[d]));
  lambda.resize((size_t)(pd->nclass * n[d]));
  for (PetscInt c = 0; c < pd->nclass && fd; c++) {
    const PatchFDEigen *e = &pd->eigen[c];

    for (PetscInt i = 0; i < e->n * e->n; i++) S[(size_t)(c * n[d] * n[d] + i)] = e->S[i];
    for (PetscInt i = 0; i < e->n; i++) lambda[(size_t)(c * n[d] + i)] = e->lambda[i];
  }
  PetscCall(memory.upload((size_t)pd->npatch, pd->first, &t.first));
  PetscCall(memory.upload((size_t)pd->npatch, pd->n, &t.n));
  PetscCall(memory.upload((size_t)pd->npatch, fd ? pd->cls : desc->cls[d], &t.cls));
  PetscCall(memory.upload(S.size(), S.data(), &t.S));
  PetscCall(memory.upload(lambda.size(), lambda.data(), &t.lambda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* columns of the patch and its rim, and of the slabs beyond, for each class */
template <typename T>
PetscErrorCode TermsPlan<T>::rows(const PatchFDPatches *pd, const PatchFDRows *rows, PetscReal coef, int d, TermsMatrix<T> *m)
{
  const PetscInt         rim = data.d[d].rim, beyond = rows->ext - rim;
  std::vector<PetscReal> X((size_t)(rows->nclass * n[d] * (n[d] + 2 * rim))), E[2];

  PetscFunctionBegin;
  m->beyond = (int)beyond;
  m->nX     = (int)(n[d] * (n[d] + 2 * rim));
  m->nE     = (int)(n[d] * beyond);
  for (int e = 0; e < 2; e++) E[e].resize((size_t)(rows->nclass * m->nE));
  for (PetscInt p = 0; p < rows->npatch; p++) {
    const PetscInt   c = rows->cls[p], np = pd->n[p], inner = np + 2 * rim, ld = np + 2 * rows->ext;
    const PetscReal *from = rows->X + rows->at[c];

    if (p > 0 && c == rows->cls[p - 1]) continue;
    for (PetscInt i = 0; i < np; i++) {
      for (PetscInt j = 0; j < inner; j++) X[(size_t)(c * m->nX + i * inner + j)] = coef * from[i * ld + beyond + j];
      for (int e = 0; e < 2; e++)
        for (PetscInt j = 0; j < beyond; j++)
          E[e][(size_t)(c * m->nE + i * beyond + j)] = coef * from[i * ld + (e ? beyond + inner : 0) + j];
    }
  }
  PetscCall(memory.upload((size_t)rows->npatch, rows->cls, &m->cls));
  PetscCall(memory.upload(X.size(), X.data(), &m->X));
  for (int e = 0; e < 2; e++) PetscCall(memory.upload(E[e].size(), E[e].data(), &m->E[e]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrix of direction d with these rows and this coefficient, made if it is a new one */
template <typename T>
PetscErrorCode TermsPlan<T>::find(const PatchFDPatches *pd, const PatchFDRows *r, PetscReal coef, int d, int *found,
                                  std::vector<const PatchFDRows *> &known, std::vector<PetscReal> &coefs)
{
  PetscFunctionBegin;
  for (*found = 0; *found < (int)known.size(); (*found)++)
    if (known[*found] == r && coefs[*found] == coef) PetscFunctionReturn(PETSC_SUCCESS);
  known.push_back(r);
  coefs.push_back(coef);
  PetscCall(rows(pd, r, coef, d, &data.matrix[d][*found]));
  data.d[d].nmatrix = (int)known.size();
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsPlan<T>::terms(const PatchFDLocalDesc *desc)
{
  std::vector<const PatchFDRows *> known[3];
  std::vector<PetscReal>           coefs[3];

  PetscFunctionBegin;
  PetscCheck(desc->nterm <= max_terms, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "An operator of %" PetscInt_FMT " terms; patches' residuals can be computed for at most %d", desc->nterm, max_terms);
  data.nterm = (int)desc->nterm;
  for (int d = 0; d < 3; d++) {
    data.d[d].rim = (int)desc->term[0].dir[d]->ext;
    for (PetscInt t = 1; t < desc->nterm; t++) data.d[d].rim = PetscMin(data.d[d].rim, (int)desc->term[t].dir[d]->ext);
  }
  for (PetscInt t = 0; t < desc->nterm; t++) {
    int reach = 0;

    for (int d = 0; d < 3; d++) {
      PetscCall(find(desc->field->dir[d], desc->term[t].dir[d], d == 1 ? desc->term[t].coef : 1, d, &data.term[t][d], known[d], coefs[d]));
      if (data.matrix[d][data.term[t][d]].beyond) reach++;
    }
    PetscCheck(reach <= 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Patches' residuals cannot be computed for terms that reach beyond a patch in more than one direction");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsPlan<T>::inverses(const PatchFDLocalDesc *desc)
{
  const size_t                 count = (size_t)(desc->nclass[0] * desc->nclass[1] * desc->nclass[2]);
  std::vector<TermsInverse<T>> all(count);

  PetscFunctionBegin;
  for (size_t c = 0; c < count; c++) {
    const PatchFDDense *dense = &desc->dense[c];
    size_t              total = 0;
    T                  *block;

    for (int i = 0; i < 8; i++) total += (size_t)(dense->size[i] * dense->size[i]);
    PetscCall(memory.upload(total, dense->block[0], &block));
    for (int i = 0; i < 8; i++) {
      all[c].size[i]  = (int)dense->size[i];
      all[c].block[i] = block;
      block += dense->size[i] * dense->size[i];
    }
    for (int d = 0; d < 3; d++) all[c].parity[d] = dense->parity[d];
  }
  for (const TermsInverse<T> &inverse : all) whole = whole && inverse.is_whole();
  PetscCall(memory.upload(count, all.data(), &data.inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsPlan<T>::create(const PatchFDLocalDesc *desc)
{
  const bool dense = desc->kind == PATCHFD_LOCAL_DENSE;
  size_t     size  = 1, work;
  PetscInt   c[3], entries[3];

  PetscFunctionBegin;
  phases     = (int)desc->nphase;
  data.l     = Layout(desc->field->box);
  data.read  = Range(desc->field->read);
  data.inner = 1;
  for (int d = 0; d < 3; d++) PetscCall(direction(desc, d));
  PetscCall(terms(desc));
  if (dense) PetscCall(inverses(desc));
  for (int d = 0; d < 3; d++) {
    c[d] = n[d] + 2 * data.d[d].rim;
    size *= (size_t)n[d];
    data.inner *= (int)c[d];
    entries[d] = 0;
  }
  for (int d = 0; d < 3; d++)
    for (int i = 0; i < data.d[d].nmatrix; i++) data.slab = PetscMax(data.slab, data.inner / (int)c[d] * data.matrix[d][i].beyond);
  for (int i = 0; i < data.d[0].nmatrix; i++) entries[0] += c[0] + 2 * data.matrix[0][i].beyond;
  for (int t = 0; t < data.nterm; t++) entries[1] += c[1] + 2 * data.matrix[1][data.term[t][1]].beyond;
  for (int i = 0; i < data.d[2].nmatrix; i++) entries[2] += c[2] + 2 * data.matrix[2][i].beyond;
  flops.residual = 2.0 * (PetscLogDouble)n[0] * (PetscLogDouble)(c[2] * (entries[0] * c[1] + entries[1] * n[1]) + entries[2] * n[1] * n[2]);
  flops.solve    = 0;
  for (int i = 0; i < 8 && dense; i++) flops.solve += 2.0 * (PetscLogDouble)desc->dense[0].size[i] * (PetscLogDouble)desc->dense[0].size[i];
  if (!dense) flops.solve = (PetscLogDouble)size * (4.0 * (PetscLogDouble)(n[0] + n[1] + n[2]) + 3);
  work = PetscMax(2 * (size_t)data.slab + (size_t)(data.d[0].nmatrix + data.d[2].nmatrix) * (size_t)data.inner, size);
  PetscCall(
    data.team.create((int)size, (size_t)data.inner + work, &memory, dense && whole ? PetscMin(512, RoundUp(4 * (int)size, 32)) : 0));
  PetscCall(AllowShared(TermsKernel<T>, data.team.shared));
  if (dense && whole) PetscCall(SharedFits(TermsRowsKernel<T>, size * sizeof(T), &byrows));
  if (byrows) PetscCall(AllowShared(TermsRowsKernel<T>, size * sizeof(T)));
  form.create(desc);
  if (form.K) PetscCall(TermsFastCreate<T>(form, desc, &fast));
  if (!fast) form.K = 0;
  else PetscCall(memory.malloc(PatchFDBoxSize(&desc->field->box), &between));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsSmoother<T>::create(const PatchFDLocalDesc *desc, void **plan)
{
  TermsPlan<T> *p;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  p     = new TermsPlan<T>();
  *plan = p;
  PetscCall(p->create(desc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- applies ---- */

template <typename T>
PetscErrorCode TermsPlan<T>::applyGeneric(const ColorPatches &g, PatchFDPatchOp op, PetscReal omega, bool zero, T *x, const T *b, T *r,
                                          cudaStream_t stream) const
{
  const T  *from = op == PATCHFD_OP_SOLVE ? r : b;
  const int each = rows_warps * rows_each;
  /* patches: more of them fill a GPU with a block each; where the one gets quicker than the other has not been measured */
  const size_t size = (size_t)(n[0] * n[1] * n[2]), items = g.items(), few = 1024;

  PetscFunctionBegin;
  if (byrows && (zero || op == PATCHFD_OP_SOLVE) && op != PATCHFD_OP_RESIDUAL && from != x && items <= few) {
    TermsRowsKernel<T>
      <<<dim3((unsigned)((size + each - 1) / each), (unsigned)items), 32 * rows_warps, size * sizeof(T), stream>>>(data, g, (T)omega,
                                                                                                                   zero ? T(0) : T(1), from,
                                                                                                                   x);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  TermsKernel<T><<<data.team.grid(g.items()), data.team.block(), data.team.shared, stream>>>(data, g, op, (T)omega, zero, x, b, r);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* from zero the residual is b */
template <typename T>
PetscErrorCode TermsPlan<T>::applyFast(const ColorPatches &g, PatchFDPatchOp op, PetscReal omega, bool zero, T *x, const T *b, T *r,
                                       cudaStream_t stream) const
{
  const T *from = op == PATCHFD_OP_SOLVE ? r : (zero ? b : between);

  PetscFunctionBegin;
  if (op == PATCHFD_OP_RESIDUAL) PetscCall(fast->residual(g, x, b, r, stream));
  else if (from == between) PetscCall(fast->residual(g, x, b, between, stream));
  if (op != PATCHFD_OP_RESIDUAL) PetscCall(fast->solve(g, omega, zero ? 0 : 1, from, x, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* do all nodes of the patches of this range exist? */
template <typename T>
bool TermsPlan<T>::isFast(const PatchFDRange patches) const
{
  for (int d = 0; d < form.dim; d++)
    if (patches[d][0] * form.K + 1 < data.read.lo[d] || (patches[d][1] + 1) * form.K > data.read.hi[d]) return false;
  return form.K > 0;
}

/* flops of these patches */
template <typename T>
PetscLogDouble TermsPlan<T>::count(const ColorPatches &g, PatchFDPatchOp op, bool zero, const TermsFlops &flops) const
{
  return g.empty() ? 0
                   : g.patches() * ((op == PATCHFD_OP_SOLVE || zero ? 0 : flops.residual) + (op == PATCHFD_OP_RESIDUAL ? 0 : flops.solve));
}

/* The patches that the fast kernels can do, if there are any, and those around them: slabs at either end of each direction */
template <typename T>
PetscErrorCode TermsSmoother<T>::apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PatchFDColor colors[],
                                       const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  const TermsPlan<T> *p = (const TermsPlan<T> *)plan;
  PatchFDRange        inner, slab[6];
  int                 nslab = 0;
  bool                fast;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCheck(op != PATCHFD_OP_BOUNDARY, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No residual-free step where the residual is that of terms");
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 2; e++) inner[d][e] = patches[d][e];
  for (int d = 0; d < 3 && p->form.K; d++) {
    for (int e = 0; e < 2; e++) {
      const PetscInt cut = PetscMin(PetscMax(p->form.range[d][e], inner[d][0]), inner[d][1]);

      if (cut == inner[d][e]) continue;
      PetscCall(PetscMemcpy(slab[nslab], inner, sizeof(inner)));
      slab[nslab++][d][1 - e] = inner[d][e] = cut;
    }
  }
  fast = p->isFast(inner);
  for (PetscInt i = 0; i < ncolors; i++) {
    const bool         first = zero && i == 0;
    const ColorPatches g(colors[i], p->phases, inner, p->data.l, p->data.read);
    PetscLogDouble     flops = p->count(g, op, first, fast ? p->fast->flops : p->flops);

    if (!g.empty() && fast) PetscCall(p->applyFast(g, op, omega, first, (T *)x, (const T *)b, (T *)r, stream));
    else if (!g.empty()) PetscCall(p->applyGeneric(g, op, omega, first, (T *)x, (const T *)b, (T *)r, stream));
    for (int s = 0; s < nslab; s++) {
      const ColorPatches beside(colors[i], p->phases, slab[s], p->data.l, p->data.read);

      if (!beside.empty()) PetscCall(p->applyGeneric(beside, op, omega, first, (T *)x, (const T *)b, (T *)r, stream));
      flops += p->count(beside, op, first, p->flops);
    }
    PetscCall(PetscLogGpuFlops(flops));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct TermsSmoother<double>;
template struct TermsSmoother<float>;

} // namespace patchfd
