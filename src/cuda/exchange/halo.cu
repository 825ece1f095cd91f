/*
  What ranks exchange, in GPU memory: patchfd/private/halo.h.  Two kernels: one gathers numbers into a buffer, rank by rank (blockIdx.y),
  the other takes them out.

  For MPI the buffers are on the GPU (mpi) or in pinned host memory, which the kernels access across PCIe (host); for NCCL on the GPU.

  For peers (peer) they are on the GPU that receives, and the exchanges of a plan are numbered 1, 2, ...  The kernel that gathers exchange
  e writes into half e % 2 of the receivers' buffers; the last block for a rank then sets that rank's flag for this one to e.  The kernel
  that takes the values out waits for the flags. That is enough: whoever begins exchange e + 2 has seen all ranks that it exchanges with
  begin e + 1, and so end e.  Numbers are counted on the GPU, so that a recording can be replayed.  A rank's kernels never wait for
  anything that is behind them on its own GPU.

  Nor do they keep others from it: where several processes' kernels are on a GPU at once (MPS), those that wait have few blocks.  The
  kernel that takes the values out waits itself if it has no more than that, which saves a launch; otherwise a kernel of one block waits
  before it.

  Nobody waits forever.  After `patience` an exchange has failed: what it would bring becomes NaN, its number HALO_FAILED, which the flags
  then tell the other ranks, and the next exchange or replay of this process is an error.
*/
#include "base/cuda.cuh"
#include "base/plan.cuh"
#include <dlfcn.h>
#include <patchfd/private/halo.h>

namespace patchfd
{

/* ---- NCCL, where it is installed: messages on a stream, without the host ---- */

/*
  It is loaded when it is asked for, so that this library needs it neither to be built nor to be used.  The functions below have been the
  same since version 2.7, which brought sending and receiving.
*/

struct UniqueId {
  char internal[128];
};

static struct {
  void *library;
  int (*GetUniqueId)(UniqueId *);
  int (*CommInitRank)(void **comm, int ranks, UniqueId, int rank);
  int (*CommDestroy)(void *comm);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*Send)(const void *, size_t count, int type, int rank, void *comm, cudaStream_t);
  int (*Recv)(void *, size_t count, int type, int rank, void *comm, cudaStream_t);
  const char *(*GetErrorString)(int);
} nccl;

static constexpr int BYTES = 0; /* ncclInt8 */

#define PetscCallNCCL(...) \
  do { \
    const int err_ = __VA_ARGS__; \
    PetscCheck(!err_, PETSC_COMM_SELF, PETSC_ERR_LIB, "NCCL: %s", nccl.GetErrorString(err_)); \
  } while (0)

template <typename F>
static bool Find(const char *name, F *f)
{
  *f = (F)dlsym(nccl.library, name);
  return *f;
}

static bool Load()
{
  if (nccl.library) return true;
  nccl.library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!nccl.library) return false;
  if (Find("ncclGetUniqueId", &nccl.GetUniqueId) && Find("ncclCommInitRank", &nccl.CommInitRank) &&
      Find("ncclCommDestroy", &nccl.CommDestroy) && Find("ncclGroupStart", &nccl.GroupStart) && Find("ncclGroupEnd", &nccl.GroupEnd) &&
      Find("ncclSend", &nccl.Send) && Find("ncclRecv", &nccl.Recv) && Find("ncclGetErrorString", &nccl.GetErrorString))
    return true;
  dlclose(nccl.library);
  nccl.library = NULL;
  return false;
}

/* ---- NCCL's communicator, an attribute of MPI's ---- */

static int keyval = MPI_KEYVAL_INVALID;

