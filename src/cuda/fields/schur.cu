/*
  Local solves of saddle points, one patch for a block of threads: velocities by fast diagonalization, the pressure (the last field) by
  conjugate gradients on its Schur complement, as on the host (src/host/schur.h).  With the patch's matrix (A B'; B 0),

    S p = B A^{-1} r_u - r_p,   S = B A^{-1} B',   u = A^{-1} (r_u - B' p),

  preconditioned by the inverse of the mass matrix.  Where nothing flows out of a patch constants are the null space of S: their part is
  taken from r_p and p.
*/
#include "fields/fields.cuh"
#include "base/lines.cuh"
#include "base/reciprocal.cuh"
#include <algorithm>

namespace patchfd
{

static constexpr int schur_threads = 256; /* at most */

/* fast diagonalization of a field in one direction: of class c S + c ld^2, lambda + c ld */
template <typename T>
struct SchurModes {
  const T   *S, *lambda;
  const int *cls, *n;
  int        ld;
};

/* rows of the pressure, columns of a component, in one direction: of class c X + c size */
template <typename T>
struct SchurRows {
  const T   *X;
  const int *cls;
  int        size;
};

template <typename T>
struct SchurData {
  FieldsField   field[PATCHFD_MAX_FIELDS];
  SchurModes<T> modes[PATCHFD_MAX_FIELDS][3];
  SchurRows<T>  B[PATCHFD_MAX_FIELDS][3];
  int           pressure, size; /* number of the last field; of the largest field and all that is between two */
  T             rtol, rounding;
  int           maxit;
  Team<T>       team;
};

/* a patch: fields of n[f] numbers, of which u[f] are being solved for; r, z, d, q, p are pressures, w a component, t work */
template <typename T>
struct SchurPatch {
  int  number[3], n[PATCHFD_MAX_FIELDS][3];
  bool active;
  T   *u[PATCHFD_MAX_FIELDS], *r, *z, *d, *q, *p, *w, *t[2], *sums;

  __device__ __forceinline__ SchurPatch(const SchurData<T> &s, const FieldsPatches &g, size_t item) : active(g.find(item, number))
  {
    T  *next     = TeamMemory<T>(s.team.global, s.team.size);
    T **place[8] = {&r, &z, &d, &q, &p, &w, &t[0], &t[1]};

    for (int f = 0; f <= s.pressure; f++, next += s.size) {
      u[f] = next;
      for (int i = 0; i < 3; i++) n[f][i] = s.modes[f][i].n[number[i]];
    }
    for (int i = 0; i < 8; i++, next += s.size) *place[i] = next;
    sums = next;
  }
  __device__ __forceinline__ int volume(int f) const { return n[f][0] * n[f][1] * n[f][2]; }
};

/* f(i) for the numbers i < n, each in the same thread whatever f does; then all threads meet */
template <typename Function>
static __device__ __forceinline__ void SchurFor(int n, Function f)
{
  for (int i = threadIdx.x; i < n; i += blockDim.x) f(i);
  __syncthreads();
}

/* in all threads */
template <typename T>
static __device__ inline T SchurDot(const SchurPatch<T> &p, int n, const T *a, const T *b)
{
  T sum = 0;

  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i] * b[i];
  p.sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) p.sums[threadIdx.x] += p.sums[threadIdx.x + half];
    __syncthreads();
  }
  sum = p.sums[0];
  __syncthreads();
  return sum;
}

/* out (+)= M[2] (x) M[1] (x) M[0] in, of n[] numbers to m[]; out may be in */
template <typename T>
static __device__ inline void SchurProduct(const SchurPatch<T> &p, const Matrix<T> M[3], const int n[3], const int m[3], const T *in,
                                           T *out, bool add)
{
  const int a[3] = {m[0], n[1], n[2]}, b[3] = {m[0], m[1], n[2]};

  Contract(0, n, m[0], M[0], in, p.t[0], false);
  __syncthreads();
  Contract(1, a, m[1], M[1], p.t[0], p.t[1], false);
  __syncthreads();
  Contract(2, b, m[2], M[2], p.t[1], out, add);
  __syncthreads();
}

