/*
  What every CUDA kernel here uses: boxes and ranges as small device structures, upload of the one-dimensional objects, launches.

  All work goes to PETSc's current stream (Stream()), copies of a set-up too.  Plans hold device memory (DeviceMalloc()); nothing is
  allocated and nothing waits in an apply.  Numbers of nodes in a direction fit an int, offsets in a grid function are ptrdiff_t.
*/
#pragma once
#include <patchfd/private/kernels.h>
#include <petscdevice_cuda.h>
#include <type_traits>
#include <vector>

namespace patchfd
{

/* what a kernel in a recorded loop sets to zero to end it; 0: no loop */
typedef cudaGraphConditionalHandle LoopCondition;

/* the type's place in tables, and its name in messages */
template <typename T>
struct Scalar;
template <>
struct Scalar<double> {
  static constexpr const char *name = "cuda double";
  static constexpr int         id   = PATCHFD_KERNELS_CUDA_DOUBLE;
};
template <>
struct Scalar<float> {
  static constexpr const char *name = "cuda float";
  static constexpr int         id   = PATCHFD_KERNELS_CUDA_FLOAT;
};

struct Range {
  int lo[3], hi[3];

  Range() = default;
  Range(const PatchFDRange r)
  {
    for (int d = 0; d < 3; d++) {
      lo[d] = (int)r[d][0];
      hi[d] = (int)r[d][1];
    }
  }
  explicit Range(const PatchFDBox &b)
  {
    for (int d = 0; d < 3; d++) {
      lo[d] = (int)b.lo[d];
      hi[d] = (int)(b.lo[d] + b.n[d]);
    }
  }
  /* the nodes of a range that a box has */
  Range(const PatchFDRange r, const PatchFDBox &box) : Range(r)
  {
    const Range all(box);

    for (int d = 0; d < 3; d++) {
      lo[d] = PetscMax(lo[d], all.lo[d]);
      hi[d] = PetscMin(hi[d], all.hi[d]);
    }
  }
  static Range none()
  {
    Range r;

    for (int d = 0; d < 3; d++) r.lo[d] = r.hi[d] = 0;
    return r;
  }
  __host__ __device__ bool contains(int i, int j, int k) const
  {
    return i >= lo[0] && i < hi[0] && j >= lo[1] && j < hi[1] && k >= lo[2] && k < hi[2];
  }
  bool   empty() const { return lo[0] >= hi[0] || lo[1] >= hi[1] || lo[2] >= hi[2]; }
  size_t size() const { return empty() ? 0 : (size_t)(hi[0] - lo[0]) * (size_t)(hi[1] - lo[1]) * (size_t)(hi[2] - lo[2]); }
};

/* is node i of direction d inside the range? */
__device__ __forceinline__ bool Inside(const Range &r, int d, int i)
{
  return i >= r.lo[d] && i < r.hi[d];
}

/* where node (i, j, k) of a grid function is: offset + i + j * row + k * plane */
struct Layout {
  ptrdiff_t offset, row, plane;

  Layout() = default;
  Layout(const PatchFDBox &b) : row(b.n[0]), plane((ptrdiff_t)b.n[0] * b.n[1]) { offset = -(b.lo[0] + b.lo[1] * row + b.lo[2] * plane); }
  __host__ __device__ ptrdiff_t at(int i, int j, int k) const { return offset + i + j * row + k * plane; }
};

/* The directions in which a box is a ring: nodes before its first and behind its last one exist there, and are images of its own */
struct Rings {
  int lo[3], hi[3], turn[3]; /* the nodes of the box; how many they are around a ring, otherwise 0 */

  Rings() = default;
  Rings(const PatchFDBox &b, const PatchFDRange read)
  {
    for (int d = 0; d < 3; d++) {
      lo[d]   = (int)b.lo[d];
      hi[d]   = (int)(b.lo[d] + b.n[d]);
      turn[d] = read[d][1] > hi[d] ? (int)b.n[d] : 0;
    }
  }
  __host__ __device__ bool       any() const { return turn[0] || turn[1] || turn[2]; }
  __device__ __forceinline__ int image(int d, int i) const { return i < lo[d] ? i + turn[d] : (i >= hi[d] ? i - turn[d] : i); }
};

/* with images at most one turn away */
struct RingLayout : Layout {
  Rings     rings;
  ptrdiff_t turn[3];

