/*
  x = beta x + omega U blocks U' r for many patches of one class, by tensor instructions.

  A cluster of 1, 2, 4 or 8 blocks of threads has COLUMNS patches; each of its blocks has the entries of some of the parity blocks, in shared memory as
  [patch][entry], and multiplies them by these blocks of the inverse:

    1. all threads bring octets of r, and send their sums and differences to the blocks of threads where they belong;
    2. each warp multiplies a strip of TILES * 16 rows of a block of the inverse by all COLUMNS columns; the sums stay in registers until
       no warp reads the entries any more, and then take their places;
    3. the way back: all threads collect the entries of octets and bring them to x.

  So r and x pass through device memory once, and the inverse once through L2 for each cluster: that is why large inverses want many columns, and
  clusters, whose shared memory holds them.  How many is a matter of measurement: FieldsTilings.

  An mma of 16 x 8 x 8 takes a 16 x 8 piece of the inverse (zero beyond the block), which lies in global memory as the lanes load it: words of 16 bytes
  of lanes 0 .. 31 with the lane's four numbers (smoother_mma.cuh says which).  The columns of a piece are permuted, so that entries 2 q and 2 q + 1 of a
  patch are the two that a lane with lane % 4 = q loads.  The blocks' entries begin at multiples of 8; those between meet the zeros, and must be numbers.
*/
#pragma once
#include "fields.cuh"
#include "terms_dense.cuh"

namespace patchfd
{

/* rows of a block of the inverse: of a warp */
struct FieldsStrip {
  int entry, size, row, pieces; /* the block's first entry in a patch's column and its size; the strip's first row; pieces of a row of tiles */
  int first;                    /* piece in the list of all */
};

/* A FieldsOctet, in steps in the arrays.  place: rank of the block of threads * 2^24 + bytes from the patch's column to the entry; -1 if there is none */
struct alignas(16) FieldsFastOctet {
  int field, node, mirror[3], unused[3], place[8];
};

template <typename T>
struct FieldsFastData {
  const FieldsFastOctet *octet;
  const FieldsStrip     *strip; /* of each warp of a cluster */
  const TermsWord<T>    *pieces;
  int                 noctet, row; /* octets in all, in x */
  unsigned            rowinverse;  /* 2^32 / row, rounded up */
  int                 ld, cluster; /* places of a patch's column; blocks of threads of a cluster */
  Layout              l[PATCHFD_MAX_FIELDS];
  int                 first[PATCHFD_MAX_FIELDS][3], step[PATCHFD_MAX_FIELDS][3]; /* first node of patch 0, as it were; from a patch to the next */
};

/* ---- the cluster ---- */

/* all threads of a cluster of so many blocks meet, and see what each other have written into shared memory */
static __device__ __forceinline__ void FieldsClusterSync(int cluster)
{
  if (cluster == 1) {
    __syncthreads();
    return;
  }
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* the address of an entry of a patch's column in the shared memory of its block of threads */
template <typename T>
__device__ __forceinline__ unsigned FieldsPlace(const T *column, int place)
{
  unsigned address = 0;

#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"((unsigned)__cvta_generic_to_shared(column) + (place & 0xffffff)), "r"(place >> 24));
#endif
  return address;
}

__device__ __forceinline__ void FieldsStore(unsigned address, double v)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(address), "d"(v) : "memory");
#endif
}

__device__ __forceinline__ void FieldsStore(unsigned address, float v)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
#endif
}

__device__ __forceinline__ void FieldsLoad(unsigned address, double *v)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(*v) : "r"(address) : "memory");
#endif
}

__device__ __forceinline__ void FieldsLoad(unsigned address, float *v)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(*v) : "r"(address) : "memory");
#endif
}

/* ---- octets ---- */