static int MPIAPI DeleteComm(MPI_Comm, int, void *comm, void *)
{
  return nccl.CommDestroy(comm) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static PetscErrorCode FreeKeyval(void)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_free_keyval(&keyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one for the ranks of an MPI communicator, made by the first call and kept with it; NULL and the reason where that is not possible */
static PetscErrorCode NCCLGetComm(MPI_Comm mpi, void **comm, const char **why)
{
  UniqueId     id;
  cudaStream_t stream;
  PetscMPIInt  rank, size, found;
  int          ok = Load();

  PetscFunctionBegin;
  PetscCall(Stream(&stream)); /* starts the GPU */
  *comm = NULL;
  *why  = NULL;
  if (keyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, DeleteComm, &keyval, NULL));
    PetscCall(PetscRegisterFinalize(FreeKeyval));
  }
  PetscCallMPI(MPI_Comm_get_attr(mpi, keyval, comm, &found));
  if (found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(mpi, &rank));
  PetscCallMPI(MPI_Comm_size(mpi, &size));
  if (ok && rank == 0) ok = !nccl.GetUniqueId(&id);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, mpi));
  if (!ok) *why = "libnccl.so.2, version 2.7 or later, cannot be loaded";
  if (*why) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, mpi));
  ok = !nccl.CommInitRank(comm, size, id, rank);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, mpi));
  if (ok) PetscCallMPI(MPI_Comm_set_attr(mpi, keyval, *comm));
  else *why = "NCCL cannot connect the ranks, which need a GPU each";
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef unsigned long long Epoch;

static constexpr int    HALO_THREADS = 256;
static constexpr int    HALO_BLOCKS  = 8 * 132;
static constexpr int    HALO_WAITING = 16; /* blocks that may wait: many processes' fit on any GPU */
static constexpr Epoch  HALO_FAILED  = 1ull << 63;
static constexpr size_t HALO_FLAGS   = 4096;     /* bytes of flags before a rank's buffers */
static constexpr size_t HALO_PAGE    = 2u << 20; /* memory that other ranks open comes in pieces of this size */

/* where this rank writes for another one */
template <typename T>
struct HaloPeer {
  T       *buffer;
  PetscInt stride, first[2];
  Epoch   *flag;
};

/* exchanges that are done, blocks of the one at work, and how long to wait */
struct HaloCounters {
  Epoch             *epoch;
  unsigned          *done;     /* [0]: blocks that have received, [1 + rank]: that have sent to a rank */
  Epoch              patience; /* nanoseconds */
  volatile unsigned *failed;
};

template <typename T>
struct HaloArrays {
  T *a[PATCHFD_HALO_MAX_ARRAYS];
};

template <typename T>
struct HaloPlan : Plan {
  PatchFDHaloWay        way;
  PlanMemory            memory;
  PetscInt              n, unit, *first[2], *index[2]; /* on the GPU; first[] counts numbers */
  std::vector<PetscInt> start[2];                      /* first[], on the host */
  T                    *buffer[2] = {NULL, NULL};
  cudaEvent_t           event     = NULL;
  void                 *nccl      = NULL; /* NCCL's communicator, and the ranks in it */
  std::vector<int>      ranks;
  /* peers */
  char                    *shared = NULL; /* flags, then two buffers */
  PetscInt                 stride = 0;
  std::vector<HaloPeer<T>> peers;
  std::vector<void *>      open;
  HaloPeer<T>             *peer = NULL; /* on the GPU */
  HaloCounters             counters;

  PetscInt most(int side) const /* numbers for a rank */
  {
    PetscInt m = 0;

    for (PetscInt i = 0; i < n; i++) m = PetscMax(m, start[side][i + 1] - start[side][i]);
    return m;
  }
  PetscErrorCode create(const PatchFDHaloDesc *);
  ~HaloPlan()
  {
    (void)cudaFree(shared);
    for (T *b : buffer)
      if (way == PATCHFD_HALO_PINNED) (void)cudaFreeHost(b);
    if (event) (void)cudaEventDestroy(event);
  }
};

/* ---- kernels ---- */

/* where a number is; those of a rank begin at `begin` */
static __device__ __forceinline__ size_t Place(const PetscInt *__restrict__ index, PetscInt unit, PetscInt begin, PetscInt i)
{
  return unit == 1 ? index[begin + i] : (size_t)index[begin / unit + i / unit] * unit + i % unit;
}

