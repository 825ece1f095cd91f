/* sums of products of matrices of lines (products.cuh): a team of threads a cell, one term after the other */
#include "base/products.cuh"
#include <algorithm>

namespace patchfd
{

/* ---- from cells to owners ---- */

/* how cells number their rows and columns */
struct CellShape {
  PetscInt nloc, stride, ncol, cstride, reach;
};

/* entry(c, r, j): row r and column j of cell c's matrix, whose columns begin `reach` cells before it */
template <typename Entry>
static OwnerLine Owners(const CellShape &s, bool sum, PetscInt closing, const PetscInt cells[2], Entry entry)
{
  const PetscInt below = sum ? s.nloc - s.stride : 0, width = 2 * s.reach + 1; /* shared with the cell before */
  OwnerLine      o;

  o.rows    = (int)s.nloc;
  o.own     = (int)s.stride;
  o.closing = (int)closing;
  o.stride  = (int)s.stride;
  o.cstride = (int)s.cstride;
  o.low     = (int)((s.reach + below) * s.cstride);
  o.cols    = (int)((2 * s.reach + below) * s.cstride + s.ncol);
  for (PetscInt c = cells[0]; c < cells[1]; c++) {
    std::vector<PetscReal> X((size_t)o.rows * o.cols);

    for (PetscInt j = 0; j < width * s.ncol; j++) {
      const PetscInt at = j / s.ncol * s.cstride + j % s.ncol;

      for (PetscInt r = 0; r < s.nloc; r++) X[r * o.cols + below * s.cstride + at] += entry(c, r, j);
      if (below && c > cells[0]) X[at] += entry(c - 1, s.stride, j);
    }
    if (o.X.size() < X.size() || !std::equal(X.begin(), X.end(), o.X.end() - X.size())) o.X.insert(o.X.end(), X.begin(), X.end());
    o.number.push_back((int)(o.X.size() / X.size()) - 1);
  }
  return o;
}

OwnerLine OwnerLine::band(const PatchFDBand *b, const PetscInt cells[2])
{
  const PetscInt width = PatchFDBandWidth(b);

  return Owners({b->nloc, b->stride, b->ncol, b->cstride, b->reach}, true, cells[1] - 1, cells,
                [=](PetscInt c, PetscInt r, PetscInt j) { return b->X[(b->cls[c] * b->nloc + r) * width + j]; });
}

OwnerLine OwnerLine::prolongation(const PatchFDEmbedding *e, const PetscInt cells[2])
{
  return Owners({e->nf, e->fstride, e->nc, e->cstride, 0}, false, e->ncells - 1, cells,
                [=](PetscInt c, PetscInt r, PetscInt j) { return e->P[(e->cls[c] * e->nf + r) * e->nc + j]; });
}

OwnerLine OwnerLine::restriction(const PatchFDEmbedding *e, const PetscInt cells[2])
{
  return Owners({e->nc, e->cstride, e->nf, e->fstride, 0}, true, cells[1] - 1, cells, [=](PetscInt c, PetscInt r, PetscInt j) {
    return j < e->fstride || c == e->ncells - 1 ? e->P[(e->cls[c] * e->nf + j) * e->nc + r] : 0.0;
  });
}

/* ---- the kernel ---- */

template <typename T>
static __global__ void ProductsKernel(const __grid_constant__ ProductsData<T> c, T alpha, const T *__restrict__ x, T *y)
{
  T *a = TeamMemory<T>(c.team.global, c.team.size), *b = a + c.size[0], *sum = b + c.size[1];

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < c.cells; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item    = base + threadIdx.y;
    const bool   active  = item < c.cells;
    const int    at[3]   = {(int)(item % c.count[0]), (int)(item / c.count[0] % c.count[1]), (int)(item / c.count[0] / c.count[1])};
    const int    cell[3] = {c.first[0] + at[0], c.first[1] + at[1], c.first[2] + at[2]};

    for (int t = 0; t < c.nterm; t++) {
      const ProductTermData<T> &term = c.term[t];
      const ProductField<T>    &col  = c.field[term.col];
      int                       n[3] = {term.cols[0], term.cols[1], term.cols[2]}, first[3];

      for (int d = 0; d < 3; d++) first[d] = cell[d] * term.cstride[d] - term.low[d];
      if (active) Gather(first, n, col.read, col.xl, x + col.x0, a);
      for (int d = 0; d < 3; d++) {
        __syncthreads();
        if (active) {
          const Matrix<T> X = {term.X[d] + (size_t)term.number[d][at[d]] * term.rows[d] * term.cols[d], term.cols[d], 1};

          /* each thread adds to what it wrote itself */
          Contract(d, n, term.rows[d], X, d == 1 ? b : a, d == 0 ? b : (d == 1 ? a : sum), d == 2 && !term.first);
        }
        n[d] = term.rows[d];
      }
      __syncthreads();
      if (active && term.last) {
        const ProductField<T> &row = c.field[term.row];
        Range                  own = row.write;

        for (int d = 0; d < 3; d++) {
          first[d] = cell[d] * term.stride[d];
          if (cell[d] != term.closing[d]) own.hi[d] = min(own.hi[d], first[d] + term.own[d]);
        }
        for (int e = threadIdx.x; e < n[0] * n[1] * n[2]; e += blockDim.x) {
          const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

          if (own.contains(i, j, k)) y[row.y0 + row.yl.at(i, j, k)] += alpha * sum[e];
        }
      }
    }
    __syncthreads();
  }
}

