/*
  Sums of products of bands in one continuous field (operator.cuh): the choice of the kernel, from bands to the numbers of cells, and
  the generic kernel, a team of threads a cell.  Cells add to y = y0 with atomics.
*/
#include "bands/operator.cuh"
#include "base/lines.cuh"
#include "base/plan.cuh"
#include <algorithm>

namespace patchfd
{

/* a term of the generic kernel: the block that begins `low` cells below a cell is contracted in one direction after the other */
template <typename T>
struct BandTerm {
  const T   *X[3]; /* [class][n][cols]: nodes that cells share are one column; the last one has the coefficient */
  const int *cls[3];
  int        cols[3], skip[3]; /* columns, and the nodes of the block before them */
  int        keep;             /* how many products with the block are those of the term before it */
};

template <typename T>
struct BandCellData {
  int          n[3], stride[3], width[3], low[3]; /* nodes of a cell, of its block; the cells of the block below it */
  int          first[3], count[3];                /* the cells to visit */
  Layout       xl, yl;
  Range        read, write;
  int          nterm;
  BandTerm<T> *term;
  Team<T>      team;
  size_t       cells;
};

template <typename T>
struct BandOperatorPlan : Plan {
  BandCellData<T>         cell = {};
  Owned<BandOperatorFast> fast;
  /* are all free nodes inside of patches of every parity that has their cells?  Not those at the ends of lines */
  bool           inside = true;
  size_t         x0 = 0, y0 = 0, size = 0; /* where the field begins; nodes of y */
  PetscLogDouble flops = 0, color = 0;     /* color: of the residual of one colour's patches */
  PlanMemory     memory;
};

/* ---- from bands to the numbers of cells ---- */

/* the multiple of a reference matrix that a block is; false if it is none */
static bool BandMultiple(const std::vector<PetscReal> &reference, PetscInt n, const PetscReal *X, PetscReal *number)
{
  PetscReal scale = 0;

  for (PetscInt i = 0; i < n * n; i++) scale = PetscMax(scale, PetscAbsReal(X[i]));
  return Combination(n, X, n, {reference}, scale, number);
}

/* numbers of a cell from its rows of B; false if they have another form */
static bool BandCoupling(const CellReference &ref, PetscInt n, const PetscReal *B, PetscReal number[BAND_CELL])
{
  std::vector<std::vector<PetscReal>> columns = {ref.H, ref.M};
  PetscReal                           scale   = 0, coef[6];

  for (PetscInt i = 0; i < 3 * n * n; i++) scale = PetscMax(scale, PetscAbsReal(B[i]));
  for (int e = 0; e < 2; e++) {
    columns.push_back(EndProduct(n, e, ref.g, e, ref.g));
    columns.push_back(MatrixSum(EndProduct(n, e, ref.g, e, ref.b), EndProduct(n, e, ref.b, e, ref.g)));
  }
  if (!Combination(n, B + n, 3 * n, columns, scale, coef)) return false;
  number[BAND_A] = coef[0];
  number[BAND_S] = coef[1];
  for (int e = 0; e < 2; e++) {
    PetscReal *end = number + BAND_END + e * BAND_PER_END;

    end[BAND_GG] = coef[2 + 2 * e];
    end[BAND_GB] = coef[3 + 2 * e];
    if (!Combination(n, B + 2 * e * n, 3 * n,
                     {EndProduct(n, e, ref.g, 1 - e, ref.g), EndProduct(n, e, ref.g, 1 - e, ref.b), EndProduct(n, e, ref.b, 1 - e, ref.g)},
                     scale, end + BAND_P))
      return false;
  }
  return true;
}

/* the bands of a direction by their roles, NULL for none */
struct BandRoles {
  const PatchFDBand *role[ROLES] = {NULL, NULL, NULL};

  /* finds or takes the role of a band; -1 if it has none */
  int of(const CellReference &ref, const PatchFDBand *b)
  {
    PetscReal number;
    int       r;

    if (b->reach) r = ROLE_B;
    else r = BandMultiple(ref.M, b->nloc, b->X, &number) ? ROLE_M : ROLE_K;
    if (!role[r]) role[r] = b;
    return role[r] == b ? r : -1;
  }

