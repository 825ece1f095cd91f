/*
  Local solvers of several fields, x += omega A_j^{-1} r, with the inverses in parity blocks (PatchFDDense): U blocks U'.

  U' and U are taken apart into octets: a node in the lower half of each direction that has parity, and the nodes that mirror it.  Eight
  numbers of r become, by sums and differences in each direction, entries of as many parity blocks; the same on the way back to x.  A list
  of octets with the places of their entries is all that a kernel knows of the fields and their symmetries.

    fields.cu  what is chosen when; lists of octets; the generic kernel: one patch at a time, any sizes and symmetries; the kernel
               for a patch alone
    schur.cu   not with inverses, but by conjugate gradients on the Schur complement of a saddle point
    inverse.cu inverses from points, which the host never has
    fast.cu    2D and 3D, many patches of one class: by tensor instructions
*/
#pragma once
#include "base/patches.cuh"
#include "base/plan.cuh"

namespace patchfd
{

/*
  A node, its mirror images, and their entries.  Member b of an octet is mirrored in the directions of b's bits; entry[b] is for the sum
  or, where b has a bit, the difference in each direction.  A node that is its own mirror image (mirror[d] = 0) has no difference: members
  that do not exist have entry -1.
*/
struct alignas(16) FieldsOctet {
  int field, at[3], mirror[3], unused, entry[8]; /* at: from the patch's first node; mirror: steps to the mirror image */
};

/* the inverses of a class of patches */
template <typename T>
struct FieldsClass {
  const T           *block[8];
  int                size[8], noctet;
  const FieldsOctet *octet;
};

/* their numbers, where they are made from points (inverse.cu); most: unknowns of a patch */
static constexpr int fields_most = 512;
template <typename T>
PetscErrorCode FieldsInverses(const PatchFDLocalDesc *, const FieldsClass<T> *classes, int most);

/* ---- lists of octets ---- */

/* numbers of a field that block b has in direction d */
static inline int FieldsHalf(const PatchFDDense *dense, int f, int b, int d)
{
  const int n = (int)dense->n[f][d], bit = b >> d & 1;

  if (!dense->parity[d]) return bit ? 0 : n;
  return bit != (int)dense->odd[f][d] ? n / 2 : (n + 1) / 2;
}

/* the block of member b of a field's octets: where the field is odd, differences belong to sums of the others */
static inline int FieldsBlock(const PatchFDDense *dense, int f, int b)
{
  for (int d = 0; d < 3; d++)
    if (dense->parity[d] && dense->odd[f][d]) b ^= 1 << d;
  return b;
}

static inline void FieldsOctets(const PatchFDDense *dense, std::vector<FieldsOctet> &octets)
{
  int first[8] = {0}; /* entry of the field at hand in each block */

  for (int b = 1; b < 8; b++) first[b] = first[b - 1] + (int)dense->size[b - 1];
  for (int f = 0; f < dense->nfield; f++) {
    int n[3], half[3];

    for (int d = 0; d < 3; d++) {
      n[d]    = (int)dense->n[f][d];
      half[d] = dense->parity[d] ? (n[d] + 1) / 2 : n[d];
    }
    for (int q = 0; q < half[0] * half[1] * half[2]; q++) {
      FieldsOctet o = {};

      o.field = f;
      o.at[0] = q % half[0];
      o.at[1] = q / half[0] % half[1];
      o.at[2] = q / half[0] / half[1];
      for (int d = 0; d < 3; d++) o.mirror[d] = dense->parity[d] ? n[d] - 1 - 2 * o.at[d] : 0;
      for (int b = 0; b < 8; b++) {
        const int block = FieldsBlock(dense, f, b);
        bool      there = true;

        for (int d = 0; d < 3; d++) there = there && !(b >> d & 1 && !o.mirror[d]);
        o.entry[b] = there ? first[block] + (o.at[2] * FieldsHalf(dense, f, block, 1) + o.at[1]) * FieldsHalf(dense, f, block, 0) + o.at[0]
                           : -1;
      }
      octets.push_back(o);
    }
    for (int b = 0; b < 8; b++) first[b] += FieldsHalf(dense, f, b, 0) * FieldsHalf(dense, f, b, 1) * FieldsHalf(dense, f, b, 2);
  }
}

/* sums and differences of an octet's MEMBERS numbers, and back */
template <int MEMBERS, typename T>
__device__ __forceinline__ void FieldsButterfly(T v[MEMBERS])
{
#pragma unroll
  for (int bit = 1; bit < MEMBERS; bit *= 2) {
#pragma unroll
    for (int b = 0; b < MEMBERS; b++) {
      if (b & bit) continue;
      const T low = v[b], high = v[b | bit];

      v[b]       = low + high;
      v[b | bit] = low - high;
    }
  }
}

/* Patches that the fast kernel can do: a range of one class, at equal distances and with all their nodes in the arrays */
struct FieldsForm {
  int                 dim;
  PetscInt            range[3][2];
  const PatchFDDense *dense;

