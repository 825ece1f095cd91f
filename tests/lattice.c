static char help
  [] = "The host kernels for linear elements on a lattice against a loop over simplices that has nothing in common with them: products, \
diagonals, sweeps of conjugate gradients, in both precisions.\n\
  -time n : instead, measure a product on n^3 cubes\n\n";

#include <patchfd/private/kernels.h>
#include <petscpatchfd.h>
#include <petsctime.h>

typedef struct {
  PatchFDLatticeDesc desc;
  PatchFDMaterial    material;
  PatchFDBox         all;      /* all nodes */
  unsigned char     *active;   /* of all cubes, or NULL */
  double            *c, *k[3]; /* at all nodes, or NULL */
  double             constc, constk[3];
} Problem;

static double Random(PetscRandom r, double lo, double hi)
{
  PetscReal v;

  PetscCallAbort(PETSC_COMM_SELF, PetscRandomGetValueReal(r, &v));
  return lo + (hi - lo) * v;
}

static PetscInt RandomInt(PetscRandom r, PetscInt lo, PetscInt hi)
{
  return PetscMin(hi, lo + (PetscInt)Random(r, 0, (double)(hi - lo + 1)));
}

static double At(const double *field, double constant, PetscInt i)
{
  return field ? field[i] : constant;
}

/* volume of a simplex with m + 1 corners, and its gradients of barycentric coordinates (columns of the inverse of the matrix of edges): by
   Gauss-Jordan */
static double Gradients(int m, double x[4][3], double g[4][3])
{
  double a[3][6], det = 1;

  for (int i = 0; i < m; i++)
    for (int j = 0; j < 2 * m; j++) a[i][j] = j < m ? x[i + 1][j] - x[0][j] : j - m == i;
  for (int c = 0; c < m; c++) {
    int    p = c;
    double t;

    for (int i = c; i < m; i++)
      if (PetscAbsReal(a[i][c]) > PetscAbsReal(a[p][c])) p = i;
    if (p != c) det = -det;
    for (int j = 0; j < 2 * m; j++) {
      t       = a[p][j];
      a[p][j] = a[c][j];
      a[c][j] = t;
    }
    det *= a[c][c];
    t = a[c][c];
    for (int j = 0; j < 2 * m; j++) a[c][j] /= t;
    for (int i = 0; i < m; i++) {
      t = a[i][c];
      for (int j = 0; j < 2 * m && i != c; j++) a[i][j] -= t * a[c][j];
    }
  }
  for (int d = 0; d < m; d++) {
    g[0][d] = 0;
    for (int v = 1; v <= m; v++) {
      g[v][d] = a[d][m + v - 1];
      g[0][d] -= g[v][d];
    }
  }
  return PetscAbsReal(det) / (m == 3 ? 6 : m);
}

/* y += A x and D += the diagonal, simplex by simplex */
static void Reference(const Problem *p, const double *x, double *y, double *D, int *touched)
{
  static const int tets[6][4] = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 4, 5, 7}, {0, 2, 3, 7}, {0, 4, 6, 7}, {0, 2, 6, 7}},
                   tris[2][3] = {{0, 1, 3}, {0, 2, 3}};
  const int       dim = (int)p->desc.dim, nsimplex = dim == 3 ? 6 : dim;
  const PetscInt *n    = p->desc.n;
  PetscInt        cube = 0;

  for (PetscInt ck = 0; ck < (dim > 2 ? n[2] : 1); ck++) {
    for (PetscInt cj = 0; cj < (dim > 1 ? n[1] : 1); cj++) {
      for (PetscInt ci = 0; ci < n[0]; ci++, cube++) {
        if (p->active && !p->active[cube]) continue;
        for (int s = 0; s < nsimplex; s++) {
          double   X[4][3] = {{0}}, g[4][3], V, c = 0, k[3] = {0};
          PetscInt v[4], pos[4][3];

          for (int i = 0; i <= dim; i++) {
            const int corner = dim == 3 ? tets[s][i] : (dim == 2 ? tris[s][i] : i);

            pos[i][0] = ci + (corner & 1);
            pos[i][1] = cj + (corner >> 1 & 1);
            pos[i][2] = ck + (corner >> 2 & 1);
            v[i]      = PatchFDBoxNode(&p->all, pos[i][0], pos[i][1], pos[i][2]);
            touched[v[i]]++;
            c += At(p->c, p->constc, v[i]) / (dim + 1);
            for (int d = 0; d < dim; d++) {
              X[i][d] = pos[i][d] * p->desc.h[d];
              k[d] += At(p->k[d], p->constk[d], v[i]) / (dim + 1);
            }
          }
          V = Gradients(dim, X, g);
          for (int a = 0; a <= dim; a++) {
            for (int b = 0; b <= dim; b++) {
              double e = p->material.mass * c * V / ((dim + 1) * (dim + 2)) * (1 + (a == b));

              for (int d = 0; d < dim; d++) e += p->material.stiffness * V * k[d] * g[a][d] * g[b][d];
              for (int side = 0; side < 2 * dim; side++) { /* are all corners but one on it, and these two among them? */
                const int d  = side / 2;
                int       on = 0;
                double    F[4][3], gf[4][3], area;

                for (int i = 0; i <= dim; i++) {
                  if (pos[i][d] != (side % 2 ? n[d] : 0)) continue;
                  for (int q = 0, t = 0; q < dim; q++)
                    if (q != d) F[on][t++] = X[i][q];
                  on++;
                }
                if (on != dim || pos[a][d] != pos[b][d] || pos[a][d] != (side % 2 ? n[d] : 0)) continue;
                area = dim > 1 ? Gradients(dim - 1, F, gf) : 1;
                e += p->material.side * p->desc.robin[side] * area / (dim * (dim + 1)) * (1 + (a == b));
              }
              y[v[a]] += e * x[v[b]];
              if (a == b) D[v[a]] += e;
            }
          }
        }
      }
    }
  }
}

