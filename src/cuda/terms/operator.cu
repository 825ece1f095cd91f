/* sums of terms in several fields (operator.cuh): the choice of the kernel */
#include "base/products.cuh"
#include "terms/operator.cuh"

namespace patchfd
{

template <typename T>
struct TermsOperatorPlan {
  Products<T>        products;
  TermsOperatorFast *fast  = NULL;            /* or NULL */
  size_t             size  = 0;               /* of y */
  PetscLogDouble     flops = 0, residual = 0; /* residual: of a colour's patches, or 0 */

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
