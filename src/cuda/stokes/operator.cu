/* the Stokes operator (terms/terms.cuh): is a sum of terms one, and what are the numbers of its cells? */
#include "terms/terms.cuh"

namespace patchfd
{

/* the multiple of a reference matrix that all matrices of a band are; false if they are none, or not the same one */
static bool StokesMultiple(const std::vector<PetscReal> &reference, const PatchFDBand *b, PetscReal *number)
{
  const size_t size = reference.size();
  size_t       at   = 0;

  for (size_t i = 0; i < size; i++)
    if (PetscAbsReal(reference[i]) > PetscAbsReal(reference[at])) at = i;
  *number = b->X[at] / reference[at];
  for (size_t i = 0; i < (size_t)b->nclass * size; i++)
    if (!(PetscAbsReal(b->X[i] - *number * reference[i % size]) <= 1e-12 * PetscAbsReal(*number * reference[at]))) return false;
  return true;
}

/* the lengths of cells with mass matrix b; false if they have another form, or other lengths are known */
static bool StokesMass(const std::vector<PetscReal> &M, PetscInt n, PetscInt stride, const PatchFDBand *b, std::vector<PetscReal> &h)
{
  if (b->reach || b->nloc != n || b->ncol != n || b->stride != stride || b->cstride != stride) return false;
  if (h.empty())
    for (PetscInt c = 0; c < b->ncells; c++) h.push_back(b->X[b->cls[c] * n * n] / M[0]);
  for (PetscInt c = 0; c < b->ncells; c++) {
    const PetscReal *X = b->X + b->cls[c] * n * n;

    if (c && b->cls[c] == b->cls[c - 1] && h[c] == h[c - 1]) continue;
    for (PetscInt i = 0; i < n * n; i++)
      if (!(PetscAbsReal(X[i] - h[c] * M[i]) <= 1e-11 * X[0])) return false;
  }
  return true;
}

/* numbers of the cells of a continuous line */
static bool StokesStiffness(const StokesForm *f, const PatchFDBand *b, std::vector<PetscReal> &numbers)
{
  const PetscInt n = f->degree + 2;

  if (b->reach || b->nloc != n || b->ncol != n || b->stride != n - 1) return false;
  numbers.resize((size_t)b->ncells * 2);
  for (PetscInt c = 0; c < b->ncells; c++) {
    const PetscReal *X      = b->X + b->cls[c] * n * n;
    PetscReal       *number = numbers.data() + 2 * c, scale = 0;

    if (c && b->cls[c] == b->cls[c - 1]) {
      std::copy(number - 2, number, number);
      continue;
    }
    for (PetscInt i = 0; i < n * n; i++) scale = PetscMax(scale, PetscAbsReal(X[i]));
    if (!Combination(n, X, n, {f->K, f->M}, scale, number)) return false;
  }
  return true;
}

/* the matrices of the reference cell */
static PetscErrorCode StokesReference(StokesForm *f)
{
  const PetscReal        ends[] = {0.0, 1.0};
  const PetscBool        free[] = {PETSC_FALSE, PETSC_FALSE};
  const PetscInt         n      = f->degree + 1;
  std::vector<PetscReal> x(n);
  PatchFDLine            line, higher;
  PatchFDBand            G;
  CellReference          next;

  PetscFunctionBegin;
  PetscCall(f->cell.create(f->degree));
  PetscCall(next.create(f->degree + 1));
  f->K = next.K;
  f->M = next.M;
  f->D.resize(n * (n + 1));
  PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, f->degree, 1, ends, free, &line));
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, f->degree + 1, 1, ends, free, &higher));
  PetscCall(PatchFDLineNodes(&line, x.data()));
  PetscCall(PatchFDBasis(f->degree + 1, n, x.data(), std::vector<PetscReal>(n * (n + 1)).data(), f->D.data(), NULL));
  PetscCall(PatchFDBandDerivative(&line, &higher, 1, PETSC_FALSE, &G));
  f->G.assign(G.X, G.X + n * (n + 1));
  PetscCall(PatchFDBandDestroy(&G));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(PatchFDLineDestroy(&higher));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The bands of all directions but e are masses, of nodes that cells share in direction c, of their own nodes in the others.  A point's mass
  goes into the coefficient.