  RingLayout() = default;
  RingLayout(const PatchFDBox &b, const PatchFDRange read) :
    Layout(b), rings(b, read), turn{rings.turn[0], rings.turn[1] * row, rings.turn[2] * plane}
  {
  }
  /* from where node i of direction d would be to its image */
  __device__ __forceinline__ ptrdiff_t shift(int d, int i) const { return i < rings.lo[d] ? turn[d] : (i >= rings.hi[d] ? -turn[d] : 0); }
  __device__ __forceinline__ ptrdiff_t at(int i, int j, int k) const
  {
    return Layout::at(rings.image(0, i), rings.image(1, j), rings.image(2, k));
  }
};

/*
  PETSc's stream; the first call starts the device, or says that there is none.  An error where streams or devices are not what all that is
  here relies on (device.cu)
*/
PetscErrorCode Stream(cudaStream_t *);
/* work(stream), and what goes with all that an apply does */
template <typename W>
static PetscErrorCode Launch(PetscLogDouble flops, W &&work)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if constexpr (std::is_void_v<decltype(work(stream))>) work(stream);
  else PetscCall(work(stream));
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
template <typename W>
static PetscErrorCode Launch(W &&work)
{
  return Launch(0, work);
}

/* Is the GPU in use one that this library is for?  Asked once */
PetscErrorCode CheckDevice();

/* as cudaMalloc(), with another try without what the pool below keeps, and an error that names the size */
PetscErrorCode DeviceMalloc(size_t bytes, void **);

/* to the GPU, on PETSc's stream; the host's memory has been read when this returns */
PetscErrorCode ToDevice(size_t bytes, const void *from, void *to);

/* device copy of n host numbers of any type, converted */
template <typename To, typename From>
static PetscErrorCode Upload(size_t n, const From *from, To **to)
{
  std::vector<To> v(from, from + n);

  PetscFunctionBegin;
  *to = NULL;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DeviceMalloc(n * sizeof(To), (void **)to));
  PetscCall(ToDevice(n * sizeof(To), v.data(), *to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = y0 before sums go to y: zero if y0 is NULL, nothing to do if it is y itself */
template <typename T>
static inline PetscErrorCode StartSum(size_t size, const void *y0, void *y, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!y0) PetscCallCUDA(cudaMemsetAsync(y, 0, size * sizeof(T), stream));
  else if (y0 != y) PetscCallCUDA(cudaMemcpyAsync(y, y0, size * sizeof(T), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Memory of the GPU that is kept when it is given back, up to a fourth of what there is, because to get it from the driver and to return it
  takes longer than most kernels of a set-up.  Both are in order with PETSc's stream.
*/
PetscErrorCode PoolBorrow(size_t bytes, void **);
PetscErrorCode PoolReturn(void *);

PetscErrorCode Multiprocessors(int *); /* of the GPU in use */

/* bytes of shared memory of a block of threads on the GPUs that kernels are tuned for: shapes that are chosen when they are compiled */
static constexpr size_t shared_limit = 227 * 1024, shared_least = 99 * 1024; /* least: what GPUs have at least */

/* the same on the GPU in use, or what -patchfd_cuda_shared_limit leaves of it: shapes that are chosen for a plan */
PetscErrorCode SharedLimit(size_t *);
PetscErrorCode SharedFitsOf(const void *kernel, size_t bytes, bool *fits);
PetscErrorCode AllowSharedOf(const void *kernel, size_t bytes);
PetscErrorCode ResidentOf(const void *kernel, int threads, size_t bytes, int *blocks);

/* may a block have so many bytes of dynamic shared memory? */
template <typename Kernel>
static PetscErrorCode SharedFits(Kernel kernel, size_t bytes, bool *fits)
{
  return SharedFitsOf((const void *)kernel, bytes, fits);
}

/* from now on the kernel may be launched with so many bytes of dynamic shared memory, or as many as anybody has asked for before */
template <typename Kernel>
static PetscErrorCode AllowShared(Kernel kernel, size_t bytes)
{
  return AllowSharedOf((const void *)kernel, bytes);
}

/* the same, and how many such blocks a multiprocessor holds */
template <typename Kernel>
static PetscErrorCode Resident(Kernel kernel, int threads, size_t bytes, int *blocks)
{
  return ResidentOf((const void *)kernel, threads, bytes, blocks);
}

/* may a grid of blocks of threads have these sizes in y and z?  A plan that needs more takes another kernel */
static constexpr bool GridFits(PetscInt y, PetscInt z = 1)
{
  return y <= 65535 && z <= 65535;
}

__host__ __device__ static constexpr int RoundUp(int n, int m)
{
  return (n + m - 1) / m * m;
}

/* ---- the kernel table's functions, one file each ---- */

template <typename T>
struct Grid {
  static PetscErrorCode malloc(size_t, void **);
  static PetscErrorCode free(void *);
  static PetscErrorCode zero(size_t, void *);
  static PetscErrorCode multiply(size_t, const void *, const void *, PetscBool, void *);
  static PetscErrorCode copy(const PatchFDRange, const PatchFDBox *, const void *, const PatchFDBox *, void *);
  static PetscErrorCode fixed(const PatchFDRange, const PatchFDRange, PetscReal, const PatchFDBox *, void *, PetscReal, const PatchFDBox *,
                              const void *);
};

/* a Kronecker sum in one continuous field, as the kernels for it want it: A and M of a direction have the same classes of cells */
struct SumDesc {
  struct Line {
    PetscInt         nloc, ncells, nclass;
    const PetscInt  *cls;
    const PetscReal *M, *A; /* [nclass][nloc][nloc] */
  } dir[3];
  PatchFDBox   xbox, ybox;
  PatchFDRange read, write, cells;
};

template <typename T>
struct Operator {
  static PetscErrorCode create(const SumDesc *, void **);
  static PetscErrorCode apply(void *, PetscReal, const void *, const void *, void *);
  static const char    *name(void *);
};

template <typename T>
struct Lattice {
  static PetscErrorCode create(const PatchFDLatticeDesc *, void **);
  static PetscErrorCode apply(void *, const PatchFDMaterial *, PetscReal, const void *, const void *, void *);
  static PetscErrorCode diagonal(void *, const PatchFDMaterial *, void *);
  static PetscErrorCode sweep(void *, const PatchFDMaterial *, const void *, const void *, const void *, void *, void *, PatchFDSweep *);
};

PetscErrorCode Invert(PetscInt count, PetscInt n, PetscReal *const K[], PetscBool *regular);

template <typename T>
struct Transfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode apply(void *, bool restriction, const void *from, void *to);
  static const char    *name(void *);
};

template <typename T>
struct Smoother {
  static PetscErrorCode create(const PatchFDLocalDesc *, void **);
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *,
                              const void *, void *);
  static const char    *name(void *);
};

template <typename T>
struct BoxSolve {
  static PetscErrorCode create(const PatchFDBoxSolveDesc *, void **);
  static PetscErrorCode apply(void *, const void *, void *);
};

template <typename T>
struct CG {
  static PetscErrorCode create(PetscCount, void **);
  static PetscErrorCode state(void *, PatchFDCG **);
  static PetscErrorCode put(void *, const PatchFDCG *);
  static PetscErrorCode get(void *, PatchFDCG *);
  static PetscErrorCode direction(void *, const void *, const void *, void *);
  static PetscErrorCode product(void *, const void *, const void *);
  static PetscErrorCode advance(void *, const void *, const void *, const void *, void *, void *);
  static PetscErrorCode sums(void *, const void *, const void *);
  static PetscErrorCode recordbegin(void *, void **);
  static PetscErrorCode recordend(void *, PetscBool, void **);
};

/* of any precision */
PetscErrorCode HaloFailure(volatile unsigned **); /* what an exchange that fails sets (exchange/halo.cu) */
PetscErrorCode HaloCheck(void);                   /* an error if one has */
PetscErrorCode RecordBegin(void **);
PetscErrorCode RecordBeginLoop(LoopCondition *, void **);
PetscErrorCode RecordEnd(PetscBool, void **);
PetscErrorCode RecordReplay(void *);
PetscErrorCode RecordDestroy(void **);

} // namespace patchfd
