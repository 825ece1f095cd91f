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