/* u = A_f^{-1} u, or, for the pressure, a multiple of the inverse of its mass matrix */
template <typename T>
static __device__ inline void SchurDiagonal(const SchurData<T> &s, const SchurPatch<T> &p, int f, T *u)
{
  const int *n = p.n[f];
  const T   *lambda[3];
  Matrix<T>  S[3], St[3];

  for (int d = 0; d < 3; d++) {
    const SchurModes<T> &m = s.modes[f][d];
    const int            c = m.cls[p.number[d]];

    lambda[d] = m.lambda + c * m.ld;
    S[d]      = {m.S + (size_t)c * m.ld * m.ld, n[d], 1};
    St[d]     = {S[d].a, 1, n[d]};
  }
  SchurProduct(p, St, n, n, u, u, false);
  SchurFor(p.volume(f),
           [&](int i) { u[i] *= ReciprocalOrZero(lambda[0][i % n[0]] + lambda[1][i / n[0] % n[1]] + lambda[2][i / n[0] / n[1]]); });
  SchurProduct(p, S, n, n, u, u, false);
}

/* out += B_f u */
template <typename T>
static __device__ inline void SchurDivergence(const SchurData<T> &s, const SchurPatch<T> &p, int f, const T *u, T *out)
{
  Matrix<T> B[3];

  for (int d = 0; d < 3; d++) B[d] = {s.B[f][d].X + (size_t)s.B[f][d].cls[p.number[d]] * s.B[f][d].size, p.n[f][d], 1};
  SchurProduct(p, B, p.n[f], p.n[s.pressure], u, out, true);
}

/* w = A_f^{-1} B_f' in */
template <typename T>
static __device__ inline void SchurVelocity(const SchurData<T> &s, const SchurPatch<T> &p, int f, const T *in)
{
  Matrix<T> Bt[3];

  for (int d = 0; d < 3; d++) Bt[d] = {s.B[f][d].X + (size_t)s.B[f][d].cls[p.number[d]] * s.B[f][d].size, 1, p.n[f][d]};
  SchurProduct(p, Bt, p.n[s.pressure], p.n[f], in, p.w, false);
  SchurDiagonal(s, p, f, p.w);
}

/* without its mean, if nothing flows out of the patch: then the components are zero at both ends in their own directions */
template <typename T>
static __device__ inline void SchurProject(const SchurData<T> &s, const SchurPatch<T> &p, T *a)
{
  const int n = p.volume(s.pressure);
  T         mean;

  for (int f = 0; f < s.pressure; f++)
    if (p.n[f][f] >= p.n[s.pressure][f]) return;
  SchurFor(n, [&](int i) { p.z[i] = 1; });
  mean = SchurDot(p, n, a, p.z) / n;
  SchurFor(n, [&](int i) { a[i] -= mean; });
}

/* S p = r; r is a difference of vectors whose squares are `scale`: a constant and rounding errors are solved by zero */
template <typename T>
static __device__ inline void SchurIterate(const SchurData<T> &s, const SchurPatch<T> &p, T scale)
{
  const int n  = p.volume(s.pressure);
  const T   rr = SchurDot(p, n, p.r, p.r);
  T         rz, first;

  SchurFor(n, [&](int i) {
    p.p[i] = 0;
    p.d[i] = p.r[i];
  });
  SchurDiagonal(s, p, s.pressure, p.d);
  first = rz = SchurDot(p, n, p.r, p.d);
  if (!(first > 0) || rr <= s.rounding * s.rounding * scale) return;
  for (int it = 0; it < s.maxit; it++) {
    T alpha, beta, dq;

    SchurFor(n, [&](int i) { p.q[i] = 0; });
    for (int f = 0; f < s.pressure; f++) {
      SchurVelocity(s, p, f, p.d);
      SchurDivergence(s, p, f, p.w, p.q);
    }
    dq    = SchurDot(p, n, p.d, p.q);
    alpha = dq == 0 ? T(0) : rz / dq;
    SchurFor(n, [&](int i) {
      p.p[i] += alpha * p.d[i];
      p.z[i] = p.r[i] -= alpha * p.q[i];
    });
    SchurDiagonal(s, p, s.pressure, p.z);
    beta = 1 / rz;
    rz   = SchurDot(p, n, p.r, p.z);
    beta *= rz;
    if (!(rz > s.rtol * s.rtol * first)) break;
    SchurFor(n, [&](int i) { p.d[i] = p.z[i] + beta * p.d[i]; });
  }
}

