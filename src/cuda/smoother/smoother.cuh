/*
  Vertex patches: local problems by fast diagonalization; formula and notation as in src/host/diagonalization.h.

    smoother.cu           what is chosen when
    any.cu                the generic kernel (any sizes, graded meshes, free ends, 1D, all operations) and one for patches of one unknown
                          (degree 1)
    few.cuh               in 1D, a thread an unknown; patches of at most two unknowns a direction
    place.cu              patches with matrices of their own: graded meshes, free ends, other degrees
      place_line.cuh      where matrices lie, and lines: on tensor instructions, or a thread a line
      place_patch.cuh     a block of threads, the residual, and the faces of these patches
    place_row.cu          the rows of row.cuh for patches of low degrees with matrices of their own
    strip.cu              the same in 2D, a thread a line, for patches of two cells
    stencil.cu            patches of one unknown, equal or not, several colours at once
    volume.cu             equal, mirror-symmetric patches of 2 K - 1 unknowns a direction in 3D, the interior of every uniform mesh, all of
                          it with Dirichlet conditions: which of these
      fast.cuh            a thread a line
      row.cuh             two colours in one pass, where they differ in x only (row_mode.cuh: one mode of y and z)
      tile.cuh            on tensor instructions, for large K (mma.cuh: the products)
    plane.cu              the same in 2D
    line.cuh              what these have in common: a line in a thread's registers
*/
#pragma once
#include "base/lines.cuh"
#include "base/patches.cuh"

namespace patchfd
{

/* Patches of one colour in a box: those with numbers start[d] + 2 p_d, p in the shell.  A colour has less than 2^32 patches */
struct PatchShell : Shell {
  int start[3];
};

/* equal patches of one colour: number (p0, p1, p2) begins (node below its unknowns) at first[d] + 2 K p_d */
struct FastGeometry {
  int    first[3], count[3];
  int    start[3]; /* number of the first of them among the direction's patches; two more for the next */
  Layout l;
  Range  read;
};

struct SmootherFast {
  int  run[3][2];                    /* the equal patches of each direction, first and end */
  int  step[3];                      /* nodes from a patch to the next of its colour */
  bool single = true, pairs = false; /* has it `apply`, and `pair`? */

  virtual ~SmootherFast() { }
  /*
    x = beta x + omega u with u = A_II^{-1} (b_I - A_IB x_B); without `boundary` u = A_II^{-1} b_I.  Boundary values outside g.read are
    zero; all unknowns of the patches lie inside.
  */
  virtual PetscErrorCode apply(const FastGeometry &, PetscReal, PetscReal, bool, void *, const void *, cudaStream_t)
  {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "These patches have no kernel for one colour");
  }
  /*
    x = A_II^{-1} (b_I - A_IB x_B) on patches of one colour, then of another one that differs in x only: the same run of patches.  Without
    `boundary` x was zero before the first of these colours.
  */
  virtual PetscErrorCode pair(const FastGeometry &, const FastGeometry &, bool, void *, const void *, cudaStream_t)
  {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "These patches have no kernel for two colours at once");
  }
  virtual PetscLogDouble flops(bool boundary, bool pair) const = 0; /* of one patch */
};