  size_t patches() const { return (size_t)((range[0][1] - range[0][0]) * (range[1][1] - range[1][0]) * (range[2][1] - range[2][0])); }
};

/* the fast kernel for such patches */
struct FieldsFast {
  virtual ~FieldsFast() { }
  /* x = beta x + omega A_j^{-1} r */
  virtual PetscErrorCode solve(const ColorPatches &, PetscReal omega, PetscReal beta, const void *r, void *x, cudaStream_t) const = 0;
};

/* NULL if this GPU cannot do it, or inverses are too large for it */
template <typename T>
PetscErrorCode FieldsFastCreate(const FieldsForm &, const PatchFDLocalDesc *, FieldsFast **);

/* ---- kernels of one patch at a time ---- */

/* of a field: its nodes in the arrays, those that exist, and first nodes of patches */
struct FieldsField {
  Layout     l;
  Range      read;
  const int *first[3];

  PetscErrorCode create(const PatchFDLocalField *, PlanMemory *);
};

static constexpr int fields_forms = 8; /* at most */

/* patches of a colour that the fast kernels leave: outside the first of their ranges, all numbers of its parity, of which those of its
   phase and in none of the other ranges count */
struct FieldsPatches {
  int   start[3], step, phases, phase, nskip;
  Range skip[fields_forms];
  Shell shell;

  FieldsPatches(const ColorPatches &all, const ColorPatches &inner, const std::vector<Range> &ranges) :
    step(all.step), phases(all.phases), phase(all.phase), nskip((int)ranges.size())
  {
    Range whole = Range::none(), hole = Range::none();

    for (int i = 0; i < nskip; i++) skip[i] = ranges[i];
    for (int d = 0; d < 3; d++) {
      start[d]    = all.start[d];
      whole.hi[d] = all.count[d];
      hole.lo[d]  = inner.empty() ? 0 : (inner.start[d] - all.start[d]) / step;
      hole.hi[d]  = inner.empty() ? 0 : hole.lo[d] + inner.count[d];
    }
    shell = Shell(whole, hole);
  }
  __device__ __forceinline__ bool overlap() const { return step == 1; }
  __device__ __forceinline__ bool find(size_t item, int number[3]) const
  {
    int  q[3]  = {0, 0, 0};
    bool there = item < shell.size();

    if (there) shell.find<size_t>(item, q);
    for (int d = 0; d < 3; d++) number[d] = start[d] + step * q[d];
    for (int i = 0; i < nskip; i++) there = there && !skip[i].contains(number[0], number[1], number[2]);
    return there && !(phases == 2 && (phase + q[0] + q[1] + q[2]) & 1);
  }
};

/* a local solver */
template <typename T>
struct FieldsSolver : Plan {
  /* one colour of these patches: x = beta x + omega A_j^{-1} r */
  virtual PetscErrorCode apply(const PatchFDColor &, const PatchFDRange patches, PetscReal omega, PetscReal beta, const T *r, T *x,
                               cudaStream_t) const = 0;
};

template <typename T>
PetscErrorCode SchurCreate(const PatchFDLocalDesc *, FieldsSolver<T> **);

template <typename T>
struct FieldsSmoother {
  static PetscErrorCode create(const PatchFDLocalDesc *, void **);
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *,
                              const void *, void *);
};

} // namespace patchfd