static __device__ __forceinline__ void SetFlag(Epoch *flag, Epoch e)
{
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(e) : "memory");
}

static __device__ __forceinline__ Epoch GetFlag(const Epoch *flag)
{
  Epoch e;

  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(e) : "l"(flag) : "memory");
  return e;
}

static __device__ __forceinline__ Epoch Nanoseconds()
{
  Epoch t;

  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

/* until exchange e has begun on the rank with this flag; false: it has failed.  The clock, and the host's memory, are looked at once a
   millisecond or so */
static __device__ bool WaitForFlag(const Epoch *flag, Epoch e, const HaloCounters &counters)
{
  Epoch at = 0, begin = 0;

  if (e >= HALO_FAILED) return false;
  for (unsigned n = 1; (at = GetFlag(flag)) < e; n++) {
    if (n % 1024) continue;
    const Epoch now = Nanoseconds();

    if (!begin) begin = now;
    if (now - begin > counters.patience) *counters.failed = 1;
    if (*counters.failed) break;
  }
  if (at >= e && at < HALO_FAILED) return true;
  *counters.failed = 1;
  atomicMax(counters.epoch, HALO_FAILED);
  __threadfence_system();
  return false;
}

/* is this the last block to say so, of so many?  Then the counter is zero again */
static __device__ __forceinline__ bool LastBlock(unsigned *done, unsigned blocks)
{
  if (atomicAdd(done, 1u) != blocks - 1) return false;
  *done = 0;
  return true;
}

template <typename T, bool PEER>
static __global__ void __launch_bounds__(HALO_THREADS)
  PackKernel(const PetscInt *__restrict__ first, const PetscInt *__restrict__ index, PetscInt unit, int n, HaloArrays<const T> from, T *to,
             const HaloPeer<T> *peers, int there, HaloCounters counters)
{
  const PetscInt begin = first[blockIdx.y], count = first[blockIdx.y + 1] - begin;
  Epoch          e = 0;

  if constexpr (PEER) {
    const HaloPeer<T> &p = peers[blockIdx.y];

    e  = *counters.epoch + 1;
    to = p.buffer + (e & 1) * p.stride + n * p.first[there];
  } else to += n * begin;
  for (PetscInt i = blockIdx.x * HALO_THREADS + threadIdx.x; i < count; i += gridDim.x * HALO_THREADS) {
    const size_t j = Place(index, unit, begin, i);

    for (int a = 0; a < n; a++) to[a * count + i] = from.a[a][j];
  }
  if constexpr (PEER) {
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0 && LastBlock(counters.done + 1 + blockIdx.y, gridDim.x)) {
      __threadfence_system();
      SetFlag(peers[blockIdx.y].flag, e);
    }
  }
}

/* for all ranks */
static __global__ void WaitKernel(int n, const Epoch *flags, HaloCounters counters)
{
  const Epoch e = *counters.epoch + 1;

  for (int r = threadIdx.x; r < n; r += blockDim.x) WaitForFlag(flags + r, e, counters);
}

/* ranks from `rank` on; flags: of all ranks, if they are to be waited for here; the last kernel of an exchange counts it */
template <typename T, bool PEER>
static __global__ void __launch_bounds__(HALO_THREADS)
  UnpackKernel(int rank, const PetscInt *__restrict__ first, const PetscInt *__restrict__ index, PetscInt unit, int n, const T *from,
               PetscInt stride, bool add, HaloArrays<T> to, const Epoch *flags, bool last, HaloCounters counters)
{
  const int      r     = rank + blockIdx.y;
  const PetscInt begin = first[r], count = first[r + 1] - begin;
  Epoch          e      = 0;
  bool           failed = false;

  if constexpr (PEER) {
    e      = *(volatile Epoch *)counters.epoch + 1;
    failed = __syncthreads_or(e >= HALO_FAILED || (flags && threadIdx.x == 0 && !WaitForFlag(flags + r, e, counters)));
    from += (e & 1) * stride;
  }
  from += n * begin;
  for (PetscInt i = blockIdx.x * HALO_THREADS + threadIdx.x; i < count; i += gridDim.x * HALO_THREADS) {
    const size_t j = Place(index, unit, begin, i);

    for (int a = 0; a < n; a++) {
      const T value = failed ? (T)NAN : __ldcg(from + a * count + i);

      if (add) atomicAdd(&to.a[a][j], value); /* around a short ring a rank has several images of a node */
      else to.a[a][j] = value;
    }
  }
  if constexpr (PEER) {
    __syncthreads();
    if (last && threadIdx.x == 0 && LastBlock(counters.done, gridDim.x * gridDim.y)) atomicMax(counters.epoch, e); /* HALO_FAILED stays */
  }
}