/* first nodes of the cluster's patches in the array; -1 where there is no patch */
template <typename T, int COLUMNS>
__device__ __forceinline__ void FieldsOrigins(const FieldsFastData<T> &s, const ColorPatches &g, ptrdiff_t *origin)
{
  for (int q = threadIdx.x; q < PATCHFD_MAX_FIELDS * COLUMNS; q += blockDim.x) {
    const int f = q / COLUMNS;
    int       node[3];
    bool      there = g.find(blockIdx.x / s.cluster * (size_t)COLUMNS + q % COLUMNS, node);

    for (int d = 0; d < 3; d++) node[d] = s.first[f][d] + node[d] * s.step[f][d];
    origin[q] = there ? s.l[f].at(node[0], node[1], node[2]) : -1;
  }
}

/*
  f(octet, its first node in the arrays or -1, its patch's column) for all octets of the cluster's patches; neighbouring threads have neighbouring nodes, of
  one patch after another
*/
template <int COLUMNS, typename T, typename Function>
__device__ __forceinline__ void FieldsForOctets(const FieldsFastData<T> &s, const ptrdiff_t *origin, const T *sm, Function f)
{
#pragma unroll 1
  for (int q = blockIdx.x % s.cluster * blockDim.x + threadIdx.x; q < s.noctet * COLUMNS; q += s.cluster * blockDim.x) {
    const int             rows = (int)__umulhi(q, s.rowinverse), p = rows % COLUMNS;
    const FieldsFastOctet o     = s.octet[rows / COLUMNS * s.row + q - rows * s.row];
    const ptrdiff_t       first = origin[o.field * COLUMNS + p];

    f(o, first < 0 ? first : first + o.node, sm + p * s.ld);
  }
}

/* how far member b of an octet is from its first node */
__device__ __forceinline__ int FieldsMember(const FieldsFastOctet &o, int b)
{
  return (b & 1 ? o.mirror[0] : 0) + (b & 2 ? o.mirror[1] : 0) + (b & 4 ? o.mirror[2] : 0);
}

template <int DIM, int COLUMNS, typename T>
__device__ __forceinline__ void FieldsBring(const FieldsFastData<T> &s, const ptrdiff_t *origin, const T *r, T *sm)
{
  FieldsForOctets<COLUMNS>(s, origin, sm, [&](const FieldsFastOctet &o, ptrdiff_t node, const T *column) {
    T v[1 << DIM];

#pragma unroll
    for (int b = 0; b < 1 << DIM; b++) v[b] = node >= 0 && o.place[b] >= 0 ? r[node + FieldsMember(o, b)] : T(0);
    FieldsButterfly<1 << DIM>(v);
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++)
      if (o.place[b] >= 0) FieldsStore(FieldsPlace(column, o.place[b]), v[b]);
  });
}

template <int DIM, int COLUMNS, typename T>
__device__ __forceinline__ void FieldsBringBack(const FieldsFastData<T> &s, const ptrdiff_t *origin, T omega, T beta, const T *sm, T *x)
{
  FieldsForOctets<COLUMNS>(s, origin, sm, [&](const FieldsFastOctet &o, ptrdiff_t node, const T *column) {
    T v[1 << DIM], old[1 << DIM];

    if (node < 0) return;
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++) old[b] = beta != 0 && o.place[b] >= 0 ? x[node + FieldsMember(o, b)] : T(0);
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++) {
      v[b] = 0;
      if (o.place[b] >= 0) FieldsLoad(FieldsPlace(column, o.place[b]), &v[b]);
    }
    FieldsButterfly<1 << DIM>(v);
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++)
      if (o.place[b] >= 0) x[node + FieldsMember(o, b)] = beta * old[b] + omega * v[b];
  });
}

/* ---- products ---- */

/* zeros behind the block's entries, by the warp of its first strip */
template <int COLUMNS, typename T>
__device__ __forceinline__ void FieldsPad(const FieldsStrip &strip, int ld, T *sm)
{
  const int padding = 8 * strip.pieces - strip.size;

  if (strip.row > 0) return;
  for (int q = threadIdx.x % 32; q < COLUMNS * padding; q += 32) sm[q / padding * ld + strip.entry + strip.size + q % padding] = 0;
}

