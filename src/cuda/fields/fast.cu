/*
  x = beta x + omega U blocks U' r for many patches of one class, by tensor instructions.

  A cluster of 1, 2, 4 or 8 blocks of threads has COLUMNS patches; each of its blocks has the entries of some of the parity blocks, in
  shared memory as [patch][entry], and multiplies them by these blocks of the inverse:

    1. all threads bring octets of r, and send their sums and differences to the blocks of threads where they belong;
    2. each warp multiplies a strip of TILES * 16 rows of a block of the inverse by all COLUMNS columns; the sums stay in registers until
       no warp reads the entries any more, and then take their places;
    3. the way back: all threads collect the entries of octets and bring them to x.

  So r and x pass through device memory once, and the inverse once through L2 for each cluster: that is why large inverses want many
  columns, and clusters, whose shared memory holds them.  How many is a matter of measurement: FieldsTilings.

  Tiles, their pieces of 16 x DEPTH and precisions of products are those of TermsProduct (terms/dense.cuh); always with the inverse itself,
  which is not definite for a saddle point.  The columns of a piece are permuted, so that a lane's entries of a patch are neighbours.  The
  blocks' entries begin at multiples of 16; those between meet zeros, and must be numbers.

  T: of r and x; P: TermsProduct; Number: of the entries
*/
#include "fields/fields.cuh"
#include "terms/dense.cuh"