/* ---- plans ---- */

template <typename T>
PetscErrorCode HaloPlan<T>::create(const PatchFDHaloDesc *desc)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream)); /* starts the GPU */
  n    = desc->n;
  unit = desc->unit;
  for (int side = 0; side < 2; side++) {
    const PetscInt total = desc->first[side][n] * unit;

    start[side].assign(desc->first[side], desc->first[side] + n + 1);
    for (PetscInt &f : start[side]) f *= unit;
    PetscCall(memory.upload(n + 1, start[side].data(), &first[side]));
    PetscCall(memory.upload(desc->first[side][n], desc->index[side], &index[side]));
    stride = PetscMax(stride, PATCHFD_HALO_MAX_ARRAYS * total);
    if (way == PATCHFD_HALO_MEMORY || way == PATCHFD_HALO_STREAM) PetscCall(memory.malloc(PATCHFD_HALO_MAX_ARRAYS * total, &buffer[side]));
    if (way == PATCHFD_HALO_PINNED)
      PetscCallCUDA(cudaMallocHost((void **)&buffer[side], PetscMax(1, PATCHFD_HALO_MAX_ARRAYS * total) * sizeof(T)));
  }
  PetscCallCUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  if (way == PATCHFD_HALO_REMOTE) {
    const size_t bytes = HALO_FLAGS + 2 * stride * sizeof(T);

    PetscCheck((n + 1) * sizeof(Epoch) <= HALO_FLAGS, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "-dm_box_halo peer: there are flags for %zu ranks, not for %" PetscInt_FMT, HALO_FLAGS / sizeof(Epoch) - 1, n);
    PetscCall(HaloFailure(&counters.failed));
    PetscCall(DeviceMalloc((bytes + HALO_PAGE - 1) / HALO_PAGE * HALO_PAGE, (void **)&shared));
    PetscCallCUDA(cudaMemsetAsync(shared, 0, HALO_FLAGS, stream));
    PetscCall(memory.malloc(n + 1, &counters.done));
    counters.epoch    = (Epoch *)shared + HALO_FLAGS / sizeof(Epoch) - 1;
    counters.patience = (Epoch)PatchFDHaloPatience * 1000000000;
    peers.resize(n);
    PetscCallCUDA(cudaStreamSynchronize(stream)); /* others may write from now on */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
struct Halo {
  static PetscErrorCode create(const PatchFDHaloDesc *desc, PatchFDHaloWay way, void **plan)
  {
    HaloPlan<T> *p = new HaloPlan<T>();

    PetscFunctionBegin;
    *plan  = p;
    p->way = way;
    PetscCall(p->create(desc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* as many as are at work at once: a number takes two loads, one after the other, which only other threads can hide */
  static dim3 blocks(PetscInt count, PetscInt ranks)
  {
    return dim3((unsigned)PetscMax(1, PetscMin(HALO_BLOCKS, (count + HALO_THREADS - 1) / HALO_THREADS)), (unsigned)ranks);
  }

  static PetscErrorCode exchange(const HaloPlan<T> *p, int side, PetscInt n, cudaStream_t stream)
  {
    PetscFunctionBegin;
    PetscCallNCCL(nccl.GroupStart());
    for (PetscInt r = 0; r < p->n; r++) {
      for (int s = 0; s < 2; s++) {
        const PetscInt begin = p->start[s][r], count = p->start[s][r + 1] - begin;
        T             *at = p->buffer[s] + n * begin;

        if (!count) continue;
        if (s == side) PetscCallNCCL(nccl.Send(at, n * count * sizeof(T), BYTES, p->ranks[r], p->nccl, stream));
        else PetscCallNCCL(nccl.Recv(at, n * count * sizeof(T), BYTES, p->ranks[r], p->nccl, stream));
      }
    }
    PetscCallNCCL(nccl.GroupEnd());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode join(void *plan, MPI_Comm comm, const PetscMPIInt rank[], const char **why)
  {
    HaloPlan<T> *p = (HaloPlan<T> *)plan;

    PetscFunctionBegin;
    PetscCall(NCCLGetComm(comm, &p->nccl, why));
    p->ranks.assign(rank, rank + p->n);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode pack(void *plan, int side, PetscInt n, const void *const from[])
  {
    HaloPlan<T>        *p = (HaloPlan<T> *)plan;
    HaloArrays<const T> arrays;
    cudaStream_t        stream;

    PetscFunctionBegin;
    if (!p->n) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(HaloCheck());
    PetscCall(Stream(&stream));
    for (PetscInt a = 0; a < n; a++) arrays.a[a] = (const T *)from[a];
    const dim3 grid = blocks(p->most(side), p->n);

    PetscCall(PetscLogGpuTimeBegin());
    if (p->way == PATCHFD_HALO_REMOTE)
      PackKernel<T, true>
        <<<grid, HALO_THREADS, 0, stream>>>(p->first[side], p->index[side], p->unit, (int)n, arrays, NULL, p->peer, 1 - side, p->counters);
    else {
      PackKernel<T, false>
        <<<grid, HALO_THREADS, 0, stream>>>(p->first[side], p->index[side], p->unit, (int)n, arrays, p->buffer[side], NULL, 0, p->counters);
      if (p->way == PATCHFD_HALO_STREAM) PetscCall(exchange(p, side, n, stream));
      else PetscCallCUDA(cudaEventRecord(p->event, stream));
    }
    PetscCallCUDA(cudaGetLastError());
    PetscCall(PetscLogGpuTimeEnd());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* sums rank after rank: several may add to a node */
  static PetscErrorCode unpack(void *plan, int side, PetscBool add, PetscInt n, void *const to[])
  {
    HaloPlan<T>   *p    = (HaloPlan<T> *)plan;
    const PetscInt each = add ? 1 : p->n;
    const dim3     grid = blocks(p->most(side), each);
    const Epoch   *wait = (const Epoch *)p->shared; /* for these flags */
    HaloArrays<T>  arrays;
    cudaStream_t   stream;

    PetscFunctionBegin;
    if (!p->n) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(Stream(&stream));
    for (PetscInt a = 0; a < n; a++) arrays.a[a] = (T *)to[a];
    PetscCall(PetscLogGpuTimeBegin());
    if (p->way == PATCHFD_HALO_REMOTE && grid.x * grid.y > HALO_WAITING) {
      WaitKernel<<<1, RoundUp(PetscMin((int)p->n, HALO_THREADS), 32), 0, stream>>>((int)p->n, wait, p->counters);
      wait = NULL;
    }
    for (PetscInt r = 0; r < p->n; r += each) {
      const bool last = r + each == p->n;

      if (p->way == PATCHFD_HALO_REMOTE)
        UnpackKernel<T, true><<<grid, HALO_THREADS, 0, stream>>>((int)r, p->first[side], p->index[side], p->unit, (int)n,
                                                                 (const T *)(p->shared + HALO_FLAGS), p->stride, (bool)add, arrays, wait,
                                                                 last, p->counters);
      else
        UnpackKernel<T, false><<<grid, HALO_THREADS, 0, stream>>>((int)r, p->first[side], p->index[side], p->unit, (int)n, p->buffer[side],
                                                                  0, (bool)add, arrays, NULL, last, p->counters);
    }
    PetscCallCUDA(cudaGetLastError());
    PetscCall(PetscLogGpuTimeEnd());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode buffers(void *plan, void *buffer[2])
  {
    PetscFunctionBegin;
    for (int side = 0; side < 2; side++) buffer[side] = ((HaloPlan<T> *)plan)->buffer[side];
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode wait(void *plan)
  {
    PetscFunctionBegin;
    if (((HaloPlan<T> *)plan)->n) PetscCallCUDA(cudaEventSynchronize(((HaloPlan<T> *)plan)->event));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode device(char name[PATCHFD_HALO_DEVICE_NAME])
  {
    cudaStream_t stream;
    int          id;

    PetscFunctionBegin;
    PetscCall(Stream(&stream));
    PetscCallCUDA(cudaGetDevice(&id));
    PetscCallCUDA(cudaDeviceGetPCIBusId(name, PATCHFD_HALO_DEVICE_NAME, id));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode address(void *plan, PetscInt i, PatchFDHaloAddress *address)
  {
    const HaloPlan<T> *p = (const HaloPlan<T> *)plan;
    cudaIpcMemHandle_t handle;

    PetscFunctionBegin;
    static_assert(sizeof(handle) == sizeof(address->handle), "CUDA's handles have another size");
    /* otherwise no rank can open it */
    if (cudaIpcGetMemHandle(&handle, p->shared) == cudaSuccess) memcpy(address->handle, &handle, sizeof(handle));
    else (void)cudaGetLastError();
    address->flag   = i;
    address->stride = p->stride;
    for (int side = 0; side < 2; side++) address->first[side] = p->start[side][i];
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode connect(void *plan, PetscInt i, PetscBool self, const PatchFDHaloAddress *address, PetscBool *connected)
  {
    HaloPlan<T>       *p      = (HaloPlan<T> *)plan;
    char              *memory = p->shared;
    cudaIpcMemHandle_t handle;

    PetscFunctionBegin;
    memcpy(&handle, address->handle, sizeof(handle));
    if (!self) {
      void *opened = NULL;

      *connected = (PetscBool)(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
      if (!*connected) (void)cudaGetLastError();
      if (!*connected) PetscFunctionReturn(PETSC_SUCCESS);
      p->open.push_back(opened);
      memory = (char *)opened;
    }
    p->peers[i] = {.buffer = (T *)(memory + HALO_FLAGS),
                   .stride = address->stride,
                   .first  = {address->first[0], address->first[1]},
                   .flag   = (Epoch *)memory + address->flag};
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode connected(void *plan)
  {
    HaloPlan<T> *p = (HaloPlan<T> *)plan;

    PetscFunctionBegin;
    PetscCall(p->memory.upload(p->peers.size(), p->peers.data(), &p->peer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode disconnect(void *plan)
  {
    HaloPlan<T> *p = (HaloPlan<T> *)plan;

    PetscFunctionBegin;
    PetscCallCUDA(cudaDeviceSynchronize());
    for (void *opened : p->open) PetscCallCUDA(cudaIpcCloseMemHandle(opened));
    p->open.clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

} // namespace patchfd

#define HALO_TABLE(T) \
  { \
    .create = patchfd::Halo<T>::create, .destroy = patchfd::DestroyPlan<>, .pack = patchfd::Halo<T>::pack, \
    .unpack = patchfd::Halo<T>::unpack, .buffers = patchfd::Halo<T>::buffers, .wait = patchfd::Halo<T>::wait, \
    .join = patchfd::Halo<T>::join, .device = patchfd::Halo<T>::device, .address = patchfd::Halo<T>::address, \
    .connect = patchfd::Halo<T>::connect, .connected = patchfd::Halo<T>::connected, .disconnect = patchfd::Halo<T>::disconnect, \
  }

const struct _PatchFDHaloKernels PatchFDHaloCUDADouble = HALO_TABLE(double);
const struct _PatchFDHaloKernels PatchFDHaloCUDAFloat  = HALO_TABLE(float);