/* sum = the strip's rows of the block, times the columns */
template <typename T, int TILES, int GROUPS>
__device__ __forceinline__ void FieldsMultiply(const FieldsFastData<T> &s, const FieldsStrip &strip, const T *sm, T sum[TILES][GROUPS][4])
{
  using Word = TermsWord<T>;
  struct alignas(2 * sizeof(T)) Pair {
    T b[2];
  };
  const int   lane  = threadIdx.x % 32;
  const Word *piece = s.pieces + (size_t)strip.first * 32 * Word::COUNT + lane;
  const T    *entry = sm + lane / 4 * s.ld + strip.entry + 2 * (lane % 4);

#pragma unroll
  for (int t = 0; t < TILES; t++)
#pragma unroll
    for (int g = 0; g < GROUPS; g++) sum[t][g][0] = sum[t][g][1] = sum[t][g][2] = sum[t][g][3] = 0;
#pragma unroll 1
  for (int l = 0; l < strip.pieces; l++) {
    T a[TILES][4];

#pragma unroll
    for (int t = 0; t < TILES; t++) {
#pragma unroll
      for (int w = 0; w < Word::COUNT; w++) {
        const Word word = piece[((l * TILES + t) * Word::COUNT + w) * 32];

#pragma unroll
        for (int i = 0; i < Word::LENGTH; i++) a[t][w * Word::LENGTH + i] = word.a[i];
      }
    }
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      const Pair pair = *(const Pair *)(entry + 8 * g * s.ld + 8 * l);

#pragma unroll
      for (int t = 0; t < TILES; t++) TermsMma(sum[t][g], a[t], pair.b);
    }
  }
}

/* the sums take the places of the block's entries */
template <typename T, int TILES, int GROUPS>
__device__ __forceinline__ void FieldsReplace(const FieldsStrip &strip, int ld, const T sum[TILES][GROUPS][4], T *sm)
{
  const int lane = threadIdx.x % 32;

#pragma unroll
  for (int t = 0; t < TILES; t++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int row = strip.row + 16 * t + lane / 4 + 8 * (i / 2);

#pragma unroll
      for (int g = 0; g < GROUPS; g++)
        if (row < strip.size) sm[(8 * g + 2 * (lane % 4) + i % 2) * ld + strip.entry + row] = sum[t][g][i];
    }
  }
}

/* warps of a block of threads, at most: so many registers do the sums need.  Few registers are worth more than long sums: all but the products waits for memory */
template <typename T, int TILES, int GROUPS>
static constexpr int fields_warps = TILES * GROUPS * sizeof(T) <= 40 ? 32 : (TILES * GROUPS * sizeof(T) <= 56 ? 24 : 16);

template <typename T, int DIM, int TILES, int GROUPS>
__launch_bounds__(32 * fields_warps<T, TILES, GROUPS>) static __global__ void FieldsFastKernel(const __grid_constant__ FieldsFastData<T> s, const __grid_constant__ ColorPatches g, T omega, T beta, const T *r, T *x)
{
  constexpr int             COLUMNS = 8 * GROUPS;
  extern __shared__ double2 fields_shared[];
  ptrdiff_t                *origin = (ptrdiff_t *)fields_shared;
  T                        *sm     = (T *)(origin + PATCHFD_MAX_FIELDS * COLUMNS), sum[TILES][GROUPS][4];
  const FieldsStrip         strip  = s.strip[(blockIdx.x % s.cluster * blockDim.x + threadIdx.x) / 32];

  FieldsOrigins<T, COLUMNS>(s, g, origin);
  FieldsPad<COLUMNS>(strip, s.ld, sm);
  FieldsClusterSync(s.cluster); /* the others have begun, too */
  FieldsBring<DIM, COLUMNS>(s, origin, r, sm);
  FieldsClusterSync(s.cluster);
  FieldsMultiply<T, TILES, GROUPS>(s, strip, sm, sum);
  __syncthreads();
  FieldsReplace<T, TILES, GROUPS>(strip, s.ld, sum, sm);
  FieldsClusterSync(s.cluster);
  FieldsBringBack<DIM, COLUMNS>(s, origin, omega, beta, sm, x);
  FieldsClusterSync(s.cluster); /* the others read no more */
}