*/
static bool StokesMasses(StokesForm *f, const PatchFDTerm *t, int c, int e, PetscReal *coef)
{
  const PetscInt n = f->degree + 1;

  for (int d = 0; d < 3; d++) {
    const PatchFDBand *b = t->dir[d];

    if (d == e) continue;
    if (d >= f->dim) {
      if (b->reach || b->nloc != 1 || b->ncol != 1 || b->nclass != 1) return false;
      *coef *= b->X[0];
    } else if (d == c) {
      if (!StokesMass(f->M, n + 1, n, b, f->h[d])) return false;
    } else {
      if (!StokesMass(f->cell.M, n, n, b, f->h[d])) return false;
      f->mass[d] = b;
    }
  }
  return true;
}

/* gradient or divergence in component c: G or its transpose in direction c, masses without shared nodes in the others */
static bool StokesCoupling(StokesForm *f, const PatchFDTerm *t, int c, bool transpose, PetscReal *coef)
{
  const PetscInt         n = f->degree + 1;
  const PatchFDBand     *b = t->dir[c];
  std::vector<PetscReal> G = f->G;
  PetscReal              number;

  if (*coef != 0 || b->reach || b->nloc != n + transpose || b->ncol != n + !transpose || b->stride != n || b->cstride != n) return false;
  for (PetscInt i = 0; i < n && transpose; i++)
    for (PetscInt j = 0; j <= n; j++) G[j * n + i] = f->G[i * (n + 1) + j];
  *coef = t->coef;
  if (!StokesMultiple(G, b, &number) || !StokesMasses(f, t, c, c, coef)) return false;
  *coef *= number;
  return true;
}

/* a term in component c: stiffness in one direction and masses in the others */
static bool StokesVelocity(StokesForm *f, const PatchFDTerm *t)
{
  const PetscInt c = t->row, n = f->degree + 1;
  int            e    = (int)c;
  PetscReal      coef = t->coef;

  for (int d = 0; d < f->dim; d++)
    if (t->dir[d]->reach) e = d;
  const PatchFDBand      *A       = t->dir[e];
  std::vector<PetscReal> &numbers = f->numbers[c][e];

  if (!numbers.empty() || !StokesMasses(f, t, (int)c, e, &coef)) return false;
  if (e == c) {
    if (!StokesStiffness(f, A, numbers)) return false;
  } else if (A->reach != 1 || A->nloc != n || A->ncol != n || A->stride != n || !DGLineNumbers(f->cell, f->mass[e], A, numbers))
    return false;
  for (size_t i = 0; i < numbers.size(); i++)
    if (e == c || i % DG_CELL != DG_H) numbers[i] *= coef;
  return true;
}

PetscErrorCode StokesForm::create(const PatchFDOperatorDesc *desc, bool *is)
{
  PetscFunctionBegin;
  *is    = false;
  dim    = (int)desc->nfield - 1;
  degree = desc->nterm ? (int)desc->term[0].dir[1]->nloc - 1 : 0; /* of a component that shares nodes in direction 0 */
  field  = desc->field;
  cells  = desc->cells;
  if ((dim != 2 && dim != 3) || desc->nterm != dim * (dim + 2) || desc->term[0].row != 0 || degree < 1 || degree > stokes_fast_degrees)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(StokesReference(this));
  for (int velocity = 0; velocity < 2; velocity++) { /* couplings first: they say what the masses are */
    for (PetscInt i = 0; i < desc->nterm; i++) {
      const PatchFDTerm *t = &desc->term[i];

      if ((t->row == t->col) != velocity) continue;
      if (velocity ? t->row == dim || !StokesVelocity(this, t)
                   : !(t->row == dim ? StokesCoupling(this, t, (int)t->col, false, &divergence[t->col])
                                     : t->col == dim && StokesCoupling(this, t, (int)t->row, true, &gradient[t->row])))
        PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  *is = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