  /* numbers of all cells, classes once; false if a band has another form */
  bool numbers(const CellReference &ref, PetscInt n, PetscInt ncells, std::vector<PetscReal> &numbers) const
  {
    numbers.assign((size_t)ncells * BAND_CELL, 0);
    for (PetscInt c = 0; c < ncells; c++) {
      PetscReal *number = numbers.data() + c * BAND_CELL;
      bool       same   = c > 0;

      for (const PatchFDBand *b : role) same = same && (!b || b->cls[c] == b->cls[c - 1]);
      if (same) std::copy(number - BAND_CELL, number, number);
      else if ((role[ROLE_M] && !BandMultiple(ref.M, n, role[ROLE_M]->X + role[ROLE_M]->cls[c] * n * n, &number[BAND_M])) ||
               (role[ROLE_K] && !BandMultiple(ref.K, n, role[ROLE_K]->X + role[ROLE_K]->cls[c] * n * n, &number[BAND_K])) ||
               (role[ROLE_B] && !BandCoupling(ref, n, role[ROLE_B]->X + role[ROLE_B]->cls[c] * 3 * n * n, number)))
        return false;
    }
    return true;
  }
};

/* is this a form for the fast kernel? */
static PetscErrorCode BandFormCreate(const PatchFDOperatorDesc *desc, BandForm *f, bool *is)
{
  const PatchFDField *field = desc->field;
  const PetscInt      n     = desc->term[0].dir[0]->nloc;
  BandRoles           roles[3];

  PetscFunctionBegin;
  *is       = false;
  f->dim    = desc->term[0].dir[2]->nloc == 1 ? 2 : 3;
  f->degree = (int)n - 1;
  if (f->degree < 2 || f->degree > band_fast_degrees) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(f->reference.create(f->degree));
  std::fill_n(&f->coef[0][0][0], ROLES * ROLES * ROLES, 0.0);
  for (PetscInt t = 0; t < desc->nterm; t++) {
    const PatchFDTerm *term    = &desc->term[t];
    PetscReal          coef    = term->coef;
    int                role[3] = {ROLE_M, ROLE_M, ROLE_M}, count[ROLES] = {0, 0, 0};

    for (int d = 0; d < 3; d++) {
      const PatchFDBand *b = term->dir[d];

      if (d < f->dim) {
        if (b->nloc != n || (role[d] = roles[d].of(f->reference, b)) < 0) PetscFunctionReturn(PETSC_SUCCESS);
      } else {
        if (b->reach) PetscFunctionReturn(PETSC_SUCCESS);
        coef *= b->X[0];
      }
      count[role[d]]++;
    }
    if (!(count[ROLE_B] == 1 && count[ROLE_K] == 0) && !(count[ROLE_B] == 0 && count[ROLE_K] == 2)) PetscFunctionReturn(PETSC_SUCCESS);
    f->coef[role[0]][role[1]][role[2]] += coef;
  }
  for (int d = 0; d < f->dim; d++)
    if (!roles[d].numbers(f->reference, n, desc->term[0].dir[d]->ncells, f->numbers[d])) PetscFunctionReturn(PETSC_SUCCESS);
  f->xbox = field->xbox;
  f->ybox = field->ybox;
  for (int d = 0; d < 3; d++) {
    for (int e = 0; e < 2; e++) {
      f->read[d][e]  = field->read[d][e];
      f->write[d][e] = field->write[d][e];
      f->cells[d][e] = desc->cells[d][e];
    }
  }
  *is = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- generic kernel ---- */

/* P = X0 u, Q = X1 P, sum += X2 Q for each term, u the block of the cell; what the term before had in common is there */
template <typename T>
static __global__ void BandCellKernel(const __grid_constant__ BandCellData<T> c, T alpha, const T *__restrict__ x, T *y)
{
  const int *n = c.n, *width = c.width, size = n[0] * n[1] * n[2];
  T         *u = TeamMemory<T>(c.team.global, c.team.size), *P = u + width[0] * width[1] * width[2], *Q = P + n[0] * width[1] * width[2],
    *sum = Q + n[0] * n[1] * width[2];

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < c.cells; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item    = base + threadIdx.y;
    const bool   active  = item < c.cells;
    const int    cell[3] = {c.first[0] + (int)(item % c.count[0]), c.first[1] + (int)(item / c.count[0] % c.count[1]),
                            c.first[2] + (int)(item / c.count[0] / c.count[1])};
    int          first[3], low[3];

    for (int d = 0; d < 3; d++) {
      first[d] = cell[d] * c.stride[d];
      low[d]   = (cell[d] - c.low[d]) * c.stride[d];
    }
    if (active) Gather(low, width, c.read, c.xl, x, u);
    __syncthreads();
    for (int t = 0; t < c.nterm; t++) {
      const BandTerm<T> &term = c.term[t];
      Matrix<T>          X[3];

      for (int d = 0; d < 3 && active; d++) X[d] = {term.X[d] + (size_t)term.cls[d][cell[d]] * n[d] * term.cols[d], term.cols[d], 1};
      if (term.keep < 1) {
        const int in[3] = {term.cols[0], width[1], width[2]};

        if (active) Contract(0, in, n[0], X[0], u, P, false, term.skip[0], width[0]);
        __syncthreads();
      }
      if (term.keep < 2) {
        const int in[3] = {n[0], term.cols[1], width[2]};

        if (active) Contract(1, in, n[1], X[1], P, Q, false, term.skip[1], width[1]);
        __syncthreads();
      }
      const int in[3] = {n[0], n[1], term.cols[2]};

      if (active) Contract(2, in, n[2], X[2], Q, sum, t > 0, term.skip[2], width[2]); /* each thread adds to what it wrote itself */
      __syncthreads();
    }
    if (active) {
      for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

        if (c.write.contains(i, j, k)) atomicAdd(&y[c.yl.at(i, j, k)], alpha * sum[e]);
      }
    }
    __syncthreads();
  }
}