/* ---- plans ---- */

/* blocks of threads of a cluster, tiles of a strip, groups of 8 columns */
struct FieldsTiling {
  int cluster, tiles, groups;
};

/* by octets of a line in x (degree k of RT_k plus 1), from 2 on: as measured on an H200 */
template <typename T>
struct FieldsTilings;
template <>
struct FieldsTilings<double> {
  static constexpr FieldsTiling best[2][6] = {
    {{1, 1, 4}, {1, 2, 3}, {1, 3, 2}, {2, 1, 4}, {2, 2, 3}, {4, 1, 4}},
    {{1, 1, 4}, {4, 1, 5}, {8, 1, 5}, {8, 1, 5}, {8, 4, 2}, {8, 6, 2}}
  };
};
template <>
struct FieldsTilings<float> {
  static constexpr FieldsTiling best[2][6] = {
    {{1, 1, 4}, {1, 1, 4}, {1, 3, 2}, {2, 1, 4}, {2, 1, 4}, {1, 3, 2}},
    {{1, 2, 4}, {2, 2, 4}, {8, 2, 6}, {8, 2, 6}, {8, 4, 3}, {8, 6, 2}}
  };
};

/*
  Which block of threads has parity block b: b and the one with all parities opposite go together, then pairs of such pairs; so that all have the same
  work.  Directions without parity do not count.
*/
static int FieldsRank(const PatchFDDense *dense, int b, int cluster)
{
  int rank = 0, nblock = 1;

  for (int d = 0; d < 3; d++) {
    if (!dense->parity[d]) continue;
    rank += nblock * (b >> d & 1);
    nblock *= 2;
  }
  for (; nblock > cluster; nblock /= 2) rank = PetscMin(rank, nblock - 1 - rank);
  return rank;
}

template <typename T, int DIM, int TILES, int GROUPS>
struct FieldsTiled : FieldsFast {
  using Word                    = TermsWord<T>;
  static constexpr int COLUMNS = 8 * GROUPS;
  FieldsFastData<T> data       = {};
  int               warps      = 0;
  PlanMemory        memory;

  static const void *kernel() { return (const void *)FieldsFastKernel<T, DIM, TILES, GROUPS>; }
  size_t             shared() const { return sizeof(ptrdiff_t) * PATCHFD_MAX_FIELDS * COLUMNS + sizeof(T) * COLUMNS * data.ld; }
  void               configure(unsigned clusters, cudaStream_t stream, cudaLaunchConfig_t *config, cudaLaunchAttribute *cluster) const
  {
    cluster->id               = cudaLaunchAttributeClusterDimension;
    cluster->val.clusterDim.x = (unsigned)data.cluster;
    cluster->val.clusterDim.y = cluster->val.clusterDim.z = 1;
    config->gridDim          = clusters * (unsigned)data.cluster;
    config->blockDim         = 32 * (unsigned)warps;
    config->dynamicSmemBytes = shared();
    config->stream           = stream;
    config->attrs            = cluster;
    config->numAttrs         = 1;
  }