namespace patchfd
{

/* rows of a block of the inverse: of a warp */
struct FieldsStrip {
  /* the block's first entry in a patch's column and its size; the strip's first row; pieces of a row of tiles */
  int entry, size, row, pieces;
  int first; /* piece in the list of all */
};

/* A FieldsOctet, in steps in the arrays.  place: rank of the block of threads * 2^24 + bytes from the patch's column to the entry; -1 if
   there is none */
struct alignas(16) FieldsFastOctet {
  int field, node, mirror[3], unused[3], place[8];
};

template <typename P>
struct FieldsFastData {
  const FieldsFastOctet *octet;
  const FieldsStrip     *strip; /* of each warp of a cluster */
  const TermsWord<P>    *pieces;
  int                    noctet, row; /* octets in all, in x */
  unsigned               rowinverse;  /* 2^32 / row, rounded up */
  int                    ld, cluster; /* places of a patch's column; blocks of threads of a cluster */
  Layout                 l[PATCHFD_MAX_FIELDS];
  /* first node of patch 0, as it were; from a patch to the next */
  int first[PATCHFD_MAX_FIELDS][3], step[PATCHFD_MAX_FIELDS][3];
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
template <typename Number>
__device__ __forceinline__ unsigned FieldsPlace(const Number *column, int place)
{
  unsigned address = 0;

#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"((unsigned)__cvta_generic_to_shared(column) + (place & 0xffffff)), "r"(place >> 24));
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
template <int COLUMNS, typename P>
__device__ __forceinline__ void FieldsOrigins(const FieldsFastData<P> &s, const ColorPatches &g, ptrdiff_t *origin)
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
  f(octet, its first node in the arrays or -1, its patch's column) for all octets of the cluster's patches; neighbouring threads have
  neighbouring nodes, of one patch after another
*/
template <int COLUMNS, typename P, typename Function>
__device__ __forceinline__ void FieldsForOctets(const FieldsFastData<P> &s, const ptrdiff_t *origin, const typename P::Number *sm,
                                                Function f)
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

template <int DIM, int COLUMNS, typename T, typename P>
__device__ __forceinline__ void FieldsBring(const FieldsFastData<P> &s, const ptrdiff_t *origin, const T *r, typename P::Number *sm)
{
  using Number = typename P::Number;

  FieldsForOctets<COLUMNS>(s, origin, sm, [&](const FieldsFastOctet &o, ptrdiff_t node, const Number *column) {
    Number v[1 << DIM];

#pragma unroll
    for (int b = 0; b < 1 << DIM; b++) v[b] = node >= 0 && o.place[b] >= 0 ? (Number)r[node + FieldsMember(o, b)] : Number(0);
    FieldsButterfly<1 << DIM>(v);
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++)
      if (o.place[b] >= 0) FieldsStore(FieldsPlace(column, o.place[b]), P::operand(v[b]));
  });
}

/* patches that overlap add with atomics */
template <int DIM, int COLUMNS, typename T, typename P>
__device__ __forceinline__ void FieldsBringBack(const FieldsFastData<P> &s, const ptrdiff_t *origin, bool overlap, T omega, T beta,
                                                const typename P::Number *sm, T *x)
{
  using Number = typename P::Number;

  FieldsForOctets<COLUMNS>(s, origin, sm, [&](const FieldsFastOctet &o, ptrdiff_t node, const Number *column) {
    Number v[1 << DIM];
    T      old[1 << DIM];

    if (node < 0) return;
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++) old[b] = beta != 0 && !overlap && o.place[b] >= 0 ? x[node + FieldsMember(o, b)] : T(0);
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++) {
      v[b] = 0;
      if (o.place[b] >= 0) FieldsLoad(FieldsPlace(column, o.place[b]), &v[b]);
    }
    FieldsButterfly<1 << DIM>(v);
#pragma unroll
    for (int b = 0; b < 1 << DIM; b++) {
      if (o.place[b] < 0) continue;
      if (overlap) atomicAdd(&x[node + FieldsMember(o, b)], omega * (T)v[b]);
      else x[node + FieldsMember(o, b)] = beta * old[b] + omega * (T)v[b];
    }
  });
}

/* ---- products ---- */

/* zeros behind the block's entries, by the warp of its first strip */
template <int COLUMNS, typename P>
__device__ __forceinline__ void FieldsPad(const FieldsStrip &strip, int ld, typename P::Number *sm)
{
  const int padding = P::DEPTH * strip.pieces - strip.size;

  if (strip.row > 0) return;
  for (int q = threadIdx.x % 32; q < COLUMNS * padding; q += 32) sm[q / padding * ld + strip.entry + strip.size + q % padding] = 0;
}

/* which of its neighbouring entries of a patch number i of a lane's piece multiplies */
template <typename P>
__host__ __device__ constexpr int FieldsEntry(int i)
{
  return P::DEPTH == 8 ? i / 2 : i % 2 + i / 4 * 2;
}

/* sum = the strip's rows of the block, times the columns */
template <int TILES, int GROUPS, typename P>
__device__ __forceinline__ void FieldsMultiply(const FieldsFastData<P> &s, const FieldsStrip &strip, const typename P::Number *sm,
                                               typename P::Number sum[TILES][GROUPS][4])
{
  using Number          = typename P::Number;
  using Word            = TermsWord<P>;
  constexpr int ENTRIES = P::DEPTH / 4;
  struct alignas(ENTRIES * sizeof(Number)) Entries {
    Number b[ENTRIES];
  };
  const int     lane  = threadIdx.x % 32;
  const Word   *piece = s.pieces + (size_t)strip.first * 32 * P::WORDS + lane;
  const Number *entry = sm + lane / 4 * s.ld + strip.entry + ENTRIES * (lane % 4);

#pragma unroll
  for (int t = 0; t < TILES; t++)
#pragma unroll
    for (int g = 0; g < GROUPS; g++) sum[t][g][0] = sum[t][g][1] = sum[t][g][2] = sum[t][g][3] = 0;
#pragma unroll 1
  for (int l = 0; l < strip.pieces; l++) {
    typename P::Store a[TILES][P::WORDS * Word::LENGTH];

#pragma unroll
    for (int t = 0; t < TILES; t++) {
#pragma unroll
      for (int w = 0; w < P::WORDS; w++) {
        const Word word = piece[((l * TILES + t) * P::WORDS + w) * 32];

#pragma unroll
        for (int i = 0; i < Word::LENGTH; i++) a[t][w * Word::LENGTH + i] = word.a[i];
      }
    }
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      const Entries entries = *(const Entries *)(entry + 8 * g * s.ld + P::DEPTH * l);

#pragma unroll
      for (int t = 0; t < TILES; t++) P::multiply(sum[t][g], a[t], entries.b);
    }
  }
}

/* the sums take the places of the block's entries */
template <int TILES, int GROUPS, typename Number>
__device__ __forceinline__ void FieldsReplace(const FieldsStrip &strip, int ld, const Number sum[TILES][GROUPS][4], Number *sm)
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

/* warps of a block of threads, at most: so many registers do the sums need.  Few registers are worth more than long sums: all but the
   products waits for memory */