/* an array over a box in the table's precision, from one over all nodes; NULL stays NULL */
static PetscErrorCode Part(PatchFDKernels kern, const PatchFDBox *all, const double *from, const PatchFDBox *box, void **to)
{
  PetscInt m = 0;

  PetscFunctionBeginUser;
  *to = NULL;
  if (!from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc(PatchFDBoxSize(box) * kern->size, to)); /* no more, so that reads beyond are found */
  for (PetscInt k = 0; k < box->n[2]; k++)
    for (PetscInt j = 0; j < box->n[1]; j++)
      for (PetscInt i = 0; i < box->n[0]; i++, m++) {
        const double v = from[PatchFDBoxNode(all, box->lo[0] + i, box->lo[1] + j, box->lo[2] + k)];

        if (kern->size == sizeof(double)) ((double *)*to)[m] = v;
        else ((float *)*to)[m] = (float)v;
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Value(PatchFDKernels kern, const void *a, ptrdiff_t i)
{
  return kern->size == sizeof(double) ? ((const double *)a)[i] : ((const float *)a)[i];
}

static PetscErrorCode RandomField(PetscRandom r, size_t n, double lo, double hi, double **f)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, f));
  for (size_t i = 0; i < n; i++) (*f)[i] = Random(r, lo, hi);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a lattice of a dimension, a part of it as a rank has it, sides with fixed values, materials and a body of any kind */
