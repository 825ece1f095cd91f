/* Local solvers of several fields: see fields.cuh for what is where */
#include "base/lines.cuh"
#include "fields/fields.cuh"
#include <algorithm>
#include <memory>

namespace patchfd
{

/* ---- patches, in steps ---- */

/* the classes of patches in each direction, and the inverses of each of their products */
template <typename T>
struct FieldsData {
  FieldsField           field[PATCHFD_MAX_FIELDS];
  const int            *cls[3];
  int                   nclass[3];
  const FieldsClass<T> *classes;
  Team<T>               team;
};

template <typename T>
struct FieldsPatch {
  int                   number[3];
  bool                  active;
  const FieldsClass<T> *c;

  /* the only one */
  __device__ __forceinline__ FieldsPatch(const FieldsData<T> &s) : number{0, 0, 0}, active(true), c(s.classes) { }
  __device__ __forceinline__ FieldsPatch(const FieldsData<T> &s, const FieldsPatches &g, size_t item) : active(g.find(item, number))
  {
    c = s.classes + s.cls[0][number[0]] + s.nclass[0] * (s.cls[1][number[1]] + s.nclass[1] * s.cls[2][number[2]]);
  }
  /* where member b of an octet lies in the arrays; -1 if it does not exist */
  __device__ __forceinline__ ptrdiff_t at(const FieldsData<T> &s, const FieldsOctet &o, int b) const
  {
    const FieldsField &f = s.field[o.field];
    int                node[3];

    for (int d = 0; d < 3; d++) node[d] = f.first[d][number[d]] + o.at[d] + (b >> d & 1 ? o.mirror[d] : 0);
    return o.entry[b] >= 0 && f.read.contains(node[0], node[1], node[2]) ? f.l.at(node[0], node[1], node[2]) : -1;
  }
};

/* u = U' r, by thread `first` of `step`; numbers that do not exist are zero */
template <typename T>
static __device__ inline void FieldsGather(const FieldsData<T> &s, const FieldsPatch<T> &p, int first, int step, const T *r, T *u)
{
  for (int q = first; q < p.c->noctet; q += step) {
    const FieldsOctet o = p.c->octet[q];
    T                 v[8];

#pragma unroll
    for (int b = 0; b < 8; b++) {
      const ptrdiff_t at = p.at(s, o, b);

      v[b] = at < 0 ? T(0) : r[at];
    }
    FieldsButterfly<8>(v);
#pragma unroll
    for (int b = 0; b < 8; b++)
      if (o.entry[b] >= 0) u[o.entry[b]] = v[b];
  }
}

/* w = blocks u; a block's columns are its rows, since it is symmetric: neighbouring threads read neighbouring numbers */
template <typename T>
static __device__ inline void FieldsBlocks(const FieldsPatch<T> &p, const T *u, T *w)
{
  for (int b = 0; b < 8; b++) {
    const int n = p.c->size[b];

    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      const T *X   = p.c->block[b] + i;
      T        sum = 0;

#pragma unroll 8
      for (int j = 0; j < n; j++) sum += X[(size_t)j * n] * u[j];
      w[i] = sum;
    }
    u += n;
    w += n;
  }
}

/* x = beta x + omega U w; patches that overlap add with atomics */
template <typename T>
static __device__ inline void FieldsScatter(const FieldsData<T> &s, const FieldsPatch<T> &p, int first, int step, bool overlap, T omega,
                                            T beta, const T *w, T *x)
{
  for (int q = first; q < p.c->noctet; q += step) {
    const FieldsOctet o = p.c->octet[q];
    T                 v[8];

#pragma unroll
    for (int b = 0; b < 8; b++) v[b] = o.entry[b] >= 0 ? w[o.entry[b]] : T(0);
    FieldsButterfly<8>(v);
#pragma unroll
    for (int b = 0; b < 8; b++) {
      const ptrdiff_t at = p.at(s, o, b);

      if (at < 0) continue;
      if (overlap) atomicAdd(&x[at], omega * v[b]);
      else x[at] = (beta == 0 ? T(0) : beta * x[at]) + omega * v[b];
    }
  }
}