/* u = solution for the residual u */
template <typename T>
static __device__ inline void SchurSolve(const SchurData<T> &s, const SchurPatch<T> &p)
{
  const int n  = p.volume(s.pressure);
  T        *up = p.u[s.pressure], scale;

  SchurFor(n, [&](int i) { p.r[i] = 0; });
  for (int f = 0; f < s.pressure; f++) {
    SchurDiagonal(s, p, f, p.u[f]);
    SchurDivergence(s, p, f, p.u[f], p.r);
  }
  scale = SchurDot(p, n, p.r, p.r) + SchurDot(p, n, up, up);
  SchurFor(n, [&](int i) { p.r[i] -= up[i]; });
  SchurProject(s, p, p.r);
  SchurIterate(s, p, scale);
  SchurProject(s, p, p.p);
  for (int f = 0; f < s.pressure; f++) {
    SchurVelocity(s, p, f, p.p);
    SchurFor(p.volume(f), [&](int i) { p.u[f][i] -= p.w[i]; });
  }
  SchurFor(n, [&](int i) { up[i] = p.p[i]; });
}

/* f(number of field f, place in the arrays or -1) */
template <typename T, typename Function>
static __device__ __forceinline__ void SchurForNodes(const SchurData<T> &s, const SchurPatch<T> &p, int f, Function function)
{
  const FieldsField &field = s.field[f];
  const int         *n     = p.n[f];

  SchurFor(p.volume(f), [&](int q) {
    const int i = field.first[0][p.number[0]] + q % n[0], j = field.first[1][p.number[1]] + q / n[0] % n[1],
              k = field.first[2][p.number[2]] + q / n[0] / n[1];

    function(q, field.read.contains(i, j, k) ? field.l.at(i, j, k) : -1);
  });
}

template <typename T>
__launch_bounds__(schur_threads) static __global__
  void SchurKernel(const __grid_constant__ SchurData<T> s, const __grid_constant__ FieldsPatches g, T omega, T beta, const T *r, T *x)
{
  for (size_t item = blockIdx.x; item < g.shell.size(); item += gridDim.x) {
    const SchurPatch<T> p(s, g, item);

    if (!p.active) continue;
    for (int f = 0; f <= s.pressure; f++) SchurForNodes(s, p, f, [&](int q, ptrdiff_t at) { p.u[f][q] = at < 0 ? T(0) : r[at]; });
    SchurSolve(s, p);
    for (int f = 0; f <= s.pressure; f++) {
      SchurForNodes(s, p, f, [&](int q, ptrdiff_t at) {
        if (at < 0) return;
        if (g.overlap()) atomicAdd(&x[at], omega * p.u[f][q]);
        else x[at] = (beta == 0 ? T(0) : beta * x[at]) + omega * p.u[f][q];
      });
    }
  }
}

/* ---- plans ---- */

template <typename T>
struct SchurPlan : FieldsSolver<T> {
  SchurData<T> data = {};
  int          phases;
  PlanMemory   memory;