template <typename Number, int TILES, int GROUPS>
static constexpr int fields_warps = TILES *GROUPS * sizeof(Number) <= 40 ? 32 : (TILES *GROUPS * sizeof(Number) <= 56 ? 24 : 16);

template <typename T, typename P, int DIM, int TILES, int GROUPS>
__launch_bounds__(32 * fields_warps<typename P::Number, TILES, GROUPS>) static __global__
  void FieldsFastKernel(const __grid_constant__ FieldsFastData<P> s, const __grid_constant__ ColorPatches g, T omega, T beta, const T *r,
                        T *x)
{
  using Number                      = typename P::Number;
  constexpr int             COLUMNS = 8 * GROUPS;
  extern __shared__ double2 fields_shared[];
  ptrdiff_t                *origin = (ptrdiff_t *)fields_shared;
  Number                   *sm     = (Number *)(origin + PATCHFD_MAX_FIELDS * COLUMNS), sum[TILES][GROUPS][4];
  const FieldsStrip         strip  = s.strip[(blockIdx.x % s.cluster * blockDim.x + threadIdx.x) / 32];

  FieldsOrigins<COLUMNS>(s, g, origin);
  FieldsPad<COLUMNS, P>(strip, s.ld, sm);
  FieldsClusterSync(s.cluster); /* the others have begun, too */
  FieldsBring<DIM, COLUMNS>(s, origin, r, sm);
  FieldsClusterSync(s.cluster);
  FieldsMultiply<TILES, GROUPS>(s, strip, sm, sum);
  __syncthreads();
  FieldsReplace<TILES, GROUPS>(strip, s.ld, sum, sm);
  FieldsClusterSync(s.cluster);
  FieldsBringBack<DIM, COLUMNS>(s, origin, g.overlap(), omega, beta, sm, x);
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
  static constexpr FieldsTiling best[2][6] = {{{1, 1, 4}, {1, 1, 4}, {1, 1, 2}, {2, 1, 5}, {1, 2, 2}, {2, 2, 2}},
                                              {{1, 1, 4}, {1, 2, 2}, {8, 2, 2}, {8, 2, 2}, {8, 2, 2}, {8, 6, 2}}};
};
template <>
struct FieldsTilings<float> {
  static constexpr FieldsTiling best[2][6] = {{{1, 1, 8}, {1, 1, 8}, {1, 1, 4}, {1, 3, 2}, {1, 2, 4}, {2, 2, 4}},
                                              {{1, 2, 4}, {1, 2, 4}, {8, 2, 4}, {8, 2, 4}, {8, 2, 3}, {8, 4, 3}}};
};