/* ---- the generic kernel: one team a patch; all teams of a block meet at each barrier, those that have no patch (not active) take part in
   nothing else ---- */

template <typename T>
static __global__ void FieldsKernel(const __grid_constant__ FieldsData<T> s, const __grid_constant__ FieldsPatches g, T omega, T beta,
                                    const T *r, T *x)
{
  T *u = TeamMemory<T>(s.team.global, s.team.size), *w = u + s.team.size / 2;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < g.shell.size(); base += (size_t)gridDim.x * blockDim.y) {
    const FieldsPatch<T> p(s, g, base + threadIdx.y);

    if (p.active) FieldsGather(s, p, threadIdx.x, blockDim.x, r, u);
    __syncthreads();
    if (p.active) FieldsBlocks(p, u, w);
    __syncthreads();
    if (p.active) FieldsScatter(s, p, threadIdx.x, blockDim.x, g.overlap(), omega, beta, w, x);
  }
}

/* ---- one patch alone, the coarsest mesh: all blocks of threads work on it, in three kernels ---- */

template <typename T>
static __global__ void FieldsOneGather(const __grid_constant__ FieldsData<T> s, const T *r, T *u)
{
  FieldsGather(s, FieldsPatch<T>(s), blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x, r, u);
}

static constexpr int fields_one = 32; /* rows of a block of threads; warps, which have the columns in turn */

/* many threads, so that nearly all of the inverse is under way at once */
template <typename T>
__launch_bounds__(fields_one *fields_one) static __global__
  void FieldsOneBlocks(const __grid_constant__ FieldsData<T> s, unsigned size, const T *u, T *w)
{
  __shared__ T          part[fields_one][fields_one + 1];
  const FieldsClass<T> &c    = *s.classes;
  const unsigned        rows = blockIdx.x * fields_one;
  int                   row = (int)(rows + threadIdx.x), b = 0, first = 0; /* the row's block, and that one's first row */
  T                     sum = 0;

  while (b < 8 && row - first >= c.size[b]) first += c.size[b++];
  if (b < 8) {
    const int n = c.size[b];
    const T  *X = c.block[b] + row - first;

#pragma unroll 8
    for (int j = threadIdx.y; j < n; j += fields_one) sum += X[(size_t)j * n] * u[first + j];
  }
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = part[threadIdx.x][threadIdx.y]; /* a warp sums up a row */
  for (int step = fields_one / 2; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0 && rows + threadIdx.y < size) w[rows + threadIdx.y] = sum;
}

template <typename T>
static __global__ void FieldsOneScatter(const __grid_constant__ FieldsData<T> s, T omega, T beta, const T *w, T *x)
{
  FieldsScatter(s, FieldsPatch<T>(s), blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x, false, omega, beta, w, x);
}

/* ---- which patches are for the fast kernels ---- */

/* are all nodes of patch i of direction d in the arrays? */
static bool FieldsExists(const PatchFDLocalDesc *desc, int d, PetscInt i)
{
  bool all = true;

  for (PetscInt f = 0; f < desc->nfield; f++) {
    const PatchFDPatches *pd = desc->field[f].dir[d];

    all = all && pd->first[i] >= desc->field[f].read[d][0] && pd->first[i] + pd->n[i] <= desc->field[f].read[d][1];
  }
  return all;
}

/* is patch i of the class of the one before it, and half its size away from that in all fields? */
static bool FieldsFollows(const PatchFDLocalDesc *desc, int d, PetscInt i)
{
  bool all = desc->cls[d][i] == desc->cls[d][i - 1];

  for (PetscInt f = 0; f < desc->nfield; f++) {
    const PatchFDPatches *pd = desc->field[f].dir[d];

    all = all && pd->first[i] - pd->first[i - 1] == (pd->n[i] + 1) / 2;
  }
  return all;
}

struct FieldsRun {
  PetscInt first, end;
};