/* nodes that a band's rows of a cell reach */
static int BandColumns(const PatchFDBand *b)
{
  return (int)(2 * b->reach * b->stride + b->nloc);
}

/* device copy of coef times a band, shared nodes as one column */
template <typename T>
static PetscErrorCode BandUpload(const PatchFDBand *b, PetscReal coef, PlanMemory *memory, const T **X, const int **cls)
{
  const PetscInt         n = b->nloc, in = (2 * b->reach + 1) * n, cols = BandColumns(b);
  std::vector<PetscReal> v((size_t)(b->nclass * n * cols));
  T                     *matrix;
  int                   *classes;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < b->nclass * n; r++)
    for (PetscInt j = 0; j < in; j++) v[r * cols + j / n * b->stride + j % n] += coef * b->X[r * in + j];
  PetscCall(memory->upload(v.size(), v.data(), &matrix));
  PetscCall(memory->upload((size_t)b->ncells, b->cls, &classes));
  *X   = matrix;
  *cls = classes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode BandGenericCreate(const PatchFDOperatorDesc *desc, BandOperatorPlan<T> *p)
{
  BandCellData<T>         *c = &p->cell;
  std::vector<PatchFDTerm> terms(desc->term, desc->term + desc->nterm);
  std::vector<BandTerm<T>> device(terms.size());
  int                      reach[3] = {0, 0, 0};
  PetscLogDouble           products = 0;

  PetscFunctionBegin;
  /* terms with the same band in x, and in y, too, follow each other */
  std::stable_sort(terms.begin(), terms.end(), [](const PatchFDTerm &a, const PatchFDTerm &b) {
    return a.dir[0] != b.dir[0] ? std::less<>()(a.dir[0], b.dir[0]) : std::less<>()(a.dir[1], b.dir[1]);
  });
  for (const PatchFDTerm &term : terms)
    for (int d = 0; d < 3; d++) reach[d] = PetscMax(reach[d], (int)term.dir[d]->reach);
  for (int d = 0; d < 3; d++) {
    const PatchFDBand *b = terms[0].dir[d];

    c->n[d]      = (int)b->nloc;
    c->stride[d] = (int)b->stride;
    c->low[d]    = reach[d];
    c->width[d]  = 2 * reach[d] * c->stride[d] + c->n[d];
  }
  for (size_t t = 0; t < terms.size(); t++) {
    const PatchFDTerm &term = terms[t];
    BandTerm<T>       &to   = device[t];

    to.keep = t == 0 || term.dir[0] != terms[t - 1].dir[0] ? 0 : (term.dir[1] != terms[t - 1].dir[1] ? 1 : 2);
    for (int d = 0; d < 3; d++) {
      to.cols[d] = BandColumns(term.dir[d]);
      to.skip[d] = (reach[d] - (int)term.dir[d]->reach) * c->stride[d];
      if (d < to.keep) {
        to.X[d]   = device[t - 1].X[d];
        to.cls[d] = device[t - 1].cls[d];
      } else PetscCall(BandUpload(term.dir[d], d == 2 ? term.coef : 1, &p->memory, &to.X[d], &to.cls[d]));
    }
    if (to.keep < 1) products += (PetscLogDouble)c->n[0] * to.cols[0] * c->width[1] * c->width[2];
    if (to.keep < 2) products += (PetscLogDouble)c->n[0] * c->n[1] * to.cols[1] * c->width[2];
    products += (PetscLogDouble)c->n[0] * c->n[1] * c->n[2] * to.cols[2];
  }
  p->flops = 2 * products * (PetscLogDouble)c->cells;
  c->nterm = (int)terms.size();
  PetscCall(p->memory.upload(device.size(), device.data(), &c->term));
  PetscCall(
    c->team.create(c->n[0] * c->n[1] * c->n[2],
                   (size_t)(c->width[0] + c->n[0]) * c->width[1] * c->width[2] + (size_t)c->n[0] * c->n[1] * (c->width[2] + c->n[2]),
                   &p->memory));
  PetscCall(AllowShared(BandCellKernel<T>, c->team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plans ---- */

template <typename T>
bool BandOperator<T>::takes(const PatchFDOperatorDesc *desc)
{
  if (desc->nfield != 1) return false;
  for (PetscInt t = 0; t < desc->nterm; t++) {
    for (int d = 0; d < 3; d++) {
      const PatchFDBand *b = desc->term[t].dir[d];

      if (b->stride != b->nloc - 1 || b->reach > 1) return false;
    }
  }
  return desc->nterm > 0;
}

template <typename T>
PetscErrorCode BandOperator<T>::create(const PatchFDOperatorDesc *desc, void **plan)
{
  BandOperatorPlan<T> *p     = new BandOperatorPlan<T>;
  BandCellData<T>     *c     = &p->cell;
  const PatchFDField  *field = desc->field;
  BandForm             form;
  bool                 fast;
  cudaStream_t         stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
  p->x0    = field->x0;
  p->y0    = field->y0;
  p->size  = PatchFDBoxSize(&field->ybox);
  c->xl    = Layout(field->xbox);
  c->yl    = Layout(field->ybox);
  c->read  = Range(field->read);
  c->write = Range(field->write);
  c->cells = 1;
  for (int d = 0; d < 3; d++) {
    c->first[d] = (int)desc->cells[d][0];
    c->count[d] = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    c->cells *= (size_t)c->count[d];
  }
  for (int d = 0; d < 3; d++) {
    const PatchFDBand *b = desc->term[0].dir[d];

    if (b->stride && (field->write[d][0] < 1 || field->write[d][1] > b->ncells * b->stride)) p->inside = false;
  }
  PetscCall(BandFormCreate(desc, &form, &fast));
  if (fast && form.dim == 2) PetscCall((BandOperatorFastCreate<T, 2>(&form, &p->fast)));
  else if (fast) PetscCall((BandOperatorFastCreate<T, 3>(&form, &p->fast)));
  if (!p->fast) {
    PetscCall(BandGenericCreate(desc, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* products of split lines of the own cells, and what the ends of cells give and take; a colour's patches have fewer lines in x and in the
     last direction */
  const PetscLogDouble k = form.degree, n = k + 1, half = PetscCeilReal(n / 2), product = half * half + (n - half) * (n - half),
                       ends = 4 * n, w = 1 - 1 / (2 * k);
  const PetscLogDouble lines = 2 * (PetscLogDouble)c->cells * k * (form.dim == 2 ? 1 : k), x = 6 * product + ends,
                       other = 3 * product + ends;

  p->flops = lines * (form.dim == 2 ? 2 * other : 2 * other + x);
  p->color = lines * (form.dim == 2 ? other + w * other : other + w * x + w * w * other);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode BandOperator<T>::apply(void *plan, PetscReal alpha, const void *xs, const void *y0s, void *ys)
{
  BandOperatorPlan<T> *p = (BandOperatorPlan<T> *)plan;
  const T             *x = (const T *)xs + p->x0, *y0 = y0s ? (const T *)y0s + p->y0 : NULL;
  T                   *y = (T *)ys + p->y0;

  PetscFunctionBegin;
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    PetscFunctionBegin;
    if (p->fast) PetscCall(p->fast->apply(alpha, x, y0, y, stream));
    else {
      PetscCall(StartSum<T>(p->size, y0, y, stream));
      if (p->cell.cells) {
        BandCellKernel<T><<<p->cell.team.grid(p->cell.cells), p->cell.team.block(), p->cell.team.shared, stream>>>(p->cell, (T)alpha, x, y);
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r = b - A x, at least where the patches of the colour want it */
template <typename T>
PetscErrorCode BandOperator<T>::residual(void *plan, const PatchFDColor *color, const void *xs, const void *bs, void *rs)
{
  BandOperatorPlan<T> *p = (BandOperatorPlan<T> *)plan;

  PetscFunctionBegin;
  if (!p->fast || !p->inside) {
    PetscCall(apply(plan, -1, xs, bs, rs));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Launch(p->color, [&](cudaStream_t stream) {
    return p->fast->residual(*color, (const T *)xs + p->x0, (const T *)bs + p->y0, (T *)rs + p->y0, stream);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct BandOperator<double>;
template struct BandOperator<float>;

} // namespace patchfd