static PetscErrorCode ProblemCreate(PetscRandom r, PetscInt dim, Problem *p)
{
  const PetscInt kind = RandomInt(r, 0, 4), whole = RandomInt(r, 0, 2) == 0, cubes = RandomInt(r, 0, 1);
  size_t         ncubes = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->desc.dim = dim;
  for (int d = 0; d < 3; d++) {
    const PetscBool exists = (PetscBool)(d < dim);
    const PetscInt  n      = exists ? RandomInt(r, 1, d ? 5 : 40) : 1;

    p->desc.n[d] = n;
    p->desc.h[d] = cubes ? 0.5 : Random(r, 0.5, 2);
    p->all.n[d]  = exists ? n + 1 : 1;
    ncubes *= (size_t)n;
    p->desc.ybox.lo[d] = exists ? RandomInt(r, 0, n) : 0;
    p->desc.ybox.n[d]  = exists ? RandomInt(r, 1, n + 1 - p->desc.ybox.lo[d]) : 1;
    p->desc.xbox.lo[d] = PetscMax(0, p->desc.ybox.lo[d] - 1);
    p->desc.xbox.n[d]  = PetscMin(p->all.n[d], p->desc.ybox.lo[d] + p->desc.ybox.n[d] + RandomInt(r, 1, 2)) - p->desc.xbox.lo[d];
    p->desc.read[d][0] = exists ? RandomInt(r, 0, 1) : 0;
    p->desc.read[d][1] = exists ? n + RandomInt(r, 0, 1) : 1;
    PetscCall(PetscArraycpy(p->desc.write[d], p->desc.read[d], 2));
    if (!whole) continue;
    p->desc.xbox.lo[d] = p->desc.ybox.lo[d] = 0;
    p->desc.xbox.n[d] = p->desc.ybox.n[d] = p->all.n[d];
  }
  p->material.mass      = kind == 1 ? 0 : Random(r, 0.5, 2);
  p->material.stiffness = kind == 2 ? 0 : Random(r, 0.5, 2);
  p->material.side      = Random(r, 0.5, 2);
  p->material.identity  = Random(r, 0, 2);
  for (int s = 0; s < 6; s++) p->desc.robin[s] = RandomInt(r, 0, 1) ? Random(r, 0, 3) : 0;
  p->constc = Random(r, 0.5, 2);
  if (RandomInt(r, 0, 3)) PetscCall(RandomField(r, PatchFDBoxSize(&p->all), 0.5, 2, &p->c));
  p->constk[0] = p->constk[1] = p->constk[2] = Random(r, 0.5, 2);
  if (kind == 3)
    for (int d = 0; d < 3; d++) { /* a tensor, of some fields and some constants */
      p->constk[d] = Random(r, 0.5, 2);
      if (RandomInt(r, 0, 1)) PetscCall(RandomField(r, PatchFDBoxSize(&p->all), 0.5, 2, &p->k[d]));
    }
  else if (kind) {
    PetscCall(RandomField(r, PatchFDBoxSize(&p->all), 0.5, 2, &p->k[0]));
    p->k[1] = p->k[2] = p->k[0];
  }
  if (RandomInt(r, 0, 1)) {
    const PetscInt holes = RandomInt(r, 2, 10);

    PetscCall(PetscMalloc1(ncubes, &p->active));
    for (size_t i = 0; i < ncubes; i++) p->active[i] = (unsigned char)(RandomInt(r, 0, holes) > 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(p->c));
  for (int d = 1; d < 3; d++)
    if (p->k[d] != p->k[0]) PetscCall(PetscFree(p->k[d]));
  PetscCall(PetscFree(p->k[0]));
  PetscCall(PetscFree(p->active));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cubes of xbox among all */
static PetscErrorCode PartOfBody(const Problem *p, unsigned char **active)
{
  const PatchFDBox *box  = &p->desc.xbox;
  const PetscInt    n[3] = {box->n[0] - 1, p->desc.dim > 1 ? box->n[1] - 1 : 1, p->desc.dim > 2 ? box->n[2] - 1 : 1};

  PetscFunctionBeginUser;
  *active = NULL;
  if (!p->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n[0] * n[1] * n[2], active));
  for (PetscInt k = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++)
      for (PetscInt i = 0; i < n[0]; i++)
        (*active)[(k * n[1] + j) * n[0] + i] = p->active[((box->lo[2] + k) * p->desc.n[1] + box->lo[1] + j) * p->desc.n[0] + box->lo[0] +
                                                         i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetValue(PatchFDKernels kern, void *a, size_t i, double v)
{
  if (kern->size == sizeof(double)) ((double *)a)[i] = v;
  else ((float *)a)[i] = (float)v;
}

/* p = d r + b q, w = A p, where rows that are not written are those of the identity, and p'w; with d and without, with b = 0, where q may
   be anything */
static PetscErrorCode CompareSweep(PetscRandom rnd, PatchFDKernels kern, const Problem *p, void *plan, const PatchFDMaterial *m,
                                   double *error)
{
  const PatchFDRange *write = &p->desc.write;
  const size_t        n     = PatchFDBoxSize(&p->all);
  void               *v[5]; /* d, r, q; p and w */

  PetscFunctionBeginUser;
  for (int i = 0; i < 5; i++) PetscCall(PetscMalloc1(n * kern->size, (char **)&v[i]));
  for (int mode = 0; mode < 3; mode++) {
    PatchFDSweep sweep = {.b = mode == 2 ? 0 : 0.7, .pw = 3};
    double       pw = 0, scale = 0;
    size_t       at = 0;

    for (size_t i = 0; i < n; i++) {
      for (int j = 0; j < 3; j++) SetValue(kern, v[j], i, j == 2 && mode == 2 ? NAN : Random(rnd, -1, 1));
    }
    PetscCall((*kern->latticesweep)(plan, m, mode == 1 ? NULL : v[0], v[1], v[2], v[3], v[4], &sweep));
    for (size_t i = 0; i < n; i++)
      *error = PetscMax(*error, PetscAbsReal((mode == 1 ? 1 : Value(kern, v[0], i)) * Value(kern, v[1], i) +
                                             (mode == 2 ? 0 : 0.7 * Value(kern, v[2], i)) - Value(kern, v[3], i)));
    PetscCall((*kern->latticeapply)(plan, m, 1, v[3], NULL, v[2]));
    for (PetscInt k = 0; k < p->all.n[2]; k++)
      for (PetscInt j = 0; j < p->all.n[1]; j++)
        for (PetscInt i = 0; i < p->all.n[0]; i++, at++) {
          const PetscBool written = (PetscBool)(i >= (*write)[0][0] && i < (*write)[0][1] && j >= (*write)[1][0] && j < (*write)[1][1] &&
                                                k >= (*write)[2][0] && k < (*write)[2][1]);
          const double    want    = Value(kern, v[written ? 2 : 3], at);

          *error = PetscMax(*error, PetscAbsReal(want - Value(kern, v[4], at)));
          pw += want * Value(kern, v[3], at);
          scale += PetscAbsReal(want * Value(kern, v[3], at));
        }
    *error = PetscMax(*error, PetscAbsReal(pw - sweep.pw) / PetscMax(scale, 1));
  }
  for (int i = 0; i < 5; i++) PetscCall(PetscFree(v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the largest difference between what the kernels make of a problem and the reference */
static PetscErrorCode Compare(PetscRandom r, PatchFDKernels kern, Problem *p, double *error)
{
  const size_t      n     = PatchFDBoxSize(&p->all);
  const double      alpha = Random(r, -2, 2);
  const PatchFDBox *ybox  = &p->desc.ybox;
  const PetscInt    mode  = RandomInt(r, 0, 2); /* y0: none, another array, y */
  double           *x, *y0, *Ax, *D;
  int              *touched;
  void             *ax, *ay0, *ay, *ad, *plan = NULL;
  PatchFDMaterial   m = p->material;
  unsigned char    *active;

  PetscFunctionBeginUser;
  PetscCall(RandomField(r, n, -1, 1, &x));
  PetscCall(RandomField(r, n, -1, 1, &y0));
  PetscCall(PetscCalloc3(n, &Ax, n, &D, n, &touched));
  PetscCall(Part(kern, &p->all, x, &p->desc.xbox, &ax));
  for (PetscInt k = 0, i = 0; k < p->all.n[2]; k++)
    for (PetscInt j = 0; j < p->all.n[1]; j++)
      for (PetscInt l = 0; l < p->all.n[0]; l++, i++)
        if (l < p->desc.read[0][0] || l >= p->desc.read[0][1] || j < p->desc.read[1][0] || j >= p->desc.read[1][1] ||
            k < p->desc.read[2][0] || k >= p->desc.read[2][1])
          x[i] = 0;
  Reference(p, x, Ax, D, touched);
  m.constcapacity = p->constc;
  PetscCall(Part(kern, &p->all, p->c, &p->desc.xbox, (void **)&m.capacity));
  for (int d = 0; d < 3; d++) {
    m.constconductivity[d] = p->constk[d];
    if (d && p->k[d] == p->k[0]) m.conductivity[d] = m.conductivity[0];
    else PetscCall(Part(kern, &p->all, p->k[d], &p->desc.xbox, (void **)&m.conductivity[d]));
  }
  PetscCall(PartOfBody(p, &active));
  PetscCall(Part(kern, &p->all, y0, ybox, &ay0));
  PetscCall(Part(kern, &p->all, y0, ybox, &ay));
  PetscCall(Part(kern, &p->all, y0, ybox, &ad));
  p->desc.active = active;
  PetscCall((*kern->latticecreate)(&p->desc, &plan));
  PetscCall(PetscFree(active)); /* the plan has a copy */
  p->desc.active = NULL;
  PetscCall((*kern->latticeapply)(plan, &m, alpha, ax, mode == 0 ? NULL : (mode == 1 ? ay0 : ay), ay));
  PetscCall((*kern->latticediagonal)(plan, &m, ad));
  if (PatchFDBoxSize(ybox) == n) PetscCall(CompareSweep(r, kern, p, plan, &m, error));
  PetscCall((*kern->latticedestroy)(&plan));
  for (PetscInt k = 0, i = 0; k < ybox->n[2]; k++)
    for (PetscInt j = 0; j < ybox->n[1]; j++)
      for (PetscInt l = 0; l < ybox->n[0]; l++, i++) {
        const PetscInt node[3] = {ybox->lo[0] + l, ybox->lo[1] + j, ybox->lo[2] + k},
                       at      = PatchFDBoxNode(&p->all, node[0], node[1], node[2]);
        PetscBool written      = PETSC_TRUE;
        double    want, diagonal;

        for (int d = 0; d < 3; d++) written = (PetscBool)(written && node[d] >= p->desc.write[d][0] && node[d] < p->desc.write[d][1]);
        want     = (mode ? y0[at] : 0) + (written ? alpha * (touched[at] ? Ax[at] : p->material.identity * x[at]) : 0);
        diagonal = written && touched[at] ? D[at] : p->material.identity;
        *error   = PetscMax(*error, PetscAbsReal(want - Value(kern, ay, i)));
        *error   = PetscMax(*error, PetscAbsReal(diagonal - Value(kern, ad, i)));
      }
  PetscCall(PetscFree(ax));
  PetscCall(PetscFree(ay));
  PetscCall(PetscFree(ay0));
  PetscCall(PetscFree(ad));
  PetscCall(PetscFree(m.capacity));
  for (int d = 2; d >= 0; d--)
    if (!d || m.conductivity[d] != m.conductivity[0]) PetscCall(PetscFree(m.conductivity[d]));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y0));
  PetscCall(PetscFree3(Ax, D, touched));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a product with fields, with constants, in ns a node */
static PetscErrorCode Time(PatchFDKernels kern, PetscInt n)
{
  const size_t       size = (size_t)(n + 1) * (size_t)(n + 1) * (size_t)(n + 1);
  PatchFDLatticeDesc desc = {.dim = 3};
  PatchFDMaterial    m    = {.mass = 1, .stiffness = 1, .constcapacity = 1, .constconductivity = {1, 1, 1}};
  void              *plan = NULL, *a[4];

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    desc.h[d]      = 1;
    desc.n[d]      = n;
    desc.xbox.n[d] = desc.ybox.n[d] = desc.read[d][1] = desc.write[d][1] = n + 1;
  }
  for (int i = 0; i < 4; i++) {
    PetscCall((*kern->malloc)(size, &a[i]));
    for (size_t l = 0; l < size; l++) {
      if (kern->size == 8) ((double *)a[i])[l] = 1 + (double)(l % 7);
      else ((float *)a[i])[l] = 1 + (float)(l % 7);
    }
  }
  PetscCall((*kern->latticecreate)(&desc, &plan));
  for (int fields = 0; fields < 2; fields++) {
    PetscLogDouble t0, t1, best = 1e9;

    if (fields) m.capacity = a[2];
    for (int d = 0; d < 3 && fields; d++) m.conductivity[d] = a[3];
    for (int i = 0; i < 5; i++) {
      PetscCall(PetscTime(&t0));
      PetscCall((*kern->latticeapply)(plan, &m, 1, a[0], NULL, a[1]));
      PetscCall(PetscTime(&t1));
      best = PetscMin(best, t1 - t0);
    }
    PetscCall(
      PetscPrintf(PETSC_COMM_SELF, "%s, %s: %.2f ns a node\n", kern->name, fields ? "two fields" : "constants", 1e9 * best / (double)size));
  }
  PetscCall((*kern->latticedestroy)(&plan));
  for (int i = 0; i < 4; i++) PetscCall((*kern->free)(a[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PatchFDKernels tables[2] = {&PatchFDKernelsHostDouble, &PatchFDKernelsHostFloat};
  PetscRandom          r;
  PetscInt             n = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &r));
  PetscCall(PetscRandomSetFromOptions(r));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-time", &n, NULL));
  for (int t = 0; t < 2; t++) {
    if (n) PetscCall(Time(tables[t], n));
    for (PetscInt dim = 1; dim <= 3 && !n; dim++) {
      double error = 0;

      for (int i = 0; i < 200; i++) {
        Problem p;

        PetscCall(ProblemCreate(r, dim, &p));
        PetscCall(Compare(r, tables[t], &p, &error));
        PetscCall(ProblemDestroy(&p));
      }
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, dimension %" PetscInt_FMT ": %s\n", tables[t]->name, dim,
                            error < (t ? 2e-4 : 1e-12) ? "ok" : "wrong"));
      if (error >= (t ? 2e-4 : 1e-12)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  error %g\n", error));
      PetscCall(PetscInfo(NULL, "error %g\n", error));
    }
  }
  PetscCall(PetscRandomDestroy(&r));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
