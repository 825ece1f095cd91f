static char help[] = "CUDA kernels for discontinuous fields against references made from the one-dimensional matrices, in both precisions, on random data.\n\
  -dim <d>, -degrees <k,...>, -cells <n,...>, -graded, -neumann : the meshes\n\
  -time <n> : no comparison, but the time of each kernel on a mesh of about n unknowns, as many cells in each direction\n\n";

#include <patchfd/private/kernels.h>
#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #include <petscpatchfd.h>

typedef struct {
  PetscInt       dim, degree, cells[3], stride[3]; /* nodes of a cell */
  PatchFDLine    line[3];
  PatchFDBand    M[3], A[3];
  PatchFDPatches patch[3];
  PatchFDBox     box;
  PatchFDTerm    term[3];
} Mesh;

static PetscErrorCode MeshCreate(PetscInt dim, PetscInt degree, const PetscInt cells[3], PetscBool graded, PetscBool neumann, PetscInt ratio, Mesh *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  m->dim    = dim;
  m->degree = degree;
  for (int d = 0; d < 3; d++) {
    const PetscInt  k = d < dim ? degree : 0, refine = d < dim ? ratio : 1, n = d < dim ? cells[d] * refine : 1;
    const PetscBool dirichlet[2] = {(PetscBool)(d < dim && !(neumann && d != 1)), (PetscBool)(d < dim && !(neumann && d == 1))};
    PetscReal      *v;

    PetscCall(PetscMalloc1(n + 1, &v));
    for (PetscInt i = 0; i <= n; i++) {
      const PetscReal s = (PetscReal)(i / refine) / (n / refine), t = (PetscReal)(i / refine + 1) / (n / refine);
      const PetscReal a = graded ? s + 0.3 * s * s : s * (1 + d), b = graded ? t + 0.3 * t * t : t * (1 + d);

      v[i] = a + (b - a) * (i % refine) / refine;
    }
    m->cells[d]  = n;
    m->stride[d] = k + 1;
    PetscCall(PatchFDLineCreate(d < dim ? PATCHFD_DISCONTINUOUS : PATCHFD_CONTINUOUS, k, n, v, dirichlet, &m->line[d]));
    PetscCall(PatchFDBandMass(&m->line[d], &m->M[d]));
    PetscCall(PatchFDBandLaplace(&m->line[d], 1 + 0.1 * d, d ? 0 : 0.5, k * (k + 1), 2 * k * (k + 1), &m->A[d]));
    PetscCall(PatchFDPatchesCreate(&m->line[d], &m->M[d], &m->A[d], &m->patch[d]));
    PetscCall(PetscFree(v));
    m->box.lo[d] = 0;
    m->box.n[d]  = m->line[d].nnodes;
  }
  for (int t = 0; t < 3; t++) {
    m->term[t].coef = 1;
    for (int d = 0; d < 3; d++) m->term[t].dir[d] = d == t ? &m->A[d] : &m->M[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshDestroy(Mesh *m)
{
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDPatchesDestroy(&m->patch[d]));
    PetscCall(PatchFDBandDestroy(&m->A[d]));
    PetscCall(PatchFDBandDestroy(&m->M[d]));
    PetscCall(PatchFDLineDestroy(&m->line[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- references: double precision, arrays over all nodes of the mesh ---- */

/* out += (X along direction d) in, where X has the entries of a band and out and in are n[0] x n[1] x n[2] */
static void AddBand(const PatchFDBand *b, int d, const PetscInt n[3], const PetscReal in[], PetscReal out[])
{
  const PetscInt inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1), outer = (d < 1 ? n[1] : 1) * (d < 2 ? n[2] : 1), width = (2 * b->reach + 1) * b->nloc;

  for (PetscInt o = 0; o < outer; o++) {
    for (PetscInt i = 0; i < n[d]; i++) {
      const PetscReal *X = b->X + (b->cls[i / b->nloc] * b->nloc + i % b->nloc) * width;

      for (PetscInt l = 0; l < width; l++) {
        const PetscInt j = (i / b->nloc - b->reach) * b->nloc + l;

        for (PetscInt s = 0; s < inner && j >= 0 && j < n[d]; s++) out[(o * n[d] + i) * inner + s] += X[l] * in[(o * n[d] + j) * inner + s];
      }
    }
  }
}

/* y = A x */
static PetscErrorCode ReferenceOperator(const Mesh *m, const PetscReal x[], PetscReal y[])
{
  const size_t n = PatchFDBoxSize(&m->box);
  PetscReal   *v[2];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &v[0], n, &v[1]));
  PetscCall(PetscArrayzero(y, n));
  for (int t = 0; t < 3; t++) {
    for (int d = 0; d < 3; d++) {
      PetscReal *out = d == 2 ? y : v[d];

      if (d < 2) PetscCall(PetscArrayzero(out, n));
      AddBand(m->term[t].dir[d], d, m->box.n, d ? v[d - 1] : x, out);
    }
  }
  PetscCall(PetscFree2(v[0], v[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = (S S S) D^-1 (S S S)' v, n nodes a direction */
static PetscErrorCode ReferenceSolve(const PatchFDEigen *e[3], PetscReal v[])
{
  const PetscInt n[3] = {e[0]->n, e[1]->n, e[2]->n}, size = n[0] * n[1] * n[2];
  PetscReal     *w;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(size, &w));
  for (int back = 0; back < 2; back++) {
    for (int d = 0; d < 3; d++) {
      const PetscInt inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1);

      PetscCall(PetscArraycpy(w, v, size));
      for (PetscInt i = 0; i < size; i++) {
        const PetscInt at = i / inner % n[d];

        v[i] = 0;
        for (PetscInt j = 0; j < n[d]; j++) v[i] += e[d]->S[back ? at * n[d] + j : j * n[d] + at] * w[i + (j - at) * inner];
      }
    }
    for (PetscInt i = 0; i < size && !back; i++) {
      const PetscReal D = e[0]->lambda[i % n[0]] + e[1]->lambda[i / n[0] % n[1]] + e[2]->lambda[i / n[0] / n[1]];

      v[i] = D == 0 ? 0 : v[i] / D;
    }
  }
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the patches of a colour, by its definition; all of them see the same x */
static PetscErrorCode ReferenceColor(const Mesh *m, PatchFDPatchOp op, PetscInt nphase, const PatchFDColor *color, const PatchFDRange patches, PetscReal omega,
                                     PetscReal x[], const PetscReal b[], PetscReal r[])
{
  const size_t n = PatchFDBoxSize(&m->box);
  PetscReal   *res, *v;
  PetscInt     p[3], size = 1;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) size *= 2 * m->stride[d];
  PetscCall(PetscMalloc2(n, &res, size, &v));
  if (op == PATCHFD_OP_SOLVE) PetscCall(PetscArraycpy(res, r, n));
  else {
    PetscCall(ReferenceOperator(m, x, res));
    for (size_t i = 0; i < n; i++) res[i] = b[i] - res[i];
  }
  for (p[2] = patches[2][0]; p[2] < patches[2][1]; p[2]++) {
    for (p[1] = patches[1][0]; p[1] < patches[1][1]; p[1]++) {
      for (p[0] = patches[0][0]; p[0] < patches[0][1]; p[0]++) {
        const PatchFDEigen *e[3];
        PetscInt            first[3], sum = 0, i = 0;
        PetscBool           member = PETSC_TRUE;

        for (int d = 0; d < 3; d++) {
          const PatchFDPatches *pd = &m->patch[d];

          e[d]     = &pd->eigen[pd->cls[p[d]]];
          first[d] = pd->first[p[d]];
          sum += pd->cell[p[d]] / 2;
          member = (PetscBool)(member && pd->cell[p[d]] % 2 == color->parity[d]);
        }
        if (!member || (nphase == 2 && sum % 2 != color->phase)) continue;
        for (int pass = 0; pass < 2; pass++) {
          i = 0;
          for (PetscInt c = 0; c < e[2]->n; c++) {
            for (PetscInt a = 0; a < e[1]->n; a++) {
              for (PetscInt s = 0; s < e[0]->n; s++, i++) {
                const ptrdiff_t at = PatchFDBoxNode(&m->box, first[0] + s, first[1] + a, first[2] + c);

                if (op == PATCHFD_OP_RESIDUAL) r[at] = res[at];
                else if (pass) x[at] += omega * v[i];
                else v[i] = res[at];
              }
            }
          }
          if (!pass && op != PATCHFD_OP_RESIDUAL) PetscCall(ReferenceSolve(e, v));
        }
      }
    }
  }
  PetscCall(PetscFree2(res, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- an array over a box on the device, and the numbers that it should have at all nodes of the mesh ---- */

typedef struct {
  PatchFDKernels k;
  PatchFDBox     box, all;
  PetscReal     *ref;
  void          *d, *h;
} Array;

/* random numbers; outside the box (of the reference) zero */
static PetscErrorCode ArrayCreate(PatchFDKernels k, const PatchFDBox *all, const PatchFDBox *box, Array *a)
{
  PetscFunctionBeginUser;
  a->k   = k;
  a->box = *box;
  a->all = *all;
  PetscCall(k->malloc(PatchFDBoxSize(box), &a->d));
  PetscCall(PetscMalloc(PatchFDBoxSize(box) * k->size, &a->h));
  PetscCall(PetscCalloc1(PatchFDBoxSize(all), &a->ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArrayDestroy(Array *a)
{
  PetscFunctionBeginUser;
  PetscCall(a->k->free(a->d));
  PetscCall(PetscFree(a->h));
  PetscCall(PetscFree(a->ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rnd NULL: zeros */
static PetscErrorCode ArrayFill(Array *a, PetscRandom rnd)
{
  const PatchFDBox *b = &a->box;
  size_t            i = 0;

  PetscFunctionBeginUser;
  for (PetscInt z = 0; z < b->n[2]; z++) {
    for (PetscInt y = 0; y < b->n[1]; y++) {
      for (PetscInt x = 0; x < b->n[0]; x++, i++) {
        PetscReal v = 0.5;

        if (rnd) PetscCall(PetscRandomGetValueReal(rnd, &v));
        v -= 0.5;
        if (a->k->size == sizeof(double)) ((double *)a->h)[i] = v;
        else ((float *)a->h)[i] = (float)v;
        a->ref[PatchFDBoxNode(&a->all, b->lo[0] + x, b->lo[1] + y, b->lo[2] + z)] = a->k->size == sizeof(double) ? v : (float)v;
      }
    }
  }
  PetscCallCUDA(cudaMemcpy(a->d, a->h, i * a->k->size, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* largest difference relative to the largest number, and where it is; the device's numbers then become the reference's */
static PetscErrorCode ArrayCompare(const char *what, const Mesh *m, Array *a, PetscInt *failures)
{
  const PatchFDBox *b    = &a->box;
  const PetscBool   dbl  = (PetscBool)(a->k->size == sizeof(double));
  PetscReal         diff = 0, max = 0;
  PetscInt          at[3] = {0, 0, 0}, wrong = 0;
  size_t            i = 0;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(a->h, a->d, PatchFDBoxSize(b) * a->k->size, cudaMemcpyDeviceToHost));
  for (size_t j = 0; j < PatchFDBoxSize(&a->all); j++) max = PetscMax(max, PetscAbsReal(a->ref[j]));
  for (PetscInt z = 0; z < b->n[2]; z++) {
    for (PetscInt y = 0; y < b->n[1]; y++) {
      for (PetscInt x = 0; x < b->n[0]; x++, i++) {
        const PetscReal v = dbl ? ((double *)a->h)[i] : ((float *)a->h)[i];
        PetscReal      *r = &a->ref[PatchFDBoxNode(&a->all, b->lo[0] + x, b->lo[1] + y, b->lo[2] + z)], e = PetscAbsReal(v - *r);

        if (!(e <= (dbl ? 1e-11 : 3e-5) * max)) wrong++;
        if (!(e <= diff)) {
          diff  = e;
          at[0] = b->lo[0] + x;
          at[1] = b->lo[1] + y;
          at[2] = b->lo[2] + z;
        }
        *r = v;
      }
    }
  }
  if (wrong) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT "D, degree %" PetscInt_FMT ", %s, %s: ", m->dim, m->degree, a->k->name, what));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " of %zu numbers differ; largest difference %g of %g at node (%" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT ")\n", wrong, PatchFDBoxSize(b), (double)diff, (double)max, at[0], at[1], at[2]));
    (*failures)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cells -> nodes */
static void BoxOfCells(const Mesh *m, const PatchFDRange cells, PatchFDBox *box)
{
  for (int d = 0; d < 3; d++) {
    box->lo[d] = cells[d][0] * m->stride[d];
    box->n[d]  = (cells[d][1] - cells[d][0]) * m->stride[d];
  }
}

/* part 0: all cells; 1: the upper half of each direction with a layer of cells around it, 2: the lower half */
static void Cells(const Mesh *m, int part, PetscInt layer, PatchFDRange cells)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt half = m->cells[d] / 2;

    cells[d][0] = part == 1 ? PetscMax(0, half - layer) : 0;
    cells[d][1] = part == 2 && half ? PetscMin(m->cells[d], half + layer) : m->cells[d];
  }
}

static PetscErrorCode TestOperator(const Mesh *m, int part, PatchFDKernels k, PetscRandom rnd, PetscInt *failures)
{
  PatchFDField        field;
  PatchFDOperatorDesc desc = {.nfield = 1, .nterm = 3, .field = &field, .term = m->term};
  PatchFDRange        around;
  PetscReal          *Ax;
  Array               x, y0, y;
  void               *plan = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&field, sizeof(field)));
  Cells(m, part, 0, desc.cells);
  Cells(m, part, 1, around);
  BoxOfCells(m, around, &field.xbox);
  BoxOfCells(m, part == 2 ? around : desc.cells, &field.ybox); /* 2: there are rows that do not belong to the cells */
  for (int d = 0; d < 3; d++) {
    field.read[d][0]  = field.xbox.lo[d];
    field.read[d][1]  = field.xbox.lo[d] + field.xbox.n[d];
    field.write[d][0] = field.ybox.lo[d];
    field.write[d][1] = field.ybox.lo[d] + field.ybox.n[d];
  }
  PetscCall(ArrayCreate(k, &m->box, &field.xbox, &x));
  PetscCall(ArrayCreate(k, &m->box, &field.ybox, &y0));
  PetscCall(ArrayCreate(k, &m->box, &field.ybox, &y));
  PetscCall(PetscMalloc1(PatchFDBoxSize(&m->box), &Ax));
  PetscCall(ArrayFill(&x, rnd));
  PetscCall(ArrayFill(&y0, rnd));
  PetscCall(ArrayFill(&y, rnd));
  PetscCall(k->operatorcreate(&desc, &plan));
  PetscCall(ReferenceOperator(m, x.ref, Ax));
  for (int i = 0; i < 3; i++) {
    static const char *names[] = {"operator, y = y0 + a A x", "operator, y = a A x", "operator, y += a A x"};
    char               name[64];

    for (PetscInt c = 0; c < m->box.n[2]; c++) {
      for (PetscInt b = 0; b < m->box.n[1]; b++) {
        for (PetscInt a = 0; a < m->box.n[0]; a++) {
          const ptrdiff_t at     = PatchFDBoxNode(&m->box, a, b, c);
          const PetscInt  node[] = {a, b, c};
          PetscBool       in     = PETSC_TRUE;

          for (int d = 0; d < 3; d++) in = (PetscBool)(in && node[d] >= desc.cells[d][0] * m->stride[d] && node[d] < desc.cells[d][1] * m->stride[d]);
          y.ref[at] = (i == 0 ? y0.ref[at] : (i == 1 ? 0 : y.ref[at])) - (in ? 1.5 * Ax[at] : 0);
        }
      }
    }
    PetscCall(k->operatorapply(plan, -1.5, x.d, i == 0 ? y0.d : (i == 1 ? NULL : y.d), y.d));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s, part %d", names[i], part));
    PetscCall(ArrayCompare(name, m, &y, failures));
  }
  PetscCall(k->operatordestroy(&plan));
  PetscCall(PetscFree(Ax));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&y0));
  PetscCall(ArrayDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt AllColors(PetscInt nphase, PatchFDColor colors[16])
{
  PetscInt n = 0;

  for (PetscInt c = 0; c < 8; c++) {
    for (PetscInt phase = 0; phase < nphase; phase++, n++) {
      for (int d = 0; d < 3; d++) colors[n].parity[d] = c >> d & 1;
      colors[n].phase = phase;
    }
  }
  return n;
}

/* Local solvers; nphase 1 only for operations in which patches do not see each other */
static PetscErrorCode TestLocal(const Mesh *m, int part, PetscInt nphase, PatchFDKernels k, PetscRandom rnd, PetscInt *failures)
{
  static const char *names[] = {"residual", "solve", "fused", "boundary"};
  PatchFDLocalDesc   desc    = {.nphase = nphase};
  PatchFDRange       cells, patches;
  PatchFDColor       colors[16];
  const PetscInt     nc = AllColors(nphase, colors);
  Array              x, b, r;
  void              *plan = NULL;

  PetscFunctionBeginUser;
  Cells(m, part, 1, cells);
  BoxOfCells(m, cells, &desc.box);
  for (int d = 0; d < 3; d++) {
    desc.dir[d]     = &m->patch[d];
    desc.read[d][0] = desc.box.lo[d];
    desc.read[d][1] = desc.box.lo[d] + desc.box.n[d];
    patches[d][0]   = cells[d][0];
    patches[d][1]   = PetscMin(m->patch[d].npatch, cells[d][1] - (m->cells[d] > 1 ? 1 : 0));
  }
  PetscCall(ArrayCreate(k, &m->box, &desc.box, &x));
  PetscCall(ArrayCreate(k, &m->box, &desc.box, &b));
  PetscCall(ArrayCreate(k, &m->box, &desc.box, &r));
  PetscCall(ArrayFill(&b, rnd));
  PetscCall(k->localcreate(&desc, &plan));
  for (int op = 0; op < (nphase == 2 ? 4 : 2); op++) {
    for (int zero = 0; zero < 2; zero++) {
      for (int w = 0; w < 2; w++) {
        const PetscReal omega  = w ? 0.7 : 1;
        const PetscInt  before = *failures;

        PetscCall(ArrayFill(&r, rnd));
        PetscCall(ArrayFill(&x, zero ? NULL : rnd));
        for (PetscInt c = 0; c < nc && *failures == before; c++) { /* the first colour that deviates is what counts */
          char name[128];

          PetscCall(ReferenceColor(m, (PatchFDPatchOp)op, nphase, &colors[c], patches, omega, x.ref, b.ref, r.ref));
          PetscCall(k->localapply(plan, (PatchFDPatchOp)op, 1, &colors[c], patches, omega, (PetscBool)(zero && c == 0), x.d, b.d, r.d));
          PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s, omega %g, part %d, %d phases, colour (%d %d %d, %d)", names[op], zero ? " from zero" : "", (double)omega, part, (int)nphase, (int)colors[c].parity[0], (int)colors[c].parity[1],
                                  (int)colors[c].parity[2], (int)colors[c].phase));
          PetscCall(ArrayCompare(name, m, op == PATCHFD_OP_RESIDUAL ? &r : &x, failures));
        }
      }
    }
  }
  /* all colours in one call */
  if (nphase == 2) {
    PetscCall(ArrayFill(&x, NULL));
    for (PetscInt c = 0; c < nc; c++) PetscCall(ReferenceColor(m, PATCHFD_OP_BOUNDARY, nphase, &colors[c], patches, 1, x.ref, b.ref, r.ref));
    PetscCall(k->localapply(plan, PATCHFD_OP_BOUNDARY, nc, colors, patches, 1, PETSC_TRUE, x.d, b.d, r.d));
    PetscCall(ArrayCompare(part ? "all colours, part" : "all colours", m, &x, failures));
  }
  PetscCall(k->localdestroy(&plan));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&b));
  PetscCall(ArrayDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* out (fine nodes) = P in or out (coarse nodes) = P' in along direction d, of arrays that have n[] nodes; restricted to the coarse cells of a range */
static void AddEmbedding(const PatchFDEmbedding *e, int d, const PetscInt cells[2], PetscBool transpose, const PetscInt n[3], const PetscReal in[], PetscReal out[])
{
  const PetscInt inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1), outer = (d < 1 ? n[1] : 1) * (d < 2 ? n[2] : 1), nf = e->ncells * e->nf, nc = e->ncells * e->nc;

  for (PetscInt o = 0; o < outer; o++) {
    for (PetscInt c = cells[0]; c < cells[1]; c++) {
      for (PetscInt i = 0; i < e->nf; i++) {
        for (PetscInt j = 0; j < e->nc; j++) {
          const PetscReal P = e->P[(e->cls[c] * e->nf + i) * e->nc + j];

          for (PetscInt s = 0; s < inner; s++) {
            const PetscInt f = (o * nf + c * e->nf + i) * inner + s, g = (o * nc + c * e->nc + j) * inner + s;

            if (transpose) out[g] += P * in[f];
            else out[f] += P * in[g];
          }
        }
      }
    }
  }
}

/* to += P from or P' from */
static PetscErrorCode ReferenceTransfer(const PatchFDTransferDesc *desc, PetscBool transpose, const PatchFDBox *from, const PatchFDBox *to, const PetscReal x[], PetscReal y[])
{
  PetscInt   n[3], size = 1;
  PetscReal *v[2];

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    n[d] = from->n[d];
    size *= PetscMax(from->n[d], to->n[d]);
  }
  PetscCall(PetscMalloc2(size, &v[0], size, &v[1]));
  for (int d = 0; d < 3; d++) {
    if (d < 2) PetscCall(PetscArrayzero(v[d], size));
    AddEmbedding(desc->dir[d], d, desc->cells[d], transpose, n, d ? v[d - 1] : x, d < 2 ? v[d] : y);
    n[d] = to->n[d];
  }
  PetscCall(PetscFree2(v[0], v[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTransfer(const Mesh *coarse, const Mesh *fine, int part, PatchFDKernels k, PetscRandom rnd, PetscInt *failures)
{
  PatchFDTransferDesc desc;
  PatchFDEmbedding    e[3];
  PatchFDRange        cells, fcells;
  Array               x, y;
  void               *plan = NULL;
  char                name[64];

  PetscFunctionBeginUser;
  Cells(coarse, part, 0, desc.cells);
  Cells(coarse, part, 1, cells);
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDEmbeddingCreate(&coarse->line[d], &fine->line[d], &e[d]));
    desc.dir[d] = &e[d];
    for (int i = 0; i < 2; i++) fcells[d][i] = desc.cells[d][i] * e[d].ratio;
  }
  BoxOfCells(coarse, cells, &desc.cbox);
  BoxOfCells(fine, fcells, &desc.fbox);
  for (int d = 0; d < 3; d++) {
    desc.coarse[d][0] = desc.cbox.lo[d];
    desc.coarse[d][1] = desc.cbox.lo[d] + desc.cbox.n[d];
    desc.fine[d][0]   = desc.fbox.lo[d];
    desc.fine[d][1]   = desc.fbox.lo[d] + desc.fbox.n[d];
  }
  PetscCall(ArrayCreate(k, &coarse->box, &desc.cbox, &x));
  PetscCall(ArrayCreate(k, &fine->box, &desc.fbox, &y));
  PetscCall(ArrayFill(&x, rnd));
  PetscCall(ArrayFill(&y, rnd));
  PetscCall(k->transfercreate(&desc, &plan));
  PetscCall(ReferenceTransfer(&desc, PETSC_FALSE, &coarse->box, &fine->box, x.ref, y.ref));
  PetscCall(k->transferprolong(plan, x.d, y.d));
  PetscCall(PetscSNPrintf(name, sizeof(name), "prolongation to degree %" PetscInt_FMT ", part %d", fine->degree, part));
  PetscCall(ArrayCompare(name, coarse, &y, failures));
  PetscCall(ReferenceTransfer(&desc, PETSC_TRUE, &fine->box, &coarse->box, y.ref, x.ref));
  PetscCall(k->transferrestrict(plan, y.d, x.d));
  PetscCall(PetscSNPrintf(name, sizeof(name), "restriction from degree %" PetscInt_FMT ", part %d", fine->degree, part));
  PetscCall(ArrayCompare(name, coarse, &x, failures));
  PetscCall(k->transferdestroy(&plan));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&e[d]));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- times, on events of the device ---- */

  #define TIME(t, call) \
    do { \
      cudaEvent_t  from, to; \
      cudaStream_t stream; \
      PetscCall(PetscGetCurrentCUDAStream(&stream)); \
      PetscCallCUDA(cudaEventCreate(&from)); \
      PetscCallCUDA(cudaEventCreate(&to)); \
      t = PETSC_MAX_REAL; \
      for (int rep = 0; rep < 7; rep++) { \
        float ms; \
        PetscCallCUDA(cudaEventRecord(from, stream)); \
        PetscCall(call); \
        PetscCallCUDA(cudaEventRecord(to, stream)); \
        PetscCallCUDA(cudaEventSynchronize(to)); \
        PetscCallCUDA(cudaEventElapsedTime(&ms, from, to)); \
        if (rep) t = PetscMin(t, ms * 1e9 / unknowns); \
      } \
      PetscCallCUDA(cudaEventDestroy(from)); \
      PetscCallCUDA(cudaEventDestroy(to)); \
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)t)); \
    } while (0)

static PetscErrorCode Time(PatchFDKernels k, const Mesh *m, const Mesh *coarse)
{
  static const PatchFDPatchOp ops[]    = {PATCHFD_OP_BOUNDARY, PATCHFD_OP_SOLVE, PATCHFD_OP_RESIDUAL};
  const size_t                n        = PatchFDBoxSize(&m->box);
  const PetscReal             unknowns = (PetscReal)n;
  PatchFDField                field    = {.xbox = m->box, .ybox = m->box};
  PatchFDOperatorDesc         op       = {.nfield = 1, .nterm = 3, .field = &field, .term = m->term};
  PatchFDLocalDesc            local    = {.nphase = 2, .box = m->box};
  PatchFDTransferDesc         tr       = {.cbox = coarse->box, .fbox = m->box};
  PatchFDRange                patches;
  PatchFDColor                colors[16];
  const PetscInt              nc = AllColors(2, colors);
  PatchFDEmbedding            e[3];
  void                       *v[3], *c, *plan = NULL;
  PetscReal                   t;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDEmbeddingCreate(&coarse->line[d], &m->line[d], &e[d]));
    local.dir[d]   = &m->patch[d];
    tr.dir[d]      = &e[d];
    op.cells[d][0] = tr.cells[d][0] = patches[d][0] = 0;
    op.cells[d][1]                                  = m->cells[d];
    tr.cells[d][1]                                  = coarse->cells[d];
    patches[d][1]                                   = m->patch[d].npatch;
    field.read[d][0] = field.write[d][0] = local.read[d][0] = tr.fine[d][0] = tr.coarse[d][0] = 0;
    field.read[d][1] = field.write[d][1] = local.read[d][1] = tr.fine[d][1] = m->box.n[d];
    tr.coarse[d][1]                                                        = coarse->box.n[d];
  }
  PetscCall(k->malloc(PatchFDBoxSize(&coarse->box), &c));
  PetscCall(k->zero(PatchFDBoxSize(&coarse->box), c));
  for (int i = 0; i < 3; i++) { /* some numbers that are not zero, the same on every plane of a few MB */
    const size_t part = PetscMin(n, (size_t)1 << 20);
    char        *h;

    PetscCall(k->malloc(n, &v[i]));
    PetscCall(PetscMalloc1(part * k->size, &h));
    for (size_t j = 0; j < part; j++) {
      const double a = sin(1.7 * (double)j + i);

      if (k->size == sizeof(double)) ((double *)h)[j] = a;
      else ((float *)h)[j] = (float)a;
    }
    for (size_t j = 0; j < n; j += part) PetscCallCUDA(cudaMemcpy((char *)v[i] + j * k->size, h, PetscMin(part, n - j) * k->size, cudaMemcpyHostToDevice));
    PetscCall(PetscFree(h));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %2" PetscInt_FMT " %10.0f |", k->name, m->degree, (double)unknowns));
  PetscCall(k->localcreate(&local, &plan));
  for (int i = 0; i < 3; i++) TIME(t, k->localapply(plan, ops[i], nc, colors, patches, 1, PETSC_FALSE, v[0], v[1], v[2]));
  PetscCall(k->localdestroy(&plan));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " |"));
  PetscCall(k->operatorcreate(&op, &plan));
  TIME(t, k->operatorapply(plan, 1, v[0], NULL, v[2]));
  TIME(t, k->operatorapply(plan, -1, v[0], v[1], v[2]));
  PetscCall(k->operatordestroy(&plan));
  PetscCall(k->transfercreate(&tr, &plan));
  TIME(t, k->transferprolong(plan, c, v[0]));
  TIME(t, k->transferrestrict(plan, v[0], c));
  PetscCall(k->transferdestroy(&plan));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  for (int i = 0; i < 3; i++) PetscCall(k->free(v[i]));
  PetscCall(k->free(c));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&e[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PatchFDKernels tables[2] = {&PatchFDKernelsCUDADouble, &PatchFDKernelsCUDAFloat};
  PetscReal            unknowns  = 0;
  PetscInt             dim = 3, degrees[16], nd = 16, cells[3] = {5, 4, 3}, nc = 3, failures = 0;
  PetscBool            graded = PETSC_FALSE, neumann = PETSC_FALSE, set;
  PetscRandom          rnd;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-degrees is needed: a list of degrees");
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", cells, &nc, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graded", &graded, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-neumann", &neumann, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &unknowns, NULL));
  if (unknowns > 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "picoseconds an unknown, all colours\ntable        k   unknowns | boundary    solve residual |      A x  b - A x  prolong restrict\n"));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt before = failures, n = PetscMax(1, (PetscInt)(PetscPowReal(unknowns, 1. / dim) / (degrees[i] + 1) / 2 + 0.5)), half[] = {n, n, n};
    Mesh           mesh, fine, higher;

    PetscCall(MeshCreate(dim, degrees[i], unknowns > 0 ? half : cells, graded, neumann, 1, &mesh));
    PetscCall(MeshCreate(dim, degrees[i], unknowns > 0 ? half : cells, graded, neumann, 2, &fine));
    PetscCall(MeshCreate(dim, degrees[i] + 1, unknowns > 0 ? half : cells, graded, neumann, 1, &higher));
    for (int t = 0; t < 2; t++) {
      if (unknowns > 0) {
        PetscCall(Time(tables[t], &fine, &mesh));
        continue;
      }
      for (int part = 0; part < 3; part++) {
        PetscCall(TestOperator(&mesh, part, tables[t], rnd, &failures));
        PetscCall(TestLocal(&mesh, part, 2, tables[t], rnd, &failures));
        PetscCall(TestTransfer(&mesh, &fine, part, tables[t], rnd, &failures));
        PetscCall(TestTransfer(&mesh, &higher, part, tables[t], rnd, &failures));
      }
      PetscCall(TestLocal(&mesh, 0, 1, tables[t], rnd, &failures));
    }
    PetscCall(MeshDestroy(&mesh));
    PetscCall(MeshDestroy(&fine));
    PetscCall(MeshDestroy(&higher));
    if (unknowns == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ": %s\n", degrees[i], failures == before ? "agrees" : "DEVIATES"));
  }
  PetscCall(PetscRandomDestroy(&rnd));
  PetscCall(PetscFinalize());
  return 0;
}
#else
int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This PETSc has no CUDA\n"));
  PetscCall(PetscFinalize());
  return 0;
}
#endif

/*TEST

   testset:
     requires: cuda gpu
     test:
       suffix: 1d
       args: -dim 1 -cells 7 -degrees 1,2,3,5,9
     test:
       suffix: 1d_one
       args: -dim 1 -cells 1 -degrees 1,2,3 -neumann
     test:
       suffix: 2d
       args: -dim 2 -cells 6,5 -degrees 1,2,3,4,5,6,7,8,9
     test:
       suffix: 2d_graded
       args: -dim 2 -cells 5,4 -degrees 1,2,3,4,5 -graded -neumann
     test:
       suffix: 3d
       args: -cells 23,5,6 -degrees 1,2
     test:
       suffix: 3d_middle
       args: -cells 9,5,4 -degrees 3,4,5
     test:
       suffix: 3d_high
       args: -cells 4,3,3 -degrees 6,7,8
     test:
       suffix: 3d_higher
       args: -cells 2,2,3 -degrees 9
     test:
       suffix: 3d_graded
       args: -cells 5,4,3 -degrees 1,2,3,5,7 -graded
     test:
       suffix: 3d_neumann
       args: -cells 6,4,5 -degrees 1,2,3,4 -neumann
     test:
       suffix: 3d_thin
       args: -cells 1,4,2 -degrees 2,3

TEST*/