/* the longest runs of such patches */
static void FieldsRuns(const PatchFDLocalDesc *desc, int d, std::vector<FieldsRun> &runs)
{
  const PetscInt npatch = desc->field->dir[d]->npatch;

  for (PetscInt first = 0, end; first < npatch; first = end) {
    end = first + 1;
    if (!FieldsExists(desc, d, first)) continue;
    while (end < npatch && FieldsExists(desc, d, end) && FieldsFollows(desc, d, end)) end++;
    runs.push_back({first, end});
  }
}

/* can the fast kernel do patches of this class?  In rows of octets, which are equally long */
static bool FieldsTakes(const PatchFDDense *dense)
{
  bool equal = true;

  for (PetscInt f = 0; f < dense->nfield; f++)
    equal = equal && (dense->parity[0] ? (dense->n[f][0] + 1) / 2 == (dense->n[0][0] + 1) / 2 : dense->n[f][0] == dense->n[0][0]);
  return equal && dense->block[0] && dense->n[0][0] > 2 && dense->n[0][1] > 1;
}

/*
  Products of runs, the largest ones first.  On uniform meshes there are few: the patches in the middle, and those at each open side, which
  have no symmetry in its direction.  Where there are many, patches hardly have anything in common.
*/
static void FieldsForms(const PatchFDLocalDesc *desc, std::vector<FieldsForm> &forms)
{
  std::vector<FieldsRun> runs[3];

  for (int d = 0; d < 3; d++) FieldsRuns(desc, d, runs[d]);
  if (runs[0].size() * runs[1].size() * runs[2].size() > 27) return;
  for (const FieldsRun &z : runs[2]) {
    for (const FieldsRun &y : runs[1]) {
      for (const FieldsRun &x : runs[0]) {
        const PatchFDDense *
          dense = &desc->dense[desc->cls[0][x.first] + desc->nclass[0] * (desc->cls[1][y.first] + desc->nclass[1] * desc->cls[2][z.first])];

        if (FieldsTakes(dense))
          forms.push_back({dense->n[0][2] > 1 ? 3 : 2, {{x.first, x.end}, {y.first, y.end}, {z.first, z.end}}, dense});
      }
    }
  }
  std::stable_sort(forms.begin(), forms.end(), [](const FieldsForm &a, const FieldsForm &b) { return a.patches() > b.patches(); });
}

/* ---- plans ---- */

template <typename T>
struct FieldsPlan : FieldsSolver<T> {
  FieldsData<T>  data = {};
  int            phases;
  T             *one  = NULL; /* if there is one patch alone: its numbers before and after the products, `size` each */
  int            size = 0, noctet = 0;
  PetscLogDouble flops; /* of a patch */
  PlanMemory     memory;

  std::vector<Range>                       ranges; /* of patches that fast kernels do */
  std::vector<std::unique_ptr<FieldsFast>> fast;

  PetscErrorCode create(const PatchFDLocalDesc *);
  PetscErrorCode apply(const PatchFDColor &, const PatchFDRange patches, PetscReal omega, PetscReal beta, const T *r, T *x,
                       cudaStream_t) const override;

private:
  PetscErrorCode applyOne(PetscReal omega, PetscReal beta, const T *r, T *x, cudaStream_t) const;
  PetscErrorCode octets(const PatchFDDense *, FieldsClass<T> *);
  PetscErrorCode classes(const PatchFDLocalDesc *);
  PetscErrorCode forms(const PatchFDLocalDesc *);

  std::vector<const PatchFDDense *> shapes; /* classes with lists of octets, which others of their sizes and symmetries share */
  std::vector<FieldsClass<T>>       lists;
};

static bool FieldsSameShape(const PatchFDDense *a, const PatchFDDense *b)
{
  bool same = true;

  for (int d = 0; d < 3; d++) {
    same = same && a->parity[d] == b->parity[d];
    for (PetscInt f = 0; f < a->nfield; f++) same = same && a->n[f][d] == b->n[f][d] && a->odd[f][d] == b->odd[f][d];
  }
  return same;
}

