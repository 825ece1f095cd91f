/*
  From terms to the stages of operator_fast.cu (terms.cuh): which products terms share.

  On rows of nodes between the ends of a patch the matrix of int v u' is that of int v' u but for its sign: what their cells' matrices
  differ in are values at the cells' ends, which cells take from each other.  There two couplings of displacements are one.
*/
#include "base/products.cuh"
#include "terms/terms.cuh"
#include <algorithm>

namespace patchfd
{

/* the place of a value in a list, where it is put if it is new */
template <typename V>
static int Place(std::vector<V> &list, const V &value)
{
  const auto at = std::find(list.begin(), list.end(), value);

  if (at != list.end()) return (int)(at - list.begin());
  list.push_back(value);
  return (int)list.size() - 1;
}

/* what is seen of the matrix X of cells: all of it, or the rows of the nodes between the ends of two cells */
static std::vector<PetscReal> Seen(const std::vector<PetscReal> &X, int n, bool patches)
{
  const int              width = 2 * n - 1;
  std::vector<PetscReal> rows((size_t)(width * width));

  if (!patches) return X;
  for (int c = 0; c < 2; c++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) rows[(c * (n - 1) + i) * width + c * (n - 1) + j] += X[i * n + j];
  return std::vector<PetscReal>(rows.begin() + width, rows.end() - width);
}

static bool Equal(const std::vector<PetscReal> &a, const std::vector<PetscReal> &b)
{
  PetscReal scale = 0, difference = 0;

  for (size_t i = 0; i < a.size(); i++) {
    scale      = PetscMax(scale, PetscAbsReal(a[i]));
    difference = PetscMax(difference, PetscAbsReal(b[i] - a[i]));
  }
  return difference <= 1e-13 * scale;
}

/* X: the matrices without coefficients */
bool TermsLines::gather(const PatchFDOperatorDesc *desc, bool patches, std::vector<TermsLinesTerm> &terms)
{
  const int n = degree + 1;

  for (PetscInt i = 0; i < desc->nterm; i++) {
    const PatchFDTerm *t  = &desc->term[i];
    TermsLinesTerm     to = {(int)t->row, (int)t->col, {0, 0, 0}, t->coef};

    for (int d = 0; d < 3; d++) {
      const PatchFDBand *b = t->dir[d];
      const int          m = d < dim ? n : 1;

      if (b->nloc != m || b->ncol != m || b->stride != m - 1 || b->cstride != m - 1 || b->reach || b->nclass != 1) return false;
      if (d >= dim) {
        to.coef *= b->X[0];
        continue;
      }
      std::vector<PetscReal> matrix(b->X, b->X + n * n), seen = Seen(matrix, n, patches);

      if (seen[0] < 0) { /* one sign for what differs in it */
        to.coef = -to.coef;
        for (PetscReal &v : matrix) v = -v;
        for (PetscReal &v : seen) v = -v;
      }

      while (to.X[d] < (int)X[d].size() && !Equal(Seen(X[d][to.X[d]], n, patches), seen)) to.X[d]++;
      if (to.X[d] == (int)X[d].size()) X[d].push_back(matrix);
    }
    const auto same = std::find_if(terms.begin(), terms.end(), [&](const TermsLinesTerm &o) {
      return o.row == to.row && o.col == to.col && std::equal(o.X, o.X + 3, to.X);
    });

    if (same != terms.end()) same->coef += to.coef;
    else terms.push_back(to);
  }
  return true;
}

typedef std::vector<std::pair<int, int>> Pairs;

/* sums of pairs (array, matrix); false if there are too many */
static bool TermsStageFill(const std::vector<Pairs> &sums, TermsStage *s)
{
  size_t terms = 0;

  for (const Pairs &sum : sums) terms += sum.size();
  if (sums.size() > terms_lines_sums || terms > terms_lines_terms) return false;
  s->nsum = 0;
  terms   = 0;
  for (const Pairs &sum : sums) {
    s->first[s->nsum++] = (int)terms;
    for (const auto &t : sum) {
      s->from[terms]     = t.first;
      s->matrix[terms++] = t.second;
    }
  }
  s->first[s->nsum] = (int)terms;
  return true;
}

/* X: from matrices to those with coefficients */
bool TermsLines::stages(std::vector<TermsLinesTerm> terms)
{
  std::vector<std::pair<int, PetscReal>> matrices[3];
  Pairs                                  P, Q; /* field or row, and matrix of the first or last direction */
  std::vector<Pairs>                     sums[3];

  sums[dim - 1].resize(nfield);
  std::stable_sort(terms.begin(), terms.end(), [](const TermsLinesTerm &a, const TermsLinesTerm &b) { return a.col < b.col; });
  for (const TermsLinesTerm &t : terms) {
    int m[3], first;

    /* in one direction; matrices of the others are for many terms */
    for (int d = 0; d < dim; d++) m[d] = Place(matrices[d], {t.X[d], d == t.row % dim ? t.coef : 1});
    first = Place(P, {t.col, m[0]});
    if (dim == 2) sums[1][t.row].push_back({first, m[1]});
    else {
      const size_t last = (size_t)Place(Q, {t.row, m[2]});

      if (last == sums[1].size()) {
        sums[1].push_back({});
        sums[2][t.row].push_back({(int)last, m[2]});
      }
      sums[1][last].push_back({first, m[1]});
    }
  }
  for (const auto &p : P) sums[0].push_back({p});
  for (int d = 0; d < dim; d++) {
    std::vector<std::vector<PetscReal>> scaled;

    if (matrices[d].size() > terms_lines_matrices || !TermsStageFill(sums[d], &stage[d])) return false;
    for (const auto &m : matrices[d]) {
      scaled.push_back(X[d][m.first]);
      for (PetscReal &v : scaled.back()) v *= m.second;
    }
    X[d] = scaled;
  }
  return true;
}

/* products of a stage are made at the wanted nodes of the directions before, and at all nodes of those after */
void TermsLines::count(bool patches)
{
  const int cells_of = patches ? 2 : 1; /* of a unit */

  flops = 0;
  for (int s = 0; s < dim; s++) {
    PetscLogDouble products = 2.0 * (degree + 1) * (degree + 1) * cells_of * stage[s].first[stage[s].nsum];

    for (int d = 0; d < dim; d++) {
      const PetscLogDouble units = (PetscLogDouble)PetscMax(0, cells[d][1] - cells[d][0]) / cells_of;

      products *= d == s ? units : units * (patches ? 2 * degree + (d < s ? -1 : 1) : degree);
    }
    flops += products;
  }
}

bool TermsLines::create(const PatchFDOperatorDesc *desc, bool patches)
{
  const PetscInt              n = desc->nterm ? desc->term[0].dir[0]->nloc : 0;
  std::vector<TermsLinesTerm> terms;

  dim    = n && desc->term[0].dir[2]->nloc > 1 ? 3 : 2;
  degree = (int)n - 1;
  nfield = (int)desc->nfield;
  field  = desc->field;
  cells  = desc->cells;
  if (degree < 1 || degree > terms_lines_degrees || !gather(desc, patches, terms) || !stages(terms)) return false;
  for (int d = 0; d < dim; d++) {
    end[d][0] = end[d][1] = false;
    for (PetscInt f = 0; f < nfield; f++) {
      end[d][0] = end[d][0] || field[f].write[d][0] < 1;
      end[d][1] = end[d][1] || field[f].write[d][1] > desc->term[0].dir[d]->ncells * degree;
    }
  }
  count(patches);
  return true;
}

/* ---- the Stokes operator: is a sum of terms one, and what are the numbers of its cells? ---- */

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

/* ---- sums of terms in several fields: the choice of the kernel ---- */

template <typename T>
struct TermsOperatorPlan : Plan {
  Products<T>              products;
  Owned<TermsOperatorFast> fast;
  size_t                   size  = 0;               /* of y */
  PetscLogDouble           flops = 0, residual = 0; /* residual: of a colour's patches, or 0 */
};

template <typename T>
PetscErrorCode TermsOperator<T>::create(const PatchFDOperatorDesc *desc, void **plan)
{
  TermsOperatorPlan<T>    *p = new TermsOperatorPlan<T>;
  std::vector<ProductTerm> terms;
  StokesForm               form;
  TermsLines               lines[2]; /* of all nodes, of patches */
  bool                     stokes;
  cudaStream_t             stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
  for (PetscInt f = 0; f < desc->nfield; f++) p->size = PetscMax(p->size, desc->field[f].y0 + PatchFDBoxSize(&desc->field[f].ybox));
  PetscCall(form.create(desc, &stokes));
  if (stokes) {
    if (form.dim == 2) PetscCall((StokesFastCreate<T, 2>(&form, &p->fast)));
    else PetscCall((StokesFastCreate<T, 3>(&form, &p->fast)));
  }
  if (p->fast) {
    PetscLogDouble cells = 1, nodes = 1, n = form.degree + 1;

    for (int d = 0; d < form.dim; d++) {
      cells *= (PetscLogDouble)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
      nodes *= n;
    }
    /* lines of a component: stiffness and mass in its direction, penalties and masses in the others; gradient, divergence, masses of the
       pressure */
    p->flops = 2 * cells * nodes * (form.dim * (2 * (n + 2) + (form.dim - 1) * (2 * n + 10) + 2 * (n + 1)) + form.dim * n);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (lines[0].create(desc, false) && lines[1].create(desc, true)) {
    if (lines[0].dim == 2) PetscCall((TermsLinesCreate<T, 2>(lines, &p->fast)));
    else PetscCall((TermsLinesCreate<T, 3>(lines, &p->fast)));
  }
  if (p->fast) {
    p->flops    = lines[0].flops;
    p->residual = lines[1].flops;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt t = 0; t < desc->nterm; t++) {
    const PatchFDTerm *term = &desc->term[t];

    terms.push_back({(int)term->row, (int)term->col, term->coef, {}});
    for (int d = 0; d < 3; d++) terms.back().dir[d] = OwnerLine::band(term->dir[d], desc->cells[d]);
  }
  PetscCall(p->products.create(desc->nfield, desc->field, terms, desc->cells));
  p->flops = p->products.flops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsOperator<T>::apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  TermsOperatorPlan<T> *p = (TermsOperatorPlan<T> *)plan;

  PetscFunctionBegin;
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    PetscFunctionBegin;
    if (p->fast) PetscCall(p->fast->apply(alpha, x, y0, y, stream));
    else {
      PetscCall(StartSum<T>(p->size, y0, y, stream));
      PetscCall(p->products.add(alpha, (const T *)x, (T *)y, stream));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsOperator<T>::residual(void *plan, const PatchFDColor *color, const void *x, const void *b, void *r)
{
  TermsOperatorPlan<T> *p = (TermsOperatorPlan<T> *)plan;

  PetscFunctionBegin;
  if (!p->residual || color->parity[0] == PATCHFD_ALL_PARITIES) {
    PetscCall(apply(plan, -1, x, b, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Launch(p->residual, [&](cudaStream_t stream) { return p->fast->residual(*color, x, b, r, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct TermsOperator<double>;
template struct TermsOperator<float>;

} // namespace patchfd