/*
  Which block of threads has parity block b: b and the one with all parities opposite go together, then pairs of such pairs; so that all
  have the same work.  Directions without parity do not count.
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

template <typename T, typename P, int DIM, int TILES, int GROUPS>
struct FieldsTiled : FieldsFast {
  using Word                   = TermsWord<P>;
  using Number                 = typename P::Number;
  static constexpr int COLUMNS = 8 * GROUPS;
  FieldsFastData<P>    data    = {};
  int                  warps   = 0;
  PlanMemory           memory;

  static const void *kernel() { return (const void *)FieldsFastKernel<T, P, DIM, TILES, GROUPS>; }
  size_t             shared() const { return sizeof(ptrdiff_t) * PATCHFD_MAX_FIELDS * COLUMNS + sizeof(Number) * COLUMNS * data.ld; }
  void               configure(unsigned clusters, cudaStream_t stream, cudaLaunchConfig_t *config, cudaLaunchAttribute *cluster) const
  {
    cluster->id               = cudaLaunchAttributeClusterDimension;
    cluster->val.clusterDim.x = (unsigned)data.cluster;
    cluster->val.clusterDim.y = cluster->val.clusterDim.z = 1;
    config->gridDim                                       = clusters * (unsigned)data.cluster;
    config->blockDim                                      = 32 * (unsigned)warps;
    config->dynamicSmemBytes                              = shared();
    config->stream                                        = stream;
    config->attrs                                         = cluster;
    config->numAttrs                                      = 1;
  }

  /* strips of all blocks, as the warps of a cluster have them, and the places of the blocks' first entries */
  void strips(const PatchFDDense *dense, int entry[8], std::vector<FieldsStrip> &list, std::vector<int> &block)
  {
    std::vector<FieldsStrip> of[8];
    std::vector<int>         blocks[8];
    int                      places[8] = {0}, first = 0;

    data.ld = 8;
    for (int b = 0; b < 8; b++) {
      const int size = (int)dense->size[b], rank = FieldsRank(dense, b, data.cluster), pieces = (size + P::DEPTH - 1) / P::DEPTH;

      entry[b] = (rank << 24) + places[rank] * (int)sizeof(Number);
      for (int row = 0; row < size; row += 16 * TILES, first += TILES * pieces) {
        of[rank].push_back({places[rank], size, row, pieces, first});
        blocks[rank].push_back(b);
      }
      places[rank] += RoundUp(size, 16);
      warps   = PetscMax(warps, (int)of[rank].size());
      data.ld = PetscMax(data.ld, places[rank] + 8); /* an odd multiple of 8: eight patches' entries lie in different banks */
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
    constexpr size_t               PIECE = 32 * P::WORDS * Word::LENGTH;
    std::vector<typename P::Store> all;

    PetscFunctionBegin;
    for (const FieldsStrip &s : list) all.resize(PetscMax(all.size(), (size_t)(s.first + TILES * s.pieces) * PIECE), P::round(0));
    for (size_t s = 0; s < list.size(); s++) {
      const int n = list[s].size;

      for (int p = 0; p < TILES * list[s].pieces; p++) {
        for (size_t q = 0; q < PIECE; q++) {
          const int lane = (int)(q / Word::LENGTH % 32), i = (int)(q / (32 * Word::LENGTH) * Word::LENGTH + q % Word::LENGTH);
          const int row    = list[s].row + 16 * (p % TILES) + lane / 4 + 8 * P::row(i),
                    column = P::DEPTH * (p / TILES) + P::DEPTH / 4 * (lane % 4) + FieldsEntry<P>(i);

          if (row < n && column < n)
            all[((size_t)list[s].first + p) * PIECE + q] = P::round(dense->block[block[s]][(size_t)row * n + column]);
        }
      }
    }
    PetscCall(memory.upload(all.size(), all.data(), (typename P::Store **)&data.pieces));
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
        q.place[m] = o.entry[m] < 0 ? -1 : entry[b] + (o.entry[m] - end[b]) * (int)sizeof(Number);
      }
      list.push_back(q);
    }
    data.noctet = (int)list.size();
    PetscCall(memory.upload(list.size(), list.data(), &data.octet));
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
    PetscCall(SharedFits(kernel(), shared(), yes));
    /* clusters */
    *yes = *yes && warps <= fields_warps<Number, TILES, GROUPS> && PetscMin(attributes.binaryVersion, attributes.ptxVersion) >= 90;
    if (!*yes) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AllowShared(kernel(), shared()));
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
    data.cluster    = 1;
    data.row        = (int)(form.dense->parity[0] ? (form.dense->n[0][0] + 1) / 2 : form.dense->n[0][0]);
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
    PetscCall(memory.upload(list.size(), list.data(), &data.strip));
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
    PetscCallCUDA(
      cudaLaunchKernelEx(&config, FieldsFastKernel<T, P, DIM, TILES, GROUPS>, data, g, (T)omega, (T)beta, (const T *)r, (T *)x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* with tiling number I */
template <typename T, typename P, int DIM, int I>
static PetscErrorCode FieldsFastCreateTiling(const FieldsForm &form, const PatchFDLocalDesc *desc, FieldsFast **fast)
{
  constexpr FieldsTiling tiling = FieldsTilings<typename P::Number>::best[DIM - 2][I];
  using Tiled                   = FieldsTiled<T, P, DIM, tiling.tiles, tiling.groups>;
  Tiled *p                      = new Tiled();
  bool   yes;

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
    PetscCall(TermsForPrecision<T>(desc->precision, [&](auto p) {
      return ForDegree<2, 7>(K, [&](auto k) {
        using P = TermsProduct<p()>;

        return form.dim == 3 ? FieldsFastCreateTiling<T, P, 3, k - 2>(form, desc, fast)
                             : FieldsFastCreateTiling<T, P, 2, k - 2>(form, desc, fast);
      });
    }));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::FieldsFastCreate<INSTANCE_T>(const FieldsForm &, const PatchFDLocalDesc *, FieldsFast **);