template <typename T>
PetscErrorCode FieldsPlan<T>::octets(const PatchFDDense *dense, FieldsClass<T> *c)
{
  std::vector<FieldsOctet> list;

  PetscFunctionBegin;
  for (size_t i = 0; i < shapes.size(); i++) {
    if (!FieldsSameShape(shapes[i], dense)) continue;
    c->noctet = lists[i].noctet;
    c->octet  = lists[i].octet;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  FieldsOctets(dense, list);
  c->noctet = (int)list.size();
  PetscCall(memory.upload(list.size(), list.data(), &c->octet));
  shapes.push_back(dense);
  lists.push_back(*c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode FieldsPlan<T>::classes(const PatchFDLocalDesc *desc)
{
  std::vector<FieldsClass<T>> all((size_t)(desc->nclass[0] * desc->nclass[1] * desc->nclass[2]));
  size_t                      largest = 0, numbers = 0;
  T                          *block = NULL;

  PetscFunctionBegin;
  for (size_t i = 0; i < all.size() && desc->points; i++) numbers += PetscSqr((size_t)desc->dense[i].size[0]);
  if (numbers) PetscCall(memory.malloc(numbers, &block));
  for (size_t i = 0; i < all.size(); i++) {
    const PatchFDDense *dense = &desc->dense[i];
    size_t              total = 0, size = 0;

    for (int b = 0; b < 8; b++) {
      all[i].size[b] = (int)dense->size[b];
      size += (size_t)dense->size[b];
      total += (size_t)dense->size[b] * (size_t)dense->size[b];
    }
    largest = PetscMax(largest, size);
    if (!desc->points) PetscCall(memory.upload(total, dense->block[0], &block));
    for (int b = 0; b < 8; b++) {
      all[i].block[b] = block;
      block += (size_t)dense->size[b] * (size_t)dense->size[b];
    }
    PetscCall(octets(dense, &all[i]));
  }
  PetscCall(memory.upload(all.size(), all.data(), &data.classes));
  if (numbers) PetscCall(FieldsInverses<T>(desc, data.classes, (int)largest));
  size   = (int)largest;
  noctet = all[0].noctet;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FieldsField::create(const PatchFDLocalField *desc, PlanMemory *memory)
{
  PetscFunctionBegin;
  l = Layout(desc->box);
  l.offset += (ptrdiff_t)desc->x0;
  read = Range(desc->read);
  for (int d = 0; d < 3; d++) PetscCall(memory->upload((size_t)desc->dir[d]->npatch, desc->dir[d]->first, &first[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode FieldsPlan<T>::forms(const PatchFDLocalDesc *desc)
{
  std::vector<FieldsForm> all;

  PetscFunctionBegin;
  FieldsForms(desc, all);
  for (const FieldsForm &form : all) {
    FieldsFast *f;

    if (fast.size() == fields_forms) break;
    PetscCall(FieldsFastCreate<T>(form, desc, &f));
    if (!f) continue;
    fast.emplace_back(f);
    ranges.push_back(Range(form.range));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode FieldsPlan<T>::create(const PatchFDLocalDesc *desc)
{
  PetscFunctionBegin;
  phases = (int)desc->nphase;
  for (PetscInt f = 0; f < desc->nfield; f++) PetscCall(data.field[f].create(&desc->field[f], &memory));
  for (int d = 0; d < 3; d++) {
    data.nclass[d] = (int)desc->nclass[d];
    PetscCall(memory.upload((size_t)desc->field->dir[d]->npatch, desc->cls[d], &data.cls[d]));
  }
  flops = 0;
  for (int b = 0; b < 8; b++) flops += 2.0 * (PetscLogDouble)desc->dense->size[b] * (PetscLogDouble)desc->dense->size[b];
  PetscCall(classes(desc));
  if (desc->field->dir[0]->npatch * desc->field->dir[1]->npatch * desc->field->dir[2]->npatch == 1) {
    PetscCall(memory.malloc(2 * (size_t)size, &one));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(data.team.create(size, 2 * (size_t)size, &memory));
  PetscCall(AllowShared(FieldsKernel<T>, data.team.shared));
  PetscCall(forms(desc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode FieldsPlan<T>::applyOne(PetscReal omega, PetscReal beta, const T *r, T *x, cudaStream_t stream) const
{
  const unsigned threads = 128, octets = ((unsigned)noctet + threads - 1) / threads, rows = ((unsigned)size + fields_one - 1) / fields_one;

  PetscFunctionBegin;
  FieldsOneGather<T><<<octets, threads, 0, stream>>>(data, r, one);
  FieldsOneBlocks<T><<<rows, dim3(fields_one, fields_one), 0, stream>>>(data, (unsigned)size, one, one + size);
  FieldsOneScatter<T><<<octets, threads, 0, stream>>>(data, (T)omega, (T)beta, one + size, x);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one colour: the patches that fast kernels can do, and the others */
template <typename T>
PetscErrorCode FieldsPlan<T>::apply(const PatchFDColor &color, const PatchFDRange patches, PetscReal omega, PetscReal beta, const T *r,
                                    T *x, cudaStream_t stream) const
{
  const ColorPatches all(color, phases, patches, Layout(), Range());
  ColorPatches       largest = all; /* of the first range */
  PetscInt64         left    = (PetscInt64)all.count[0] * all.count[1] * all.count[2];

  PetscFunctionBegin;
  if (one && left && !(all.phases == 2 && all.phase & 1)) PetscCall(applyOne(omega, beta, r, x, stream));
  if (one) PetscFunctionReturn(PETSC_SUCCESS);
  if (fast.empty()) largest.count[0] = 0;
  for (size_t i = 0; i < fast.size(); i++) {
    PatchFDRange inner;

    for (int d = 0; d < 3; d++) {
      inner[d][0] = PetscMin(PetscMax(patches[d][0], ranges[i].lo[d]), patches[d][1]);
      inner[d][1] = PetscMax(PetscMin(patches[d][1], ranges[i].hi[d]), inner[d][0]);
    }
    const ColorPatches g(color, phases, inner, Layout(), Range());

    if (!g.empty()) PetscCall(fast[i]->solve(g, omega, beta, r, x, stream));
    if (i == 0) largest = g;
    left -= (PetscInt64)g.count[0] * g.count[1] * g.count[2];
  }
  if (left) {
    const FieldsPatches others(all, largest, ranges);

    FieldsKernel<T>
      <<<data.team.grid(others.shell.size()), data.team.block(), data.team.shared, stream>>>(data, others, (T)omega, (T)beta, r, x);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops(all.empty() ? 0 : all.patches() * flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode FieldsSmoother<T>::create(const PatchFDLocalDesc *desc, void **plan)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCheck(desc->kind != PATCHFD_LOCAL_FD, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "On a GPU local solvers of several fields are -pc_patchfd_local dense or schur");
  PetscCall(Stream(&stream));
  if (desc->kind == PATCHFD_LOCAL_SCHUR) {
    FieldsSolver<T> *p;

    PetscCall(SchurCreate<T>(desc, &p));
    *plan = p;
  } else {
    FieldsPlan<T> *p = new FieldsPlan<T>();

    *plan = (FieldsSolver<T> *)p;
    PetscCall(p->create(desc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode FieldsSmoother<T>::apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PatchFDColor colors[],
                                        const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *, void *r)
{

  PetscFunctionBegin;
  PetscCheck(op == PATCHFD_OP_SOLVE, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "On a GPU the residual of several fields is computed on the whole mesh: use -pc_patchfd_variant global");
  PetscCall(Launch([&](cudaStream_t stream) {
    PetscFunctionBegin;
    for (PetscInt i = 0; i < ncolors; i++)
      PetscCall(((const FieldsSolver<T> *)plan)->apply(colors[i], patches, omega, zero && i == 0 ? 0 : 1, (const T *)r, (T *)x, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct FieldsSmoother<double>;
template struct FieldsSmoother<float>;

} // namespace patchfd