/* ---- plans ---- */

template <typename T>
PetscErrorCode Products<T>::create(PetscInt nfield, const PatchFDField field[], std::vector<ProductTerm> terms, const PatchFDRange cells)
{
  std::vector<ProductField<T>>    fields;
  std::vector<ProductTermData<T>> device(terms.size());
  int                             rows = 1;

  PetscFunctionBegin;
  data.cells = 1;
  for (int d = 0; d < 3; d++) {
    data.first[d] = (int)cells[d][0];
    data.count[d] = (int)PetscMax(0, cells[d][1] - cells[d][0]);
    data.cells *= (size_t)data.count[d];
  }
  if (!data.cells) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt f = 0; f < nfield; f++)
    fields.push_back({Layout(field[f].xbox), Layout(field[f].ybox), Range(field[f].read, field[f].xbox),
                      Range(field[f].write, field[f].ybox), field[f].x0, field[f].y0});
  PetscCall(memory.upload(fields.size(), fields.data(), &data.field));
  std::stable_sort(terms.begin(), terms.end(), [](const ProductTerm &a, const ProductTerm &b) { return a.row < b.row; });
  for (size_t t = 0; t < terms.size(); t++) {
    ProductTermData<T> &to = device[t];
    int                *r = to.rows, *c = to.cols;

    to.row   = terms[t].row;
    to.col   = terms[t].col;
    to.first = t == 0 || terms[t - 1].row != to.row;
    to.last  = t + 1 == terms.size() || terms[t + 1].row != to.row;
    for (int d = 0; d < 3; d++) {
      OwnerLine &o = terms[t].dir[d];

      if (d == 2)
        for (PetscReal &v : o.X) v *= terms[t].coef;
      PetscCall(memory.upload(o.X.size(), o.X.data(), &to.X[d]));
      PetscCall(memory.upload(o.number.size(), o.number.data(), &to.number[d]));
      to.rows[d]    = o.rows;
      to.own[d]     = o.own;
      to.closing[d] = o.closing;
      to.cols[d]    = o.cols;
      to.stride[d]  = o.stride;
      to.cstride[d] = o.cstride;
      to.low[d]     = o.low;
    }
    data.size[0] = PetscMax(data.size[0], PetscMax(c[0] * c[1] * c[2], r[0] * r[1] * c[2]));
    data.size[1] = PetscMax(data.size[1], r[0] * c[1] * c[2]);
    rows         = PetscMax(rows, r[0] * r[1] * r[2]);
    flops += 2.0 * (r[0] * c[0] * c[1] * c[2] + r[0] * r[1] * c[1] * c[2] + r[0] * r[1] * r[2] * c[2]) * (PetscLogDouble)data.cells;
  }
  data.nterm = (int)terms.size();
  PetscCall(memory.upload(device.size(), device.data(), &data.term));
  PetscCall(data.team.create(rows, (size_t)(data.size[0] + data.size[1] + rows), &memory));
  PetscCall(AllowShared(ProductsKernel<T>, data.team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Products<T>::add(PetscReal alpha, const T *x, T *y, cudaStream_t stream) const
{
  PetscFunctionBegin;
  if (!data.cells) PetscFunctionReturn(PETSC_SUCCESS);
  ProductsKernel<T><<<data.team.grid(data.cells), data.team.block(), data.team.shared, stream>>>(data, (T)alpha, x, y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct Products<double>;
template struct Products<float>;

} // namespace patchfd
