/*
  y = y0 + alpha A x,  A a sum of products of bands, in one continuous field whose cells may be coupled to those beside them.

    operator.cu       what is chosen when; from bands to the numbers of cells; the generic kernel (any sum of terms)
    operator_fast.cu  the kernel for fourth-order forms in 2D and 3D, one degree, any meshes (formula and mapping there)

  With masses M, stiffnesses K and matrices B of reach 1, the fast kernel does sums of these in any proportion:

    B (x) M (x) M + M (x) B (x) M + M (x) M (x) B + K (x) K (x) M + K (x) M (x) K + M (x) K (x) K

  in 2D B (x) M + M (x) B + K (x) K.  On each cell M and K are multiples of the reference cell's (base/reference.cuh), and

    B u = ( a H + s M ) u + sum_ends g (gg g.u + gb b.u + p g'.u' + q b'.u') + b (gb g.u + r g'.u')

  with the bending stiffness H, the functionals g and b of an end, its first derivative inward and its second derivative, and ' for those
  of the cell beside it.  So cells differ by 14 numbers, M, K, H, g and b are the same for all cells of all meshes, and a cell gets two
  numbers from the one beside it.
*/
#pragma once
#include "base/cuda.cuh"
#include "base/reference.cuh"

namespace patchfd
{

/* what a cell has in one direction: multiples of M, of K, a and s; for each end gg, gb, p, q, r */
enum {
  BAND_M,
  BAND_K,
  BAND_A,
  BAND_S,
  BAND_END,
  BAND_GG = 0,
  BAND_GB,
  BAND_P,
  BAND_Q,
  BAND_R,
  BAND_PER_END,
  BAND_CELL = BAND_END + 2 * BAND_PER_END
};

/* which band of a direction: the place of a term in coef[][][] */
enum {
  ROLE_M,
  ROLE_K,
  ROLE_B,
  ROLES
};

/* a form that the fast kernel can do; in 2D the third direction is a point, whose value is in the coefficients */
struct BandForm {
  int                    degree, dim;
  CellReference          reference;
  std::vector<PetscReal> numbers[3]; /* of all cells of the lines, [BAND_CELL] each */
  PetscReal              coef[ROLES][ROLES][ROLES];
  PatchFDBox             xbox, ybox;
  PatchFDRange           read, write, cells;
};

struct BandOperatorFast {
  virtual ~BandOperatorFast() { }
  /* writes all of y */
  virtual PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t) const = 0;
  /* r = b - A x at the nodes inside the patches of a colour, which are two cells a direction; other numbers of r become anything */
  virtual PetscErrorCode residual(const PatchFDColor &, const void *x, const void *b, void *r, cudaStream_t) const = 0;
};

static constexpr int band_fast_degrees = 8; /* of the fast kernel, from 2 on */

template <typename T, int DIM>
PetscErrorCode BandOperatorFastCreate(const BandForm *, BandOperatorFast **);

template <typename T>
struct BandOperator {
  /* is there a kernel for this form? */
  static bool           takes(const PatchFDOperatorDesc *);
  static PetscErrorCode create(const PatchFDOperatorDesc *, void **);
  static PetscErrorCode apply(void *, PetscReal, const void *, const void *, void *);
  static PetscErrorCode residual(void *, const PatchFDColor *, const void *, const void *, void *);
};

} // namespace patchfd