  PetscErrorCode modes(const PatchFDPatches *pd, SchurModes<T> *m)
  {
    std::vector<PetscReal> S, lambda;

    PetscFunctionBegin;
    m->ld = 1;
    for (PetscInt i = 0; i < pd->npatch; i++) m->ld = PetscMax(m->ld, (int)pd->n[i]);
    S.resize((size_t)(pd->nclass * m->ld * m->ld));
    lambda.resize((size_t)(pd->nclass * m->ld));
    for (PetscInt c = 0; c < pd->nclass; c++) {
      std::copy_n(pd->eigen[c].S, pd->eigen[c].n * pd->eigen[c].n, &S[(size_t)(c * m->ld * m->ld)]);
      std::copy_n(pd->eigen[c].lambda, pd->eigen[c].n, &lambda[(size_t)(c * m->ld)]);
    }
    PetscCall(memory.upload((size_t)pd->npatch, pd->n, &m->n));
    PetscCall(memory.upload((size_t)pd->npatch, pd->cls, &m->cls));
    PetscCall(memory.upload(S.size(), S.data(), &m->S));
    PetscCall(memory.upload(lambda.size(), lambda.data(), &m->lambda));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* the columns of the patch's own nodes */
  PetscErrorCode rows(const PatchFDRows *rows, PetscReal coef, const PatchFDPatches *row, const PatchFDPatches *col, SchurRows<T> *m)
  {
    std::vector<PetscReal> X;

    PetscFunctionBegin;
    m->size = 0;
    for (PetscInt i = 0; i < row->npatch; i++) m->size = PetscMax(m->size, (int)(row->n[i] * col->n[i]));
    X.resize((size_t)(rows->nclass * m->size));
    for (PetscInt i = 0; i < rows->npatch; i++) {
      const PetscReal *from = rows->X + rows->at[rows->cls[i]] + rows->ext;

      for (PetscInt a = 0; a < row->n[i]; a++)
        for (PetscInt b = 0; b < col->n[i]; b++)
          X[(size_t)(rows->cls[i] * m->size + a * col->n[i] + b)] = coef * from[a * (col->n[i] + 2 * rows->ext) + b];
    }
    PetscCall(memory.upload((size_t)rows->npatch, rows->cls, &m->cls));
    PetscCall(memory.upload(X.size(), X.data(), &m->X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode create(const PatchFDLocalDesc *desc)
  {
    const PatchFDLocalField *field = desc->field;
    int                      size  = 1;

    PetscFunctionBegin;
    phases        = (int)desc->nphase;
    data.pressure = (int)desc->nfield - 1;
    data.rtol     = (T)desc->rtol;
    data.rounding = sizeof(T) == 8 ? T(2.2e-14) : T(1.2e-5);
    data.maxit    = (int)desc->maxit;
    for (int d = 0; d < 3; d++) {
      int n = 1;

      for (PetscInt f = 0; f < desc->nfield; f++) {
        PetscCall(modes(field[f].dir[d], &data.modes[f][d]));
        n = PetscMax(n, data.modes[f][d].ld);
      }
      size *= n;
    }
    for (PetscInt f = 0; f < desc->nfield; f++) PetscCall(data.field[f].create(&field[f], &memory));
    for (PetscInt t = 0; t < desc->nterm; t++) {
      const PatchFDRowTerm *term = &desc->term[t];

      if (term->row != data.pressure || term->col == data.pressure) continue;
      for (int d = 0; d < 3; d++)
        PetscCall(rows(term->dir[d], d ? 1 : term->coef, field[term->row].dir[d], field[term->col].dir[d], &data.B[term->col][d]));
    }
    data.size = size;
    /* more than 256 numbers: one team a block */
    PetscCall(data.team.create(PetscMax(size, schur_threads + 1), (size_t)(desc->nfield + 8) * (size_t)size + schur_threads, &memory));
    PetscCall(AllowShared(SchurKernel<T>, data.team.shared));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode apply(const PatchFDColor &color, const PatchFDRange patches, PetscReal omega, PetscReal beta, const T *r, T *x,
                       cudaStream_t stream) const override
  {
    const ColorPatches all(color, phases, patches, Layout(), Range());
    ColorPatches       none = all;

    PetscFunctionBegin;
    none.count[0] = 0;
    const FieldsPatches g(all, none, std::vector<Range>());

    if (!g.shell.size()) PetscFunctionReturn(PETSC_SUCCESS);
    SchurKernel<T><<<data.team.grid(g.shell.size()), data.team.block(), data.team.shared, stream>>>(data, g, (T)omega, (T)beta, r, x);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T>
PetscErrorCode SchurCreate(const PatchFDLocalDesc *desc, FieldsSolver<T> **solver)
{
  SchurPlan<T> *p = new SchurPlan<T>();

  PetscFunctionBegin;
  *solver = p;
  PetscCall(p->create(desc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode SchurCreate<double>(const PatchFDLocalDesc *, FieldsSolver<double> **);
template PetscErrorCode SchurCreate<float>(const PatchFDLocalDesc *, FieldsSolver<float> **);

} // namespace patchfd