/* one of the kernels' classes: S has a create(e).  *fast is there before its arrays, so that it can be destroyed after an error */
template <class S>
static PetscErrorCode SmootherFastNew(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  S *p = new S;

  PetscFunctionBegin;
  *fast = p;
  PetscCall(p->create(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For patches of 2 K - 1 unknowns a direction; *fast stays as it is if there is no kernel for this degree.  In 2D the third direction is a
   point */
template <typename T>
PetscErrorCode SmootherVolumeCreate(int K, const PatchFDEigen *const e[3], SmootherFast **fast);
template <typename T>
PetscErrorCode SmootherPlaneCreate(int K, const PatchFDEigen *const e[3], SmootherFast **fast);
/* The same for runs of patches of two cells each that are not equal, in 3D; only two colours at once */
template <typename T>
PetscErrorCode SmootherPlaceRowCreate(int K, const PatchFDPatches *const pd[3], const int run[3][2], SmootherFast **fast);
/* nodes that exist and are in the box, and are no images of others around a ring: all that kernels for patches in the middle need */
static inline Range ReadInBox(const PatchFDLocalField *f)
{
  Range r(f->read);

  for (int d = 0; d < 3; d++) {
    r.lo[d] = PetscMax(r.lo[d], (int)f->box.lo[d]);
    r.hi[d] = PetscMin(r.hi[d], (int)(f->box.lo[d] + f->box.n[d]));
  }
  return r;
}

/* does the direction not exist? */
static inline bool IsPoint(const PatchFDLocalDesc *desc, int d)
{
  return desc->field->box.n[d] == 1 && desc->field->dir[d]->npatch == 1 && desc->field->dir[d]->n[0] == 1;
}

/* a patch of a direction: its first unknown, how many, and its class */
struct PlacePatch {
  int first, n, cls;
};

/* one class of patches of a direction, in device memory */
template <typename T>
struct PatchClass {
  int      n;
  const T *S, *T_, *MI, *AI, *lambda, *mu[2], *alpha[2];
};

template <typename T>
struct PatchDirection {
  const PatchClass<T> *cls;
  const int           *first, *number; /* first free node and class of each patch */
  int                  ext;            /* nodes of the closure on either side: 0 where the direction does not exist */
};

template <typename T>
struct PatchData {
  PatchDirection<T> d[3];
  RingLayout        l;
  Range             read;
  Team<T>           team;
  int               a, b; /* sizes of the first two blocks of a team */
};

/* any patches, one colour at a time */
template <typename T>
struct AnyPatches {
  PatchData<T> data;
  PetscInt     n[3]; /* largest patch */
  PlanMemory   memory;

  PetscErrorCode create(const PatchFDLocalDesc *);
  PetscErrorCode apply(const PatchShell &, PatchFDPatchOp, PetscReal omega, bool zero, void *x, const void *b, void *r, cudaStream_t);
  /* they have one unknown each */
  PetscErrorCode ones(const PatchShell &, PatchFDPatchOp, PetscReal omega, bool zero, void *x, const void *b, void *r, cudaStream_t);
  PetscLogDouble flops(const PetscInt size[3], PatchFDPatchOp, bool zero) const; /* of a patch of this size */

private:
  PetscErrorCode upload(const PatchFDPatches *, int d);
};

/*
  Patches in 2D or 3D with any matrices, as many as there are places in a direction, and up to 24 (in 2D 32) unknowns in each: those for
  which there is no SmootherFast.
  x = beta x + omega u as there.
*/
struct PlaceSmoother {
  virtual ~PlaceSmoother() { }
  virtual PetscErrorCode apply(const PatchShell &, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                               cudaStream_t) = 0;
  virtual bool           residuals() const   = 0; /* has it the next one, too? */
  /* r = b - A x at the unknowns */
  virtual PetscErrorCode residual(const PatchShell &, const void *x, const void *b, void *r, cudaStream_t) = 0;
};

/* *place stays as it is where there is none: for larger patches, on a GPU without the instructions.  FLAT: 2D */
template <typename T, bool FLAT>
PetscErrorCode SmootherPlaceCreate(const PatchFDLocalDesc *, PlaceSmoother **);
/* the same in 2D for patches of two cells whose masses are multiples of one matrix, without residuals; *strip stays as it is where patches
   are others */
template <typename T>
PetscErrorCode SmootherStripCreate(const PatchFDLocalDesc *, PlaceSmoother **strip);

/* a patch of one unknown in one direction: its row, from the node below on */
template <typename T>
struct StencilPlace {
  T M[3], A[3];
};

/* patches of one unknown: several colours in one pass.  PATCHFD_OP_BOUNDARY and PATCHFD_OP_FUSED are the same for them */
template <typename T>
struct Stencil {
  int              run[3][2];  /* the patches: first, end */
  bool             byplace;    /* they are not equal */
  T                w[2][2][2]; /* weights of equal ones by distance in x, y, z */
  PetscReal        scale;      /* 1 / w[0][0][0], or by place 1 */
  int              first[3];   /* node of patch 0, if that had one unknown, too */
  StencilPlace<T> *place[3];
  PlanMemory       memory;
  Layout           l;
  Range            read;
  /* resident: blocks of one parity of rows, of both, that a multiprocessor holds, by their warps */
  int multiprocessors, resident[2][33];

  /* ones: the patches of one unknown in each direction */
  PetscErrorCode create(const PatchFDLocalDesc *, const int ones[3][2], bool *exists);
  /* so many of these colours can be taken at once: 4, 2, 1, or 0 for none */
  PetscInt colors(PetscInt n, const PatchFDColor colors[], const PatchFDRange patches) const;
  /* 4, 2 or 1 */
  PetscErrorCode apply(PetscInt n, const PetscInt color[3], const PatchFDRange patches, PetscReal omega, void *x, const void *b,
                       cudaStream_t) const;

private:
  PetscErrorCode upload(const PatchFDPatches *, int d);
  PetscErrorCode occupancy();
  void           nodes(int d, const PatchFDRange patches, const PetscInt color[3], int *lo, int *hi, int *base) const;
};

} // namespace patchfd
