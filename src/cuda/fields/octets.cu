/* Lists of octets (fields.cuh) */
#include "fields/fields.cuh"

namespace patchfd
{

/* numbers of a field that block b has in direction d */
static int FieldsHalf(const PatchFDDense *dense, int f, int b, int d)
{
  const int n = (int)dense->n[f][d], bit = b >> d & 1;

  if (!dense->parity[d]) return bit ? 0 : n;
  return bit != (int)dense->odd[f][d] ? n / 2 : (n + 1) / 2;
}

/* the block of member b of a field's octets: where the field is odd, differences belong to sums of the others */
static int FieldsBlock(const PatchFDDense *dense, int f, int b)
{
  for (int d = 0; d < 3; d++)
    if (dense->parity[d] && dense->odd[f][d]) b ^= 1 << d;
  return b;
}

void FieldsOctets(const PatchFDDense *dense, std::vector<FieldsOctet> &octets)
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

} // namespace patchfd