  /* strips of all blocks, as the warps of a cluster have them, and the places of the blocks' first entries */
  void strips(const PatchFDDense *dense, int entry[8], std::vector<FieldsStrip> &list, std::vector<int> &block)
  {
    std::vector<FieldsStrip> of[8];
    std::vector<int>         blocks[8];
    int                      places[8] = {0}, first = 0;

    data.ld = 8;
    for (int b = 0; b < 8; b++) {
      const int size = (int)dense->size[b], rank = FieldsRank(dense, b, data.cluster), pieces = (size + 7) / 8;

      entry[b] = (rank << 24) + places[rank] * (int)sizeof(T);
      for (int row = 0; row < size; row += 16 * TILES, first += TILES * pieces) {
        of[rank].push_back({places[rank], size, row, pieces, first});
        blocks[rank].push_back(b);
      }
      places[rank] += 8 * pieces;
      warps   = PetscMax(warps, (int)of[rank].size());
      data.ld = PetscMax(data.ld, places[rank] + 8 - places[rank] % 16); /* odd multiples of 8: eight patches' entries lie in different banks */
    }
    for (int rank = 0; rank < data.cluster; rank++) {
      of[rank].resize((size_t)warps, {0, 0, 0, 0, 0});
      blocks[rank].resize((size_t)warps, 0);
      list.insert(list.end(), of[rank].begin(), of[rank].end());
      block.insert(block.end(), blocks[rank].begin(), blocks[rank].end());
    }
  }

