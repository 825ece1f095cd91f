/* sums of terms in several fields (operator.cuh): the choice of the kernel, and from terms to the stages of operator_fast.cu */
#include "base/products.cuh"
#include "terms/operator.cuh"
#include <algorithm>

namespace patchfd
{

/* ---- from terms to stages ---- */

/* the place of a value in a list, where it is put if it is new */
template <typename V>
static int Place(std::vector<V> &list, const V &value)
{
  const auto at = std::find(list.begin(), list.end(), value);

  if (at != list.end()) return (int)(at - list.begin());
  list.push_back(value);
  return (int)list.size() - 1;
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

/* false if the terms have another form */
bool TermsLines::create(const PatchFDOperatorDesc *desc)
{
  const PetscInt                                         n = desc->nterm ? desc->term[0].dir[0]->nloc : 0;
  std::vector<std::pair<const PatchFDBand *, PetscReal>> bands[3]; /* with their coefficients */
  Pairs                                                  P, Q;     /* field or row, and matrix of the first or last direction */
  std::vector<Pairs>                                     sums[3];

  dim    = n && desc->term[0].dir[2]->nloc > 1 ? 3 : 2;
  degree = (int)n - 1;
  nfield = (int)desc->nfield;
  field  = desc->field;
  cells  = desc->cells;
  flops = residual = 0;
  if (degree < 1 || degree > terms_lines_degrees) return false;
  sums[dim - 1].resize(nfield);
  for (PetscInt i = 0; i < desc->nterm; i++) {
    const PatchFDTerm *t    = &desc->term[i];
    PetscReal          coef = t->coef;
    int                X[3], first, row = (int)t->row;

    for (int d = dim; d < 3; d++) {
      if (t->dir[d]->nloc != 1 || t->dir[d]->ncol != 1 || t->dir[d]->nclass != 1) return false;
      coef *= t->dir[d]->X[0];
    }
    for (int d = 0; d < dim; d++) {
      const PatchFDBand *b = t->dir[d];

      if (b->nloc != n || b->ncol != n || b->stride != n - 1 || b->cstride != n - 1 || b->reach || b->nclass != 1) return false;
      /* the other directions share their matrices with other terms */
      X[d] = Place(bands[d], {b, d == row % dim ? coef : 1});
    }
    first = Place(P, {(int)t->col, X[0]});
    if (dim == 2) sums[1][row].push_back({first, X[1]});
    else {
      const size_t last = (size_t)Place(Q, {row, X[2]});

      if (last == sums[1].size()) {
        sums[1].push_back({});
        sums[2][row].push_back({(int)last, X[2]});
      }
      sums[1][last].push_back({first, X[1]});
    }
  }
  for (const auto &p : P) sums[0].push_back({p});
  for (int d = 0; d < dim; d++) {
    end[d][0] = end[d][1] = false;
    for (PetscInt f = 0; f < nfield; f++) {
      end[d][0] = end[d][0] || field[f].write[d][0] < 1;
      end[d][1] = end[d][1] || field[f].write[d][1] > desc->term[0].dir[d]->ncells * degree;
    }
    PetscLogDouble products = 2.0 * n * n, patch = 2 * products; /* of a line of a cell, of a patch */

    if (bands[d].size() > terms_lines_matrices || !TermsStageFill(sums[d], &stage[d])) return false;
    X[d].clear();
    for (const auto &b : bands[d]) {
      X[d].push_back(std::vector<PetscReal>(b.first->X, b.first->X + n * n));
      for (PetscReal &v : X[d].back()) v *= b.second;
    }
    for (int e = 0; e < dim; e++) {
      products *= (PetscLogDouble)PetscMax(0, cells[e][1] - cells[e][0]) * (e == d ? 1 : degree);
      patch *= PetscMax(0, (PetscLogDouble)(cells[e][1] - cells[e][0]) / 2) * (e == d ? 1 : 2 * degree + (e < d ? -1 : 1));
    }
    flops += stage[d].first[stage[d].nsum] * products;
    residual += stage[d].first[stage[d].nsum] * patch;
  }
  return true;
}

/* ---- plans ---- */

template <typename T>
struct TermsOperatorPlan {
  Products<T>        products;
  TermsOperatorFast *fast  = NULL;            /* or NULL */
  size_t             size  = 0;               /* of y */
  PetscLogDouble     flops = 0, residual = 0; /* residual: of a colour's patches, 0 if that of all nodes is taken */

  PetscErrorCode free()
  {
    PetscFunctionBegin;
    PetscCall(products.free());
    if (fast) PetscCall(fast->destroy());
    delete fast;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T>
PetscErrorCode TermsOperator<T>::create(const PatchFDOperatorDesc *desc, void **plan)
{
  TermsOperatorPlan<T>    *p = new TermsOperatorPlan<T>;
  std::vector<ProductTerm> terms;
  StokesForm               form;
  TermsLines               lines;
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
  if (lines.create(desc)) {
    if (lines.dim == 2) PetscCall((TermsLinesCreate<T, 2>(&lines, &p->fast)));
    else PetscCall((TermsLinesCreate<T, 3>(&lines, &p->fast)));
  }
  if (p->fast) {
    p->flops    = lines.flops;
    p->residual = lines.residual;
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
PetscErrorCode TermsOperator<T>::destroy(void **plan)
{
  return DestroyPlan<TermsOperatorPlan<T>>(plan);
}

template <typename T>
PetscErrorCode TermsOperator<T>::apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  TermsOperatorPlan<T> *p = (TermsOperatorPlan<T> *)plan;
  cudaStream_t          stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (p->fast) PetscCall(p->fast->apply(alpha, x, y0, y, stream));
  else {
    PetscCall(StartSum<T>(p->size, y0, y, stream));
    PetscCall(p->products.add(alpha, (const T *)x, (T *)y, stream));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsOperator<T>::residual(void *plan, const PatchFDColor *color, const void *x, const void *b, void *r)
{
  TermsOperatorPlan<T> *p = (TermsOperatorPlan<T> *)plan;
  cudaStream_t          stream;

  PetscFunctionBegin;
  if (!p->residual || color->parity[0] == PATCHFD_ALL_PARITIES) {
    PetscCall(apply(plan, -1, x, b, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(p->fast->residual(*color, x, b, r, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct TermsOperator<double>;
template struct TermsOperator<float>;

} // namespace patchfd