  PetscErrorCode uploadPieces(const PatchFDDense *dense, const std::vector<FieldsStrip> &list, const std::vector<int> &block)
  {
    std::vector<PetscReal> all;

    PetscFunctionBegin;
    for (size_t s = 0; s < list.size(); s++) all.resize(PetscMax(all.size(), (size_t)(list[s].first + TILES * list[s].pieces) * 128), 0);
    for (size_t s = 0; s < list.size(); s++) {
      const int n = list[s].size;

      for (int p = 0; p < TILES * list[s].pieces; p++) {
        for (int q = 0; q < 128; q++) {
          const int lane = q / Word::LENGTH % 32, i = q / (32 * Word::LENGTH) * Word::LENGTH + q % Word::LENGTH;
          const int row = list[s].row + 16 * (p % TILES) + lane / 4 + 8 * (i % 2), column = 8 * (p / TILES) + 2 * (lane % 4) + i / 2;

          if (row < n && column < n) all[((size_t)list[s].first + p) * 128 + q] = dense->block[block[s]][(size_t)row * n + column];
        }
      }
    }
    PetscCall(memory.upload(all.size(), all.data(), (T **)&data.pieces));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode uploadOctets(const PatchFDDense *dense, const int entry[8])
  {
    std::vector<FieldsOctet>     octets;
    std::vector<FieldsFastOctet> list;
    int                          end[9] = {0};

    PetscFunctionBegin;
    FieldsOctets(dense, octets);
    for (int b = 0; b < 8; b++) end[b + 1] = end[b] + (int)dense->size[b];
    for (const FieldsOctet &o : octets) {
      const Layout   &l = data.l[o.field];
      FieldsFastOctet q = {};

      q.field     = o.field;
      q.node      = (int)(o.at[0] + o.at[1] * l.row + o.at[2] * l.plane);
      q.mirror[0] = o.mirror[0];
      q.mirror[1] = (int)(o.mirror[1] * l.row);
      q.mirror[2] = (int)(o.mirror[2] * l.plane);
      for (int m = 0; m < 8; m++) {
        int b = 0;

        while (o.entry[m] >= end[b + 1]) b++;
        q.place[m] = o.entry[m] < 0 ? -1 : entry[b] + (o.entry[m] - end[b]) * (int)sizeof(T);
      }
      list.push_back(q);
    }
    data.noctet = (int)list.size();
    PetscCall(memory.upload(list.size(), list.data(), (FieldsFastOctet **)&data.octet));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* has the kernel been compiled for a GPU that has these instructions, and can it run there? */
  PetscErrorCode supported(bool *yes) const
  {
    cudaFuncAttributes  attributes;
    cudaLaunchConfig_t  config = {};
    cudaLaunchAttribute cluster;
    int                 clusters;

    PetscFunctionBegin;
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel()));
    *yes = warps <= fields_warps<T, TILES, GROUPS> && shared() <= shared_limit && PetscMin(attributes.binaryVersion, attributes.ptxVersion) >= 90;
    if (!*yes) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCallCUDA(cudaFuncSetAttribute(kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_limit)); /* not what this plan needs: others may need more */
    configure(1, NULL, &config, &cluster);
    PetscCallCUDA(cudaOccupancyMaxActiveClusters(&clusters, kernel(), &config));
    *yes = clusters > 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode create(const FieldsForm &form, const PatchFDLocalDesc *desc, int cluster, bool *yes)
  {
    std::vector<FieldsStrip> list;
    std::vector<int>         block;
    int                      entry[8];

    PetscFunctionBegin;
    data.cluster = 1;
    data.row     = (int)(form.dense->parity[0] ? (form.dense->n[0][0] + 1) / 2 : form.dense->n[0][0]);
    data.rowinverse = 0xffffffffu / (unsigned)data.row + 1;
    for (int d = 0; d < 3; d++)
      if (form.dense->parity[d]) data.cluster = PetscMin(2 * data.cluster, cluster);
    for (PetscInt f = 0; f < desc->nfield; f++) {
      data.l[f] = Layout(desc->field[f].box);
      data.l[f].offset += (ptrdiff_t)desc->field[f].x0;
      for (int d = 0; d < 3; d++) {
        data.step[f][d]  = (int)(form.dense->n[f][d] + 1) / 2;
        data.first[f][d] = (int)(desc->field[f].dir[d]->first[form.range[d][0]] - form.range[d][0] * data.step[f][d]);
      }
    }
    strips(form.dense, entry, list, block);
    PetscCall(supported(yes));
    if (!*yes) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(memory.upload(list.size(), list.data(), (FieldsStrip **)&data.strip));
    PetscCall(uploadPieces(form.dense, list, block));
    PetscCall(uploadOctets(form.dense, entry));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode solve(const ColorPatches &g, PetscReal omega, PetscReal beta, const void *r, void *x, cudaStream_t stream) const override
  {
    cudaLaunchConfig_t  config = {};
    cudaLaunchAttribute cluster;

    PetscFunctionBegin;
    configure((unsigned)((g.items() + COLUMNS - 1) / COLUMNS), stream, &config, &cluster);
    PetscCallCUDA(cudaLaunchKernelEx(&config, FieldsFastKernel<T, DIM, TILES, GROUPS>, data, g, (T)omega, (T)beta, (const T *)r, (T *)x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode destroy() override { return memory.free(); }
};

/* with tiling number I */
template <typename T, int DIM, int I>
static PetscErrorCode FieldsFastCreateTiling(const FieldsForm &form, const PatchFDLocalDesc *desc, FieldsFast **fast)
{
  constexpr FieldsTiling                            tiling = FieldsTilings<T>::best[DIM - 2][I];
  FieldsTiled<T, DIM, tiling.tiles, tiling.groups> *p      = new FieldsTiled<T, DIM, tiling.tiles, tiling.groups>();
  bool                                              yes;

  PetscFunctionBegin;
  *fast = p;
  PetscCall(p->create(form, desc, tiling.cluster, &yes));
  if (!yes) {
    delete p;
    *fast = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with the tiling for its size, or, if there is a direction without parity, one for a larger size, which takes larger blocks */
template <typename T>
PetscErrorCode FieldsFastCreate(const FieldsForm &form, const PatchFDLocalDesc *desc, FieldsFast **fast)
{
  PetscFunctionBegin;
  *fast = NULL;
  for (PetscInt K = PetscMax(2, (form.dense->n[0][0] + 1) / 2); K <= 7 && !*fast; K++) {
    PetscCall((ForDegree<2, 7>(K, [&](auto k) { return form.dim == 3 ? FieldsFastCreateTiling<T, 3, k - 2>(form, desc, fast) : FieldsFastCreateTiling<T, 2, k - 2>(form, desc, fast); })));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
